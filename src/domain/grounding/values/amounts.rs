//! Numbers with and without units, in digits, words and Han.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::scan::{Scan, is_word};
use super::{Amount, Value, numerals, units};
use crate::domain::text::{is_unspaced, query, tokens};

static DIGITS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?").ok());
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let number = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|\
        sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety";
    Regex::new(&format!(
        r"(?i)(?-u:\b)(?:an?[ \t]+)?(?:{number}|hundred|thousand|million|billion|dozen)(?:(?:[ \t]+and[ \t]+|[ \t-]+)(?:{number}|hundred|thousand|million|billion|dozen))*(?-u:\b)"
    ))
    .ok()
});
static ORDINALS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?-u:\b)(?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|twentieth)(?-u:\b)").ok()
});
static HAN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"第?[〇零一二两三四五六七八九十百千万亿]+").ok());

/// Currency signs and codes that stand before the number.
const CURRENCIES: &[&str] =
    &["us$", "$", "€", "£", "¥", "usd", "eur", "gbp", "cny", "rmb", "jpy", "chf"];

/// Reads the numbers that are left over.
pub(super) fn scan(scan: &mut Scan<'_>) {
    for range in matches(&DIGITS, scan) {
        read_digits(range, scan);
    }
    for range in matches(&WORDS, scan) {
        read_words(&range, scan);
    }
    for range in matches(&ORDINALS, scan) {
        let number = numerals::ordinal(scan.slice(range.clone()));
        // "a third" is a share.
        let before = scan.slice(0..range.start);
        let is_share = before.ends_with("a ") || before.ends_with("A ");
        if let (Some(number), false, true) = (number, is_share, scan.is_free(&range)) {
            scan.take(&range, [Value::Ordinal(number)]);
        }
    }
    for range in matches(&HAN, scan) {
        read_han(&range, scan);
    }
}

fn matches(regex: &LazyLock<Option<Regex>>, scan: &Scan<'_>) -> Vec<Range<usize>> {
    regex.as_ref().map_or_else(Vec::new, |regex| {
        regex.find_iter(scan.text).map(|found| found.range()).collect()
    })
}

fn read_digits(mut range: Range<usize>, scan: &mut Scan<'_>) {
    let before = scan.slice(0..range.start).chars().next_back();
    // The hyphen of "3-5" or "db-2" is no sign.
    if scan.slice(range.clone()).starts_with(['-', '+'])
        && before.is_some_and(char::is_alphanumeric)
    {
        if before.is_some_and(|c| is_word(c) && !c.is_ascii_digit()) {
            return;
        }
        range.start += 1;
    }
    if !scan.is_free(&range) {
        return;
    }
    let text = scan.slice(range.clone());
    let Some(amount) = Amount::parse(text) else {
        if scan.is_bordered(&range) {
            scan.take(&range, [Value::Identifier(text.to_owned())]);
        }
        return;
    };
    let after = scan.slice(range.end..scan.text.len());
    if let Some(n_bytes) = ordinal_ending(after) {
        let whole = range.start..range.end + n_bytes;
        if let (Some(number), true) = (amount.as_whole(), scan.is_bordered(&whole)) {
            scan.take(&whole, [Value::Ordinal(number)]);
        }
        return;
    }
    let (currency, start) = currency_before(range.start, scan);
    let (amount, n_multiplier) = multiplied(amount, after);
    let end = range.end + n_multiplier;
    let (suffix, n_suffix) = suffix(scan.slice(end..scan.text.len()));
    let bare = range.start..end;
    let is_free_left = currency.is_some() || scan.begins_free(&range);
    if let Some(rest) = scan.slice(0..range.start).strip_suffix("百分之") {
        scan.take(&(rest.len()..range.end), [Value::Quantity { amount, unit: "percent" }]);
        return;
    }
    let is_below_zero = scan.slice(0..range.start).ends_with("零下");
    let amount = if is_below_zero { amount.negated() } else { amount };
    match (currency, suffix) {
        (Some(unit), _) if is_free_left => {
            scan.take(&(start..end), [Value::Quantity { amount, unit }]);
        }
        (None, Suffix::Unit(unit)) if is_free_left => {
            scan.take(&(range.start..end + n_suffix), [Value::Quantity { amount, unit }]);
        }
        (None, Suffix::Counted(counted)) if scan.is_bordered(&bare) => {
            scan.take(&bare, [Value::Number { amount, counted }]);
        }
        _ => {}
    }
}

