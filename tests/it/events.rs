//! The list of log events is the list of what the code tells.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use recalld::telemetry::EVENTS;

use crate::tidy::rust_files;

/// Levels that an administrator sees without asking for more.
const LEVELS: [&str; 3] = ["tracing::error!(", "tracing::warn!(", "tracing::info!("];

/// The arguments of a macro call that begin at `text`.
fn arguments(text: &str) -> &str {
    let (mut depth, mut in_string, mut is_escaped) = (1, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            '(' | '[' | '{' if !in_string => depth += 1,
            ')' | ']' | '}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The last string of the arguments, which is the message.
fn message(arguments: &str) -> Option<&str> {
    let (before, _) = arguments.rsplit_once('"')?;
    Some(before.rsplit_once('"')?.1)
}

/// Every message told at these levels, with the file that tells it.
fn told() -> BTreeSet<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    let mut told = BTreeSet::new();
    for file in files {
        if file.to_string_lossy().contains("tests") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let file = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        for level in LEVELS {
            for (at, _) in text.match_indices(level) {
                let arguments = arguments(&text[at + level.len()..]);
                let message = message(arguments).unwrap_or_else(|| panic!("{file}: {arguments}"));
                told.insert((message.to_owned(), file.clone()));
            }
        }
    }
    told
}

#[test]
fn every_event_at_info_or_above_is_listed_with_its_meaning() {
    let listed: BTreeSet<&str> = EVENTS.iter().map(|event| event.message).collect();
    assert_eq!(listed.len(), EVENTS.len(), "each once");
    let told = told();
    assert!(told.len() > 50, "{told:?}");
    let unlisted: Vec<_> = told.iter().filter(|(event, _)| !listed.contains(&**event)).collect();
    assert!(unlisted.is_empty(), "add to src/telemetry/events.rs: {unlisted:#?}");
    let never: Vec<_> =
        listed.iter().filter(|event| !told.iter().any(|(told, _)| told == **event)).collect();
    assert!(never.is_empty(), "told nowhere: {never:#?}");
}

#[test]
fn messages_are_constant_so_that_they_can_be_searched_for() {
    for (message, file) in told() {
        assert!(!message.contains('{'), "{file}: {message}");
    }
}
