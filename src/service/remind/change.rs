//! What people and agents do to a reminder.

use jiff::{SignedDuration, Timestamp};

use super::again::{SO_ALREADY, is_so};
use super::set::{checked_sinks, checked_text, ending, given_lead, too_many, usual_zone};
use super::view::ReminderView;
use super::when::{Said, check_to_come};
use super::{ChangeReminder, ReminderAction, UpdateReminder};
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::reminder::{
    ActionError, DeliveryState, Enact, Enacted, Entry, Row, Rule, RuleError, Standing, zone_named,
};
use crate::service::redaction::Redactor;
use crate::service::{Service, ServiceError, Settings};

/// Attempts at a change that others come in the way of.
pub(super) const CONFLICTS_MAX: usize = 8;

impl Service {
    /// Does something to a reminder; durable at the answer.
    ///
    /// # Errors
    /// `Invalid` and `Refused` name the argument; `NotWritable`; `Store`.
    pub async fn update_reminder(
        &self,
        caller: &Caller,
        asked: UpdateReminder,
    ) -> Result<ReminderView, ServiceError> {
        let (now, settings) = (self.clock.now(), self.settings());
        let mut redactor = Redactor::default();
        for _ in 0..CONFLICTS_MAX {
            let mut entry = self.find_reminder(caller, &asked.reference).await?;
            if !caller.access.may_write(&entry.namespace) {
                let namespace = entry.namespace.to_string();
                return Err(ServiceError::NotWritable { namespace });
            }
            if is_so(&asked.action, &entry) {
                let mut view = self.shown(entry).await?;
                view.notes.push(SO_ALREADY.to_owned());
                return Ok(view);
            }
            let is_told = entry.reminder.open;
            self.act(&mut entry, &asked.action, &settings, &mut redactor, now)?;
            let ends_telling = entry.reminder.open != is_told || is_stopped(&entry);
            if self.keep_changed(&mut entry, ends_telling, &settings, now).await? {
                self.outlets.tell();
                let kept = self.reminders.entry(entry.id).await?.unwrap_or(entry);
                let mut view = self.shown(kept).await?;
                view.redacted = redactor.found();
                return Ok(view);
            }
        }
        Err(ServiceError::refused("reminder", "others are changing it; try again"))
    }

    fn act(
        &self,
        entry: &mut Entry,
        action: &ReminderAction,
        settings: &Settings,
        redactor: &mut Redactor,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let reminder = &mut entry.reminder;
        let done = match action {
            ReminderAction::Ack => reminder.acknowledge(),
            ReminderAction::Snooze { wait, until } => {
                let (zone, at) = (reminder.rule.zone().clone(), settings.reminders.all_day_at);
                let said = Said::new(now, None, &zone, at)?;
                let until = snoozed_until(wait.as_deref(), until.as_deref(), &said, now)?;
                reminder.snooze(until, now)
            }
            ReminderAction::Pause => reminder.pause(),
            ReminderAction::Resume => reminder.resume(now),
            ReminderAction::Cancel => reminder.cancel(),
            ReminderAction::Done => reminder.finish(),
            ReminderAction::Accept => reminder.accept(now),
            ReminderAction::Decline => reminder.decline(),
            ReminderAction::Change(change) => {
                return self.change(entry, change, settings, redactor, now);
            }
        };
        done.map_err(|why| ServiceError::refused("action", why))
    }

    fn change(
        &self,
        entry: &mut Entry,
        change: &ChangeReminder,
        settings: &Settings,
        redactor: &mut Redactor,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        if entry.reminder.standing() == Standing::Past {
            let (action, status) = ("change", entry.reminder.status);
            return Err(ServiceError::refused("action", ActionError::Status { action, status }));
        }
        if *change == ChangeReminder::default() {
            let why = "a change needs something that is to be otherwise: `text`, `at`, `rule`, ...";
            return Err(ServiceError::refused("action", why));
        }
        if let Some(text) = &change.text {
            entry.text = checked_text(&redactor.text(text))?;
        }
        if let Some(sinks) = &change.sinks {
            entry.sinks = checked_sinks(sinks, &self.outlets)?;
        }
        entry.reminder.priority = change.priority.unwrap_or(entry.reminder.priority);
        entry.reminder.on_missed = change.on_missed.unwrap_or(entry.reminder.on_missed);
        reschedule(entry, change, settings, now)
    }

