//! Splits a text into sentences: English and Chinese, with abbreviations, decimals, versions, addresses
//! and lists.

use std::ops::Range;

/// Words that end in a full stop without ending a sentence, in lower case and without that stop.
const ABBREVIATIONS: &str = "mr mrs ms dr prof st sr jr vs e.g i.e eg ie cf approx ca no nos nr fig vol pp \
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun gen col lt \
    sgt rev hon inc ltd co corp u.s u.k d.c est dept min max";
/// Abbreviations that may also end a sentence: they do if a capital or nothing follows.
const FINAL_ABBREVIATIONS: &str = "etc a.m p.m inc ltd co corp u.s u.k d.c jr sr";

/// The sentences of `text` as byte ranges in order, without outer white space; none is empty.
///
/// A sentence ends at `. ! ?` before white space, at `。！？…` and their like anywhere, and at a line end.
/// Closing quotes and brackets belong to the sentence they close.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let mut end = at + c.len_utf8();
        let ends = match c {
            '\n' | '\r' | '。' | '！' | '？' | '｡' => true,
            '.' | '!' | '?' | '…' => {
                while let Some((at, c)) =
                    rest.next_if(|(_, c)| matches!(c, '.' | '!' | '?' | '…' | '！' | '？'))
                {
                    end = at + c.len_utf8();
                }
                true
            }
            _ => false,
        };
        if !ends {
            continue;
        }
        let marks = text.get(at..end).unwrap_or("");
        while let Some((at, c)) = rest.next_if(|(_, c)| closes(*c)) {
            end = at + c.len_utf8();
        }
        let (before, after) = (text.get(start..at).unwrap_or(""), text.get(end..).unwrap_or(""));
        if is_end(before, marks, after) {
            push(text, start..end, &mut ranges);
            start = end;
        }
    }
    push(text, start..text.len(), &mut ranges);
    ranges
}

fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '」' | '』' | '）' | ')' | ']' | '】' | '》')
}

/// Whether `marks` end the sentence `before` when `after` follows.
fn is_end(before: &str, marks: &str, after: &str) -> bool {
    if !marks.starts_with(['.', '!', '?', '…']) {
        return true;
    }
    let next = after.chars().next();
    if next.is_some_and(|c| !c.is_whitespace() && !super::is_unspaced(c)) {
        return false;
    }
    if marks.contains(['!', '?', '！', '？']) {
        return true;
    }
    if marks != "." {
        // "wait... what" goes on.
        return next_letter(after).is_none_or(|c| !c.is_lowercase());
    }
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '“' | '/'))
        .next()
        .unwrap_or("");
    let follows = next_letter(after);
    // A list number ("1.") at the start, or an initial ("J.").
    let is_number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    if is_number && before.trim() == word {
        return false;
    }
    let is_initial =
        word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    let lower = word.to_lowercase();
    let is_in = |list: &str| list.split_ascii_whitespace().any(|known| known == lower);
    if is_in(FINAL_ABBREVIATIONS) {
        return follows.is_none_or(char::is_uppercase) || next.is_some_and(super::is_unspaced);
    }
    !(is_initial || is_in(ABBREVIATIONS)) && follows.is_none_or(|c| !c.is_lowercase())
}

/// The first character after white space and opening marks.
fn next_letter(after: &str) -> Option<char> {
    after.chars().find(|c| !c.is_whitespace() && !matches!(c, '"' | '“' | '(' | '\'' | '「' | '*'))
}

fn push(text: &str, range: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let whole = text.get(range.clone()).unwrap_or("");
    let start = range.start + (whole.len() - whole.trim_start().len());
    let end = range.end - (whole.len() - whole.trim_end().len());
    let has_content = whole.chars().any(char::is_alphanumeric);
    if has_content && start < end {
        ranges.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "of `{text}`");
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        check("", &[]);
        check(" \n ", &[]);
        check("One", &["One"]);
        check("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]);
        check("He said \"stop.\" Then he left.", &["He said \"stop.\"", "Then he left."]);
        check("今天下雨。我没带伞！怎么办？", &["今天下雨。", "我没带伞！", "怎么办？"]);
        check("他说：“走吧。”然后走了。", &["他说：“走吧。”", "然后走了。"]);
        check("first line\nsecond line\r\nthird", &["first line", "second line", "third"]);
        check("wait... what? No!! Yes.", &["wait... what?", "No!!", "Yes."]);
        check("用 redb 存数据. 然后备份. ", &["用 redb 存数据.", "然后备份."]);
    }

    #[test]
    fn stops_inside_a_value_or_an_abbreviation_end_nothing() {
        check(
            "Dr. Miller pays 3.5 EUR at 5 p.m. on Nov. 20. Fine.",
            &["Dr. Miller pays 3.5 EUR at 5 p.m. on Nov. 20.", "Fine."],
        );
        check(
            "See https://example.org/a.b?c=d. Version 1.2.3 is out.",
            &["See https://example.org/a.b?c=d.", "Version 1.2.3 is out."],
        );
        check("Tea, e.g. oolong, etc. We stop.", &["Tea, e.g. oolong, etc.", "We stop."]);
        check("J. R. Smith came at 3 p.m. He left.", &["J. R. Smith came at 3 p.m.", "He left."]);
        check("It is 192.168.9.1. ok", &["It is 192.168.9.1. ok"]);
        check("1. Open it\n2. Close it", &["1. Open it", "2. Close it"]);
        check(
            "版本1.2.3已发布。配置在config.toml里。",
            &["版本1.2.3已发布。", "配置在config.toml里。"],
        );
    }
}
