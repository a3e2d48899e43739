//! Defaults, layers and values.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::domain::consolidation::Policy;
use crate::domain::decay::DecayPolicy;
use crate::domain::memory::Kind;

#[test]
fn nothing_configured_gives_the_defaults() {
    let loaded = Machine::new().load();
    let config = &loaded.config;
    assert_eq!(config.store.cache_bytes, 64 << 20);
    assert_eq!(config.store.log_keep, Duration::from_hours(90 * 24));
    assert_eq!(config.embed.model, EmbedModel::Bundled);
    assert_eq!(config.embed.store_wait, Duration::from_millis(500));
    assert_eq!(config.recall.deadline, Duration::from_secs(2));
    assert_eq!(config.recall.limit, crate::domain::limits::SEARCH_LIMIT_DEFAULT);
    assert_eq!(config.decay, DecayPolicy::default());
    assert_eq!(config.consolidate.grouping, Policy::default());
    assert_eq!(config.forget.agent_grace, Duration::from_hours(24));
    assert_eq!(config.server.allow_uids, Vec::<u32>::new());
    let log = LogConfig {
        directives: "info".to_owned(),
        json: false,
        dir: None,
        file_bytes_max: 16 * 1024 * 1024,
        files_keep: 8,
    };
    assert_eq!(config.log, log);
    assert_eq!((loaded.file, loaded.warnings), (None, Vec::new()));
}

#[test]
fn the_example_as_a_file_changes_nothing() {
    let defaults = Machine::new().load();
    let machine = Machine::with_file(DEFAULTS);
    let loaded = machine.load();
    assert_eq!(loaded.config, defaults.config);
    assert_eq!(loaded.file, Some(machine.file()));
}

#[test]
fn every_key_of_the_example_is_read_and_documented_in_one_line() {
    let keys = keys();
    assert!(keys.len() > 30, "{keys:?}");
    for KeyDoc { key, default, doc } in &keys {
        assert!(!doc.is_empty() && !default.is_empty(), "{key}");
        let is_list = key == "access.agents" || key == "sinks";
        assert!(is_list || doc.len() <= 100, "{key}: {doc}");
        // A time is the right type for no key, so exactly one problem shows that a key is read.
        let problems = Machine::with_file(&format!("{key} = 2026-01-02")).problems();
        assert!(problems.starts_with(&format!("FILE:1:{}: {key}\n", key.len() + 4)), "{problems}");
        assert!(problems.ends_with("1 problem in the configuration"), "{problems}");
    }
    for kind in Kind::ALL {
        assert!(keys.iter().any(|doc| doc.key == format!("decay.half_life_days.{kind}")), "{kind}");
    }
    let first = keys.first().unwrap();
    assert_eq!((first.key.as_str(), first.default.as_str()), ("store.dir", "\"\""));
    assert!(first.doc.starts_with("Data directory: absolute path"), "{}", first.doc);
}

#[test]
fn the_ranges_in_the_example_are_those_in_force() {
    let range = regex::Regex::new(r"([0-9.]*[0-9]) to ([0-9.]*[0-9])").unwrap();
    let mut n_ranges = 0;
    for KeyDoc { key, doc, .. } in keys() {
        let Some(range) = range.captures(&doc) else { continue };
        if key == "access.agents" || key == "sinks" {
            continue;
        }
        n_ranges += 1;
        let (low, high): (f64, f64) = (range[1].parse().unwrap(), range[2].parse().unwrap());
        let beside = match key.as_str() {
            "forget.agent_grace_hours" => "forget.erase_within_hours = 8760",
            "forget.erase_within_hours" => "forget.agent_grace_hours = 0",
            "consolidate.size_min" => "consolidate.size_max = 200",
            "consolidate.size_max" => "consolidate.size_min = 2",
            _ => "",
        };
        for (value, is_accepted) in
            [(low - 1.0, false), (low, true), (high, true), (high + 1.0, false)]
        {
            let text = format!("{key} = {value}\n{beside}");
            let loaded = Config::load(&Machine::with_file(&text).sources());
            assert_eq!(loaded.is_ok(), is_accepted, "{text}: {doc}");
        }
    }
    assert!(n_ranges > 25, "{n_ranges}");
}

