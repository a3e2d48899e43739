//! Setting a reminder: when it is meant, what it says, and whom it is for.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::view::ReminderView;
use super::when::{Meant, Said, check_to_come};
use super::{Outlets, SetReminder};
use crate::domain::change::RequestKey;
use crate::domain::identity::Caller;
use crate::domain::limits::{REMINDER_TEXT_BYTES_MAX, REMINDERS_MAX};
use crate::domain::memory::Memory;
use crate::domain::reminder::{
    ActionError, Enact, Enacted, End, Entry, InvalidLead, Lead, Reminder, Rule, Source, Status,
};
use crate::domain::scanner::{self, names_meeting};
use crate::service::redaction::Redactor;
use crate::service::remember::writable_namespace;
use crate::service::{Service, ServiceError, Settings};

/// Stands where a text was cut.
const ELLIPSIS: &str = "\u{2026}";

impl Service {
    /// Sets a reminder; durable at the answer.
    ///
    /// # Errors
    /// `Invalid` and `Refused` name the argument; `NotFound` for the memory; `NotWritable`; `Store`.
    pub async fn set_reminder(
        &self,
        caller: &Caller,
        asked: SetReminder,
    ) -> Result<ReminderView, ServiceError> {
        let now = self.clock.now();
        let settings = self.settings();
        let memory = match &asked.memory {
            None => None,
            Some(reference) => {
                let snapshot = self.store.snapshot().await?;
                Some(self.find(caller, &snapshot, "memory", reference).await?)
            }
        };
        let beside = memory.as_ref().map(|memory| memory.namespace.as_str());
        let namespace = writable_namespace(caller, asked.namespace.as_deref().or(beside))?;
        let mut redactor = Redactor::default();
        let asked = redacted(asked, &mut redactor);
        let sinks = checked_sinks(&asked.sinks, &self.outlets)?;
        let mut draft = Draft::read(&asked, memory.as_ref(), &settings, now)?;
        if self.outlets.names().is_empty() {
            let note = "no sink is configured ([sinks.NAME]): agents are told, and nobody else";
            draft.notes.push(note.to_owned());
        }
        let reminder = draft.reminder(&asked, now)?;
        let mut entry = Entry {
            id: self.ids.next_id(now),
            version: 1,
            namespace,
            text: draft.text,
            source: Source::Stated,
            memory: memory.map(|memory| memory.id),
            evidence: Vec::new(),
            topic: None,
            sinks,
            actor: caller.actor.to_string(),
            created_at: now,
            updated_at: now,
            proposed_at: None,
            skipped: None,
            wakes_at: None,
            reminder,
        };
        let policy = self.outlets.policy_of(&entry, &settings.reminders);
        entry.wakes_at = entry.reminder.wakes_at(&policy);
        let entry = self.keep_new(entry, asked.request, now).await?;
        let mut view = self.shown(entry).await?;
        (view.redacted, view.notes) = (redactor.found(), draft.notes);
        Ok(view)
    }

    /// Keeps a new reminder; answers with the one that the first call of this key has set.
    async fn keep_new(
        &self,
        entry: Entry,
        request: Option<RequestKey>,
        now: Timestamp,
    ) -> Result<Entry, ServiceError> {
        // What was only proposed for then is asked for now.
        let changed = self.proposals_met(&entry, now).await?;
        let enact = Enact { new: vec![entry.clone()], changed, request, ..Enact::default() };
        match self.enact_reminders(enact, now).await? {
            Enacted::Done(ids) => {
                self.outlets.tell();
                let Some(first) = ids.first().filter(|id| **id != entry.id) else {
                    return Ok(entry);
                };
                let found = self.reminders.entry(*first).await?;
                found.ok_or_else(|| ServiceError::NotFound { reference: first.to_string() })
            }
            Enacted::TooMany => Err(too_many()),
            Enacted::Conflict(what) => Err(ServiceError::refused("memory", what)),
        }
    }
}

pub(super) fn too_many() -> ServiceError {
    let why = format!(
        "{REMINDERS_MAX} reminders are kept, the most there can be, or too many messages wait: \
         nothing was changed"
    );
    ServiceError::refused("text", why)
}

/// The same without secrets. They can only stand in what is kept.
fn redacted(mut asked: SetReminder, redactor: &mut Redactor) -> SetReminder {
    asked.text = asked.text.map(|text| redactor.text(&text).to_string());
    asked
}

/// A text that may be kept.
pub(super) fn checked_text(text: &str) -> Result<String, ServiceError> {
    let text = text.trim();
    let expected = || format!("text of 1 to {REMINDER_TEXT_BYTES_MAX} bytes");
    if text.is_empty() {
        Err(ServiceError::invalid("text", expected(), "nothing"))
    } else if text.len() > REMINDER_TEXT_BYTES_MAX {
        Err(ServiceError::invalid("text", expected(), format!("{} bytes", text.len())))
    } else {
        Ok(text.to_owned())
    }
}

/// Sinks that there are, each once.
pub(super) fn checked_sinks(
    asked: &[String],
    outlets: &Outlets,
) -> Result<Vec<String>, ServiceError> {
    let names = outlets.names();
    let mut sinks: Vec<String> = Vec::new();
    for sink in asked.iter().map(|sink| sink.trim()) {
        if !names.iter().any(|name| name == sink) {
            let expected = match names.as_slice() {
                [] => "none, since no sink is configured ([sinks.NAME])".to_owned(),
                names => format!("names of configured sinks ({})", names.join(", ")),
            };
            return Err(ServiceError::invalid("sinks", expected, format!("`{sink}`")));
        }
        if !sinks.iter().any(|known| known == sink) {
            sinks.push(sink.to_owned());
        }
    }
    Ok(sinks)
}

