//! Entries of `access.agents`.

use super::*;
use crate::domain::identity::{Access, AgentName};

fn agent(name: &str) -> AgentName {
    name.parse().unwrap()
}

/// Grants of an access in one line.
fn shown(access: &Access) -> String {
    let read: Vec<String> =
        access.read.iter().map(|grant| format!("{}*{}", grant.pattern, grant.weight)).collect();
    let write: Vec<String> = access.write.iter().map(ToString::to_string).collect();
    format!("{} | {} | {}", read.join(" "), write.join(" "), access.write_default)
}

#[test]
fn by_default_an_agent_reads_its_own_the_user_s_and_what_is_shared() {
    let config = Machine::new().load().config;
    let access = config.caller_access(&agent("claude-code"));
    assert_eq!(
        shown(&access),
        "agent/claude-code*1 user*0.9 shared/**0.7 | agent/claude-code user shared/* | user"
    );
    assert_eq!(access.weight(&"agent/codex".parse().unwrap()), None);
    assert!(config.admits(&agent("claude-code"), None));
}

#[test]
fn the_first_entry_that_fits_counts_and_the_default_stands_last() {
    let config = Machine::with_file(
        "[[access.agents]]\nname = 'support'\nread = ['customer/*', { pattern = 'user' , weight = 0.25 }]\n\
         write = ['customer/*', 'log/{agent}']\nwrite_default = 'log/{agent}'\n\
         [[access.agents]]\nname = 'reader'\nwrite = []\n",
    )
    .load()
    .config;
    assert_eq!(
        shown(&config.caller_access(&agent("support"))),
        "customer/**1 user*0.25 | customer/* log/support | log/support"
    );
    assert_eq!(
        shown(&config.caller_access(&agent("reader"))),
        "agent/reader*1 user*0.9 shared/**0.7 |  | user"
    );
    assert!(shown(&config.caller_access(&agent("codex"))).starts_with("agent/codex*1 user*0.9"));
}

#[test]
fn an_entry_for_everybody_replaces_the_default() {
    let machine = Machine::with_file(
        "[[access.agents]]\nname = '*'\nread = ['user']\nwrite = []\n\
         [[access.agents]]\nname = 'codex'\n",
    );
    let loaded = machine.load();
    assert_eq!(shown(&loaded.config.caller_access(&agent("codex"))), "user*1 |  | user");
    assert_eq!(
        loaded.warnings,
        ["access.agents[1] (name \"codex\") is never used: an earlier entry fits the same agents"]
    );
}

#[test]
fn a_variable_can_give_the_entries() {
    let config = Machine::with_file("[[access.agents]]\nname = 'codex'\nread = []\n")
        .set("RECALLD_ACCESS_AGENTS", "{ name = '*', read = ['user'], write = ['user'] }")
        .load()
        .config;
    assert_eq!(shown(&config.caller_access(&agent("codex"))), "user*1 | user | user");
}

#[test]
fn a_name_with_a_token_is_admitted_with_that_token_only() {
    let hash = blake3::hash(b"open sesame").to_hex();
    let machine =
        Machine::with_file(&format!("[[access.agents]]\nname = 'codex'\ntoken_hash = '{hash}'\n"));
    let loaded = machine.load();
    for (name, token, expected) in [
        ("codex", Some("open sesame"), true),
        ("codex", Some("open"), false),
        ("codex", None, false),
        ("other", None, true),
        ("other", Some("anything"), true),
    ] {
        assert_eq!(loaded.config.admits(&agent(name), token), expected, "{name} {token:?}");
    }
    let shown = format!("{:?}\n{}", loaded, render_check(&loaded, jiff::Timestamp::UNIX_EPOCH));
    assert!(!shown.contains(hash.as_str()), "{shown}");
    assert!(shown.contains("token_hash = \"...\""), "{shown}");
}

#[test]
fn mistakes_in_entries_are_told_with_their_place() {
    let text = "[[access.agents]]\n\
                name = 'Claude Code'\n\
                read = [{ pattern = 'a b' }, { weight = 2 }, 7, 'agent/{agnt}']\n\
                write = 'user'\n\
                write_default = 'shared/*'\n\
                token_hash = 'swordfish'\n\
                reads = []\n\
                [[access.agents]]\n\
                write = ['agent/{agent}']\n\
                [[access.agents]]\n\
                name = 'codex'\n\
                write = ['agent/{agent}']\n";
    let problems = Machine::with_file(text).problems();
    let heads: Vec<&str> = problems.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        heads,
        [
            "FILE:2:8: access.agents[0].name",
            "FILE:3:21: access.agents[0].read[0].pattern",
            "FILE:3:30: access.agents[0].read[1].pattern",
            "FILE:3:41: access.agents[0].read[1].weight",
            "FILE:3:46: access.agents[0].read[2]",
            "FILE:3:49: access.agents[0].read[3]",
            "FILE:4:9: access.agents[0].write",
            "FILE:5:17: access.agents[0].write_default",
            "FILE:6:14: access.agents[0].token_hash",
            "FILE:7:1: access.agents[0].reads",
            "FILE:8:1: access.agents[1].name",
            "FILE:10:1: access.agents[2].write_default",
            "12 problems in the configuration",
        ],
        "{problems}"
    );
    assert!(!problems.contains("swordfish"), "{problems}");
    assert!(problems.contains("did you mean access.agents[0].read?"), "{problems}");
    assert!(problems.contains("found something else, 9 characters long"), "{problems}");

    let single = Machine::with_file("[access.agents]\nname = 'codex'\n").problems();
    assert!(single.contains("expected a list of tables, [[access.agents]]"), "{single}");
    let token = Machine::with_file("access.agents = { token_hash = 'swordfish' }").problems();
    assert!(!token.contains("swordfish"), "{token}");
    for broken in ["{ name = 'codex', token_hash = swordfish }", "'swordfish'"] {
        let variable = Machine::new().set("RECALLD_ACCESS_AGENTS", broken).problems();
        assert!(variable.starts_with("$RECALLD_ACCESS_AGENTS: access.agents"), "{variable}");
        assert!(!variable.contains("swordfish"), "{variable}");
    }
}
