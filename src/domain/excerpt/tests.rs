//! Tests of excerpts.

use super::*;
use crate::domain::text::query;

fn shown<'a>(content: &'a str, question: &str, chars_max: usize) -> (&'a str, bool) {
    let found = excerpt(content, &query::read(question), None, chars_max);
    (&content[found.range], found.truncated)
}

#[test]
fn a_short_content_is_shown_whole() {
    assert_eq!(shown("I like tea", "tea", 10), ("I like tea", false));
    assert_eq!(shown("", "tea", 10), ("", false));
    assert_eq!(shown("乌龙茶", "tea", 3), ("乌龙茶", false));
}

#[test]
fn the_window_with_most_of_the_question_is_shown() {
    let filler = "word ".repeat(60);
    let content = format!(
        "The router is old. {filler}Tea is good. {filler}The router password is otter7. {filler}"
    );
    let (part, truncated) = shown(&content, "What is the password of the router?", 80);
    assert!(part.contains("router password is otter7"), "{part}");
    assert!(truncated && part.chars().count() <= 80);
    assert!(shown(&content, "old router", 80).0.starts_with("The router is old."));
    assert!(shown(&content, "nothing of it", 80).0.starts_with("The router is old."));
}

#[test]
fn cuts_lie_between_words() {
    let content = "alpha beta gamma delta ".repeat(40);
    for question in ["gamma", "delta", "zeta"] {
        let (part, _) = shown(&content, question, 50);
        for word in part.split_whitespace() {
            assert!(["alpha", "beta", "gamma", "delta"].contains(&word), "{part}");
        }
    }
}

#[test]
fn unspaced_texts_are_searched_and_cut_too() {
    let content =
        format!("{}我的上司在银行做柜员{}", "今天天气很好".repeat(40), "大家都高兴".repeat(40));
    let (part, truncated) = shown(&content, "上司做什么工作", 60);
    assert!(part.contains("上司在银行做柜员"), "{part}");
    assert!(truncated && part.chars().count() <= 60);
}

#[test]
fn without_a_match_the_nearest_chunk_is_shown() {
    let content = "alpha beta ".repeat(50);
    let chunk = 220..330;
    let found = excerpt(&content, &query::read("zeta"), Some(chunk.clone()), 40);
    assert!(found.range.start >= chunk.start && found.range.end <= chunk.end, "{found:?}");
    let last = content.len() - 5..content.len();
    let found = excerpt(&content, &query::read("zeta"), Some(last), 40);
    assert!(found.range.end >= content.trim_end().len(), "{found:?}");
}

#[test]
fn clusters_of_marks_stay_together() {
    let family = "👨‍👩‍👧‍👦";
    let content = family.repeat(60);
    for chars_max in 20..40 {
        let found = excerpt(&content, &query::read("x"), Some(100..200), chars_max);
        assert_eq!(found.range.start % family.len(), 0);
        assert_eq!(found.range.len() % family.len(), 0);
        assert!(content[found.range].chars().count() <= chars_max);
    }
}

#[test]
fn any_window_of_any_text_is_text() {
    let content = "née 茶 tea\u{301} – ٣ чай 🙂 ".repeat(30);
    for chars_max in [1, 2, 7, 50, 299] {
        for question in ["tea", "чай", "茶", "–", ""] {
            let found = excerpt(&content, &query::read(question), Some(17..31), chars_max);
            assert!(content.get(found.range).unwrap().chars().count() <= chars_max);
        }
    }
}
