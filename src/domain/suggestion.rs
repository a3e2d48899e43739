//! What memories show to happen again and again, though nobody said so: a meeting remembered on four
//! Fridays.
//!
//! A topic is a word that several memories share. Of each topic the times are put to the test of
//! [`super::periodicity`]; of topics that show the same rule, or rest on the same memories, the one with
//! the most memories counts. A test of many topics finds rules in noise, so few events must agree more
//! closely than many, and a daily rule is only believed with a time of day that hardly varies.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::periodicity::{Event, Habit, habit};
use super::reminder::{Pattern, Rule};
use super::text::query::is_stop_word;
use super::text::tokens::{TokenKind, tokens};

/// Hits from which the usual concentration is enough; chosen.
const HITS_MANY: usize = 6;
/// Least concentration of fewer hits; chosen: a weekly rule then varies by some eight hours.
const CONCENTRATION_OF_FEW: f64 = 0.95;
/// Most that the time of a daily rule may vary; chosen: hours of work are no habit.
const DAILY_SPREAD_MAX: SignedDuration = SignedDuration::from_mins(30);
/// Times of day that are this near are the same.
const SAME_TIME: SignedDuration = SignedDuration::from_mins(60);
/// Share of memories that two suggestions may have in common.
const SHARED_MAX: f64 = 0.5;
/// Share of the memories that have a word of the name of a topic.
const NAME_SHARE: f64 = 0.75;
/// Most words of a name.
const NAME_WORDS_MAX: usize = 6;
/// Shortest word that can be a topic, bytes.
const WORD_BYTES_MIN: usize = 3;

/// Words of the calendar: whatever is said on Fridays would follow a rule by them.
const CALENDAR: &str = "monday tuesday wednesday thursday friday saturday sunday january february march \
    april may june july august september october november december today tomorrow yesterday morning \
    afternoon evening night noon week weekly daily monthly month year day mon tue wed thu fri sat sun";
/// The same in Chinese.
const CALENDAR_CHARACTERS: &str = "周星期日月年今明昨天早上下午晚点分时号每";

/// A memory of something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// What is said of it.
    pub text: String,
    /// When.
    pub event: Event,
}

/// A rule that memories of one topic follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The word that the memories share, as it is compared.
    pub topic: String,
    /// What they are about, in the words that most of them have.
    pub name: String,
    /// The rule and what speaks for it; its evidence are places in what was given.
    pub habit: Habit,
}

impl Suggestion {
    /// Whether a rule tells of this already: both come next at about the same time.
    pub fn is_told_by(&self, rule: &Rule, now: Timestamp) -> bool {
        let own = self.habit.rule.next_after(now);
        own.is_some_and(|own| {
            let from = own.at.checked_sub(SAME_TIME).unwrap_or(own.at);
            rule.next_after(from).is_some_and(|other| {
                other.at.duration_since(own.at).abs() <= SAME_TIME
                    || (!self.habit.has_time && other.civil.date() == own.civil.date())
            })
        })
    }

    /// Whether it rests on these memories, or most of it does.
    pub fn rests_on(&self, evidence: &BTreeSet<usize>) -> bool {
        let shared = self.habit.evidence.iter().filter(|at| evidence.contains(at)).count();
        shared as f64 > SHARED_MAX * self.habit.evidence.len() as f64
    }
}

