//! Times of day.

use regex::Captures;

use super::moments::named_day;
use super::patterns::Rule;
use super::{ClockTime, Period, Value, numerals};

/// In the order in which they are tried.
pub(super) static TIMES: &[Rule] = &[
    Rule {
        pattern: r"(?i)(\d{1,2})(?::(\d{2}))?\s?(?:-|–|to|and)\s?(\d{1,2})(?::(\d{2}))?\s?([ap])\.?m(?-u:\b)",
        read: |captures, _, _| {
            let half = group(captures, 5);
            let last = clock(group(captures, 3), group(captures, 4), "", half)?;
            let first = clock(group(captures, 1), group(captures, 2), "", half)?;
            // "11-1pm": the first lies before noon.
            let first = if first.hour > last.hour && first.hour >= 12 {
                ClockTime { hour: first.hour - 12, ..first }
            } else {
                first
            };
            Some(vec![Value::Time(first), Value::Time(last)])
        },
    },
    Rule {
        pattern: r"(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|今早|明早|今晚|明晚|昨晚)\s?(\d{1,2})(:)(\d{2})",
        read: |captures, _, _| {
            let time = clock(group(captures, 2), group(captures, 4), "", "")?;
            Some(with_period(group(captures, 1), time))
        },
    },
    Rule {
        pattern: r"(?i)(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?([ap])\.?m(?-u:\b))?",
        read: |captures, _, _| {
            let half = group(captures, 4);
            one(clock(group(captures, 1), group(captures, 2), group(captures, 3), half))
        },
    },
    Rule {
        pattern: r"(?i)(\d{1,2})\s?([ap])\.?m(?-u:\b)",
        read: |captures, _, _| one(clock(group(captures, 1), "", "", group(captures, 2))),
    },
    Rule {
        pattern: r"(?i)(?-u:\b)(half|quarter)\s+(past|to)\s+(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?-u:\b)(?:\s?([ap])\.?m(?-u:\b))?",
        read: |captures, _, _| {
            let hour = word_hour(group(captures, 3))?;
            let is_half = group(captures, 1).eq_ignore_ascii_case("half");
            let is_to = group(captures, 2).eq_ignore_ascii_case("to");
            let (hour, minute) = match (is_half, is_to) {
                (true, false) => (hour, "30"),
                (false, false) => (hour, "15"),
                (_, true) => {
                    (if hour == 1 { 12 } else { hour - 1 }, if is_half { "30" } else { "45" })
                }
            };
            one(clock(&hour.to_string(), minute, "", group(captures, 4)))
        },
    },
    Rule {
        pattern: r"(?i)(?-u:\b)(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s+o['’]?\s?clock(?-u:\b)",
        read: |captures, _, _| one(clock(&word_hour(group(captures, 1))?.to_string(), "", "", "")),
    },
    Rule {
        pattern: r"(?i)(?-u:\b)(?:at|by|until|till|before|after|around|to|from)\s+(noon|midnight)(?-u:\b)",
        read: |captures, _, _| {
            let hour = if group(captures, 1).eq_ignore_ascii_case("noon") { 12 } else { 0 };
            one(Some(ClockTime { hour, minute: 0, second: None, is_vague: false }))
        },
    },
    Rule {
        pattern: concat!(
            r"(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜间|半夜|午夜|今早|明早|今晚|明晚|昨晚)?\s?",
            r"(\d{1,2}|[一二两三四五六七八九十]{1,3})\s?(点钟?|时)",
            r"(?:(整|半|[一三]刻)|零?(\d{1,2}|[一二三四五六七八九十]{1,3})分|",
            r"(\d{2}|[二三四五]?十[一二三四五六七八九]?))?",
        ),
        read: read_han,
    },
    // After the times: "明晚八点" is read whole.
    Rule {
        pattern: r"昨晚|昨夜|今晚|今早|今夜|明早|明晚",
        read: |captures, _, _| {
            let shift = named_day(group(captures, 0))?;
            Some(vec![Value::Relative { period: Period::Day, shift }])
        },
    },
];

