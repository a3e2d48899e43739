//! Dates, weekdays and relative dates.

use jiff::civil::Weekday;
use regex::Captures;

use super::patterns::Rule;
use super::{Amount, ClockTime, DateParts, Period, Value, numerals};

/// An English month, its ending left open.
macro_rules! month {
    () => {
        r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
    };
}
/// A number in Han, or of one or two digits.
macro_rules! han {
    () => {
        r"(\d{1,2}|[一二三四五六七八九十]{1,3})"
    };
}
/// How many, in digits or words.
macro_rules! count {
    () => {
        r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of)"
    };
}

/// In the order in which they are tried.
pub(super) static DATES: &[Rule] = &[
    Rule {
        pattern: r"(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?",
        read: |captures, _, _| {
            let mut values = date(part(captures, 1), part(captures, 2), part(captures, 3))?;
            let (hour, minute) = (small(captures, 4)?, small(captures, 5)?);
            let second = small(captures, 6);
            if hour > 23 || minute > 59 {
                return None;
            }
            values.push(Value::Time(ClockTime { hour, minute, second, is_vague: false }));
            Some(values)
        },
    },
    Rule {
        pattern: r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})",
        read: |captures, _, _| date(part(captures, 1), part(captures, 2), part(captures, 3)),
    },
    Rule {
        pattern: r"(\d{1,2})\.(\d{1,2})\.(\d{4})",
        read: |captures, _, _| date(part(captures, 3), part(captures, 2), part(captures, 1)),
    },
    Rule {
        // Day or month first: read only if one of them can be no month, else the text itself counts.
        pattern: r"(\d{1,2})/(\d{1,2})/(\d{4})",
        read: |captures, _, _| {
            let (first, second) = (part(captures, 1)?, part(captures, 2)?);
            match (first > 12, second > 12) {
                (true, _) => date(part(captures, 3), Some(second), Some(first)),
                (_, true) => date(part(captures, 3), Some(first), Some(second)),
                _ => Some(vec![Value::Identifier(whole(captures).to_owned())]),
            }
        },
    },
    Rule {
        pattern: r"(\d{4})-(\d{2})",
        read: |captures, _, _| date(part(captures, 1), part(captures, 2), None),
    },
    Rule {
        pattern: concat!(
            r"(?i)(\d{1,2})\s?(?:-|–|to)\s?(\d{1,2})(?:\s+of)?\s+",
            month!(),
            r"(?-u:\b)\.?(?:,?\s+(\d{4}))?"
        ),
        read: |captures, _, _| {
            let (month, year) = (month(group(captures, 3)), part(captures, 4));
            two(date(year, month, part(captures, 1)), date(year, month, part(captures, 2)))
        },
    },
    Rule {
        pattern: concat!(
            r"(?i)(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?(?:\s+|-)",
            month!(),
            r"(?-u:\b)\.?(?:,?(?:\s+|-)(?:of\s+)?(\d{4}))?"
        ),
        read: |captures, _, _| {
            date(part(captures, 3), month(group(captures, 2)), part(captures, 1))
        },
    },
    Rule {
        pattern: concat!(r"(?i)", month!(), r"\.?,?\s+(?:of\s+)?(\d{4})"),
        read: |captures, _, _| date(part(captures, 2), month(group(captures, 1)), None),
    },
    Rule {
        pattern: concat!(
            r"(?i)",
            month!(),
            r"\.?\s+(\d{1,2})\s?(?:-|–|to)\s?(\d{1,2})(?:,?\s+(\d{4}))?"
        ),
        read: |captures, _, _| {
            let (month, year) = (month(group(captures, 1)), part(captures, 4));
            two(date(year, month, part(captures, 2)), date(year, month, part(captures, 3)))
        },
    },
    Rule {
        pattern: concat!(
            r"(?i)",
            month!(),
            r"\.?\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?"
        ),
        read: |captures, _, after| {
            let is_more = after.starts_with([':', '%']);
            if is_more {
                return None;
            }
            date(part(captures, 3), month(group(captures, 1)), part(captures, 2))
        },
    },
    Rule { pattern: concat!(r"(?i)", month!()), read: read_month },
    Rule {
        pattern: concat!(
            r"(?:(\d{4})\s?年\s?)?",
            han!(),
            r"月\s?",
            han!(),
            r"[日号]?\s?[-–~至到]\s?",
            han!(),
            r"[日号]"
        ),
        read: |captures, _, _| {
            let (year, month) = (part(captures, 1), part(captures, 2));
            two(date(year, month, part(captures, 3)), date(year, month, part(captures, 4)))
        },
    },
    Rule {
        pattern: concat!(
            r"(?:(\d{4}|[〇零一二三四五六七八九]{4})\s?年\s?)?",
            han!(),
            r"月(?:份|\s?",
            han!(),
            r"[日号])?"
        ),
        read: |captures, _, _| date(part(captures, 1), part(captures, 2), part(captures, 3)),
    },
    Rule {
        pattern: r"(\d{4}|[〇零一二三四五六七八九]{4})\s?年",
        read: |captures, _, _| date(part(captures, 1), None, None),
    },
    Rule {
        pattern: r"(\d{1,2})[日号]",
        read: |captures, _, after| {
            let is_label = whole(captures).ends_with('号')
                && after.starts_with(['楼', '线', '房', '桌', '机', '门', '店', '院', '床', '服']);
            if is_label { None } else { date(None, None, part(captures, 1)) }
        },
    },
    Rule {
        pattern: r"(19\d{2}|20\d{2})",
        read: |captures, _, after| {
            // "2000 requests" counts something; "in 2026 we" does not.
            let word = after.strip_prefix(' ').unwrap_or("").split(' ').next().unwrap_or("");
            let counts = super::units::named(word).is_some()
                || super::units::han(after).is_some()
                || super::units::measure(after).is_some()
                || word.len() > 3 && word.ends_with('s');
            if counts
                || after.starts_with(['%', '.', ','])
                    && after.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
            {
                return None;
            }
            date(part(captures, 1), None, None)
        },
    },
    Rule {
        pattern: r"(?i)(?:(next|coming|last|past|this)\s+)?(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?",
        read: |captures, _, _| weekday(group(captures, 2), group(captures, 1)),
    },
    Rule {
        pattern: r"(Mon|Tues?|Wed|Thu(?:rs?)?|Fri)",
        read: |captures, _, _| weekday(group(captures, 1), ""),
    },
    Rule {
        pattern: r"(上上|下下|上|下|这|本)?个?(?:周|星期|礼拜)([一二三四五六日天])",
        read: |captures, before, after| {
            let is_count = before.chars().next_back().is_some_and(numerals::is_han)
                || after.starts_with(['次', '回', '遍', '场', '节', '趟']);
            if is_count { None } else { weekday(group(captures, 2), group(captures, 1)) }
        },
    },
    Rule {
        pattern: r"(?i)(?-u:\b)(today|tonight|yesterday|tomorrow|last night|this (?:morning|afternoon|evening)|(?:the )?day before yesterday|(?:the )?day after tomorrow)(?-u:\b)",
        read: |captures, _, _| relative(Period::Day, named_day(&whole(captures).to_lowercase())),
    },
    Rule {
        pattern: concat!(
            r"(?i)(?-u:\b)",
            count!(),
            r"\s+(day|week|month|year)s?\s+(ago|from now)(?-u:\b)"
        ),
        read: |captures, _, _| {
            let sign = if group(captures, 3).eq_ignore_ascii_case("ago") { -1 } else { 1 };
            counted(group(captures, 1), group(captures, 2), sign)
        },
    },
    Rule {
        pattern: concat!(r"(?i)(?-u:\b)in\s+", count!(), r"\s+(day|week|month|year)s?(?-u:\b)"),
        read: |captures, _, _| counted(group(captures, 1), group(captures, 2), 1),
    },
    Rule {
        pattern: r"(?i)(?-u:\b)(last|next|this)\s+(week|month|year)(?-u:\b)",
        read: |captures, _, _| relative(period(group(captures, 2))?, lead(group(captures, 1))),
    },
    Rule {
        pattern: r"(\d{1,3}|[一二两三四五六七八九十]{1,3})个?(天|周|星期|礼拜|月|年)(?:之|以)?(前|后)",
        read: |captures, _, _| {
            let sign = if group(captures, 3) == "前" { -1 } else { 1 };
            counted(group(captures, 1), group(captures, 2), sign)
        },
    },
    Rule {
        pattern: r"大前天|大后天|前天|昨天|昨日|今天|今日|明天|明日|后天",
        read: |captures, _, _| relative(Period::Day, named_day(whole(captures))),
    },
    Rule {
        pattern: r"(上上|下下|上|下|这|本)个?(周|星期|礼拜|月)",
        read: |captures, _, _| relative(period(group(captures, 2))?, lead(group(captures, 1))),
    },
    Rule {
        pattern: r"前年|去年|今年|明年|后年",
        read: |captures, _, _| {
            let shift = match whole(captures) {
                "前年" => -2,
                "去年" => -1,
                "今年" => 0,
                "明年" => 1,
                _ => 2,
            };
            relative(Period::Year, Some(shift))
        },
    },
];

