//! Why a text that asks to be reminded arms nothing.

use jiff::civil::Time;

use super::super::{Scan, Unarmed, read};
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
    ] {
        assert_eq!(reasons(text), [reason], "{text}");
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
