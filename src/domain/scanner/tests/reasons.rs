//! Why a text that asks to be reminded arms nothing.

use jiff::civil::Time;

use super::super::{Found, NotATime, Scan, Unarmed, lead as lead_in, read, read_asked, whole};
use super::moment;

/// What is read in a text that is said on a Monday at 11:48.
fn scanned(text: &str) -> Scan {
    read(text, &moment("2026-11-30T11:48", "Europe/Berlin"), Time::constant(9, 0, 0, 0))
}

/// The reasons of a text.
fn reasons(text: &str) -> Vec<Unarmed> {
    scanned(text).unarmed(moment("2026-11-30T11:48", "Europe/Berlin").timestamp())
}

#[test]
fn a_text_that_asks_and_arms_nothing_has_a_reason() {
    let words = str::to_owned;
    for (text, reason) in [
        ("remind me when I get home", Unarmed::NoTime),
        ("Remind me to call mum. She is nice.", Unarmed::NoTime),
        ("提醒我买牛奶", Unarmed::NoTime),
        ("remind me yesterday at 9am", Unarmed::Past(words("yesterday at 9am"))),
        ("提醒我昨天上午九点开会", Unarmed::Past(words("昨天上午九点"))),
        ("remind me every 5 minutes to drink", Unarmed::TooOften(words("every 5 minutes"))),
        ("每五分钟提醒我喝水", Unarmed::TooOften(words("每五分钟"))),
        ("My boss said 'remind me tomorrow at 9am'", Unarmed::Quoted),
        ("他说提醒我明天上午九点开会", Unarmed::Quoted),
        ("remind me at 9 to call", Unarmed::Unsure(words("at 9"))),
        ("remind me today at 10:00 to call", Unarmed::Past(words("today at 10:00"))),
        ("remind me at 3:00 to call", Unarmed::Unsure(words("at 3:00"))),
        ("remind me twice a day", Unarmed::TooOften(words("twice a day"))),
        ("一天三次提醒我吃药", Unarmed::TooOften(words("一天三次"))),
    ] {
        assert_eq!(reasons(text), [reason], "{text}");
    }
}

#[test]
fn the_words_of_a_rule_that_are_not_understood_are_quoted() {
    for (text, rule, words) in [
        ("remind me every day at 9am until Christmas", "every day at 9am", "until Christmas"),
        ("remind me every other day except Sunday", "every other day", "except Sunday"),
        ("remind me daily at 9am, 1pm and 6pm", "daily at 9am", ", 1pm"),
        ("remind me on the 1st and 15th of each month", "15th of each month", "1st and"),
        ("remind me three times a week to run", "", "three times a week"),
        ("remind me every few days at 9am", "at 9am", "every few days"),
        ("每月最后一个工作日提醒我交报告", "每月", "最后一个工作日"),
        ("每月1号和15号提醒我交房租", "每月1号", "和15号"),
        ("每天早上8点提醒我吃药，直到圣诞节", "每天早上8点", "直到圣诞节"),
    ] {
        let (read, unread) = (rule.to_owned(), words.to_owned());
        let reasons = reasons(text);
        assert_eq!(reasons, [Unarmed::Incomplete { read, unread }], "{text}");
        assert!(reasons[0].to_string().contains(&format!("`{words}` is not understood")), "{text}");
    }
}

#[test]
fn a_word_that_stands_for_no_one_zone_is_named() {
    for (text, time, word) in [
        ("remind me tomorrow at 10:00 CST", "tomorrow at 10:00", "CST"),
        ("remind me every day at 10:00 IST to call", "every day at 10:00", "IST"),
        ("remind me tomorrow at 10:00 +99:00", "tomorrow at 10:00", "+99:00"),
        ("remind me at 2026-12-04T15:00+25:00", "at 2026-12-04T15:00", "+25:00"),
        ("remind me every day at 10:00 UTC+05:30", "every day at 10:00 UTC", "+05:30"),
        ("提醒我明天上午10点CST开会", "明天上午10点", "CST"),
    ] {
        let (time, word) = (time.to_owned(), word.to_owned());
        assert_eq!(reasons(text), [Unarmed::Zone { time, word }], "{text}");
    }
}

