//! Suggesting a reminder for what memories show to happen again and again.
//!
//! A suggestion is a proposal with its evidence, made once: what somebody has said no to, or what a
//! reminder tells of already, is not suggested again.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use super::remind::usual_zone;
use super::{Service, ServiceError, Settings};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::JobName;
use crate::domain::limits::{
    SUGGEST_LOOKBACK, SUGGEST_MEMORIES_MAX, SUGGESTED_EVIDENCE_MAX, SUGGESTED_PER_RUN_MAX,
};
use crate::domain::memory::{Kind, Memory, Origin, Status};
use crate::domain::namespace::Namespace;
use crate::domain::periodicity::{Event, stored_apart};
use crate::domain::reminder::{
    Enact, Enacted, Entry, Lead, Reminder, Source, Standing, Status as ReminderStatus,
};
use crate::domain::scanner::names_meeting;
use crate::domain::suggestion::{Happened, Suggestion, suggestions};
use crate::ports::Listing;

/// Who suggests.
const SUGGEST_JOB: Actor = Actor::Job(JobName::Suggest.as_str());

/// What came of a search for suggestions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggested {
    /// The reminders that are proposed now, or would be, each with how many memories show it.
    pub reminders: Vec<(MemoryId, usize)>,
    /// Memories that were looked at.
    pub n_looked_at: u64,
    /// Rules that memories show and that somebody knows of already.
    pub n_known: u64,
    /// Namespaces in which the search broke down; the log tells where.
    pub n_broken: u64,
    /// Whether it was told to end before everything was looked at.
    pub is_stopped: bool,
}

impl Service {
    /// Proposes reminders for what the memories of each namespace show, at most
    /// [`SUGGESTED_PER_RUN_MAX`]; `is_dry_run` only tells of them.
    ///
    /// # Errors
    /// `Store`; what was proposed before stands.
    pub async fn suggest(
        &self,
        now: Timestamp,
        is_dry_run: bool,
        stop: &CancellationToken,
    ) -> Result<Suggested, ServiceError> {
        let mut suggested = Suggested::default();
        for namespace in self.store.snapshot().await?.namespaces().await? {
            if stop.is_cancelled() {
                suggested.is_stopped = true;
                break;
            }
            self.suggest_in(&namespace, now, is_dry_run, &mut suggested).await?;
        }
        Ok(suggested)
    }

    async fn suggest_in(
        &self,
        namespace: &Namespace,
        now: Timestamp,
        is_dry_run: bool,
        suggested: &mut Suggested,
    ) -> Result<(), ServiceError> {
        let settings = self.settings();
        let zone = usual_zone(&settings).clone();
        let memories = self.happened(namespace, now).await?;
        suggested.n_looked_at += memories.len() as u64;
        let happened: Vec<Happened> = memories.iter().map(|memory| event(memory, &zone)).collect();
        let all_day_at: Time = settings.reminders.all_day_at;
        // Thousands of topics are put to the test: not on a thread that others wait for.
        let found =
            tokio::task::spawn_blocking(move || suggestions(&happened, &zone, now, all_day_at));
        let Ok(found) = found.await else {
            suggested.n_broken += 1;
            return Ok(());
        };
        let mut known = self.all_entries(Vec::new()).await?;
        known.retain(|entry| entry.namespace == *namespace);
        for suggestion in found {
            if suggested.reminders.len() >= SUGGESTED_PER_RUN_MAX {
                break;
            }
            if is_known(&suggestion, &known, &memories, now) {
                suggested.n_known += 1;
                continue;
            }
            let entry = self.suggestion(&suggestion, namespace, &memories, now, &settings);
            let Some(entry) = entry else { continue };
            let (id, n_evidence) = (entry.id, entry.evidence.len());
            if !is_dry_run {
                let enact = Enact { new: vec![entry.clone()], ..Enact::default() };
                // A memory went meanwhile, or there are too many reminders: the next run sees.
                if !matches!(self.enact_reminders(enact, now).await?, Enacted::Done(_)) {
                    continue;
                }
                self.outlets.tell();
            }
            suggested.reminders.push((id, n_evidence));
            known.push(entry);
        }
        Ok(())
    }

