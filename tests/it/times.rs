//! The scanner for times over real dialogues: how many it finds, and none where there is none.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use recalld::domain::scanner::{Found, scan};
use regex::Regex;

use crate::skip::skip;

/// Sets of dialogues in both languages.
const SETS: [&str; 5] = ["locomo", "realtalk", "memdaily-zh", "locomo-zh", "beam"];
/// Lines that hold no time, and lines of all sorts.
const LINES: usize = 5_000;

/// What a time is written with, more rather than less: a line without any of it holds none.
const SIGNS: &str = r"(?ix)
    \b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b
    | \b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|ober)?\b
    | \b(?:(?:every|some)?days?|weeks?|fortnight|months?|years?|hours?|hrs?|minutes?|mins?|seconds?|quarter)(?:ly)?\b
    | today | tonight | tomorrow | tommorow | yesterday | morning | noon | evening | night | midday
    | \bweek(?:day|end) | daily | \bannual | o['’]?clock | \bago\b | \beod\b
    | \d\s?[ap]\.?m\b | \d:\d\d | \d{4}-\d | \d/\d | \d\.\d+\.\d{4} | \b[12]\d{3}\b
    | \d(?:st|nd|rd|th)\b | \b(?:third|fourth|fifth)\b
    | \bat\s(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b
    | [天周月年时点早晚午夜晨刻今明昨号] | 星期 | 礼拜 | 分钟 | \d\s?日 | 生日 | 每日 | 日子 | 季度";

struct Line {
    text: String,
    time: Timestamp,
}

fn lines(data: &Path, set: &str) -> Vec<Line> {
    let path = data.join(format!("{set}.memories.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines()
        .map(|line| {
            let memory: serde_json::Value = serde_json::from_str(line).unwrap();
            Line {
                text: memory["text"].as_str().unwrap().to_owned(),
                time: memory["time"].as_str().unwrap().parse().unwrap(),
            }
        })
        .collect()
}

fn found(line: &Line) -> Vec<Found> {
    let now = line.time.to_zoned_datetime(TimeZone::UTC);
    scan(&line.text, &now, Time::constant(9, 0, 0, 0))
}

#[test]
fn dialogues_have_their_times_and_no_others() {
    let Some(data) = std::env::var_os("RECALLD_EVALDATA").map(PathBuf::from) else {
        skip("times in real dialogues", "RECALLD_EVALDATA does not say where the sets are");
        return;
    };
    let signs = Regex::new(SIGNS).unwrap();
    let (mut n_without, mut n_lines, mut n_found, mut n_proposed, mut n_armed) = (0, 0, 0, 0, 0);
    let mut wrong = Vec::new();
    for line in SETS.iter().flat_map(|set| lines(&data, set)) {
        let has_sign = signs.is_match(&line.text);
        let is_counted = n_lines < LINES;
        if !is_counted && (has_sign || n_without >= LINES) {
            continue;
        }
        let times = found(&line);
        for time in &times {
            assert!(line.text.get(time.range.clone()).is_some(), "{}", line.text);
        }
        if is_counted {
            n_lines += 1;
            n_found += times.len();
            n_proposed += times.iter().filter(|time| time.is_proposal(line.time)).count();
            n_armed += times.iter().filter(|time| time.arms(line.time)).count();
        }
        if !has_sign && n_without < LINES {
            n_without += 1;
            wrong.extend(
                times
                    .iter()
                    .map(|time| format!("`{}` in {}", &line.text[time.range.clone()], line.text)),
            );
        }
    }
    println!(
        "{n_lines} lines: {n_found} times, {n_proposed} proposed, {n_armed} armed; \
         {} in {n_without} lines that hold none",
        wrong.len(),
    );
    assert!(wrong.is_empty(), "{} false times:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_without >= LINES, "only {n_without} lines hold no time");
    assert!(n_found > 0 && n_proposed * 10 < n_lines, "{n_proposed} proposals in {n_lines} lines");
    assert_eq!(n_armed, 0, "nobody asks to be reminded in small talk");
}
