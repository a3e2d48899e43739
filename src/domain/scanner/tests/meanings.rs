//! Places, subjects, leads and refusals, and what holds for every text.

use jiff::SignedDuration;
use jiff::civil::Time;
use proptest::prelude::*;

use super::super::{Found, NotATime, When, scan, whole};
use super::{found, moment};
use crate::domain::limits::SCANNED_TIMES_MAX;
use crate::domain::reminder::{Lead, Pattern};

const NINE: Time = Time::constant(9, 0, 0, 0);

#[track_caller]
fn only(text: &str) -> Found {
    let mut found = found(text, &moment("2026-11-25T14:00", "Europe/Berlin"));
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.remove(0)
}

#[test]
fn the_phrase_is_where_it_stands_in_the_text_as_written() {
    for (text, pieces) in [
        ("Let's meet tomorrow at 3pm, ok?", vec!["tomorrow at 3pm"]),
        ("submit it by 4 December", vec!["by 4 December"]),
        ("Tomorrow I have a dentist appointment at 3pm.", vec!["Tomorrow", "at 3pm"]),
        ("会议：明天１５：００，在Ａ座", vec!["明天１５：００"]),
        ("ﬁnish é̀ on Friday at 5 p.m. sharp", vec!["on Friday at 5 p.m"]),
        ("每周五下午三点开周会", vec!["每周五下午三点"]),
        ("back on the 19th of February.", vec!["on the 19th of February"]),
    ] {
        let found = only(text);
        let shown: Vec<&str> = found.pieces.iter().map(|piece| &text[piece.clone()]).collect();
        assert_eq!(shown, pieces, "{text}");
        assert_eq!(found.range.start, found.pieces[0].start);
        assert_eq!(found.range.end, found.pieces.last().unwrap().end);
    }
}

#[test]
fn the_subject_is_the_sentence_without_the_time_and_the_asking() {
    for (text, subject) in [
        ("remind me to call Bob tomorrow at 3pm", "call Bob"),
        ("Please remind me tomorrow at 3pm to call Bob.", "call Bob"),
        ("weekly team meeting every Friday 15:00", "team meeting"),
        ("can you remind me about the demo on Thursday at 11am?", "demo"),
        ("Set a reminder for Friday at 10:00: renew the passport", "renew the passport"),
        ("Remind me to call mum. Tomorrow at 6pm.", "call mum"),
        ("Remind me an hour before the review on Friday at 3pm", "review"),
        ("提醒我明天下午三点开会", "开会"),
        ("明天早上九点请提醒我给王磊打电话", "给王磊打电话"),
        ("每周五下午三点提醒我写周报", "写周报"),
        ("tomorrow 3pm", ""),
        ("提醒我明天早上七点起床", "起床"),
        ("Don't forget to remind me tomorrow at 9am to call Bob", "call Bob"),
        ("remind me every day except Sunday at 9am to stretch", "stretch"),
        ("remind me every Friday at 4pm to send the weekly report", "send the weekly report"),
        ("每周三晚上七点提醒我去除草", "去除草"),
    ] {
        assert_eq!(only(text).subject, subject, "{text}");
    }
}

#[test]
fn a_time_beside_the_rule_that_is_asked_for_stays_in_the_subject() {
    let now = moment("2026-11-25T14:00", "Europe/Berlin");
    for (text, subject) in [
        ("remind me every Sunday at 6pm to plan next week", "plan next week"),
        ("remind me every Monday at 10am to prepare the Tuesday demo", "prepare the Tuesday demo"),
        ("每周一上午九点提醒我看上周的数据", "看上周的数据"),
    ] {
        let found = found(text, &now);
        let asked: Vec<&str> =
            found.iter().filter(|time| time.is_asked).map(|time| time.subject.as_str()).collect();
        assert_eq!(asked, [subject], "{text}");
    }
}

