//! Names: capitalised words, camel case, and names in Han.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::scan::{Scan, is_word};
use super::{Value, han_names};
use crate::domain::text::is_unspaced;
use crate::domain::text::sentences::sentences;

static WORDS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*").ok());

/// Capitalised words that name nothing.
const NO_NAMES: &str = "i a an and are as at be but by can could did do does for from had has have he her here his \
    how if in is it its just let like may me my new no nor not now of ok okay on one or our please she should so \
    some that the their them then there these they this those though to today todo tomorrow too up us use user \
    users was we were what when where which while who whom why will with would yes yesterday you your yours \
    assistant mr mrs ms dr prof sir madam never none nothing nobody without cannot don doesn didn isn aren won all \
    also always am after before because been being both during each every everyone everything first second \
    last next more most much many few less least only other others own same than until very via per since \
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august \
    september october november december jan feb mar apr jun jul aug sep sept oct nov dec hi hello hey thanks \
    thank ip id url sorry well oh wow yeah yep nope sure lol haha fyi btw asap note remember important warning tip am pm";

/// Given names in English and Pinyin that are no words: one that opens a sentence is a name.
const GIVEN_NAMES: &str = "aaron adam alan albert alex alexander alice alison amanda amy andrea andrew angela ann \
    anna anne anthony arthur barbara ben benjamin bob brandon brenda brian bruce caroline carl carla catherine \
    charles charlotte chen chloe chris christina christopher claire daniel dave david deborah dennis diana donald \
    donna dorothy dylan ed edward elena elizabeth ella ellen emily emma eric erik ethan eva eve evelyn fang fatima \
    felix feng fiona frances francis fred gary george gerald gina gordon greg gregory hannah harry heather helen \
    henry hong howard hui ian isaac isabella ivan jack jackie jacob james jamie jan jane janet janice jason jean \
    jeff jennifer jenny jeremy jerry jesse jessica jie jim jing joan joe john johnny jon jonathan jordan jose \
    joseph joshua juan judith judy julia julie jun justin karen kate katherine kathleen kathy keith kelly ken \
    kevin kim kyle larry laura lauren lee lei leo li liam linda ling lisa liu logan louis lucas lucy luis luke mara \
    marcus margaret maria marie marilyn martha martin mary matt matthew megan mei melanie melissa mia michael \
    michelle mike min mohammed nancy natalie nathan nick nicholas nicole noah nora oliver olivia omar oscar pamela \
    patricia patrick paul paula peter philip ping priya qiang rachel ralph raymond rebecca richard robert roger ron \
    ronald ryan sam samantha samuel sandra sara sarah scott sean sharon simon sofia sophia stephanie stephen steve \
    steven susan tao teresa terry theresa thomas tim timothy tina tom tony tyler vera victor victoria vincent \
    virginia walter wang wei wendy william xin yan yang ying yong yu yuki zach zhang zhao zoe";

static NO_NAME: LazyLock<HashSet<&str>> =
    LazyLock::new(|| NO_NAMES.split_ascii_whitespace().collect());
static GIVEN_NAME: LazyLock<HashSet<&str>> =
    LazyLock::new(|| GIVEN_NAMES.split_ascii_whitespace().collect());

/// A word, where it stands, and what its capitals say.
struct Word<'t> {
    text: &'t str,
    range: Range<usize>,
    is_capital: bool,
    /// Whether it opens a sentence, a quotation, a line or what follows a colon.
    opens: bool,
    /// Whether a letter after the first is a capital: `DeviceMemory`, `API`, `iPhone`.
    has_inner_capital: bool,
}

