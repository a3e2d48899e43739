//! When a memory is moved out of the way: it has faded, and nobody has wanted it for a long time.

use jiff::Timestamp;

use super::decay::days_between;
use super::memory::{Memory, Status, named_values};

/// From when on a memory is archived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArchivePolicy {
    /// Only one whose strength is below this, 0.0..=1.0.
    pub strength_below: f64,
    /// Only one that was not returned, read, restated or changed for so many days.
    pub unused_days: f64,
}

impl Default for ArchivePolicy {
    /// Those of the design.
    fn default() -> Self {
        Self { strength_below: 0.25, unused_days: 90.0 }
    }
}

named_values! {
    /// Why a weak memory is left where it is.
    Stays {
        /// It is not current: nothing has to be moved out of the way.
        NotCurrent = "not current",
        /// It is pinned.
        Pinned = "pinned",
        /// It has importance 1.0.
        Important = "important",
        /// It was used since its strength was noted.
        Strong = "strong",
        /// It was wanted or changed lately.
        Used = "used lately",
        /// A summary that is current has no other current source.
        OnlySource = "only source of a summary",
        /// The person has brought it back lately.
        BroughtBack = "brought back",
    }
}

impl ArchivePolicy {
    /// Why `memory`, whose strength at `now` is `strength`, stays; `None`: by itself it may go. Changes are
    /// not looked at: only the log knows which of them somebody wanted, and which a job made.
    pub fn stays(&self, memory: &Memory, strength: f64, now: Timestamp) -> Option<Stays> {
        if memory.status != Status::Active {
            Some(Stays::NotCurrent)
        } else if memory.pinned {
            Some(Stays::Pinned)
        } else if memory.importance >= 1.0 {
            Some(Stays::Important)
        } else if strength >= self.strength_below {
            Some(Stays::Strong)
        } else if days_between(last_wanted(memory), now) < self.unused_days {
            Some(Stays::Used)
        } else {
            None
        }
    }
}

/// When a memory was last returned, used or stored.
fn last_wanted(memory: &Memory) -> Timestamp {
    let (usage, stored) = (memory.usage, memory.created_at);
    usage.last_recalled_at.map_or(stored, |recalled| recalled.max(stored)).max(usage.anchor.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::MemoryId;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap()
    }

    fn memory() -> Memory {
        Memory::plain(MemoryId::from_u128(1), "x", at(0))
    }

    #[test]
    fn only_what_is_weak_and_unwanted_goes() {
        let policy = ArchivePolicy::default();
        let stays = |change: &dyn Fn(&mut Memory), strength, day| {
            let mut memory = memory();
            change(&mut memory);
            policy.stays(&memory, strength, at(day))
        };
        assert_eq!(stays(&|_| {}, 0.2, 90), None);
        assert_eq!(stays(&|_| {}, 0.2, 89), Some(Stays::Used));
        assert_eq!(stays(&|_| {}, 0.25, 90), Some(Stays::Strong));
        assert_eq!(stays(&|m| m.pinned = true, 0.2, 900), Some(Stays::Pinned));
        assert_eq!(stays(&|m| m.importance = 1.0, 0.2, 900), Some(Stays::Important));
        let recalled = |m: &mut Memory| m.usage.last_recalled_at = Some(at(30));
        assert_eq!(stays(&recalled, 0.2, 119), Some(Stays::Used));
        assert_eq!(stays(&recalled, 0.2, 120), None);
        assert_eq!(stays(&|m| m.updated_at = at(10), 0.2, 99), None, "a job may have marked it");
        for status in [Status::Archived, Status::Superseded, Status::Invalidated] {
            assert_eq!(stays(&|m| m.status = status, 0.2, 900), Some(Stays::NotCurrent));
        }
    }
}
