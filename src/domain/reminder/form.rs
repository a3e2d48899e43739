//! The shapes in which reminders and deliveries are stored: values of JSON only, names and rules as
//! text, times as microseconds since the epoch (UTC).
//!
//! An occurrence is stored by its time on the wall alone: when that is follows from the zone as it is
//! known when it is read. A field that is added is optional or has a default.

use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use super::delivery::{Delivery, DeliveryState, Lease};
use super::lifecycle::{OnMissed, Open, Priority, Reminder, Snooze, Status};
use super::pacing::SinkState;
use super::rule::{Occurrence, Rule, instant};

/// A stored value that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} `{value}` is not one")]
pub struct InvalidForm {
    /// Which value.
    pub field: &'static str,
    /// The value.
    pub value: String,
}

/// A [`Reminder`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of a reminder, described there")]
pub struct ReminderForm {
    pub rule: String,
    pub lead: String,
    pub priority: String,
    pub on_missed: String,
    pub is_timed: bool,
    pub status: String,
    pub counts_from: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_through: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snoozed: Vec<SnoozeForm>,
    #[serde(default)]
    pub generation: u32,
}

/// An [`Open`] occurrence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of an open occurrence, described there")]
pub struct OpenForm {
    pub occurrence: String,
    pub told_at: i64,
    pub last_told_at: i64,
    pub n_repeats: u32,
    pub is_escalated: bool,
    pub n_snoozes: u32,
}

/// A [`Snooze`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of a snooze, described there")]
pub struct SnoozeForm {
    pub occurrence: String,
    pub until: i64,
    pub n: u32,
}

/// A [`Delivery`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of a delivery, described there")]
pub struct DeliveryForm {
    pub key: String,
    pub sink: String,
    pub state: String,
    pub created_at: i64,
    pub due_at: i64,
    pub not_before: i64,
    pub expires_at: i64,
    pub n_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_at: Option<i64>,
    #[serde(default)]
    pub may_repeat: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_id: Option<String>,
}

/// A [`Lease`]; the owner in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of a lease, described there")]
pub struct LeaseForm {
    pub owner: String,
    pub until: i64,
}

/// A [`SinkState`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of the state of a sink, described there")]
pub struct SinkForm {
    #[serde(default)]
    pub n_failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_at: Option<i64>,
}

impl From<&Reminder> for ReminderForm {
    fn from(reminder: &Reminder) -> Self {
        Self {
            rule: reminder.rule.to_string(),
            lead: reminder.lead.to_string(),
            priority: reminder.priority.to_string(),
            on_missed: reminder.on_missed.to_string(),
            is_timed: reminder.is_timed,
            status: reminder.status.to_string(),
            counts_from: reminder.counts_from.as_microsecond(),
            done_through: reminder.done_through.map(|civil| civil.to_string()),
            open: reminder.open.as_ref().map(|open| OpenForm {
                occurrence: open.occurrence.civil.to_string(),
                told_at: open.told_at.as_microsecond(),
                last_told_at: open.last_told_at.as_microsecond(),
                n_repeats: open.n_repeats,
                is_escalated: open.is_escalated,
                n_snoozes: open.n_snoozes,
            }),
            snoozed: reminder
                .snoozed
                .iter()
                .map(|snooze| SnoozeForm {
                    occurrence: snooze.occurrence.civil.to_string(),
                    until: snooze.until.as_microsecond(),
                    n: snooze.n,
                })
                .collect(),
            generation: reminder.generation,
        }
    }
}

impl TryFrom<ReminderForm> for Reminder {
    type Error = InvalidForm;

    fn try_from(form: ReminderForm) -> Result<Self, InvalidForm> {
        let rule: Rule = form.rule.parse().map_err(|_| invalid("rule", &form.rule))?;
        let occurrence = |text: &str| {
            let civil = wall(text)?;
            let at = instant(civil, rule.zone()).ok_or_else(|| invalid("occurrence", text))?;
            Ok(Occurrence { civil, at })
        };
        let open = |open: OpenForm| {
            Ok(Open {
                occurrence: occurrence(&open.occurrence)?,
                told_at: time(open.told_at)?,
                last_told_at: time(open.last_told_at)?,
                n_repeats: open.n_repeats,
                is_escalated: open.is_escalated,
                n_snoozes: open.n_snoozes,
            })
        };
        let snooze = |snooze: SnoozeForm| {
            let (until, n) = (time(snooze.until)?, snooze.n);
            Ok(Snooze { occurrence: occurrence(&snooze.occurrence)?, until, n })
        };
        Ok(Self {
            lead: form.lead.parse().map_err(|_| invalid("lead", &form.lead))?,
            priority: named("priority", Priority::parse, &form.priority)?,
            on_missed: named("on_missed", OnMissed::parse, &form.on_missed)?,
            is_timed: form.is_timed,
            status: named("status", Status::parse, &form.status)?,
            counts_from: time(form.counts_from)?,
            done_through: form.done_through.as_deref().map(wall).transpose()?,
            open: form.open.map(open).transpose()?,
            snoozed: form.snoozed.into_iter().map(snooze).collect::<Result<_, _>>()?,
            generation: form.generation,
            rule,
        })
    }
}

