//! What is wrong, as a reader of the log sees it.

use std::os::unix::ffi::OsStringExt;

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = Machine::with_file(text).problems();
    let blocks: Vec<&str> =
        problems.lines().filter(|line| !line.ends_with("in the configuration")).collect();
    assert_eq!(blocks, expected, "{text}");
}

#[test]
fn each_kind_of_mistake_is_told_with_its_place() {
    check(
        "[store]\ncache_mb = 4\n",
        &[
            "FILE:2:12: store.cache_mb",
            "    expected a whole number from 8 to 65536",
            "    found the number 4",
        ],
    );
    check(
        "[store]\ncache_mb = \"64\"\n",
        &[
            "FILE:2:12: store.cache_mb",
            "    expected a whole number from 8 to 65536",
            "    found the string \"64\"",
        ],
    );
    check(
        "recall.threshold = nan",
        &[
            "FILE:1:20: recall.threshold",
            "    expected a number from 0 to 1",
            "    found the number nan",
        ],
    );
    check(
        "embed.model = \"Open AI\"",
        &[
            "FILE:1:15: embed.model",
            "    expected \"bundled\", \"none\", \"endpoint\", \"seeded\", or the name of an installed \
             model (`recalld model list`)",
            "    found the string \"Open AI\"",
        ],
    );
    check(
        "server.socket = 'run/recalld.sock'",
        &[
            "FILE:1:17: server.socket",
            "    expected an absolute path, a path that starts with ~/, or \"\"",
            "    found the string \"run/recalld.sock\"",
        ],
    );
    check(
        "server.allow_uids = [1000, -1]",
        &[
            "FILE:1:21: server.allow_uids",
            "    expected a list of user ids, like [1000, 1001]",
            "    found the list [1000, -1]",
        ],
    );
    check("store = 3", &["FILE:1:1: store", "    expected a table, [store]", "    found 3"]);
    check(
        "forget = { agent_grace_hours = 48 }",
        &[
            "FILE:1:12: forget.agent_grace_hours",
            "    expected at most forget.erase_within_hours: what is erased cannot be brought back",
            "    found 48 and 24",
        ],
    );
}

#[test]
fn an_address_that_nothing_may_be_sent_to_is_refused_where_it_stands() {
    for (section, model) in [("embed.endpoint", "bge-m3"), ("llm.summary", "qwen3:4b")] {
        let file = |url: &str, more: &str| {
            format!("[{section}]\nurl = \"{url}\"\nmodel = \"{model}\"\n{more}")
        };
        let private = Machine::with_file(&file("http://10.0.0.4:11434/v1", "")).problems();
        assert!(private.starts_with(&format!("FILE:2:1: {section}.url\n")), "{private}");
        assert!(private.contains(&format!("{section}.allow_private")), "{private}");
        let public = Machine::with_file(&file("http://192.0.1.1/v1", "")).problems();
        assert!(public.contains("https only"), "{public}");
        for (url, more) in [
            ("http://10.0.0.4:11434/v1", "allow_private = [\"10.0.0.0/8\"]\n"),
            ("http://127.0.0.1:11434/v1", ""),
            ("http://[::1]:11434/v1", ""),
            ("https://192.0.1.1/v1", ""),
        ] {
            Machine::with_file(&file(url, more)).load();
        }
    }
}

#[test]
fn long_values_are_shortened() {
    let problems = Machine::with_file(&format!("recall.limit = '{}'", "记".repeat(500))).problems();
    assert!(problems.chars().count() < 250, "{problems}");
}