    /// Keeps a reminder as it is now. What waits to be told of it is dropped if that is over. `false`:
    /// others have changed it meanwhile, and nothing is kept.
    pub(super) async fn keep_changed(
        &self,
        entry: &mut Entry,
        ends_telling: bool,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<bool, ServiceError> {
        entry.updated_at = now;
        let policy = self.outlets.policy_of(entry, &settings.reminders);
        entry.wakes_at = entry.reminder.wakes_at(&policy);
        let rows = if ends_telling { self.dropped_rows(entry.id).await? } else { Vec::new() };
        let enact = Enact { changed: vec![entry.clone()], rows, ..Enact::default() };
        match self.enact_reminders(enact, now).await? {
            Enacted::Done(_) => Ok(true),
            Enacted::Conflict(_) => Ok(false),
            Enacted::TooMany => Err(too_many()),
        }
    }

    /// The rows of a reminder that wait, dropped. What is being sent can't be called back.
    pub(super) async fn dropped_rows(&self, id: MemoryId) -> Result<Vec<Row>, ServiceError> {
        let mut rows = self.reminders.rows_of(id).await?;
        rows.retain_mut(|row| {
            row.delivery.state == DeliveryState::Queued && row.delivery.drop_it().is_ok()
        });
        Ok(rows)
    }
}

/// Whether nothing is told of it any more. What waits while it is paused goes once it is resumed.
fn is_stopped(entry: &Entry) -> bool {
    entry.reminder.standing() == Standing::Past
}

/// Gives a reminder another rule or lead, if any is asked for.
fn reschedule(
    entry: &mut Entry,
    change: &ChangeReminder,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let old = &entry.reminder.rule;
    let (zone, all_day_at) = (change.zone.as_deref(), settings.reminders.all_day_at);
    let usual = if old.zone().iana_name().is_some() { old.zone() } else { usual_zone(settings) };
    let said = Said::new(now, zone, usual, all_day_at)?;
    let end = said.end(change.until.as_deref(), change.count)?;
    let given = said.given(change.at.as_deref(), change.rule.as_deref())?;
    let lead = given_lead(change.lead.as_deref())?;
    if end.is_none() && given.is_none() && lead.is_none() && zone.is_none() {
        return Ok(());
    }
    let argument = if change.rule.is_some() { "rule" } else { "at" };
    let is_timed = given.as_ref().map_or(entry.reminder.is_timed, |given| given.is_timed);
    let lead = lead.or(given.as_ref().and_then(|given| given.lead)).unwrap_or(entry.reminder.lead);
    let rule = match (given, zone) {
        (Some(given), _) => given.rule,
        (None, Some(zone)) => moved(old, zone).map_err(|why| ServiceError::refused("zone", why))?,
        (None, None) => old.clone(),
    };
    let rule = ending(rule, end)?;
    check_to_come(argument, &rule, now)?;
    let changed = entry.reminder.change(rule, lead, now);
    changed.map_err(|why| ServiceError::refused("action", why))?;
    entry.reminder.is_timed = is_timed;
    Ok(())
}

/// The same times on the wall of another zone.
fn moved(rule: &Rule, zone: &str) -> Result<Rule, RuleError> {
    let mut parts = rule.parts().clone();
    parts.zone = zone_named(zone)?;
    Rule::new(parts)
}

fn snoozed_until(
    wait: Option<&str>,
    until: Option<&str>,
    said: &Said,
    now: Timestamp,
) -> Result<Timestamp, ServiceError> {
    match (wait, until) {
        (None, Some(until)) => said.moment("until", until),
        (Some(wait), None) => {
            let expected = "a time to wait (30m, 2h, PT90M), or words for one to come (in 10 \
                            minutes, tomorrow 9:00)";
            let at = match wait.trim().parse::<SignedDuration>() {
                Ok(length) if length.is_positive() => now.checked_add(length).ok(),
                Ok(_) => None,
                Err(_) => said.moment("for", wait).ok(),
            };
            at.ok_or_else(|| ServiceError::invalid("for", expected, format!("`{wait}`")))
        }
        (None, None) | (Some(_), Some(_)) => {
            let expected = "how long (`for`), or until when (`until`), one of the two";
            let found = if wait.is_some() { "both" } else { "neither" };
            Err(ServiceError::invalid("for", expected, found))
        }
    }
}