/// The lead that a caller gives, as a time or in words.
pub(super) fn given_lead(lead: Option<&str>) -> Result<Option<Lead>, ServiceError> {
    let read = |lead: &str| lead.parse().or_else(|why| scanner::lead(lead).ok_or(why));
    let parsed = lead.map(read).transpose();
    parsed.map_err(|why: InvalidLead| ServiceError::refused("lead", why))
}

/// A rule with another end.
pub(super) fn ending(rule: Rule, end: Option<End>) -> Result<Rule, ServiceError> {
    let Some(end) = end else { return Ok(rule) };
    let argument = if matches!(end, End::Count(_)) { "count" } else { "until" };
    if rule.is_once() {
        return Err(ServiceError::refused(argument, "only what recurs has an end"));
    }
    let mut parts = rule.parts().clone();
    parts.end = end;
    Rule::new(parts).map_err(|why| ServiceError::refused(argument, why))
}

/// The zone of times that name none.
pub(in crate::service) fn usual_zone(settings: &Settings) -> &TimeZone {
    settings.reminders.zone.as_ref().unwrap_or(&settings.zone)
}

/// What is going to be kept, and what the caller should know of it.
struct Draft {
    text: String,
    meant: Meant,
    lead: Lead,
    notes: Vec<String>,
}

impl Draft {
    fn read(
        asked: &SetReminder,
        memory: Option<&Memory>,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Self, ServiceError> {
        let (zone, all_day_at) = (usual_zone(settings), settings.reminders.all_day_at);
        let said = Said::new(now, asked.zone.as_deref(), zone, all_day_at)?;
        let text = match (&asked.text, memory) {
            (Some(text), _) => checked_text(text)?,
            (None, Some(memory)) => shortened(&memory.content),
            (None, None) => {
                let expected = "what to be reminded of, or `memory`";
                return Err(ServiceError::invalid("text", expected, "nothing"));
            }
        };
        let mut notes = Vec::new();
        let given = said.given(asked.at.as_deref(), asked.rule.as_deref())?;
        let argument = if asked.rule.is_some() { "rule" } else { "at" };
        let mut meant = if let Some(meant) = given {
            meant
        } else {
            let read = match (&asked.text, memory) {
                (None, Some(memory)) => {
                    // "Tomorrow" in a memory is that of the day on which it was said.
                    let then = memory.event_time().min(memory.created_at);
                    let said = Said::new(then, asked.zone.as_deref(), zone, all_day_at)?;
                    said.in_text(&memory.content, now)
                }
                _ => said.in_text(&text, now),
            };
            let (read, others) = read?.ok_or_else(no_time)?;
            notes.push(format!("read in the text: {}", read.rule.describe()));
            if !others.is_empty() {
                let others = others.join("`, `");
                notes.push(format!(
                    "the text names other times, for which nothing is set: `{others}`"
                ));
            }
            read
        };
        meant.rule = ending(meant.rule, said.end(asked.until.as_deref(), asked.count)?)?;
        check_to_come(argument, &meant.rule, now)?;
        let given_lead = given_lead(asked.lead.as_deref())?.or(meant.lead);
        let is_before = matches!(given_lead, Some(Lead::Elapsed(time)) if time.is_positive());
        if meant.is_all_day && is_before {
            meant.rule = Said::from_midnight(meant.rule);
            notes.push("no time of day was named: told before the day begins".to_owned());
        } else if !meant.is_timed {
            let at = meant.rule.parts().start.strftime("%H:%M").to_string();
            notes.push(format!("no time of day was named: {at} is taken"));
        }
        if meant.is_guess {
            let at = meant.rule.parts().start.strftime("%H:%M").to_string();
            notes.push(format!("the half of the day was not named: {at} is taken"));
        }
        let is_meeting = !meant.rule.is_once() && names_meeting(&text);
        let lead = match given_lead {
            Some(lead) => lead,
            None if is_meeting => {
                notes.push(
                    "a meeting that recurs is told an hour before, unless `lead` says otherwise"
                        .to_owned(),
                );
                Lead::MEETING
            }
            None => Lead::NONE,
        };
        // The times in the text would be wrong on the day on which it is told.
        let subject = meant.subject.as_deref().map(shortened);
        Ok(Self { text: subject.unwrap_or(text), meant, lead, notes })
    }

    fn reminder(&mut self, asked: &SetReminder, now: Timestamp) -> Result<Reminder, ServiceError> {
        let rule = self.meant.rule.clone();
        let mut reminder = Reminder::new(rule, self.lead, Status::Active, now)
            .map_err(|why: ActionError| ServiceError::refused("at", why))?;
        reminder.priority = asked.priority.unwrap_or(reminder.priority);
        reminder.on_missed = asked.on_missed.unwrap_or(reminder.on_missed);
        reminder.is_timed = self.meant.is_timed;
        if reminder.upcoming(1).first().is_some_and(|(told_at, _)| *told_at <= now) {
            let note = "the time to be reminded has passed, what it is about has not: told at once";
            self.notes.push(note.to_owned());
        }
        Ok(reminder)
    }
}

fn no_time() -> ServiceError {
    let why = "expected a time: the text names none that is to come; give `at` (ISO 8601 or words \
               like \"tomorrow 3pm\") or `rule` (\"every Friday 15:00\")";
    ServiceError::refused("at", why)
}

/// A text within the limit, cut between characters.
pub(in crate::service) fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= REMINDER_TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let room = REMINDER_TEXT_BYTES_MAX - ELLIPSIS.len();
    let end = text.floor_char_boundary(room);
    format!("{}{ELLIPSIS}", text.get(..end).unwrap_or_default().trim_end())
}
