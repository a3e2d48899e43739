//! Divides what is too large for one summary: by time where there was a pause, else by sub-topic.

use std::ops::RangeInclusive;

use super::draft::statements;
use super::linkage::Hierarchy;
use super::{Item, Policy};
use crate::domain::limits::{LINKAGE_POINTS_MAX, SUMMARY_SOURCES_MAX};

/// A pause is a gap at least this share of the whole span.
const PAUSE_SHARE: f64 = 0.5;

/// Parts of at most `size_max` statements (and of at least `size_min`, if the policy allows both), each
/// in order of time, like `items`.
pub(super) fn split<'a>(items: Vec<&'a Item>, policy: &Policy) -> Vec<Vec<&'a Item>> {
    let mut open = vec![items];
    let mut parts = Vec::new();
    while let Some(items) = open.pop() {
        match halves(&items, policy) {
            Some((left, right)) => open.extend([right, left]),
            None => parts.push(items),
        }
    }
    parts
}

type Halves<'a> = (Vec<&'a Item>, Vec<&'a Item>);

fn halves<'a>(items: &[&'a Item], policy: &Policy) -> Option<Halves<'a>> {
    if items.len() <= policy.size_max {
        return None;
    }
    let middle = || items.split_at_checked(items.len() / 2).map(|(l, r)| (l.to_vec(), r.to_vec()));
    if items.len() > LINKAGE_POINTS_MAX {
        return middle();
    }
    let statements = statements(items, policy);
    if statements.len() <= policy.size_max {
        return if items.len() > SUMMARY_SOURCES_MAX { middle() } else { None };
    }
    let cuts = policy.size_min.max(1)..=statements.len().saturating_sub(policy.size_min.max(1));
    let (at, is_pause) = widest_gap(&statements, cuts)?;
    let topics = if is_pause { None } else { topics(&statements, policy) };
    let (left, right) =
        topics.unwrap_or_else(|| ((0..at).collect(), (at..statements.len()).collect()));
    Some((gather(&statements, &left), gather(&statements, &right)))
}

/// Where the time between one statement and the next is longest (of equals the one nearest to the
/// middle), and whether that is a pause.
fn widest_gap(statements: &[Vec<&Item>], cuts: RangeInclusive<usize>) -> Option<(usize, bool)> {
    let second = |at: usize| {
        let newest = statements.get(at).and_then(|statement| statement.first());
        newest.map_or(0.0, |item| item.event_time.as_duration().as_secs_f64())
    };
    let middle = statements.len() / 2;
    let (at, gap) = cuts
        .map(|at| (at, second(at) - second(at - 1)))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.abs_diff(middle).cmp(&a.0.abs_diff(middle))))?;
    let span = second(statements.len() - 1) - second(0);
    Some((at, gap > 0.0 && gap >= PAUSE_SHARE * span))
}

/// The two sub-topics, if both are large enough: numbers of statements.
fn topics(statements: &[Vec<&Item>], policy: &Policy) -> Option<(Vec<usize>, Vec<usize>)> {
    let newest = |at: usize| statements.get(at).and_then(|statement| statement.first());
    let distance = |left: usize, right: usize| match (newest(left), newest(right)) {
        (Some(left), Some(right)) => left.distance(right),
        _ => f64::INFINITY,
    };
    let halves = Hierarchy::new(statements.len(), &distance).halves();
    let [left, right] = <[Vec<usize>; 2]>::try_from(halves).ok()?;
    (left.len().min(right.len()) >= policy.size_min).then_some((left, right))
}

fn gather<'a>(statements: &[Vec<&'a Item>], numbers: &[usize]) -> Vec<&'a Item> {
    let mut items: Vec<&Item> =
        numbers.iter().filter_map(|number| statements.get(*number)).flatten().copied().collect();
    items.sort_unstable_by_key(|item| super::draft::by_time(item));
    items
}