#[test]
fn an_unknown_key_names_the_nearest() {
    for (text, place, hint) in [
        ("[store]\ncachemb = 64", "2:1: store.cachemb", "did you mean store.cache_mb?"),
        ("[server]\ncache_mb = 64", "2:1: server.cache_mb", "did you mean store.cache_mb?"),
        ("cache_mb = 64", "1:1: cache_mb", "did you mean store.cache_mb?"),
        ("recall.treshold = 0.1", "1:8: recall.treshold", "did you mean recall.threshold?"),
        ("[stroe]\ncache_mb = 64", "1:2: stroe", "did you mean store?"),
        ("[[access.agent]]\nname = '*'", "1:10: access.agent", "did you mean access.agents?"),
        (
            "[decay.half_life]\nfact = 9",
            "1:8: decay.half_life",
            "did you mean decay.half_life_days?",
        ),
        (
            "store.colour = 1",
            "1:7: store.colour",
            "known here: dir, cache_mb, ballast_mb, log_keep_days",
        ),
        ("'store.cache_mb' = 1", "1:1: store.cache_mb", "did you mean store.cache_mb?"),
        (
            "colour = 'blue'",
            "1:1: colour",
            "known sections: store, embed, embed.endpoint, llm.summary, llm.scoring, index, recall, \
             decay, decay.half_life_days, contradiction, archive, retention, consolidate, session, \
             extract, forget, backup, jobs, jobs.decay, jobs.extract, jobs.consolidate, jobs.suggest, \
             jobs.archive, jobs.purge, sinks, reminders, mcp, \
             server, access, log",
        ),
    ] {
        let place = format!("FILE:{place}");
        check(text, &[&place, "    unknown key", &format!("    {hint}")]);
    }
}

#[test]
fn filters_that_would_silence_everything_are_refused() {
    for bad in ["inof", "info,recalld=loud", "recalld", ""] {
        let problems = Machine::with_file(&format!("log.level = '{bad}'")).problems();
        assert!(
            problems.starts_with("FILE:1:13: log.level\n    expected error, warn"),
            "{problems}"
        );
    }
    for good in ["INFO", "off", "warn,recalld::store=debug", "info, recalld[search]=trace"] {
        Machine::with_file(&format!("log.level = '{good}'")).load();
    }
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_their_lines() {
    let machine = Machine::with_file(
        "[store]\ncache_mb = 4\n[recall]\nlimit = 101\nlimits = 1\n[log]\nformat = 'xml'\n",
    )
    .set("RECALLD_STORE_CACHE_MB", "lots")
    .set("RECALLD_STORE_CACHEMB", "64")
    .set("RECALLD_RECALL_DEADLINE_MS", OsString::from_vec(vec![0x31, 0xff]));
    let problems = machine.problems();
    let heads: Vec<&str> = problems.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        heads,
        [
            "FILE:2:12: store.cache_mb",
            "FILE:4:9: recall.limit",
            "FILE:5:1: recall.limits",
            "FILE:7:10: log.format",
            "$RECALLD_RECALL_DEADLINE_MS: recall.deadline_ms",
            "$RECALLD_STORE_CACHEMB",
            "$RECALLD_STORE_CACHE_MB: store.cache_mb",
            "7 problems in the configuration",
        ]
    );
    assert!(problems.contains("found the string \"lots\""), "{problems}");
    assert!(problems.contains("did you mean RECALLD_STORE_CACHE_MB?"), "{problems}");
}

#[test]
fn reserved_variables_are_no_keys() {
    Machine::new()
        .set("RECALLD_AGENT", "codex")
        .set("RECALLD_TOKEN", "secret")
        .set("RECALLD_EVALDATA", "/data")
        .set("RECALLD_ROUNDS", "10")
        .set("RECALLD_NO_START", "1")
        .set("RECALLD_TIMEOUT", "5")
        .load();
    let problems = Machine::new().set("RECALLD_TOKENS", "secret").problems();
    assert!(problems.contains("did you mean RECALLD_TOKEN?"), "{problems}");
    assert!(!problems.contains("secret"), "{problems}");
}