#[test]
fn the_lead_is_told_from_the_time() {
    let elapsed = |minutes| Some(Lead::Elapsed(SignedDuration::from_mins(minutes)));
    let civil = |days, at| Some(Lead::Civil { days, at });
    for (text, lead) in [
        ("remind me an hour before the meeting tomorrow at 3pm", elapsed(60)),
        ("remind me 15 minutes before the standup on Friday at 9:30", elapsed(15)),
        ("remind me half an hour ahead: call on Friday at 4pm", elapsed(30)),
        ("remind me the day before: rent is due on 15 December", civil(1, None)),
        (
            "remind me the day before at 18:00: rent is due on 15 December",
            civil(1, Some(Time::constant(18, 0, 0, 0))),
        ),
        ("remind me two days in advance, the exam is on 15 December", civil(2, None)),
        ("明天下午三点开会，提前半小时提醒我", elapsed(30)),
        ("提前一天提醒我，12月15日交房租", civil(1, None)),
        ("remind me tomorrow at 3pm", None),
        // Not asked: nothing is to be sent.
        ("we talked an hour before the meeting on Friday at 3pm", None),
    ] {
        assert_eq!(only(text).lead, lead, "{text}");
    }
}

#[test]
fn meetings_and_deadlines_are_told_apart() {
    for (text, is_meeting, is_deadline) in [
        ("weekly team meeting every Friday 15:00", true, false),
        ("每周五下午三点开周会", true, false),
        ("submit the report by Friday 5pm", false, true),
        ("周五之前交报告", false, true),
        ("buy milk tomorrow at 5pm", false, false),
    ] {
        let found = only(text);
        assert_eq!((found.is_meeting, found.is_deadline), (is_meeting, is_deadline), "{text}");
    }
}

#[test]
fn a_time_on_the_night_of_a_change_of_clocks_is_the_one_of_the_rule() {
    let now = moment("2027-03-27T10:00", "Europe/Berlin");
    for (text, expected) in [
        ("tomorrow at 02:30", "2027-03-28T01:30:00Z"),
        ("in 24 hours", "2027-03-28T09:00:00Z"),
        ("tomorrow at 10:00", "2027-03-28T08:00:00Z"),
    ] {
        let found = scan(text, &now, NINE).remove(0);
        let expected: jiff::Timestamp = expected.parse().unwrap();
        assert_eq!(found.when.next_after(now.timestamp()), Some(expected), "{text}");
        let rule = found.when.rule().unwrap();
        assert_eq!(rule.next_after(now.timestamp()).unwrap().at, expected, "{text}");
    }
    let late = moment("2026-10-24T10:00", "Europe/Berlin");
    let found = scan("tomorrow at 02:30", &late, NINE).remove(0);
    let first: jiff::Timestamp = "2026-10-25T00:30:00Z".parse().unwrap();
    assert_eq!(found.when.next_after(late.timestamp()), Some(first));
}

#[test]
fn weekdays_are_those_ahead_whatever_the_day_of_saying() {
    for (now, text, day) in [
        ("2026-11-25T14:00", "Friday at 3pm", "2026-11-27"),
        ("2026-11-25T14:00", "next Friday at 3pm", "2026-12-04"),
        ("2026-11-25T14:00", "this Friday at 3pm", "2026-11-27"),
        ("2026-11-25T14:00", "on Monday at 3pm", "2026-11-30"),
        ("2026-11-25T14:00", "Wednesday at 3pm", "2026-11-25"),
        ("2026-11-25T14:00", "Wednesday at 1pm", "2026-12-02"),
        ("2026-11-25T14:00", "这周五下午三点", "2026-11-27"),
        ("2026-11-25T14:00", "下周五下午三点", "2026-12-04"),
        ("2026-11-29T14:00", "下周五下午三点", "2026-12-04"),
        ("2026-12-31T14:00", "tomorrow at 3pm", "2027-01-01"),
        ("2028-02-28T14:00", "tomorrow at 3pm", "2028-02-29"),
        ("2026-11-25T14:00", "29 February at 3pm", "2028-02-29"),
        ("2026-11-25T14:00", "on the 31st at 3pm", "2026-12-31"),
        ("2026-11-25T14:00", "at the end of the month at 3pm", "2026-11-30"),
    ] {
        let now = moment(now, "Asia/Shanghai");
        let found = scan(text, &now, NINE).remove(0);
        let When::At(moment) = found.when else { panic!("{text}") };
        assert_eq!(moment.civil.date(), day.parse().unwrap(), "{text} on {}", now.date());
    }
}

