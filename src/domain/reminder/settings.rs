//! What is set for all reminders.

use jiff::SignedDuration;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::lifecycle::Policy;
use super::pacing::{Backoff, Breaker, NagBudget};

/// How a sink is left alone that fails: three failures in a row, a minute, doubling up to half an
/// hour; chosen.
pub const BREAKER: Breaker = Breaker {
    n_failures: 3,
    pause: SignedDuration::from_mins(1),
    pause_max: SignedDuration::from_mins(30),
};

/// How reminders are told; what a field means, its unit and its range stand in the example of the
/// configuration, `[reminders]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReminderSettings {
    /// Sinks of a reminder that names none; none: all there are.
    pub sinks: Vec<String>,
    /// Zone of times that name none; `None`: that of the system.
    pub zone: Option<TimeZone>,
    /// What is missed, how long it stays open, what is repeated.
    pub policy: Policy,
    /// The sink that is told of what nobody acknowledged.
    pub escalate_to: Option<String>,
    /// The time of a day that is named without one.
    pub all_day_at: Time,
    /// How much a person is told unasked.
    pub nag: NagBudget,
    /// Waits between attempts.
    pub backoff: Backoff,
    /// Attempts after which a message is given up.
    pub attempts_max: u32,
    /// Whether a message that may have arrived is sent once more to a sink that does not know it.
    pub repeats_uncertain: bool,
    /// Least time between two mentions of one reminder to one agent.
    pub agent_gap: SignedDuration,
    /// A program that is started for each message, beside the sinks; empty: none.
    pub on_due: Vec<String>,
    /// How long what is over is kept.
    pub keep: SignedDuration,
}

impl Default for ReminderSettings {
    fn default() -> Self {
        Self {
            sinks: Vec::new(),
            zone: None,
            policy: Policy {
                late_after: SignedDuration::from_mins(2),
                grace: SignedDuration::from_hours(24),
                open_for: SignedDuration::from_hours(24),
                repeat: None,
                escalate_after: None,
            },
            escalate_to: None,
            all_day_at: Time::constant(9, 0, 0, 0),
            nag: NagBudget { per_day: 6, apart: SignedDuration::from_mins(2) },
            backoff: Backoff {
                base: SignedDuration::from_secs(5),
                max: SignedDuration::from_mins(15),
            },
            attempts_max: 12,
            repeats_uncertain: true,
            agent_gap: SignedDuration::from_mins(30),
            on_due: Vec::new(),
            keep: SignedDuration::from_hours(30 * 24),
        }
    }
}
