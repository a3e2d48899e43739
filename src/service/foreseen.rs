//! The reminders that the text of a memory asks for, or only names a time for: read as it is stored.
//!
//! One that the text asks for in so many words, at a time that leaves nothing open, is armed; any other
//! time that is worth it is proposed, and nobody is told at it until somebody has accepted it.

use jiff::Timestamp;

use super::remind::{ReminderView, shortened, usual_zone};
use super::{Service, ServiceError, Settings};
use crate::domain::change::{NewMemory, Remembered, StoreStatus};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::REMINDERS_READ_MAX;
use crate::domain::memory::{Kind, Memory};
use crate::domain::namespace::Namespace;
use crate::domain::reminder::{Entry, Lead, Reminder, Source, Standing, Status};
use crate::domain::scanner::{Found, Precision, Unarmed, read};

impl Service {
    /// Gives a new memory the reminders that are read in its text; tells why it arms none where it asks
    /// for one.
    pub(super) fn foresee(
        &self,
        new: &mut NewMemory,
        actor: &Actor,
        now: Timestamp,
    ) -> Vec<Unarmed> {
        // What was said earlier speaks of its own tomorrow.
        let said_at = new.occurred_at.map_or(now, |at| at.min(now));
        self.foresee_from(new, actor, said_at, now)
    }

    /// The same for one that was said at `said_at`.
    pub(super) fn foresee_from(
        &self,
        new: &mut NewMemory,
        actor: &Actor,
        said_at: Timestamp,
        now: Timestamp,
    ) -> Vec<Unarmed> {
        let (found, unarmed) = self.found(new.kind, &new.content, said_at, now);
        let about = About {
            memory: new.id,
            namespace: new.namespace.clone(),
            content: new.content.to_string(),
        };
        new.reminders = self.entries_read(found, &about, actor, now);
        unarmed
    }

    /// The reminders that are read in the new text of a memory (`None`: it says the same of times as the
    /// old one, so that what was made of them stays), and why it arms none where it asks for one.
    pub(super) fn foresee_again(
        &self,
        memory: &Memory,
        content: &str,
        actor: &Actor,
        now: Timestamp,
    ) -> (Option<Vec<Entry>>, Vec<Unarmed>) {
        let (before, _) = self.found(memory.kind, &memory.content, now, now);
        let (found, unarmed) = self.found(memory.kind, content, now, now);
        let means = |found: &[Found]| -> Vec<_> {
            found.iter().map(|one| (one.when.clone(), one.lead, one.arms(now))).collect()
        };
        if means(&before) == means(&found) {
            return (None, unarmed);
        }
        let about = About {
            memory: memory.id,
            namespace: memory.namespace.clone(),
            content: content.to_owned(),
        };
        (Some(self.entries_read(found, &about, actor, now)), unarmed)
    }

    /// Says when the engine has something to do for a new reminder.
    pub(super) fn wake(&self, entry: &mut Entry, settings: &Settings) {
        let policy = self.outlets.policy_of(entry, &settings.reminders);
        entry.wakes_at = entry.reminder.wakes_at(&policy);
    }