#[test]
fn a_day_of_every_quarter_is_in_the_first_or_the_last_month_of_one() {
    for (now, text, days) in [
        ("2027-01-15T14:00", "every quarter on the 1st at 9am", ["2027-04-01", "2027-07-01"]),
        ("2027-01-15T14:00", "every quarter on the 20th at 9am", ["2027-01-20", "2027-04-20"]),
        ("2027-03-15T14:00", "on the last day of each quarter", ["2027-03-31", "2027-06-30"]),
        ("2027-03-31T14:00", "每季度最后一天上午九点", ["2027-06-30", "2027-09-30"]),
        ("2026-12-31T14:00", "the first Monday of every quarter", ["2027-01-04", "2027-04-05"]),
    ] {
        let now = moment(now, "Asia/Shanghai");
        let rule = scan(text, &now, NINE).remove(0).when.rule().unwrap();
        let first = rule.next_after(now.timestamp()).unwrap();
        let second = rule.next_after(first.at).unwrap();
        let shown = [first, second].map(|next| next.civil.date().to_string());
        assert_eq!(shown, days, "{text} on {}", now.date());
    }
}

#[test]
fn the_same_day_is_another_time_in_another_zone() {
    let shanghai = moment("2026-11-29T10:00", "Asia/Shanghai");
    let honolulu = shanghai.with_time_zone(jiff::tz::TimeZone::get("Pacific/Honolulu").unwrap());
    let at = |now| match scan("tomorrow 3pm", now, NINE).remove(0).when {
        When::At(moment) => moment.at.to_string(),
        When::Every(_) => panic!("a rule"),
    };
    assert_eq!(at(&shanghai), "2026-11-30T07:00:00Z");
    assert_eq!(at(&honolulu), "2026-11-30T01:00:00Z");
}

#[test]
fn an_argument_is_a_time_alone_or_refused_with_a_reason() {
    let now = moment("2026-11-25T14:00", "Europe/Berlin");
    for text in
        ["tomorrow 3pm", " in two hours ", "every Monday at 10", "2026-12-04T15:00", "明天下午三点"]
    {
        assert!(whole(text, &now, NINE).is_ok(), "{text}");
    }
    let weekly = whole("every Monday at 10", &now, NINE).unwrap();
    let pattern = weekly.when.rule().unwrap().parts().pattern;
    assert!(matches!(pattern, Pattern::Weekly(_)), "{pattern:?}");
    for (text, expected) in [
        ("", "got ``"),
        ("soon", "got `soon`"),
        ("version 1.2.3", "got `version 1.2.3`"),
        ("every 5 minutes", "more often than daily"),
        ("每小时", "more often than daily"),
        ("twice a day", "more often than daily"),
        ("tomorrow 3pm CST", "`CST` beside `tomorrow 3pm`"),
        ("every weekday until Christmas", "`until Christmas` is not understood"),
        ("call Bob tomorrow 3pm", "read `tomorrow 3pm`"),
        ("tomorrow 3pm or Friday 4pm", "several times"),
    ] {
        let refused: NotATime = whole(text, &now, NINE).unwrap_err();
        assert!(refused.to_string().contains(expected), "{text}: {refused}");
    }
}

#[test]
fn a_log_is_not_read_to_its_end() {
    let now = moment("2026-11-25T14:00", "Europe/Berlin");
    let log = "tomorrow at 3pm\n".repeat(SCANNED_TIMES_MAX);
    assert_eq!(scan(&log, &now, NINE).len(), SCANNED_TIMES_MAX);
    assert_eq!(scan(&log.repeat(2), &now, NINE).len(), SCANNED_TIMES_MAX);
    assert!(scan(&log, &now, NINE).iter().all(|time| time.confidence < 0.9), "a crowd");
}