#[test]
fn syntax_errors_stand_beside_the_other_problems() {
    let machine = Machine::with_file(
        "[store]\ncache_mb = \nlog_keep_days = 0\n[recall]\nlimit = 1\nlimit = 2\n[embed\n",
    );
    let problems = machine.problems();
    let heads: Vec<&str> = problems.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        heads,
        [
            "FILE:2:12",
            "FILE:3:17: store.log_keep_days",
            "FILE:6:1",
            "FILE:7:7",
            "4 problems in the configuration"
        ],
        "{problems}"
    );
    assert!(problems.contains("    not valid TOML: duplicate key"), "{problems}");
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_but_a_missing_default_is_not() {
    let machine = Machine::new();
    machine.load();
    let missing = machine.home.path().join("other.toml");
    let sources = Sources { config: Some(missing.clone()), ..machine.sources() };
    let problems = Config::load(&sources).unwrap_err().to_string();
    assert!(problems.contains("No such file or directory"), "{problems}");
    assert!(problems.contains("(named by --config)"), "{problems}");
    let named = Machine::new().set("RECALLD_CONFIG", missing.as_os_str());
    assert!(named.problems().contains("(named by $RECALLD_CONFIG)"));

    let directory = Machine::new().set("RECALLD_CONFIG", machine.home.path());
    assert!(directory.problems().contains("cannot read the configuration file"));
    let latin_1 = Machine::with_file("");
    fs::write(latin_1.file(), b"[store]\n# caf\xe9\n").unwrap();
    assert!(latin_1.problems().starts_with("FILE:2:6\n    not valid TOML: the text is not UTF-8"));
    let long = Machine::with_file(&"#".repeat(crate::domain::limits::CONFIG_BYTES_MAX + 1));
    assert!(long.problems().contains("longer than"));
    Machine::with_file(&"#".repeat(crate::domain::limits::CONFIG_BYTES_MAX)).load();
}

#[test]
fn a_file_that_begins_with_a_byte_order_mark_is_read() {
    let loaded = Machine::with_file("\u{feff}store.cache_mb = 9\r\n").load();
    assert_eq!(loaded.config.store.cache_bytes, 9 << 20);
}

/// Where a client looks for the daemon with this file; the problems if it must not guess.
fn client(machine: &Machine, change: impl FnOnce(&mut Sources)) -> Result<Vec<String>, String> {
    let mut sources = machine.sources();
    change(&mut sources);
    let (loaded, problems) =
        Config::load_for_client(&sources).map_err(|problems| problems.to_string())?;
    assert!(problems.is_some(), "what is wrong is told all the same");
    Ok(loaded.socket_candidates.iter().map(|path| path.display().to_string()).collect())
}

#[test]
fn a_client_goes_on_with_a_bad_key_that_does_not_hide_the_socket() {
    let socket = "[server]\nsocket = \"/s\"\n";
    for bad in ["[recall]\nlimt = 3\n", "[store]\ncache_mb = \"big\"\n", "[recall]\nlimit = \n"] {
        let machine = Machine::with_file(&format!("{socket}{bad}"));
        assert_eq!(client(&machine, |_| {}).unwrap(), ["/s"], "{bad}");
    }
    let machine = Machine::with_file(socket).set("RECALLD_RECALL_LIMT", "3");
    assert_eq!(client(&machine, |_| {}).unwrap(), ["/s"]);
    // A file that cannot be read leaves the places where a daemon is without one.
    let machine = Machine::with_file("");
    fs::write(machine.file(), b"[server]\nsocket = \"/s\"\n\xff\n").unwrap();
    assert!(client(&machine, |_| {}).unwrap().len() > 1);
}

#[test]
fn a_client_does_not_guess_where_the_socket_is() {
    let machine = Machine::with_file("[server]\nsocket = 3\n");
    assert!(client(&machine, |_| {}).unwrap_err().contains("server.socket"));
    let named = client(&machine, |sources| sources.socket = Some("/f".into()));
    assert_eq!(named.unwrap(), ["/f"], "the command line says so");
    let long = client(&machine, |sources| sources.socket = Some("/x".repeat(100).into()));
    assert!(long.unwrap_err().contains("a path of at most"));
    let missing = client(&machine, |sources| sources.config = Some("/none/config.toml".into()));
    assert!(missing.unwrap_err().contains("/none/config.toml"));
}

#[test]
fn only_who_names_the_data_directory_means_no_other() {
    let machine = Machine::with_file("[store]\ndir = \"/d\"\n");
    assert_eq!(machine.load().named_state_dir(), None);
    let machine = machine.set("RECALLD_STORE_DIR", "/v");
    assert_eq!(machine.load().named_state_dir(), Some(std::path::Path::new("/v")));
    let sources = Sources { state_dir: Some("/f".into()), ..machine.sources() };
    let loaded = Config::load(&sources).unwrap();
    assert_eq!(loaded.named_state_dir(), Some(std::path::Path::new("/f")));
    let machine = Machine::new().set("STATE_DIRECTORY", "/systemd");
    assert_eq!(machine.load().named_state_dir(), None);
}