#[test]
fn no_two_keys_share_a_variable() {
    let names: BTreeSet<String> =
        keys().iter().map(|doc| doc.key.replace('.', "_").to_uppercase()).collect();
    assert_eq!(names.len(), keys().len());
    for reserved in ["CONFIG", "SOCKET", "AGENT", "TOKEN", "LOG"] {
        assert!(!names.contains(reserved), "{reserved}");
    }
}

#[test]
fn a_file_overrides_defaults_and_variables_override_the_file() {
    let text = "[store]\ncache_mb = 0x20\n[decay]\nhalf_life_days = { task = 7.5 }\n";
    let machine = Machine::with_file(text);
    let loaded = machine.load();
    assert_eq!(loaded.config.store.cache_bytes, 32 << 20);
    assert_eq!(
        loaded.config.decay.half_life_days.map(f64::to_bits),
        [90.0, 180.0, 365.0, 30.0, 365.0, 7.5, 90.0, 180.0, 365.0].map(f64::to_bits)
    );

    let machine = machine
        .set("RECALLD_STORE_CACHE_MB", " 16 ")
        .set("RECALLD_DECAY_HALF_LIFE_DAYS_FACT", "60")
        .set("RECALLD_EMBED_MODEL", "none")
        .set("RECALLD_SERVER_ALLOW_UIDS", "1001, 1002")
        .set("RECALLD_LOG_LEVEL", "warn")
        .set("RECALLD_LOG", "debug,recalld::store=trace")
        .set("RECALLD_RECALL_LIMIT", "");
    let loaded = machine.load();
    let config = &loaded.config;
    assert_eq!(config.store.cache_bytes, 16 << 20);
    assert_eq!(config.decay.half_life_days(Kind::Fact).to_bits(), 60.0_f64.to_bits());
    assert_eq!(config.decay.half_life_days(Kind::Task).to_bits(), 7.5_f64.to_bits());
    assert_eq!(config.embed.model, EmbedModel::None);
    assert_eq!(config.server.allow_uids, [1001, 1002]);
    assert_eq!(config.log.directives, "debug,recalld::store=trace");
    assert_eq!(config.recall.limit, 8, "an empty variable counts as not set");
}

#[test]
fn the_check_shows_what_is_in_force_and_where_it_stands() {
    let text = "[index]\ntext_commit_ms = 200\n[embed]\nmodel = \"seeded\"\n";
    let machine = Machine::with_file(text).set("RECALLD_STORE_CACHE_MB", "32");
    let loaded = machine.load();
    let shown = render_check(&loaded, jiff::Timestamp::UNIX_EPOCH);
    let file = machine.file().display().to_string();
    for line in [
        format!("file    {file}"),
        format!("data    {}/.local/state/recalld ($HOME)", machine.home.path().display()),
        "warning: embed.model = \"seeded\" is for tests: nothing is found by its meaning"
            .to_owned(),
        format!("{:<48}  # $RECALLD_STORE_CACHE_MB", "store.cache_mb = 32"),
        format!("{:<48}  # {file}:2:1", "index.text_commit_ms = 200"),
        "recall.limit = 8".to_owned(),
    ] {
        assert!(shown.lines().any(|shown| shown == line), "no line {line:?} in\n{shown}");
    }
    let (_, settings) = shown.split_once("\n\n").unwrap();
    assert_eq!(Machine::with_file(settings).load().config, loaded.config);
}

#[test]
fn configured_paths_may_start_at_home() {
    let machine = Machine::with_file("store.dir = '~/memory'\nserver.socket = '/tmp/r.sock'\n");
    let loaded = machine.load();
    assert_eq!(loaded.state_dir.path, machine.home.path().join("memory"));
    assert_eq!(loaded.state_dir.place.position, Some((1, 7)));
    assert_eq!(loaded.socket_candidates, [PathBuf::from("/tmp/r.sock")]);
    assert_eq!(loaded.socket.path, PathBuf::from("/tmp/r.sock"));
}