    /// What happened in a namespace, newest first: events, and whatever has a time of its own or names
    /// a meeting. What came in one import says nothing by the time at which it was stored.
    async fn happened(
        &self,
        namespace: &Namespace,
        now: Timestamp,
    ) -> Result<Vec<Memory>, ServiceError> {
        let filter = Filter {
            namespaces: vec![namespace.clone()],
            kinds: vec![Kind::Event, Kind::Fact, Kind::Task],
            // What was replaced has happened all the same.
            statuses: vec![Status::Active, Status::Archived, Status::Superseded],
            after: now.checked_sub(SUGGEST_LOOKBACK).ok(),
            before: Some(now),
            ..Filter::default()
        };
        let listing =
            Listing { filter, newest_first: true, after: None, limit: SUGGEST_MEMORIES_MAX };
        let mut memories = self.store.snapshot().await?.list(listing).await?;
        memories.retain(|memory| memory.origin != Origin::Consolidated);
        let stored: Vec<Timestamp> = memories.iter().map(|memory| memory.created_at).collect();
        let mut apart = stored_apart(&stored).into_iter();
        memories.retain(|memory| {
            let is_apart = apart.next().unwrap_or_default() && memory.origin != Origin::Imported;
            let is_event = memory.kind == Kind::Event || names_meeting(&memory.content);
            memory.occurred_at.is_some() || (is_event && is_apart)
        });
        Ok(memories)
    }

    /// `None`: nothing of the rule is to come.
    fn suggestion(
        &self,
        suggestion: &Suggestion,
        namespace: &Namespace,
        memories: &[Memory],
        now: Timestamp,
        settings: &Settings,
    ) -> Option<Entry> {
        let habit = &suggestion.habit;
        let evidence: Vec<MemoryId> = habit
            .evidence
            .iter()
            .filter_map(|at| memories.get(*at))
            .map(|memory| memory.id)
            .take(SUGGESTED_EVIDENCE_MAX)
            .collect();
        let is_meeting = names_meeting(&suggestion.name);
        let lead = if is_meeting && habit.has_time { Lead::MEETING } else { Lead::NONE };
        let rule = habit.rule.clone();
        let mut reminder = Reminder::new(rule, lead, ReminderStatus::Proposed, now).ok()?;
        reminder.is_timed = habit.has_time;
        let mut entry = Entry {
            id: self.ids.next_id(now),
            version: 1,
            namespace: namespace.clone(),
            text: super::remind::shortened(&suggestion.name),
            source: Source::Pattern,
            memory: None,
            evidence,
            topic: Some(format!("{namespace} {}", suggestion.topic)),
            sinks: Vec::new(),
            actor: SUGGEST_JOB.to_string(),
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

/// Whether somebody knows of it: a reminder tells of it, or it was suggested before, whatever became of
/// that.
fn is_known(suggestion: &Suggestion, known: &[Entry], memories: &[Memory], now: Timestamp) -> bool {
    known.iter().any(|entry| {
        let is_pattern = entry.source == Source::Pattern;
        if !is_pattern && entry.reminder.standing() == Standing::Past {
            return false;
        }
        let topic = entry.topic.as_deref().and_then(|topic| topic.rsplit(' ').next());
        let shown: BTreeSet<usize> = memories
            .iter()
            .enumerate()
            .filter(|(_, memory)| entry.evidence.contains(&memory.id))
            .map(|(at, _)| at)
            .collect();
        topic == Some(suggestion.topic.as_str())
            || suggestion.rests_on(&shown)
            || suggestion.is_told_by(&entry.reminder.rule, now)
    })
}

/// A memory as something that happened. One whose time is the first moment of a day has only the day.
fn event(memory: &Memory, zone: &TimeZone) -> Happened {
    let at = memory.event_time();
    let midnight = zone.to_datetime(at).time() == Time::midnight();
    let is_day = midnight && memory.occurred_at.is_some();
    Happened { text: memory.content.to_string(), event: Event { at, is_day } }
}