    /// The reminders that were read in a memory, as they are now.
    pub(super) async fn foreseen(&self, id: MemoryId) -> Result<Vec<ReminderView>, ServiceError> {
        let entries = self.reminders.entries_of(id).await?;
        let mut views = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.source.is_read()) {
            views.push(self.shown(entry).await?);
        }
        Ok(views)
    }

    /// The same for each memory that was stored, as far as there is anything.
    pub(super) async fn all_foreseen(
        &self,
        remembered: &[Remembered],
        foreseen: &[bool],
    ) -> Result<Vec<Vec<ReminderView>>, ServiceError> {
        let mut all = Vec::with_capacity(remembered.len());
        for (one, is_foreseen) in remembered.iter().zip(foreseen) {
            // Replacing a memory may have ended what was read in it.
            let has_changed = *is_foreseen || one.supersedes.is_some();
            let is_there = has_changed && one.status != StoreStatus::Forgotten;
            all.push(if is_there { self.foreseen(one.id).await? } else { Vec::new() });
            if has_changed {
                self.reminders_are_other();
            }
        }
        Ok(all)
    }

    /// The proposals that a reminder makes superfluous which somebody sets: those of the same times in the
    /// same namespace, called off.
    pub(super) async fn proposals_met(
        &self,
        set: &Entry,
        now: Timestamp,
    ) -> Result<Vec<Entry>, ServiceError> {
        let rule = &set.reminder.rule;
        let is_met = |proposed: &Entry| {
            let other = &proposed.reminder.rule;
            proposed.namespace == set.namespace
                && other.parts().pattern == rule.parts().pattern
                && other.next_after(now) == rule.next_after(now)
        };
        let mut met = self.all_entries(vec![Standing::Proposed]).await?;
        met.retain(is_met);
        for proposed in &mut met {
            if proposed.reminder.cancel().is_ok() {
                (proposed.updated_at, proposed.wakes_at) = (now, None);
            }
        }
        Ok(met)
    }

    /// The times in a text that are worth a reminder: those that are asked for first, then the surer. And
    /// why nothing is armed where it asks for it.
    fn found(
        &self,
        kind: Kind,
        text: &str,
        said_at: Timestamp,
        now: Timestamp,
    ) -> (Vec<Found>, Vec<Unarmed>) {
        // What is made of memories only repeats what they say.
        if matches!(kind, Kind::Summary | Kind::Profile) {
            return (Vec::new(), Vec::new());
        }
        let settings = self.settings();
        let said = said_at.to_zoned_datetime(usual_zone(&settings).clone());
        let scan = read(text, &said, settings.reminders.all_day_at);
        let unarmed = scan.unarmed(now);
        let mut found = scan.times;
        found.retain(|one| one.arms(now) || one.is_proposal(now));
        found.sort_by(|left, right| {
            let sure = right.confidence.total_cmp(&left.confidence);
            right.arms(now).cmp(&left.arms(now)).then(sure)
        });
        found.truncate(REMINDERS_READ_MAX);
        (found, unarmed)
    }

    fn entries_read(
        &self,
        found: Vec<Found>,
        about: &About,
        actor: &Actor,
        now: Timestamp,
    ) -> Vec<Entry> {
        let settings = self.settings();
        found
            .into_iter()
            .filter_map(|one| self.entry_read(&one, about, actor, now, &settings))
            .collect()
    }

    /// `None`: its zone has no name, or nothing of it is to come.
    fn entry_read(
        &self,
        found: &Found,
        about: &About,
        actor: &Actor,
        now: Timestamp,
        settings: &Settings,
    ) -> Option<Entry> {
        let rule = found.when.rule().ok()?;
        let is_armed = found.arms(now);
        let status = if is_armed { Status::Active } else { Status::Proposed };
        let usual = if found.is_meeting && !rule.is_once() { Lead::MEETING } else { Lead::NONE };
        let mut reminder = Reminder::new(rule, found.lead.unwrap_or(usual), status, now).ok()?;
        reminder.is_timed = found.precision == Precision::Minute;
        let has_subject = found.subject.chars().any(char::is_alphanumeric);
        let text = if has_subject { &found.subject } else { &about.content };
        let mut entry = Entry {
            id: self.ids.next_id(now),
            version: 1,
            namespace: about.namespace.clone(),
            text: shortened(text),
            source: if is_armed { Source::Asked } else { Source::Found },
            memory: Some(about.memory),
            evidence: Vec::new(),
            topic: None,
            sinks: Vec::new(),
            actor: actor.to_string(),
            created_at: now,
            updated_at: now,
            proposed_at: None,
            skipped: None,
            wakes_at: None,
            reminder,
        };
        self.wake(&mut entry, settings);
        Some(entry)
    }
}

/// What reminders are about.
struct About {
    memory: MemoryId,
    namespace: Namespace,
    content: String,
}
