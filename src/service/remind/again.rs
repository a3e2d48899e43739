//! Asking again for what is done: a call whose answer was lost is sent twice, and that is no mistake.

use super::ReminderAction;
use crate::domain::reminder::{Entry, Source, Status};

/// What the caller is told then.
pub(super) const SO_ALREADY: &str = "nothing changed: it was so already";

/// Whether an action has nothing left to do, since the reminder is as it would make it.
pub(super) fn is_so(action: &ReminderAction, entry: &Entry) -> bool {
    let reminder = &entry.reminder;
    let is = |status| reminder.status == status;
    match action {
        ReminderAction::Ack => {
            let is_told = reminder.done_through.is_some();
            let is_closed = reminder.open.is_none() && reminder.snoozed.is_empty();
            is_told && is_closed && (is(Status::Active) || is(Status::Paused) || is(Status::Done))
        }
        ReminderAction::Pause => is(Status::Paused),
        ReminderAction::Resume => is(Status::Active),
        ReminderAction::Cancel => is(Status::Cancelled),
        ReminderAction::Done => is(Status::Done),
        ReminderAction::Accept => is(Status::Active) && entry.source != Source::Stated,
        ReminderAction::Decline => is(Status::Declined),
        ReminderAction::Snooze { .. } | ReminderAction::Change(_) => false,
    }
}