impl From<&Delivery> for DeliveryForm {
    fn from(delivery: &Delivery) -> Self {
        Self {
            key: delivery.key.to_string(),
            sink: delivery.sink.clone(),
            state: delivery.state.to_string(),
            created_at: delivery.created_at.as_microsecond(),
            due_at: delivery.due_at.as_microsecond(),
            not_before: delivery.not_before.as_microsecond(),
            expires_at: delivery.expires_at.as_microsecond(),
            n_attempts: delivery.n_attempts,
            lease: delivery.lease.map(|lease| LeaseForm {
                owner: format!("{:x}", lease.owner),
                until: lease.until.as_microsecond(),
            }),
            called_at: delivery.called_at.map(Timestamp::as_microsecond),
            may_repeat: delivery.may_repeat,
            why: delivery.why.clone(),
            sent_at: delivery.sent_at.map(Timestamp::as_microsecond),
            remote_id: delivery.remote_id.clone(),
        }
    }
}

impl TryFrom<DeliveryForm> for Delivery {
    type Error = InvalidForm;

    fn try_from(form: DeliveryForm) -> Result<Self, InvalidForm> {
        let lease = |lease: LeaseForm| {
            let owner = u128::from_str_radix(&lease.owner, 16)
                .map_err(|_| invalid("owner of a lease", &lease.owner))?;
            Ok(Lease { owner, until: time(lease.until)? })
        };
        Ok(Self {
            key: form.key.parse().map_err(|_| invalid("key", &form.key))?,
            state: named("state", DeliveryState::parse, &form.state)?,
            created_at: time(form.created_at)?,
            due_at: time(form.due_at)?,
            not_before: time(form.not_before)?,
            expires_at: time(form.expires_at)?,
            n_attempts: form.n_attempts,
            lease: form.lease.map(lease).transpose()?,
            called_at: form.called_at.map(time).transpose()?,
            may_repeat: form.may_repeat,
            why: form.why,
            sent_at: form.sent_at.map(time).transpose()?,
            remote_id: form.remote_id,
            sink: form.sink,
        })
    }
}

impl From<&SinkState> for SinkForm {
    fn from(state: &SinkState) -> Self {
        Self {
            n_failures: state.n_failures,
            paused_until: state.paused_until.map(Timestamp::as_microsecond),
            disabled: state.disabled.clone(),
            disabled_at: state.disabled_at.map(Timestamp::as_microsecond),
            full_at: state.full_at.map(Timestamp::as_microsecond),
        }
    }
}

impl TryFrom<SinkForm> for SinkState {
    type Error = InvalidForm;

    fn try_from(form: SinkForm) -> Result<Self, InvalidForm> {
        Ok(Self {
            n_failures: form.n_failures,
            paused_until: form.paused_until.map(time).transpose()?,
            disabled: form.disabled,
            disabled_at: form.disabled_at.map(time).transpose()?,
            full_at: form.full_at.map(time).transpose()?,
        })
    }
}

fn invalid(field: &'static str, value: &str) -> InvalidForm {
    InvalidForm { field, value: value.chars().take(64).collect() }
}

fn named<T>(
    field: &'static str,
    parse: impl Fn(&str) -> Option<T>,
    text: &str,
) -> Result<T, InvalidForm> {
    parse(text).ok_or_else(|| invalid(field, text))
}

fn time(microseconds: i64) -> Result<Timestamp, InvalidForm> {
    Timestamp::from_microsecond(microseconds)
        .map_err(|_| invalid("time", &microseconds.to_string()))
}

fn wall(text: &str) -> Result<DateTime, InvalidForm> {
    text.parse().map_err(|_| invalid("occurrence", text))
}

#[cfg(test)]
mod tests;