/// What follows a number.
enum Suffix {
    Unit(&'static str),
    /// The stem of what is counted; empty if nothing is.
    Counted(String),
}

/// The unit or the counted word at the start of a text, and the bytes of a unit.
fn suffix(after: &str) -> (Suffix, usize) {
    let nothing = (Suffix::Counted(String::new()), 0);
    if let Some((unit, n_bytes)) = units::han(after.trim_start_matches(' ')) {
        let n_blanks = after.len() - after.trim_start_matches(' ').len();
        return (Suffix::Unit(unit), n_blanks + n_bytes);
    }
    if let Some(n_bytes) = units::measure(after) {
        // 三个人 counts people, 三个小时 hours; 个 is read with them above.
        return match units::han(after.get(n_bytes..).unwrap_or("")) {
            Some(("person", n_unit)) => (Suffix::Unit("person"), n_bytes + n_unit),
            _ => nothing,
        };
    }
    let n_blanks = usize::from(after.starts_with([' ', '-']));
    let rest = after.get(n_blanks..).unwrap_or("");
    let end = rest.find(|c: char| !is_word(c) && !matches!(c, '%' | '°' | '$' | '€' | '£' | '¥'));
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
    if word.is_empty() {
        return nothing;
    }
    if word.eq_ignore_ascii_case("per") && rest.to_lowercase().starts_with("per cent") {
        return (Suffix::Unit("percent"), n_blanks + "per cent".len());
    }
    // A single letter is a unit only if it stands right behind ("5m", "3 g" is too rare to trust).
    let unit = units::named(word)
        .filter(|_| word.chars().count() > 1 || n_blanks == 0 || !word.is_ascii());
    match unit {
        Some(unit) => (Suffix::Unit(unit), n_blanks + word.len()),
        None if n_blanks == 1 => (Suffix::Counted(counted(word)), 0),
        None => nothing,
    }
}

/// The stem of a counted word; empty for words that say nothing.
fn counted(word: &str) -> String {
    tokens::tokens(word)
        .into_iter()
        .find(|token| {
            !query::is_stop_word(token) && !token.text.bytes().any(|b| b.is_ascii_digit())
        })
        .filter(|token| !token.surface.chars().any(is_unspaced))
        .map_or_else(String::new, |token| token.text)
}

/// The currency before a number and where it begins.
fn currency_before(at: usize, scan: &Scan<'_>) -> (Option<&'static str>, usize) {
    let before = scan.slice(0..at);
    let trimmed = before.strip_suffix(' ').unwrap_or(before);
    // A name of a currency and the character before it.
    let tail_at = trimmed.char_indices().rev().nth(4).map_or(0, |(at, _)| at);
    let (head, tail) = trimmed.split_at(tail_at);
    let lower = tail.to_lowercase();
    if lower.len() != tail.len() {
        return (None, at);
    }
    for name in CURRENCIES {
        let Some(rest) = lower.strip_suffix(name) else { continue };
        let is_sign = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_word_free = rest.chars().next_back().is_none_or(|c| !is_word(c));
        let start = head.len() + rest.len();
        if (is_sign || is_word_free) && scan.is_free(&(start..at)) {
            return (units::named(name), start);
        }
    }
    (None, at)
}

/// A number times the word, letter or Han that follows it, and the bytes of that.
fn multiplied(amount: Amount, after: &str) -> (Amount, usize) {
    let trimmed = after.strip_prefix(' ').unwrap_or(after);
    let n_blanks = after.len() - trimmed.len();
    let end = trimmed.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
    let word = trimmed.get(..end).unwrap_or("");
    let is_letter = word.len() == 1 || word == "bn";
    if let Some(factor) = numerals::multiplier(word).filter(|_| !is_letter || n_blanks == 0) {
        return (amount.times(factor).unwrap_or(amount), n_blanks + end);
    }
    let (mut product, mut n_bytes) = (amount, 0);
    for c in after.chars() {
        let Some(factor) = numerals::han_multiplier(c).filter(|factor| *factor >= 100) else {
            break;
        };
        product = product.times(factor).unwrap_or(product);
        n_bytes += c.len_utf8();
    }
    (product, n_bytes)
}

/// `st`, `nd`, `rd`, `th` at the start of a text.
fn ordinal_ending(after: &str) -> Option<usize> {
    let start = after.get(..2)?.to_lowercase();
    let is_word_end = after.chars().nth(2).is_none_or(|c| !is_word(c));
    (matches!(start.as_str(), "st" | "nd" | "rd" | "th") && is_word_end).then_some(2)
}

fn read_words(range: &Range<usize>, scan: &mut Scan<'_>) {
    if !scan.is_free(range) || !scan.is_bordered(range) {
        return;
    }
    let Some(number) = from_words(scan.slice(range.clone())) else { return };
    let (suffix, n_suffix) = suffix(scan.slice(range.end..scan.text.len()));
    let amount = Amount::whole(number);
    match suffix {
        Suffix::Unit(unit) => {
            scan.take(&(range.start..range.end + n_suffix), [Value::Quantity { amount, unit }]);
        }
        // "one" alone is a pronoun more often than a number.
        Suffix::Counted(counted) if number > 1 => {
            scan.take(range, [Value::Number { amount, counted }]);
        }
        Suffix::Counted(_) => {}
    }
}

/// "two hundred and five", "twenty-three", "a dozen".
fn from_words(text: &str) -> Option<u64> {
    let (mut total, mut part, mut n_words) = (0_u64, 0_u64, 0);
    for word in text.split(|c: char| c.is_whitespace() || c == '-') {
        if word.is_empty() || matches!(word.to_lowercase().as_str(), "a" | "an" | "and") {
            continue;
        }
        n_words += 1;
        if let Some(number) = numerals::word(word) {
            part = part.checked_add(number)?;
            continue;
        }
        let factor = numerals::multiplier(word)?;
        part = part.max(1).checked_mul(factor)?;
        if factor >= 1_000 {
            total = total.checked_add(part)?;
            part = 0;
        }
    }
    (n_words > 0).then_some(total.checked_add(part)?)
}

fn read_han(range: &Range<usize>, scan: &mut Scan<'_>) {
    if !scan.is_free(range) {
        return;
    }
    let text = scan.slice(range.clone());
    let after = scan.slice(range.end..scan.text.len());
    if let Some(digits) = text.strip_prefix('第') {
        if let Some(number) = numerals::han(digits).filter(|number| *number > 1) {
            scan.take(range, [Value::Ordinal(number)]);
        }
        return;
    }
    if let Some(whole) = scan.slice(0..range.start).strip_suffix("百分之") {
        if let Some(number) = numerals::han(text) {
            let range = whole.len()..range.end;
            scan.take(&range, [Value::Quantity { amount: Amount::whole(number), unit: "percent" }]);
        }
        return;
    }
    // Words of everyday speech: in case, very, by all means.
    let is_word = text.starts_with("万一")
        || text.starts_with("千万")
        || text == "十" && after.starts_with('分') && !after.starts_with("分钟");
    let Some(number) = numerals::han(text).filter(|_| !is_word) else { return };
    let amount = Amount::whole(number);
    let (suffix, n_suffix) = suffix(after);
    // A single character is part of many words (三亚, 一起, 万一): only before what it counts is it
    // a number, and 一 only before a unit of measure.
    let n_chars = text.chars().count();
    let is_placed = n_chars > 1 || units::measure(after).is_some();
    match suffix {
        Suffix::Unit(unit)
            if number != 1 || !matches!(unit, "person" | "time" | "day" | "year") =>
        {
            scan.take(&(range.start..range.end + n_suffix), [Value::Quantity { amount, unit }]);
        }
        Suffix::Counted(_) if is_placed && number > 1 => {
            scan.take(range, [Value::Number { amount, counted: String::new() }]);
        }
        Suffix::Unit(_) | Suffix::Counted(_) => {}
    }
}