/// Reads the names; what it returns are capitalised words that open a sentence and may be names.
pub(super) fn scan(scan: &mut Scan<'_>) -> Vec<Range<usize>> {
    let words = words(scan);
    // A word that is a name in the middle of a sentence is one at its start too.
    let known: HashSet<String> = words
        .iter()
        .filter(|word| is_name(word) && !word.opens)
        .map(|word| bare(word.text))
        .collect();
    let mut openers = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next_is_name = words
            .get(at + 1)
            .is_some_and(|next| is_name(next) && !next.opens && follows(scan.text, word, next));
        if !is_name(word) {
            continue;
        }
        let lower = bare(word.text);
        let is_one = !word.opens
            || word.has_inner_capital
            || next_is_name
            || known.contains(&lower)
            || GIVEN_NAME.contains(lower.as_str())
            || word.text.len() > lower.len()
            || is_among_han(scan.text, &word.range);
        if is_one {
            scan.take(&word.range, [Value::Name(lower)]);
        } else {
            openers.push(word.range.clone());
        }
    }
    han_names::scan(scan);
    openers
}

fn words<'t>(scan: &Scan<'t>) -> Vec<Word<'t>> {
    let Some(regex) = WORDS.as_ref() else { return Vec::new() };
    let starts: HashSet<usize> =
        sentences(scan.text).into_iter().map(|range| range.start).collect();
    let mut words = Vec::new();
    for found in regex.find_iter(scan.text) {
        for range in spaced_runs(scan.text, found.range()) {
            if !scan.is_free(&range) || !scan.is_bordered(&range) {
                continue;
            }
            let text = scan.slice(range.clone());
            let mut letters = text.chars();
            let is_capital = letters.next().is_some_and(char::is_uppercase);
            words.push(Word {
                text,
                is_capital,
                has_inner_capital: letters.any(char::is_uppercase),
                opens: opens(scan.text, range.start, &starts),
                range,
            });
        }
    }
    words
}

/// The runs of spaced script in a run of letters.
fn spaced_runs(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for (at, c) in text.get(range.clone()).unwrap_or("").char_indices() {
        let at = range.start + at;
        let belongs = is_word(c) || matches!(c, '\'' | '’') || !c.is_alphanumeric();
        match runs.last_mut() {
            Some(run) if belongs && is_open => run.end = at + c.len_utf8(),
            _ if belongs => runs.push(at..at + c.len_utf8()),
            _ => {}
        }
        is_open = belongs;
    }
    runs
}

/// Whether only marks stand between a word and the start of what it opens.
fn opens(text: &str, at: usize, starts: &HashSet<usize>) -> bool {
    let before = text.get(..at).unwrap_or("");
    let trimmed =
        before.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ':' | '\n' | '-'));
    let gap = before.len() - trimmed.len();
    starts.contains(&at)
        || trimmed.is_empty()
        || trimmed.ends_with([':', '\n'])
        || trimmed.ends_with('-') && before.ends_with(' ')
        || (gap > 0 && (trimmed.len()..=at).any(|start| starts.contains(&start)))
        || before.ends_with(['"', '“', '「', '('])
}

fn is_name(word: &Word<'_>) -> bool {
    let lower = bare(word.text);
    let is_short = lower.chars().count() < 2;
    (word.is_capital || word.has_inner_capital) && !is_short && !NO_NAME.contains(lower.as_str())
        // "It's", "Let's", "I'm", "Don't": the part before the apostrophe tells.
        && !lower.split(['\'', '’']).next().is_some_and(|start| NO_NAME.contains(start) || start.len() < 2)
}

/// Whether a word stands beside Han: Chinese has no capitals, so those of a foreign word are its own.
fn is_among_han(text: &str, range: &Range<usize>) -> bool {
    let is_han = |c: Option<char>| c.is_some_and(is_unspaced);
    let after = text.get(range.end..).unwrap_or("");
    let before = text.get(..range.start).unwrap_or("");
    is_han(after.trim_start_matches(' ').chars().next())
        || is_han(before.trim_end_matches(' ').chars().next_back())
}

fn follows(text: &str, left: &Word<'_>, right: &Word<'_>) -> bool {
    text.get(left.range.end..right.range.start) == Some(" ")
}

/// A word in lower case without its possessive ending.
fn bare(word: &str) -> String {
    let lower = word.to_lowercase();
    lower.strip_suffix("'s").or_else(|| lower.strip_suffix("’s")).unwrap_or(&lower).to_owned()
}
