//! Where things lie.

use std::path::Path;

use super::*;

fn environment(variables: &[(&str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
    Environment::new(variables, 1000)
}

#[test]
fn the_configuration_file_is_where_the_environment_says() {
    type Case<'a> = (Option<&'a str>, &'a [(&'a str, &'a str)], Option<(&'a str, bool)>);
    let cases: [Case<'_>; 7] = [
        (None, &[], None),
        (None, &[("HOME", "/h")], Some(("/h/.config/recalld/config.toml", false))),
        (
            None,
            &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")],
            Some(("/c/recalld/config.toml", false)),
        ),
        (
            None,
            &[("HOME", "/h"), ("XDG_CONFIG_HOME", "relative")],
            Some(("/h/.config/recalld/config.toml", false)),
        ),
        (
            None,
            &[("XDG_CONFIG_HOME", "/c"), ("CONFIGURATION_DIRECTORY", "/etc/recalld:/etc/b")],
            Some(("/etc/recalld/config.toml", false)),
        ),
        (
            None,
            &[("CONFIGURATION_DIRECTORY", "/etc/recalld"), ("RECALLD_CONFIG", "r.toml")],
            Some(("r.toml", true)),
        ),
        (Some("f.toml"), &[("RECALLD_CONFIG", "/r.toml")], Some(("f.toml", true))),
    ];
    for (flag, variables, expected) in cases {
        let file = config_file(flag.map(Path::new), &environment(variables));
        let file =
            file.as_ref().map(|(chosen, is_named)| (chosen.path.to_str().unwrap(), *is_named));
        assert_eq!(file, expected, "{flag:?} {variables:?}");
    }
}

#[test]
fn the_data_directory_follows_systemd_then_the_file_then_xdg() {
    let configured =
        Chosen { path: "/file".into(), place: Place::of(Origin::File("/c.toml".into())) };
    let everything = [
        ("HOME", "/h"),
        ("XDG_STATE_HOME", "/s"),
        ("STATE_DIRECTORY", "/var/lib/recalld:/var/lib/other"),
    ];
    for (flag, n_variables, configured, expected) in [
        (Some("/flag"), 3, true, Some("/flag --state-dir")),
        (None, 3, true, Some("/var/lib/recalld $STATE_DIRECTORY")),
        (None, 2, true, Some("/file /c.toml")),
        (None, 2, false, Some("/s/recalld $XDG_STATE_HOME")),
        (None, 1, false, Some("/h/.local/state/recalld $HOME")),
        (None, 0, false, None),
    ]
    .map(|(flag, n, with_file, expected)| {
        (flag.map(Path::new), n, with_file.then(|| configured.clone()), expected)
    }) {
        let chosen = state_dir(flag, &environment(&everything[..n_variables]), configured);
        let chosen = chosen.map(|chosen| format!("{} {}", chosen.path.display(), chosen.place));
        assert_eq!(chosen.as_deref(), expected);
    }
}

#[test]
fn without_any_home_the_missing_data_directory_is_a_problem() {
    let sources = Sources::default();
    let problems = Config::load(&sources).unwrap_err().to_string();
    assert!(problems.contains("default: store.dir\n    expected a data directory"), "{problems}");
    let sources = Sources { state_dir: Some("/data".into()), ..sources };
    assert_eq!(Config::load(&sources).unwrap().state_dir.path, Path::new("/data"));
}

/// The place of the daemon's socket and the places where clients look.
fn sockets(
    flag: Option<&str>,
    variables: &[(&str, &str)],
    configured: Option<&str>,
    usable: &[&str],
) -> (String, Vec<String>) {
    let (flag, environment) = (flag.map(Path::new), environment(variables));
    let configured = configured
        .map(|path| Chosen { path: path.into(), place: Place::of(Origin::File("/c".into())) });
    let is_usable = |directory: &Path| usable.iter().any(|usable| Path::new(usable) == directory);
    let state = Path::new("/state");
    let server = server_socket(flag, &environment, configured.clone(), state, &is_usable);
    let clients = socket_candidates(flag, &environment, configured, Some(state));
    let clients = clients.iter().map(|path| path.display().to_string()).collect();
    (server.path.display().to_string(), clients)
}

#[test]
fn the_socket_that_somebody_named_is_the_only_one() {
    let variables = [("RECALLD_SOCKET", "/v"), ("XDG_RUNTIME_DIR", "/run/user/1000")];
    for (flag, n_variables, configured, expected) in [
        (Some("/f"), 2, Some("/c"), "/f"),
        (None, 2, Some("/c"), "/v"),
        (None, 0, Some("/c"), "/c"),
    ] {
        let found = sockets(flag, &variables[..n_variables], configured, &[]);
        assert_eq!(found, (expected.to_owned(), vec![expected.to_owned()]));
    }
}

#[test]
fn the_daemon_takes_the_first_usable_place_and_clients_look_in_all_of_them() {
    let (runtime, xdg) = (("RUNTIME_DIRECTORY", "/run/r"), ("XDG_RUNTIME_DIR", "/x"));
    let of_user = "/run/user/1000/recalld/recalld.sock";
    let (of_system, of_state) = ("/run/recalld/recalld.sock", "/state/run/recalld.sock");
    let everywhere = ["/run/user/1000", "/run/recalld"];
    for (variables, usable, expected) in [
        (&[runtime, xdg][..], &everywhere[..], "/run/r/recalld.sock"),
        (&[xdg], &everywhere, "/x/recalld/recalld.sock"),
        (&[], &everywhere, of_user),
        (&[], &everywhere[1..], of_system),
        (&[], &[], of_state),
    ] {
        assert_eq!(sockets(None, variables, None, usable).0, expected);
    }
    assert_eq!(
        sockets(None, &[runtime, xdg], None, &[]).1,
        ["/run/r/recalld.sock", "/x/recalld/recalld.sock", of_user, of_system, of_state]
    );
    let same = sockets(None, &[("XDG_RUNTIME_DIR", "/run/user/1000")], None, &[]).1;
    assert_eq!(same, [of_user, of_system, of_state]);
}

#[test]
fn a_socket_path_has_at_most_107_bytes() {
    let machine = Machine::new();
    let path = |n_bytes: usize| Some(PathBuf::from(format!("/{}", "s".repeat(n_bytes - 1))));
    assert!(Config::load(&Sources { socket: path(107), ..machine.sources() }).is_ok());
    let problems = Config::load(&Sources { socket: path(108), ..machine.sources() }).unwrap_err();
    let problems = problems.to_string();
    assert!(problems.starts_with("--socket: server.socket\n"), "{problems}");
    assert!(problems.contains("expected a path of at most 107 bytes"), "{problems}");
    assert!(problems.contains("(108 bytes)"), "{problems}");
}

#[test]
fn a_data_directory_that_the_kernel_makes_up_is_a_problem() {
    for dir in
        ["/proc/recalld", "/sys/fs/cgroup/recalld/deeper", "/tmp/../proc/self/recalld", "/proc"]
    {
        let sources = Sources { state_dir: Some(dir.into()), ..Sources::default() };
        let problems = Config::load(&sources).unwrap_err().to_string();
        let said = "--state-dir: store.dir\n    expected a data directory on a disk\n    found";
        assert!(problems.contains(said) && problems.contains(dir), "{problems}");
    }
    let home = tempfile::tempdir().unwrap();
    let sources = Sources { state_dir: Some(home.path().join("a/b")), ..Sources::default() };
    Config::load(&sources).unwrap();
}