/// What `happened` shows, the best-founded first. Rules of days are at `all_day_at`.
pub fn suggestions(
    happened: &[Happened],
    zone: &TimeZone,
    now: Timestamp,
    all_day_at: Time,
) -> Vec<Suggestion> {
    let words: Vec<BTreeMap<String, String>> =
        happened.iter().map(|one| telling_words(&one.text)).collect();
    let mut by_topic: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, words) in words.iter().enumerate() {
        for word in words.keys() {
            by_topic.entry(word).or_default().push(at);
        }
    }
    let mut found: Vec<Suggestion> = Vec::new();
    for (topic, places) in by_topic {
        let events: Vec<Event> =
            places.iter().filter_map(|at| happened.get(*at)).map(|one| one.event).collect();
        let Some(mut habit) = habit(&events, zone, now, all_day_at) else { continue };
        if !is_believed(&habit) {
            continue;
        }
        habit.evidence = habit.evidence.iter().filter_map(|at| places.get(*at)).copied().collect();
        let name = name(topic, &habit.evidence, &words, happened);
        found.push(Suggestion { topic: topic.to_owned(), name, habit });
    }
    found.sort_by(|left, right| {
        let hits = right.habit.n_hits.cmp(&left.habit.n_hits);
        let agree = right.habit.concentration.total_cmp(&left.habit.concentration);
        // Of words that the same memories share, the longest says most.
        let longest = right.topic.len().cmp(&left.topic.len());
        hits.then(agree).then(longest).then(left.topic.cmp(&right.topic))
    });
    let mut chosen: Vec<Suggestion> = Vec::new();
    for suggestion in found {
        let is_known = chosen.iter().any(|known| {
            suggestion.rests_on(&known.habit.evidence.iter().copied().collect())
                || suggestion.is_told_by(&known.habit.rule, now)
        });
        if !is_known {
            chosen.push(suggestion);
        }
    }
    chosen
}

fn is_believed(habit: &Habit) -> bool {
    let parts = habit.rule.parts();
    let is_weekly_or_rarer = match parts.pattern {
        Pattern::Weekly(days) => days.len() == 1,
        Pattern::Daily | Pattern::Once => false,
        Pattern::MonthlyDay { .. }
        | Pattern::MonthlyNth { .. }
        | Pattern::LastDay
        | Pattern::Yearly { .. } => true,
    };
    let is_steady = is_weekly_or_rarer || (habit.has_time && habit.spread <= DAILY_SPREAD_MAX);
    is_steady && (habit.n_hits >= HITS_MANY || habit.concentration >= CONCENTRATION_OF_FEW)
}

/// The words of a text that can be a topic, as they are compared, each as it stands there.
fn telling_words(text: &str) -> BTreeMap<String, String> {
    let is_calendar = |surface: &str| {
        CALENDAR.split_ascii_whitespace().any(|word| word == surface)
            || surface.chars().any(|c| CALENDAR_CHARACTERS.contains(c))
    };
    tokens(text)
        .into_iter()
        .filter(|token| token.kind != TokenKind::Character && !is_stop_word(token))
        .filter(|token| token.surface.len() >= WORD_BYTES_MIN && !is_calendar(&token.surface))
        .filter(|token| !token.surface.chars().any(|c| c.is_ascii_digit()))
        .map(|token| (token.text, token.surface))
        .collect()
}

/// What the memories are about: the words that most of them have, as the last of them says them.
fn name(
    topic: &str,
    evidence: &[usize],
    words: &[BTreeMap<String, String>],
    happened: &[Happened],
) -> String {
    let in_most = |word: &String| {
        let n = evidence.iter().filter(|at| words.get(**at).is_some_and(|w| w.contains_key(word)));
        n.count() as f64 >= NAME_SHARE * evidence.len() as f64
    };
    let last = evidence.iter().max_by_key(|at| happened.get(**at).map(|one| one.event.at));
    let Some(last) = last.and_then(|at| Some((happened.get(*at)?, words.get(*at)?))) else {
        return topic.to_owned();
    };
    let (last, its_words) = last;
    let common: Vec<&String> =
        its_words.iter().filter(|(word, _)| in_most(word)).map(|(_, surface)| surface).collect();
    let is_common = |piece: &str| {
        let piece = piece.to_lowercase();
        common.iter().any(|word| piece.contains(word.as_str()))
    };
    let named: Vec<&str> = last
        .text
        .split(|c: char| {
            c.is_whitespace() || matches!(c, ',' | '.' | ':' | ';' | '，' | '。' | '：')
        })
        .filter(|piece| !piece.is_empty() && is_common(piece))
        .take(NAME_WORDS_MAX)
        .collect();
    if named.is_empty() { topic.to_owned() } else { named.join(" ") }
}

#[cfg(test)]
mod tests;