fn read_han(captures: &Captures<'_>, before: &str, after: &str) -> Option<Vec<Value>> {
    let (period, hour, mark) = (group(captures, 1), group(captures, 2), group(captures, 3));
    let is_digits = hour.bytes().all(|b| b.is_ascii_digit());
    let has_rest = captures.get(4).or(captures.get(5)).or(captures.get(6)).is_some();
    if mark == "时" && (!is_digits || after.starts_with(['间', '候', '代', '段', '期'])) {
        return None;
    }
    let is_told = !period.is_empty() || has_rest || mark == "点钟";
    let is_list = ["要", "意", "建", "原", "内", "共", "结", "理", "注", "说", "优", "缺", "好处"]
        .iter()
        .any(|start| after.starts_with(start));
    let is_placed = before.trim_end().ends_with([
        '到', '至', '从', '约', '在', '于', '是', '日', '号', '天', '一', '二', '三', '四', '五',
        '六',
    ]);
    // "一点" is also "a bit", "三点建议" three pieces of advice.
    if !is_told && (is_list || hour == "一" || !is_digits && !is_placed) {
        return None;
    }
    let minute = match group(captures, 4) {
        "半" => 30,
        "一刻" => 15,
        "三刻" => 45,
        "整" => 0,
        _ => match group(captures, 5).len() + group(captures, 6).len() {
            0 => 0,
            _ => numerals::han(&[group(captures, 5), group(captures, 6)].concat())?,
        },
    };
    let time = clock(&numerals::han(hour)?.to_string(), &minute.to_string(), "", "")?;
    Some(with_period(period, time))
}

/// A time whose part of the day is said, and the day that the word for it names.
fn with_period(period: &str, time: ClockTime) -> Vec<Value> {
    let hour = time.hour;
    let exact = match period {
        "" => return vec![Value::Time(time)],
        "下午" | "傍晚" if hour < 12 => hour + 12,
        "晚上" | "夜里" | "夜间" | "今晚" | "明晚" | "昨晚" if (5..12).contains(&hour) => {
            hour + 12
        }
        "中午" if hour < 4 => hour + 12,
        "晚上" | "夜里" | "夜间" | "半夜" | "午夜" | "今晚" | "昨晚" | "明晚" | "凌晨"
            if hour == 12 =>
        {
            0
        }
        "半夜" | "午夜" if (8..12).contains(&hour) => hour + 12,
        _ => hour,
    };
    let time = Value::Time(ClockTime { hour: exact, is_vague: false, ..time });
    match named_day(period) {
        Some(shift) => vec![Value::Relative { period: Period::Day, shift }, time],
        None => vec![time],
    }
}

/// A time from its parts; `half` is `a` or `p` if it is said.
fn clock(hour: &str, minute: &str, second: &str, half: &str) -> Option<ClockTime> {
    let number: u8 = hour.parse().ok()?;
    let minute: u8 = if minute.is_empty() { 0 } else { minute.parse().ok()? };
    let second: Option<u8> = if second.is_empty() { None } else { Some(second.parse().ok()?) };
    if number > 23 || minute > 59 || second.is_some_and(|second| second > 59) {
        return None;
    }
    let is_morning = half.eq_ignore_ascii_case("a");
    let is_said = !half.is_empty() && (1..=12).contains(&number);
    let exact = match (is_said, is_morning) {
        (true, true) => number % 12,
        (true, false) => number % 12 + 12,
        (false, _) => number,
    };
    let is_vague = !is_said && (1..=12).contains(&number) && !hour.starts_with('0');
    Some(ClockTime { hour: exact, minute, second, is_vague })
}

fn word_hour(word: &str) -> Option<u64> {
    numerals::word(word).or_else(|| word.parse().ok()).filter(|hour| (1..=12).contains(hour))
}

fn one(time: Option<ClockTime>) -> Option<Vec<Value>> {
    time.map(|time| vec![Value::Time(time)])
}

fn group<'t>(captures: &Captures<'t>, at: usize) -> &'t str {
    captures.get(at).map_or("", |found| found.as_str())
}