/// A month without a day: capitalised, and after a word that leads one if it also means something
/// else (a verb, a first name).
fn read_month(captures: &Captures<'_>, before: &str, _: &str) -> Option<Vec<Value>> {
    let name = group(captures, 1);
    let is_plain = name.len() > 4 && !matches!(name, "March" | "April" | "August");
    let lead = before.trim_end().rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    let is_led = [
        "in", "of", "during", "since", "until", "till", "by", "last", "this", "next", "early",
        "mid", "late", "from", "and", "to", "for",
    ]
    .contains(&lead.to_lowercase().as_str());
    let is_capital = name.starts_with(char::is_uppercase);
    if !is_capital || !(is_plain || is_led) {
        return None;
    }
    date(None, month(name), None)
}

fn date(year: Option<i16>, month: Option<i16>, day: Option<i16>) -> Option<Vec<Value>> {
    let fits = |number: Option<i16>, range: std::ops::RangeInclusive<i16>| {
        number.is_none_or(|number| range.contains(&number))
    };
    let small = |number: Option<i16>| number.and_then(|number| i8::try_from(number).ok());
    (fits(year, 1900..=2099) && fits(month, 1..=12) && fits(day, 1..=31))
        .then(|| vec![Value::Date(DateParts { year, month: small(month), day: small(day) })])
}

