//! What should have been told, said as plainly as it can be: an occurrence is dealt with at the first
//! look at which the clock on the wall reads its time, or a later one, and if that was missed, by the
//! policy of its reminder.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use recalld::domain::id::MemoryId;
use recalld::domain::reminder::{Kind, OnMissed};

use super::plan::{Occasion, Plan};

/// Lateness from which an occurrence was missed, and up to which it is told all the same: the defaults.
pub const LATE_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// See [`LATE_AFTER`].
pub const GRACE: SignedDuration = SignedDuration::from_hours(24);
/// How many missed ones are told late, each by itself.
const LATE_TOLD_MAX: usize = 10;

/// A look of the daemon at the clock.
#[derive(Clone, Debug)]
pub struct Look {
    /// What the clock on the wall read.
    pub wall: Timestamp,
    /// The time that had really passed at its end.
    pub passed: Duration,
    /// Whether the daemon was killed in it.
    pub is_killed: bool,
    /// The reminders that it reached before the daemon was killed; `None`: all, since what was due was
    /// dealt with before.
    pub reached: Option<BTreeSet<MemoryId>>,
}

impl Look {
    fn reaches(&self, id: MemoryId) -> bool {
        self.reached.as_ref().is_none_or(|reached| reached.contains(&id))
    }
}

/// A reminder that was set.
#[derive(Clone, Debug)]
pub struct Reminder {
    pub id: MemoryId,
    pub plan: Plan,
    pub on_missed: OnMissed,
    pub is_urgent: bool,
    pub sinks: Vec<String>,
    /// When it was set, by the clock on the wall.
    pub set_at: Timestamp,
    /// The first look after that.
    pub from_look: usize,
    pub occasions: Vec<Occasion>,
    /// What was put off.
    pub snoozes: Vec<Snooze>,
}

/// An occurrence that was put off.
#[derive(Clone, Debug)]
pub struct Snooze {
    pub civil: DateTime,
    pub until: Timestamp,
    /// The first look after that was asked for.
    pub from_look: usize,
}

/// One telling that should be.
#[derive(Clone, Debug)]
pub struct Told {
    pub civil: DateTime,
    pub kind: Kind,
    pub due: Timestamp,
    /// Earlier ones for which it stands.
    pub n_missed: u64,
    /// What the wall showed when it was dealt with.
    pub wall: Timestamp,
    /// The look at which that was.
    pub look: usize,
}

impl Reminder {
    /// What counts: what takes place after it was set.
    pub fn counted(&self) -> impl Iterator<Item = Occasion> {
        let later = self.occasions.iter().filter(|one| one.at > self.set_at);
        later.map(|one| Occasion { due: one.due.max(self.set_at), ..*one })
    }

    /// Everything that should be told of it, and how many occurrences should not.
    pub fn told(&self, looks: &[Look]) -> (Vec<Told>, usize) {
        let mut ahead: VecDeque<Occasion> = self.counted().collect();
        let (mut told, mut n_skipped) = (Vec::new(), 0);
        for (number, look) in looks.iter().enumerate().skip(self.from_look) {
            if !look.reaches(self.id) {
                continue;
            }
            let mut due = Vec::new();
            while let Some(one) = ahead.pop_front_if(|one| one.due <= look.wall) {
                due.push(one);
            }
            let meant = self.meant(&due, look.wall);
            n_skipped += due.len() - meant.len();
            told.extend(meant.into_iter().map(|(one, n_missed)| Told {
                civil: one.civil,
                kind: Kind::First,
                due: one.due,
                n_missed,
                wall: look.wall,
                look: number,
            }));
        }
        told.extend(self.snoozes.iter().enumerate().filter_map(|(at, _)| self.snoozed(at, looks)));
        (told, n_skipped)
    }

    /// The telling of what was put off: once, at the first look at its time.
    fn snoozed(&self, at: usize, looks: &[Look]) -> Option<Told> {
        let Snooze { civil, until, from_look } = self.snoozes[at];
        let before = self.snoozes[..at].iter().filter(|one| one.civil == civil).count();
        let mut numbered = looks.iter().enumerate().skip(from_look);
        let (look, seen) =
            numbered.find(|(_, look)| look.reaches(self.id) && until <= look.wall)?;
        let kind = Kind::Snoozed(u32::try_from(before + 1).unwrap());
        Some(Told { civil, kind, due: until, n_missed: 0, wall: seen.wall, look })
    }

    /// Which of those that are due are told, and for how many earlier ones each stands.
    fn meant(&self, due: &[Occasion], wall: Timestamp) -> Vec<(Occasion, u64)> {
        let Some(last) = due.last() else { return Vec::new() };
        let lateness = wall.duration_since(last.due);
        let is_missed = lateness > LATE_AFTER;
        let is_over = wall.duration_since(last.at) > LATE_AFTER;
        let n_before = due.len() as u64 - 1;
        match self.on_missed {
            OnMissed::Late => {
                let is_told =
                    |one: &&Occasion| wall.duration_since(one.due) <= GRACE || one.at > wall;
                let told: Vec<_> = due.iter().filter(is_told).map(|one| (*one, 0)).collect();
                told[told.len().saturating_sub(LATE_TOLD_MAX)..].to_vec()
            }
            OnMissed::Skip if is_missed => Vec::new(),
            OnMissed::Skip => vec![(*last, 0)],
            OnMissed::Coalesce if !is_missed => vec![(*last, n_before)],
            OnMissed::Coalesce if self.plan.is_ahead() && is_over => Vec::new(),
            OnMissed::Coalesce if !self.plan.is_ahead() && lateness > GRACE => Vec::new(),
            OnMissed::Coalesce => vec![(*last, n_before)],
        }
    }
}
