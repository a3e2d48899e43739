//! Reminders: people and agents set them, and when one is due the sinks are told.
//!
//! What is due becomes rows of the outbox in one transaction with the state of its reminder, and each
//! row becomes part of a message to one sink. Nothing here waits: whoever drives it asks when to come
//! again.

mod acks;
mod advance;
mod again;
mod change;
mod condition;
mod dead;
mod deliver;
mod doubts;
mod due;
mod fault;
mod list;
mod notice;
mod open;
mod outlets;
mod queue;
mod report;
mod riders;
mod send;
mod set;
mod sinks;
mod view;
mod when;

pub use advance::Advanced;
pub use condition::SinkCondition;
pub use dead::{DeadLetter, DeadOnes, WaitingMessages};
pub(crate) use outlets::Outlets;
pub use outlets::{HOOK, Outlet};
pub use report::RemindersStatus;
pub(in crate::service) use set::{shortened, usual_zone};
pub use sinks::SinkReport;
pub use view::{NextTelling, ReminderPage, ReminderView};

use crate::domain::change::RequestKey;
use crate::domain::reminder::{OnMissed, Priority, View};

/// A reminder as a caller asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetReminder {
    /// What it says. `None`: what the memory says. Without `at` and `rule` the time is read from it.
    pub text: Option<String>,
    /// The memory that it is about: id or handle.
    pub memory: Option<String>,
    /// When what it is about takes place: ISO 8601 or words ("tomorrow 3pm").
    pub at: Option<String>,
    /// When it recurs: words ("every Friday 15:00") or an `RRULE`, whose start is `at`.
    pub rule: Option<String>,
    /// How long before that it is told (`PT1H`, `P1D@18:00`); `None`: what the text says, else an hour
    /// for a meeting that recurs, else with it.
    pub lead: Option<String>,
    /// The zone by IANA name; `None`: that of the configuration.
    pub zone: Option<String>,
    /// Sinks by name; none: those of the configuration.
    pub sinks: Vec<String>,
    /// How much it matters; `None`: normal.
    pub priority: Option<Priority>,
    /// What becomes of missed occurrences; `None`: one is told late, of many the latest is told.
    pub on_missed: Option<OnMissed>,
    /// The last day of a rule.
    pub until: Option<String>,
    /// How many occurrences a rule has.
    pub count: Option<u32>,
    /// Who may read it; `None`: where the memory is, else the caller's default.
    pub namespace: Option<String>,
    /// Idempotency key.
    pub request: Option<RequestKey>,
}

/// A page of reminders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListReminders {
    /// Which.
    pub view: View,
    /// Namespaces or patterns; none: all that the caller may read.
    pub namespaces: Vec<String>,
    /// At most this many, 1..=[`LIST_LIMIT_MAX`](crate::domain::limits::LIST_LIMIT_MAX).
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// What is to be done to a reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateReminder {
    /// Its id or handle.
    pub reference: String,
    /// What.
    pub action: ReminderAction,
}

/// What can be done to a reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReminderAction {
    /// What was told is seen to: it is not told again.
    Ack,
    /// What was told is told once more: after a while, or at a moment. One of the two is given.
    Snooze {
        /// After so long (`30m`, `PT2H`).
        wait: Option<String>,
        /// At this moment: ISO 8601 or words.
        until: Option<String>,
    },
    /// Nothing is told until it is resumed.
    Pause,
    /// It goes on with what is to come.
    Resume,
    /// It is otherwise from now on.
    Change(ChangeReminder),
    /// It is called off.
    Cancel,
    /// What it is about is done, with all that was to come.
    Done,
    /// A proposal is taken up.
    Accept,
    /// A proposal is turned down, for good.
    Decline,
}

/// What is otherwise; `None`: as it was. The fields are those of [`SetReminder`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeReminder {
    /// What it says.
    pub text: Option<String>,
    /// When, for one that does not recur from now on.
    pub at: Option<String>,
    /// When it recurs.
    pub rule: Option<String>,
    /// How long before it is told.
    pub lead: Option<String>,
    /// The zone, in which the times on the wall stay what they are.
    pub zone: Option<String>,
    /// Sinks by name; an empty list: those of the configuration.
    pub sinks: Option<Vec<String>>,
    /// How much it matters.
    pub priority: Option<Priority>,
    /// What becomes of missed occurrences.
    pub on_missed: Option<OnMissed>,
    /// The last day of its rule.
    pub until: Option<String>,
    /// How many occurrences its rule has.
    pub count: Option<u32>,
}