fn two(first: Option<Vec<Value>>, second: Option<Vec<Value>>) -> Option<Vec<Value>> {
    Some([first?, second?].concat())
}

fn relative(period: Period, shift: Option<i32>) -> Option<Vec<Value>> {
    Some(vec![Value::Relative { period, shift: shift? }])
}

/// "3 days ago": a date, and three days.
fn counted(count: &str, what: &str, sign: i32) -> Option<Vec<Value>> {
    let count = match count.to_lowercase().as_str() {
        "a" | "an" => 1,
        "a couple of" => 2,
        word => numerals::word(word).or_else(|| numerals::han(word))?,
    };
    let period = period(what)?;
    let shift = i32::try_from(count).ok()? * sign;
    let unit = match period {
        Period::Day => "day",
        Period::Week => "week",
        Period::Month => "month",
        Period::Year => "year",
    };
    Some(vec![
        Value::Relative { period, shift },
        Value::Quantity { amount: Amount::whole(count), unit },
    ])
}

fn weekday(name: &str, week: &str) -> Option<Vec<Value>> {
    let lower = name.to_lowercase();
    let day = match lower.get(..3).unwrap_or("") {
        "mon" | "一" => Weekday::Monday,
        "tue" | "二" => Weekday::Tuesday,
        "wed" | "三" => Weekday::Wednesday,
        "thu" | "四" => Weekday::Thursday,
        "fri" | "五" => Weekday::Friday,
        "sat" | "六" => Weekday::Saturday,
        "sun" | "日" | "天" => Weekday::Sunday,
        _ => return None,
    };
    let week = lead(week).and_then(|week| i8::try_from(week).ok());
    Some(vec![Value::Weekday { day, week }])
}

fn lead(word: &str) -> Option<i32> {
    match word.to_lowercase().as_str() {
        "last" | "past" | "上" => Some(-1),
        "this" | "这" | "本" => Some(0),
        "next" | "coming" | "下" => Some(1),
        "上上" => Some(-2),
        "下下" => Some(2),
        _ => None,
    }
}

fn period(word: &str) -> Option<Period> {
    match word.to_lowercase().as_str() {
        "day" | "天" => Some(Period::Day),
        "week" | "周" | "星期" | "礼拜" => Some(Period::Week),
        "month" | "月" => Some(Period::Month),
        "year" | "年" => Some(Period::Year),
        _ => None,
    }
}

/// How many days ahead a word lies.
pub(super) fn named_day(word: &str) -> Option<i32> {
    let shift = match word.strip_prefix("the ").unwrap_or(word) {
        "大前天" => -3,
        "day before yesterday" | "前天" => -2,
        "yesterday" | "last night" | "昨天" | "昨日" | "昨晚" | "昨夜" => -1,
        "today" | "tonight" | "this morning" | "this afternoon" | "this evening" | "今天"
        | "今日" | "今晚" | "今早" | "今夜" => 0,
        "tomorrow" | "明天" | "明日" | "明早" | "明晚" => 1,
        "day after tomorrow" | "后天" => 2,
        "大后天" => 3,
        _ => return None,
    };
    Some(shift)
}

/// The number of an English month, from its first three letters.
fn month(name: &str) -> Option<i16> {
    let start = name.get(..3)?.to_lowercase();
    let names =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let at = names.iter().position(|month| *month == start)?;
    i16::try_from(at + 1).ok()
}

fn group<'t>(captures: &Captures<'t>, at: usize) -> &'t str {
    captures.get(at).map_or("", |found| found.as_str())
}

fn whole<'t>(captures: &Captures<'t>) -> &'t str {
    group(captures, 0)
}

fn part(captures: &Captures<'_>, at: usize) -> Option<i16> {
    numerals::han(group(captures, at)).and_then(|number| i16::try_from(number).ok())
}

fn small(captures: &Captures<'_>, at: usize) -> Option<u8> {
    group(captures, at).parse().ok()
}
