//! A summary in the making: what it replaces and what it is made of.

use super::{Item, Policy, Summary, distance};
use crate::domain::embedding::dot;
use crate::domain::limits::SUMMARY_SOURCES_MAX;

/// What the mean distance, from a sum of rounded numbers, may be wrong by.
const SLACK: f64 = 1e-4;

/// Memories that belong together, and the live summaries of some of them.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    /// In order of ids.
    pub(super) replaces: Vec<&'a Summary>,
    /// In order of time, never empty.
    pub(super) items: Vec<&'a Item>,
    /// Sum of the vectors: one product with it tells the mean distance from all of them.
    sum: Vec<f32>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(replaces: Vec<&'a Summary>, items: Vec<&'a Item>) -> Self {
        let mut draft = Self { replaces, items: Vec::new(), sum: Vec::new() };
        draft.extend(items);
        draft
    }

    /// Mean distance of the item from all of these if it may join them: it is a neighbour of one,
    /// within the diameter of all, and not a statement too many.
    pub(super) fn admits(&self, item: &Item, policy: &Policy) -> Option<f64> {
        let mean = 1.0 - f64::from(dot(&self.sum, &item.vector)) / self.items.len() as f64;
        if mean > policy.diameter + SLACK || self.items.len() >= SUMMARY_SOURCES_MAX {
            return None;
        }
        let nearest = nearest(&self.items, &[item], policy.diameter)?;
        (nearest <= policy.eps && fits(&self.items, &[item], policy)).then_some(mean)
    }

    /// Whether both are about the same and are one summary together.
    pub(super) fn is_one_with(&self, other: &Self, policy: &Policy) -> bool {
        let n_pairs = (self.items.len() * other.items.len()) as f64;
        let mean = 1.0 - f64::from(dot(&self.sum, &other.sum)) / n_pairs;
        mean <= policy.diameter + SLACK
            && self.items.len() + other.items.len() <= SUMMARY_SOURCES_MAX
            && nearest(&self.items, &other.items, policy.diameter)
                .is_some_and(|nearest| nearest <= policy.eps)
            && fits(&self.items, &other.items, policy)
    }

    /// Takes the items; those that are here already once.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = &'a Item>) {
        for item in items {
            if self.items.iter().any(|own| own.id == item.id) {
                continue;
            }
            if self.items.is_empty() {
                self.sum = vec![0.0; item.vector.len()];
            }
            for (sum, x) in self.sum.iter_mut().zip(item.vector.iter()) {
                *sum += x;
            }
            self.items.push(item);
        }
        self.items.sort_unstable_by_key(|item| by_time(item));
    }

    /// Takes everything of another.
    pub(super) fn absorb(&mut self, other: Self) {
        self.replaces.extend(other.replaces);
        self.replaces.sort_unstable_by_key(|summary| summary.id);
        self.extend(other.items);
    }
}

/// The order in which items are looked at.
pub(super) fn by_time(item: &Item) -> (jiff::Timestamp, crate::domain::id::MemoryId) {
    (item.event_time, item.id)
}

/// The smallest distance of one of these from one of those; `None` if any is beyond the diameter.
fn nearest(these: &[&Item], those: &[&Item], diameter: f64) -> Option<f64> {
    let mut nearest = f64::INFINITY;
    for this in these {
        for that in those {
            let distance = distance(&this.vector, &that.vector);
            if distance > diameter {
                return None;
            }
            nearest = nearest.min(distance);
        }
    }
    Some(nearest)
}

/// Whether both together are few enough statements.
fn fits(these: &[&Item], those: &[&Item], policy: &Policy) -> bool {
    if these.len() + those.len() <= policy.size_max {
        return true;
    }
    let mut all = [these, those].concat();
    all.sort_unstable_by_key(|item| by_time(item));
    statements(&all, policy).len() <= policy.size_max
}

/// The statements that items in order of time make: an item joins the first one of which it restates
/// every item. In order of their last items; of each the newest item first.
pub(super) fn statements<'a>(items: &[&'a Item], policy: &Policy) -> Vec<Vec<&'a Item>> {
    let mut statements: Vec<Vec<&Item>> = Vec::new();
    for item in items {
        let restated = statements
            .iter_mut()
            .find(|statement| statement.iter().all(|said| said.restates(item, policy)));
        match restated {
            Some(statement) => statement.push(item),
            None => statements.push(vec![item]),
        }
    }
    for statement in &mut statements {
        statement.reverse();
    }
    statements.sort_by_key(|statement| statement.first().map(|item| by_time(item)));
    statements
}
