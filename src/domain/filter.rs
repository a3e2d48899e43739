//! What a caller wants to see, the same for both arms of a search, for listings and for forgetting.

use jiff::Timestamp;

use super::memory::{Kind, Memory, Origin, Status};
use super::namespace::Namespace;

/// Whether a memory must have one or all of the tags asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagMatch {
    /// At least one.
    #[default]
    Any,
    /// All of them.
    All,
}

/// A conjunction of conditions; an empty list means "no condition", but for `namespaces`, where it
/// means "none" (nobody reads what was not granted).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// The namespaces searched, already limited to what the caller may read.
    pub namespaces: Vec<Namespace>,
    /// Kinds.
    pub kinds: Vec<Kind>,
    /// Tags.
    pub tags: Vec<String>,
    /// How `tags` are meant.
    pub tag_match: TagMatch,
    /// Top-level metadata keys with the JSON text their value must equal.
    pub metadata: Vec<(String, String)>,
    /// The session it comes from.
    pub session: Option<String>,
    /// The agent that stored it.
    pub agent: Option<String>,
    /// Statuses.
    pub statuses: Vec<Status>,
    /// Where it comes from.
    pub origins: Vec<Origin>,
    /// Event time at or after.
    pub after: Option<Timestamp>,
    /// Event time before.
    pub before: Option<Timestamp>,
    /// Importance at least, 0.0..=1.0.
    pub importance_min: Option<f64>,
    /// Now, to leave out active memories whose validity has ended; `None`: they count as active.
    pub valid_at: Option<Timestamp>,
    /// A moment, to see what was true then, whatever came after: see [`is_true_at`].
    pub as_of: Option<Timestamp>,
}

/// Whether an active memory whose validity ends at `valid_to` is valid at `now`; the others are what
/// their status says.
pub fn is_valid_at(status: Status, valid_to: Option<Timestamp>, now: Timestamp) -> bool {
    status != Status::Active || valid_to.is_none_or(|end| now < end)
}

/// Whether a memory of what was so or happened at `event_time` was true at `moment`: since then, and
/// not yet replaced or ended. One that was replaced or ended at an unknown time never counts.
pub fn is_true_at(
    event_time: Timestamp,
    status: Status,
    valid_to: Option<Timestamp>,
    moment: Timestamp,
) -> bool {
    let is_past = matches!(status, Status::Superseded | Status::Invalidated);
    event_time <= moment && valid_to.map_or(!is_past, |end| moment < end)
}

impl Filter {
    /// Whether `memory` is meant. The indexes filter by their own attributes for speed; this is
    /// the definition, and each hit is checked against it.
    pub fn matches(&self, memory: &Memory) -> bool {
        let event_time = memory.event_time();
        let has_tag = |tag: &String| memory.tags.binary_search(tag).is_ok();
        self.namespaces.contains(&memory.namespace)
            && (self.kinds.is_empty() || self.kinds.contains(&memory.kind))
            && (self.tags.is_empty()
                || match self.tag_match {
                    TagMatch::Any => self.tags.iter().any(has_tag),
                    TagMatch::All => self.tags.iter().all(has_tag),
                })
            && self.metadata.iter().all(|(key, value)| memory.metadata.get(key) == Some(value))
            && (self.session.is_none() || self.session == memory.session)
            && (self.agent.is_none() || self.agent == memory.agent)
            && (self.statuses.is_empty() || self.statuses.contains(&memory.status))
            && (self.origins.is_empty() || self.origins.contains(&memory.origin))
            && self.after.is_none_or(|after| event_time >= after)
            && self.before.is_none_or(|before| event_time < before)
            && self.importance_min.is_none_or(|least| memory.importance >= least)
            && self.valid_at.is_none_or(|now| is_valid_at(memory.status, memory.valid_to, now))
            && self
                .as_of
                .is_none_or(|moment| is_true_at(event_time, memory.status, memory.valid_to, moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Timestamp {
        format!("2026-{text}T00:00:00Z").parse().unwrap()
    }

    #[test]
    fn what_was_true_at_a_moment_is_told_by_its_time_and_its_end() {
        use Status::{Active, Archived, Invalidated, Superseded};
        for (status, valid_to, moment, expected) in [
            (Active, None, "01-09", false),
            (Active, None, "01-10", true),
            (Active, None, "09-01", true),
            (Active, Some("06-01"), "05-31", true),
            (Active, Some("06-01"), "06-01", false),
            (Superseded, Some("06-01"), "03-01", true),
            (Superseded, Some("06-01"), "06-01", false),
            (Superseded, None, "03-01", false),
            (Invalidated, Some("06-01"), "03-01", true),
            (Archived, None, "03-01", true),
        ] {
            let found = is_true_at(day("01-10"), status, valid_to.map(day), day(moment));
            assert_eq!(found, expected, "{status} {valid_to:?} at {moment}");
        }
    }
}
