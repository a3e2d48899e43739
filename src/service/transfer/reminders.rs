//! What an import takes of a reminder.

use super::{check_actor, check_namespace};
use crate::domain::limits::{
    REMINDER_SNOOZED_MAX, REMINDER_TEXT_BYTES_MAX, SESSION_BYTES_MAX, SINKS_MAX,
};
use crate::domain::reminder::Entry;
use crate::service::ServiceError;
use crate::service::redaction::Redactor;

/// The reminder within the limits and without secrets.
pub(super) fn accept(entry: Entry, redactor: &mut Redactor) -> Result<Entry, ServiceError> {
    check_namespace(entry.namespace.as_str())?;
    check_actor(&entry.actor)?;
    if entry.text.trim().is_empty() || entry.text.len() > REMINDER_TEXT_BYTES_MAX {
        let expected = format!("1 to {REMINDER_TEXT_BYTES_MAX} bytes");
        return Err(ServiceError::invalid("text", expected, format!("{} bytes", entry.text.len())));
    }
    let n_snoozed = entry.reminder.snoozed.len();
    if n_snoozed > REMINDER_SNOOZED_MAX {
        let expected = format!("at most {REMINDER_SNOOZED_MAX} occurrences");
        return Err(ServiceError::invalid("snoozed", expected, n_snoozed));
    }
    let is_name = |name: &String| (1..=SESSION_BYTES_MAX).contains(&name.len());
    if entry.sinks.len() > SINKS_MAX || !entry.sinks.iter().all(is_name) {
        let expected = format!("at most {SINKS_MAX} names");
        return Err(ServiceError::invalid("sinks", expected, entry.sinks.len()));
    }
    if entry.topic.as_ref().is_some_and(|topic| topic.len() > REMINDER_TEXT_BYTES_MAX) {
        let expected = format!("at most {REMINDER_TEXT_BYTES_MAX} bytes");
        return Err(ServiceError::invalid("topic", expected, "more"));
    }
    let text = redactor.text(&entry.text).to_string();
    let topic = entry.topic.as_deref().map(|topic| redactor.text(topic).to_string());
    Ok(Entry { text, topic, ..entry })
}
