//! Rules by which memories are forgotten for good after a time. There is none unless somebody sets one.

use jiff::Timestamp;

use super::decay::days_between;
use super::memory::{Kind, Memory, Status};
use super::namespace::NamespacePattern;

/// Which memories are forgotten, and how long after they were stored.
#[derive(Clone, Debug, PartialEq)]
pub struct RetentionRule {
    /// Where.
    pub namespace: NamespacePattern,
    /// Of which kinds; none named: of every kind.
    pub kinds: Vec<Kind>,
    /// Of which statuses; none named: of every status.
    pub statuses: Vec<Status>,
    /// Days since they were stored, at least 1.
    pub older_than_days: u32,
}

impl RetentionRule {
    /// Whether `memory` is to be forgotten at `now`. What is pinned never is.
    pub fn takes(&self, memory: &Memory, now: Timestamp) -> bool {
        !memory.pinned
            && self.namespace.matches(&memory.namespace)
            && (self.kinds.is_empty() || self.kinds.contains(&memory.kind))
            && (self.statuses.is_empty() || self.statuses.contains(&memory.status))
            && days_between(memory.created_at, now) > f64::from(self.older_than_days)
    }
}

/// Tells one set of rules from another.
pub fn fingerprint(rules: &[RetentionRule]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for RetentionRule { namespace, kinds, statuses, older_than_days } in rules {
        let rule = format!("{namespace} {kinds:?} {statuses:?} {older_than_days}\n");
        hasher.update(rule.as_bytes());
    }
    *hasher.finalize().as_bytes()
}
