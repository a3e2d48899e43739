//! A reminder as it is shown.

use jiff::{SignedDuration, Timestamp};

use crate::domain::reminder::{Entry, Occurrence, Row, Standing, told};

/// How many of the next tellings every answer names.
const NEXT_SHOWN: usize = 3;

/// A reminder as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReminderView {
    /// It.
    pub entry: Entry,
    /// What there is to say of it now.
    pub standing: Standing,
    /// The next three tellings.
    pub next: Vec<NextTelling>,
    /// How late what is open was told; `None`: nothing is open.
    pub lateness: Option<SignedDuration>,
    /// Its messages, in the order in which they were due.
    pub rows: Vec<Row>,
    /// Names of the redaction rules that hit, where its text came with the call.
    pub redacted: Vec<&'static str>,
    /// What the caller should know beside.
    pub notes: Vec<String>,
}

/// One of the next tellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextTelling {
    /// When it is told.
    pub told_at: Timestamp,
    /// What it is about.
    pub occurrence: Occurrence,
    /// Whether it is one that was snoozed.
    pub is_snoozed: bool,
}

/// A page of reminders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReminderPage {
    /// In the order of the view: what is due and upcoming by time, all others newest first.
    pub reminders: Vec<ReminderView>,
    /// Present while there are more.
    pub next_cursor: Option<String>,
}

impl ReminderView {
    /// A reminder with its rows.
    pub fn new(entry: Entry, rows: Vec<Row>) -> Self {
        let reminder = &entry.reminder;
        let (standing, next) = (reminder.standing(), next(&entry));
        let lateness = reminder.open.map(|open| {
            let due_at = reminder.lead.moment(open.occurrence, reminder.rule.zone());
            open.told_at.duration_since(due_at).max(SignedDuration::ZERO)
        });
        Self { entry, standing, next, lateness, rows, redacted: Vec::new(), notes: Vec::new() }
    }

    /// A moment in the zone of the reminder: `Fri 4 Dec 2026 15:00 +08:00 Asia/Shanghai`.
    pub fn told(&self, at: Timestamp) -> String {
        told(at, self.entry.reminder.rule.zone())
    }
}

/// The next tellings, the snoozed ones among them.
fn next(entry: &Entry) -> Vec<NextTelling> {
    let reminder = &entry.reminder;
    if matches!(reminder.standing(), Standing::Past) {
        return Vec::new();
    }
    let by_rule = reminder
        .upcoming(NEXT_SHOWN)
        .into_iter()
        .map(|(told_at, occurrence)| NextTelling { told_at, occurrence, is_snoozed: false });
    let snoozed = reminder.snoozed.iter().map(|snooze| NextTelling {
        told_at: snooze.until,
        occurrence: snooze.occurrence,
        is_snoozed: true,
    });
    let mut next: Vec<NextTelling> = by_rule.chain(snoozed).collect();
    next.sort_by_key(|next| next.told_at);
    next.truncate(NEXT_SHOWN);
    next
}
