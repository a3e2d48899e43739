//! The unit files: systemd has nothing to say against them, and they let little through.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::daemon::program;
use crate::skip::skip;

const TOOL: &str = "/usr/bin/systemd-analyze";

/// Where the program lies by the unit files.
const PLACES: [&str; 2] = ["%h/.cargo/bin/recalld", "/usr/local/bin/recalld"];

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(path)
}

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(shipped(directory)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Whether the tool is there; says so if not.
fn has_tool(test: &str) -> bool {
    let has = Path::new(TOOL).exists();
    if !has {
        skip(test, "systemd-analyze is not installed (package systemd)");
    }
    has
}

/// The units of one manager (`user` or `system`) with the program under test, and perhaps a drop-in.
struct Units {
    dir: tempfile::TempDir,
    is_user: bool,
}

impl Units {
    fn new(manager: &str, drop_in: Option<&Path>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for unit in ["recalld.service", "recalld.socket"] {
            let mut text = fs::read_to_string(shipped(manager).join(unit)).unwrap();
            for place in PLACES {
                text = text.replace(place, program().to_str().unwrap());
            }
            fs::write(dir.path().join(unit), text).unwrap();
        }
        if let Some(drop_in) = drop_in {
            let directory = dir.path().join("recalld.service.d");
            fs::create_dir(&directory).unwrap();
            fs::copy(drop_in, directory.join(drop_in.file_name().unwrap())).unwrap();
        }
        Self { dir, is_user: manager == "user" }
    }

    fn analyze(&self, arguments: &[&str], units: &[&str]) -> Output {
        let mut command = Command::new(TOOL);
        command.env_clear().env("HOME", self.dir.path()).env("PATH", "/usr/bin:/bin");
        if self.is_user {
            command.env("XDG_RUNTIME_DIR", self.dir.path()).arg("--user");
        }
        command.args(arguments).args(units.iter().map(|unit| self.dir.path().join(unit)));
        command.output().unwrap()
    }

    /// Must pass without a word: the tool gives warnings with a good exit status.
    #[track_caller]
    fn verify(&self) {
        let output = self.analyze(&["verify"], &["recalld.service", "recalld.socket"]);
        let said = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&said), "");
        assert!(output.status.success());
    }
}

/// The version of systemd, 0 if it does not say.
fn version() -> u32 {
    let output = Command::new(TOOL).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[test]
fn systemd_has_nothing_to_say_against_the_units_and_their_drop_ins() {
    if !has_tool("systemd-analyze verify") {
        return;
    }
    let mut drop_ins = files("drop-ins");
    if version() < 253 {
        skip("verify of notify-reload.conf", "it is for systemd 253 and later");
        drop_ins.retain(|drop_in| !drop_in.ends_with("notify-reload.conf"));
    }
    for manager in ["user", "system"] {
        Units::new(manager, None).verify();
        for drop_in in &drop_ins {
            Units::new(manager, Some(drop_in)).verify();
        }
    }
    Units::new("user", Some(&shipped("user/10-hardening.conf"))).verify();
}

#[test]
fn a_mistake_in_a_unit_would_be_noticed() {
    if !has_tool("systemd-analyze verify, the other way round") {
        return;
    }
    let units = Units::new("system", None);
    let path = units.dir.path().join("recalld.service");
    let text = fs::read_to_string(&path).unwrap().replace("WatchdogSec=60s", "WatchdogSec=60x");
    fs::write(&path, text).unwrap();
    let output = units.analyze(&["verify"], &["recalld.service"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("60x"), "{output:?}");
}

#[test]
fn the_units_let_little_through() {
    if !has_tool("systemd-analyze security") {
        return;
    }
    let hardening = shipped("user/10-hardening.conf");
    // Tenths of the tool's exposure level, 0 to 100.
    for (manager, drop_in, threshold) in
        [("system", None, "15"), ("user", Some(hardening.as_path()), "17"), ("user", None, "65")]
    {
        let units = Units::new(manager, drop_in);
        let threshold = format!("--threshold={threshold}");
        let arguments = ["security", "--offline=true", &threshold];
        let output = units.analyze(&arguments, &["recalld.service"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{manager}, {drop_in:?}: {said}");
    }
}

#[test]
fn the_sockets_lie_where_clients_look_and_no_service_owns_their_directory() {
    let text = |path: &str| fs::read_to_string(shipped(path)).unwrap();
    for (unit, lines) in [
        (
            "user/recalld.socket",
            ["ListenStream=%t/recalld/recalld.sock", "SocketMode=0600", "DirectoryMode=0700"],
        ),
        (
            "system/recalld.socket",
            ["ListenStream=/run/recalld/recalld.sock", "SocketMode=0660", "SocketGroup=recalld"],
        ),
    ] {
        for line in lines {
            assert!(text(unit).lines().any(|own| own == line), "{unit}: {line}");
        }
    }
    for unit in ["user/recalld.service", "system/recalld.service"] {
        let text = text(unit);
        assert!(!text.lines().any(|line| line.starts_with("RuntimeDirectory=")), "{unit}");
        assert!(text.lines().any(|line| line == "Requires=recalld.socket"), "{unit}");
    }
}

#[test]
fn no_line_of_a_unit_ends_in_a_comment() {
    // systemd takes the words of such a comment for a part of the value, mostly without a warning.
    for directory in ["user", "system", "drop-ins"] {
        for file in files(directory) {
            for line in fs::read_to_string(&file).unwrap().lines() {
                let is_value = !line.starts_with('#') && line.contains(['#', ';']);
                assert!(!is_value, "{}: {line}", file.display());
            }
        }
    }
}
