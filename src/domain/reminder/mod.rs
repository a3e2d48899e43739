//! Reminders: when one is due, what becomes of it, and how a message about it travels.
//!
//! Everything here is a function of a state and a moment. A rule is evaluated on the clock on the
//! wall of its zone; a reminder knows which occurrences have been dealt with and turns a moment into
//! effects; a delivery is one message to one sink, from queued to sent. Nothing here reads a clock,
//! draws a random number, or knows of the store and of the sinks.

mod lead;
mod rule;
mod weekdays;

mod lifecycle;
mod quiet;

mod delivery;
mod digest;
mod pacing;

mod entry;
mod form;
mod outgoing;
mod plan;
mod reread;
mod settings;

pub mod wording;

pub use delivery::{
    Delivery, DeliveryKey, DeliveryState, InvalidDeliveryKey, Lease, NextStep, Outcome,
    RetryPolicy, StepError,
};
pub use digest::{Message, fitting, messages};
pub use entry::{
    Enact, Enacted, Entry, EntryQuery, Row, RowCount, SinkChange, SkippedNote, Source, View,
};
pub use form::{
    DeliveryForm, InvalidForm, LeaseForm, OpenForm, ReminderForm, SinkForm, SnoozeForm,
};
pub use lead::{InvalidLead, Lead};
pub use lifecycle::{
    ActionError, Effect, Kind, OnMissed, Open, Policy, Priority, Reminder, Repeat, Skipped, Snooze,
    Standing, Status, Telling,
};
pub use outgoing::{Outgoing, Terms, Waiting, left_behind, next_message};
pub use pacing::{Backoff, Breaker, Gate, NagBudget, Pace, SinkState, retry_after};
pub use plan::{Audience, note_skipped, rows};
pub use quiet::{InvalidQuietHours, QuietHours, told_from};
pub use reread::{Reread, reread, said_again};
pub use rule::{
    End, Given, LeapDay, Nth, Occurrence, Pattern, Rule, RuleError, RuleParts, Short, instant,
    told, zone_named,
};
pub use settings::{BREAKER, ReminderSettings};
pub use weekdays::Weekdays;
