//! What the passing of time makes of reminders: what is due becomes rows of the outbox, in one
//! transaction with the state of its reminder.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::change::CONFLICTS_MAX;
use super::outlets::{HOOK, Outlet};
use super::{Outlets, fault};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{
    Audience, Effect, Enact, Enacted, Entry, EntryQuery, Policy, ReminderSettings, Row, Standing,
    note_skipped, rows,
};
use crate::service::{Service, ServiceError};

/// Reminders that are carried on in one transaction.
const PAGE: usize = 100;
/// What still has something to tell, or to become.
const ALIVE: [Standing; 4] =
    [Standing::Due, Standing::Upcoming, Standing::Snoozed, Standing::Proposed];

/// What became of what was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Occurrences that are told.
    pub n_told: u64,
    /// Occurrences that are not.
    pub n_skipped: u64,
}

/// A reminder carried on to a moment.
struct Step {
    entry: Entry,
    rows: Vec<Row>,
    advanced: Advanced,
    /// Whether it counts from another time, since the clock had been far ahead.
    begins_anew: bool,
}

impl Service {
    /// Carries on every reminder that has something to do by `now`.
    ///
    /// # Errors
    /// `Store`; `Refused` if more messages wait than may.
    pub async fn advance_reminders(&self, now: Timestamp) -> Result<Advanced, ServiceError> {
        let (mut all, mut seen) = (Advanced::default(), BTreeSet::new());
        loop {
            let mut due = self.reminders.due_entries(now, PAGE).await?;
            // One that others changed meanwhile may stand here still.
            due.retain(|entry| seen.insert(entry.id));
            if due.is_empty() {
                return Ok(all);
            }
            self.carry_on(due, true, now, &mut all).await?;
        }
    }

    /// Looks at every reminder that is not over, and at when it has something to do: that follows from
    /// the clock, the zones and the settings, any of which may be others than before.
    ///
    /// # Errors
    /// Those of [`Service::advance_reminders`].
    pub async fn review_reminders(&self, now: Timestamp) -> Result<Advanced, ServiceError> {
        let mut all = Advanced::default();
        let standings = ALIVE.to_vec();
        let mut query = EntryQuery { standings, limit: PAGE, ..EntryQuery::default() };
        loop {
            let page = self.reminders.entries(query.clone()).await?;
            let is_last = page.len() < PAGE;
            query.after = page.last().map(|entry| entry.id);
            self.carry_on(page, false, now, &mut all).await?;
            if is_last {
                return Ok(all);
            }
        }
    }

    /// When a reminder has something to do next.
    ///
    /// # Errors
    /// `Store`.
    pub async fn next_reminder_wake(&self) -> Result<Option<Timestamp>, ServiceError> {
        Ok(self.reminders.next_wake().await?)
    }

    /// Carries on a page of reminders, one by one where others come in the way. `is_due`: what does
    /// not change is written too, since it has to have another time to wake.
    async fn carry_on(
        &self,
        page: Vec<Entry>,
        is_due: bool,
        now: Timestamp,
        all: &mut Advanced,
    ) -> Result<(), ServiceError> {
        let ids: Vec<MemoryId> = page.iter().map(|entry| entry.id).collect();
        if self.keep_steps(page, is_due, now, all).await? {
            return Ok(());
        }
        for id in ids {
            for _ in 0..CONFLICTS_MAX {
                let entry = self.reminders.entry(id).await?;
                if self.keep_steps(entry.into_iter().collect(), is_due, now, all).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether the steps were kept; `false`: something has changed meanwhile.
    async fn keep_steps(
        &self,
        page: Vec<Entry>,
        is_due: bool,
        now: Timestamp,
        all: &mut Advanced,
    ) -> Result<bool, ServiceError> {
        let settings = self.settings();
        let outlets = self.outlets.all();
        let steps: Vec<Step> = page
            .into_iter()
            .filter_map(|entry| {
                let step = step(&entry, &settings.reminders, &outlets, now);
                (is_due || step.entry != entry).then_some(step)
            })
            .collect();
        if steps.is_empty() {
            return Ok(true);
        }
        let (mut enact, mut advanced) = (Enact::default(), Advanced::default());
        for step in steps {
            if step.begins_anew {
                // What waits was due by a clock that was wrong.
                enact.rows.extend(self.dropped_rows(step.entry.id).await?);
            }
            advanced.n_told += step.advanced.n_told;
            advanced.n_skipped += step.advanced.n_skipped;
            enact.changed.push(step.entry);
            enact.queued.extend(step.rows);
        }
        match self.enact_reminders(enact, now).await? {
            Enacted::Done(_) => {
                fault::point("reminder.queued");
                all.n_told += advanced.n_told;
                all.n_skipped += advanced.n_skipped;
                Ok(true)
            }
            Enacted::Conflict(why) => {
                tracing::debug!(why, "reminders changed meanwhile");
                Ok(false)
            }
            Enacted::TooMany => Err(super::set::too_many()),
        }
    }
}

/// A reminder carried on to `now`.
fn step(before: &Entry, settings: &ReminderSettings, outlets: &[Outlet], now: Timestamp) -> Step {
    let mut entry = before.clone();
    let policy = policy(&entry, settings, outlets);
    let effects = entry.reminder.tick(now, &policy);
    entry.skipped = note_skipped(&entry, &effects, now);
    entry.wakes_at = entry.reminder.wakes_at(&policy);
    if entry.reminder != before.reminder {
        entry.updated_at = now;
    }
    let sinks = sinks_of(&entry, settings, outlets);
    let audience = Audience {
        sinks: &sinks,
        escalate_to: settings.escalate_to.as_deref(),
        hook: (!settings.on_due.is_empty()).then_some(HOOK),
    };
    let rows = rows(&entry, &effects, &audience, now);
    let mut advanced = Advanced::default();
    for effect in effects {
        match effect {
            Effect::Tell(_) => advanced.n_told += 1,
            Effect::Skip { n, .. } => advanced.n_skipped = advanced.n_skipped.saturating_add(n),
        }
    }
    let begins_anew = entry.reminder.generation != before.reminder.generation;
    Step { entry, rows, advanced, begins_anew }
}

/// The sinks of a reminder by name: its own, else those of the configuration, else all. One that is
/// gone is named all the same: its messages end there, and say why.
pub(super) fn sinks_of(
    entry: &Entry,
    settings: &ReminderSettings,
    outlets: &[Outlet],
) -> Vec<String> {
    let named = if entry.sinks.is_empty() { &settings.sinks } else { &entry.sinks };
    if !named.is_empty() {
        return named.clone();
    }
    let all = outlets.iter().map(|outlet| outlet.sink.name());
    all.filter(|name| *name != HOOK).map(str::to_owned).collect()
}

/// The policy of a reminder. What nobody acknowledged goes to a second sink only if it could have been
/// acknowledged at a first one.
pub(super) fn policy(entry: &Entry, settings: &ReminderSettings, outlets: &[Outlet]) -> Policy {
    let sinks = sinks_of(entry, settings, outlets);
    let can_ack = outlets.iter().any(|outlet| {
        outlet.sink.abilities().has_ack && sinks.iter().any(|sink| sink == outlet.sink.name())
    });
    let escalates = can_ack && settings.escalate_to.is_some();
    let escalate_after = settings.policy.escalate_after.filter(|_| escalates);
    Policy { escalate_after, ..settings.policy }
}

impl Outlets {
    /// When a reminder wakes, and what tells it.
    pub(in crate::service) fn policy_of(
        &self,
        entry: &Entry,
        settings: &ReminderSettings,
    ) -> Policy {
        policy(entry, settings, &self.all())
    }
}