#[test]
fn a_time_with_a_flaw_is_neither_armed_nor_proposed_nor_taken_as_an_argument() {
    let now = moment("2026-11-30T11:48", "Europe/Berlin");
    for text in
        ["every day at 10am until Christmas", "tomorrow at 10:00 CST", "daily at 9am, 1pm and 6pm"]
    {
        let found = scanned(text).times;
        let is_taken =
            |time: &Found| time.arms(now.timestamp()) || time.is_proposal(now.timestamp());
        assert!(found.iter().all(|time| !is_taken(time)), "{text}: {found:?}");
        let refused = whole(text, &now, Time::constant(9, 0, 0, 0)).unwrap_err();
        assert!(matches!(refused, NotATime::Flawed(_)), "{text}: {refused}");
    }
}

#[test]
fn a_text_that_arms_or_does_not_ask_has_none() {
    for text in [
        "remind me tomorrow at 9am",
        "Remind me to call mum. Tomorrow at 6pm.",
        "提醒我明天上午九点开会",
        "lunch was at noon yesterday",
        "that song reminds me of last Friday",
        "don't remind me tomorrow at 9am",
        "不要提醒我明天上午九点开会",
        "",
    ] {
        assert_eq!(reasons(text), [], "{text}");
    }
}

#[test]
fn each_sentence_that_asks_has_its_own_reason() {
    let text = "Remind me tomorrow at 9am to call. Remind me every hour to drink. Remind me soon.";
    let often = Unarmed::TooOften("every hour".to_owned());
    assert_eq!(reasons(text), [often, Unarmed::NoTime]);
}

#[test]
fn a_reason_is_a_sentence_that_quotes_the_words() {
    for (text, part) in [
        ("remind me yesterday at 9am", "`yesterday at 9am` is over"),
        ("remind me every 5 minutes", "`every 5 minutes` comes more often than daily"),
        ("remind me when I get home", "no time is named"),
    ] {
        let shown = reasons(text)[0].to_string();
        assert!(shown.contains(part), "{text}: {shown}");
    }
}

#[test]
fn a_lead_stands_alone_in_words() {
    for (text, lead) in [
        ("1 hour before", "PT1H"),
        ("half an hour before", "PT30M"),
        ("the day before", "P1D"),
        ("the day before at 18:00", "P1D@18:00"),
        ("1 day before at 18:00", "P1D@18:00"),
        ("two days before at 6pm", "P2D@18:00"),
        ("the evening before", "P1D@19:00"),
        ("the evening before at 6pm", "P1D@18:00"),
        ("two weeks in advance", "P14D"),
        ("提前半小时", "PT30M"),
        ("提前一天晚上六点", "P1D@18:00"),
        ("前一天晚上8点", "P1D@20:00"),
    ] {
        assert_eq!(lead_in(text).map(|lead| lead.to_string()).as_deref(), Some(lead), "{text}");
    }
    for text in
        ["", "before", "at 18:00", "1 hour before or so", "call 1 hour before", "two months before"]
    {
        assert_eq!(lead_in(text), None, "{text}");
    }
}

#[test]
fn a_text_that_is_given_to_be_reminded_of_asks_as_a_whole() {
    let now = moment("2026-11-30T11:48", "Europe/Berlin");
    let read = |text: &str| read_asked(text, &now, Time::constant(9, 0, 0, 0));
    let scan = read("two hours before the flight on Friday at 14:00");
    assert_eq!(scan.times[0].lead.unwrap().to_string(), "PT2H");
    assert_eq!(scan.times[0].subject, "flight");
    let half = read("every 2nd and 4th Tuesday at 10:00 review");
    let Some(Unarmed::Incomplete { unread, .. }) = &half.times[0].flaw else { panic!("{half:?}") };
    assert_eq!(unread, "every 2nd and 4th Tuesday");
    let plain = read("send the daily report tomorrow at 3pm");
    assert_eq!((plain.times.len(), plain.times[0].flaw.clone()), (1, None));
    assert_eq!(plain.unarmed(now.timestamp()), []);
}