#[test]
fn what_is_said_more_often_than_daily_is_no_rule() {
    let now = moment("2026-11-25T14:00", "Europe/Berlin");
    for text in ["every hour", "every 30 minutes", "hourly checks every 2 hours", "每半小时喝水"]
    {
        assert_eq!(scan(text, &now, NINE), [], "{text}");
    }
}

/// Pieces that times and their neighbours are made of.
const WORDS: &[&str] = &[
    "tomorrow",
    "3pm",
    "at",
    "10",
    "every",
    "Monday",
    "Fri",
    "in",
    "two hours",
    "by",
    "4 December",
    "the",
    "15th",
    "of",
    "next",
    "month",
    "week",
    "last",
    "until",
    "from",
    "remind me",
    "half",
    "an hour",
    "before",
    "2026-12-04",
    "15:00",
    "UTC",
    "Asia/Tokyo",
    "(",
    ")",
    ",",
    ".",
    "-",
    "：",
    "，",
    "明天",
    "下午",
    "三点",
    "半",
    "每",
    "周五",
    "、",
    "一",
    "每月",
    "15号",
    "提醒我",
    "提前",
    "后",
    "两小时",
    "下个月",
    "底",
    "末",
    "1.2.3",
    "$5",
    "`",
    "```",
    "\n",
    "é",
    "\u{301}",
    "１５",
    "ﬁ",
    "安",
    "9999999999999999999",
    "99",
    "0",
    "-1",
    "every 4000000000 days",
    "in 99999999999 weeks",
    "999个月后",
    "each",
    "other",
    "and",
    "to",
    "day",
    "weekdays",
    "daily",
    "for",
    "except",
    "but not",
    "starting",
    "CST",
    "UTC+8",
    "+02:00",
    "+99:00",
    "Tokyo time",
    "twice",
    "times",
    "or",
    "skip",
    "跳过",
    "持续",
    "working",
    "don't",
    "said",
    "\"",
    "除了",
    "除外",
    "为止",
    "次",
    "不要",
    "说",
    "“",
    "”",
];

fn check_invariants(text: &str) -> Result<(), TestCaseError> {
    let now = moment("2026-11-29T10:00", "Europe/Berlin");
    let found = scan(text, &now, NINE);
    let mut end = 0;
    for time in &found {
        prop_assert!(time.range.start < time.range.end && time.range.end <= text.len());
        prop_assert!(end <= time.range.start, "they overlap");
        end = time.range.end;
        for piece in &time.pieces {
            prop_assert!(text.get(piece.clone()).is_some(), "{piece:?} is on no border");
            prop_assert!(time.range.start <= piece.start && piece.end <= time.range.end);
        }
        prop_assert!((0.0..=1.0).contains(&time.confidence));
        prop_assert!(!time.arms(now.timestamp()) || time.is_proposal(now.timestamp()));
        if let When::At(moment) = &time.when {
            prop_assert_eq!(moment.zone.to_datetime(moment.at).subsec_nanosecond(), 0);
        }
    }
    prop_assert_eq!(&found, &scan(text, &now, NINE), "twice the same");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        check_invariants(&text)?;
    }

    #[test]
    fn no_row_of_words_makes_it_panic(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..12),
        is_spaced in any::<bool>(),
    ) {
        check_invariants(&words.join(if is_spaced { " " } else { "" }))?;
    }

    #[test]
    fn any_moment_can_be_now(second in -10_000_000_000_i64..200_000_000_000) {
        let at = jiff::Timestamp::from_second(second).unwrap();
        let now = at.to_zoned_datetime(jiff::tz::TimeZone::get("America/New_York").unwrap());
        for text in ["next Friday at 3pm", "in 3 months", "every 29 February", "每月最后一天", "29 Feb"] {
            for time in scan(text, &now, NINE) {
                prop_assert!(time.when.next_after(at).is_none_or(|next| next > at));
            }
        }
    }
}
