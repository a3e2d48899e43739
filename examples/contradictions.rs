//! How often the turns of real dialogues are taken for contradictions of each other.
//!
//! `RECALLD_EVALDATA=DIR cargo run --release --example contradictions` compares, in every
//! `DIR/NAME.memories.jsonl`, each turn with all earlier ones of its conversation by the words alone
//! (the cosine only ever rules pairs out), and prints the verdicts and every pair that is not unrelated.
//! People who talk hardly ever correct themselves: a turn that replaces another is to be read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measuring program: it prints, and a failure is a panic"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cpu_time::ProcessTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recalld::domain::contradiction::{Policy, Read, Statement, Verdict, judge};
use recalld::domain::limits::COMPARED_BYTES_MAX;
use recalld::domain::memory::Kind;
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    conv: String,
    time: String,
    text: String,
}

fn main() {
    let dir = std::env::var_os("RECALLD_EVALDATA").expect("RECALLD_EVALDATA says where sets are");
    let mut sets: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    sets.retain(|path| path.to_string_lossy().ends_with(".memories.jsonl"));
    sets.sort();
    for set in sets {
        measure(&set);
    }
}

fn measure(set: &Path) {
    let started = ProcessTime::now();
    let mut conversations: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in fs::read_to_string(set).unwrap().lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        if line.text.len() <= COMPARED_BYTES_MAX {
            conversations.entry(line.conv.clone()).or_default().push(line);
        }
    }
    let (mut n_texts, mut n_pairs) = (0, 0);
    let mut verdicts: BTreeMap<Verdict, u64> = BTreeMap::new();
    for lines in conversations.values() {
        let turns: Vec<(&Line, Read<'_>)> = lines.iter().map(|line| (line, read(line))).collect();
        n_texts += turns.len();
        for (n, (new, new_read)) in turns.iter().enumerate() {
            for (old, old_read) in turns.iter().take(n).filter(|(old, _)| old.text != new.text) {
                n_pairs += 1;
                let verdict = judge(old_read, new_read, None, &Policy::default());
                *verdicts.entry(verdict).or_default() += 1;
                if verdict != Verdict::Unrelated {
                    println!("{}\n  {}\n  {}", verdict.as_str(), old.text, new.text);
                }
            }
        }
    }
    let name = set.file_name().unwrap_or_default().to_string_lossy();
    let verdicts: Vec<String> =
        verdicts.iter().map(|(verdict, n)| format!("{} {n}", verdict.as_str())).collect();
    let seconds = started.elapsed().as_secs_f64();
    let verdicts = verdicts.join(", ");
    println!("{name}: {n_texts} turns, {n_pairs} pairs: {verdicts}; {seconds:.1} s of CPU\n");
}

/// A turn as a fact said at its time, which is the kind that is corrected most easily.
fn read(line: &Line) -> Read<'_> {
    let event_time = TimeZone::UTC.to_datetime(line.time.parse::<Timestamp>().unwrap());
    Read::of(Statement { text: &line.text, kind: Kind::Fact, event_time })
}
