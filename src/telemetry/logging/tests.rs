//! What lines look like, which are written, and how that changes.

use std::io;
use std::sync::{Arc, Mutex};

use super::*;
use crate::clock::ManualClock;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn logged(directives: &str, json: bool, events: impl FnOnce()) -> String {
    let lines = Lines::default();
    let writer = lines.clone();
    let (subscriber, _log) = set_up(directives, json, Form::Plain, writer);
    tracing::subscriber::with_default(subscriber, events);
    lines.text()
}

fn set_up(
    directives: &str,
    json: bool,
    form: Form,
    writer: Lines,
) -> (Box<dyn Subscriber + Send + Sync>, Log) {
    let settings = LogSettings { directives: directives.to_owned(), json, file: None };
    let clock = Arc::new(ManualClock::at(jiff::Timestamp::UNIX_EPOCH));
    let (subscriber, log, _) = subscriber(&settings, form, clock, move || writer.clone()).unwrap();
    (subscriber, log)
}

fn events() {
    tracing::info!(target: "recalld::store", n_items = 3, "stored");
    tracing::debug!(target: "recalld::store", "detail");
    tracing::error!(target: "rmcp::service", "client went away");
    tracing::info!(target: "tantivy::indexer", "commit");
    tracing::warn!(target: "tantivy::indexer", "slow merge");
}

#[test]
fn libraries_are_quiet_unless_they_are_named() {
    let names = |text: &str| -> Vec<&'static str> {
        ["stored", "detail", "client went away", "commit", "slow merge"]
            .into_iter()
            .filter(|name| text.contains(name))
            .collect()
    };
    for (directives, expected) in [
        ("info", &["stored"][..]),
        ("debug", &["stored", "detail"]),
        ("error,recalld::store=info", &["stored"]),
        ("info,tantivy=warn", &["stored", "slow merge"]),
        ("off", &[]),
        ("info,tantivy=info", &["stored", "commit", "slow merge"]),
        ("off,rmcp=error", &["client went away"]),
    ] {
        assert_eq!(names(&logged(directives, false, events)), expected, "{directives}");
    }
}

#[test]
fn a_json_line_is_one_object_with_the_fields_of_its_event() {
    let text = logged("info", true, events);
    let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["target"], "recalld::store");
    assert_eq!(line["fields"]["message"], "stored");
    assert_eq!(line["fields"]["n_items"], 3);
}

#[test]
fn a_bad_filter_is_named() {
    let settings = LogSettings { directives: "recalld=loud".to_owned(), json: false, file: None };
    let clock = Arc::new(ManualClock::at(jiff::Timestamp::UNIX_EPOCH));
    let error = subscriber(&settings, Form::Plain, clock, io::sink).err().unwrap();
    assert!(error.to_string().contains("recalld=loud"), "{error}");
}

#[test]
fn repetitions_are_counted_and_told_and_numbers_make_no_difference() {
    let lines = Lines::default();
    let (subscriber, log) = set_up("info", false, Form::Plain, lines.clone());
    tracing::subscriber::with_default(subscriber, || {
        for uid in 0..38 {
            tracing::warn!(uid, error = "refused", "connection dropped");
        }
        tracing::warn!(uid = 1, error = "unknown", "connection dropped");
        for _ in 0..2 {
            tracing::error!("failed");
            tracing::info!("going on");
        }
        log.tend();
        log.tend();
    });
    let text = lines.text();
    for (part, n_expected) in [
        ("connection dropped uid", 2),
        ("n_times=37", 1),
        ("going on", 2),
        ("ERROR", 2),
        ("event=\"failed\" n_times=1", 1),
    ] {
        assert_eq!(text.matches(part).count(), n_expected, "{part}: {text}");
    }
    assert_eq!(log.report().n_folded, 38);
    assert_eq!(log.report().last_error.unwrap().1, "failed");
}

#[test]
fn lines_for_the_journal_carry_their_priority_and_no_time() {
    let lines = Lines::default();
    let (subscriber, _log) = set_up("debug", false, Form::Journal, lines.clone());
    tracing::subscriber::with_default(subscriber, || {
        tracing::error!("a");
        tracing::warn!("b");
        tracing::info!("c");
        tracing::debug!("d");
    });
    let text = lines.text();
    let starts: Vec<&str> = text.lines().map(|line| &line[..9]).collect();
    assert_eq!(starts, ["<3>ERROR ", "<4> WARN ", "<6> INFO ", "<7>DEBUG "]);
}

#[test]
fn another_filter_takes_effect_and_a_bad_one_changes_nothing() {
    let lines = Lines::default();
    let (subscriber, log) = set_up("info", false, Form::Plain, lines.clone());
    let settings =
        |directives: &str| LogSettings { directives: directives.into(), json: false, file: None };
    tracing::subscriber::with_default(subscriber, || {
        tracing::debug!("one");
        assert!(log.apply(&settings("debug")).is_ok());
        tracing::debug!("two");
        assert!(log.apply(&settings("x=loud")).is_err());
        tracing::debug!("three");
    });
    let text = lines.text();
    assert!(!text.contains("one") && text.contains("two") && text.contains("three"), "{text}");
}
