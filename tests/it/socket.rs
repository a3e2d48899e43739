//! The socket and the files: who may reach them, and what is in the way.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::daemon::{Home, program};
use crate::skip::skip;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

/// Every file and directory below a path.
fn walk(path: &Path, found: &mut Vec<std::path::PathBuf>) {
    found.push(path.to_owned());
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            walk(&entry.unwrap().path(), found);
        }
    }
}

#[tokio::test]
async fn socket_and_data_are_for_their_owner_alone() {
    let home = Home::new();
    let daemon = home.serve().await;
    home.agent("a").await.store("Only the owner reads this").await;
    assert_eq!(mode(&home.path("s")), 0o700, "the socket's directory");
    assert_eq!(mode(&home.socket()), 0o600, "the socket");
    assert_eq!(mode(&home.state()), 0o700, "the data directory");
    assert!(daemon.stop().await.success());
    let mut files = Vec::new();
    walk(&home.state(), &mut files);
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "redb")) {
        assert_eq!(mode(file) & 0o077, 0, "{}", file.display());
    }
    assert!(files.len() > 1);
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_left_alone_and_named() {
    let home = Home::new();
    fs::create_dir(home.path("s")).unwrap();
    fs::write(home.socket(), "precious").unwrap();
    let output = home.run(&["serve"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("is no socket"), "{message}");
    assert!(message.contains(&*home.socket().to_string_lossy()), "{message}");
    assert_eq!(fs::read_to_string(home.socket()).unwrap(), "precious");
}

#[tokio::test]
async fn a_socket_that_a_dead_daemon_left_is_taken_over() {
    let home = Home::new();
    fs::create_dir(home.path("s")).unwrap();
    drop(UnixListener::bind(home.socket()).unwrap());
    assert!(fs::symlink_metadata(home.socket()).unwrap().file_type().is_socket());
    let daemon = home.serve().await;
    home.agent("a").await.store("The stale socket was no obstacle").await;
    daemon.kill();
    assert!(home.socket().exists(), "a kill leaves the socket");
    let daemon = home.serve().await;
    home.agent("a").await.store("Neither was the second one").await;
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_socket_path_that_is_too_long_is_a_clear_error() {
    let home = Home::new();
    let long = home.path(&"d".repeat(120)).join("recalld.sock");
    for command in ["serve", "status"] {
        let output = Command::new(program())
            .env_clear()
            .env("HOME", home.path(""))
            .arg("--state-dir")
            .arg(home.state())
            .arg("--socket")
            .arg(&long)
            .arg(command)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{command}: {message}");
        assert!(message.contains("107 bytes"), "{command}: {message}");
    }
}

#[tokio::test]
async fn another_user_is_turned_away_even_where_the_modes_let_him_in() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        skip("another user is turned away", "only root can become somebody else");
        return;
    }
    let home = Home::new().expect_log("uid not allowed");
    let _daemon = home.serve().await;
    home.agent("a").await.store("Not for nobody").await;
    for directory in [home.path(""), home.path("s")] {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(home.socket(), Permissions::from_mode(0o666)).unwrap();
    // A copy, since the other user may not get to where the program was built.
    let copy = home.path("recalld");
    fs::copy(program(), &copy).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(&copy)
            .env_clear()
            .env("HOME", "/nonexistent")
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .arg("--socket")
            .arg(home.socket())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned(), output.stdout)
    };
    for arguments in [&["status"][..], &["recall", "nobody"], &["list"], &["remember", "hello"]] {
        let (status, message, printed) = run(arguments);
        assert!(!status.success(), "{arguments:?}: {message}");
        assert_eq!(printed, b"", "{arguments:?}");
        assert!(message.contains("server.allow_uids"), "{arguments:?}: {message}");
    }
    assert!(home.log().contains("uid not allowed"), "{}", home.log());
}
