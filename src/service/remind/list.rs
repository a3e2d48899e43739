//! Finding and listing reminders, within what the caller may read.

use jiff::Timestamp;

use super::ListReminders;
use super::view::{ReminderPage, ReminderView};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::identity::Caller;
use crate::domain::limits::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX};
use crate::domain::namespace::Namespace;
use crate::domain::reminder::{DeliveryKey, DeliveryState, Entry, EntryQuery, Row, Standing, View};
use crate::service::scope::read_patterns;
use crate::service::{Service, ServiceError, cursor};

/// Entries that are read in one step.
pub(super) const PAGE: usize = 500;
/// Messages that a view of a reminder shows, the latest.
const ROWS_SHOWN: usize = 20;

impl Service {
    /// The reminders of a view.
    ///
    /// # Errors
    /// `Invalid`, `NotReadable`, `Store`.
    pub async fn reminders(
        &self,
        caller: &Caller,
        asked: ListReminders,
    ) -> Result<ReminderPage, ServiceError> {
        let limit = asked.limit.unwrap_or(LIST_LIMIT_DEFAULT);
        if !(1..=LIST_LIMIT_MAX).contains(&limit) {
            let expected = format!("a number 1 to {LIST_LIMIT_MAX}");
            return Err(ServiceError::invalid("limit", expected, limit));
        }
        let patterns = read_patterns(caller, &asked.namespaces)?;
        let is_meant = |namespace: &Namespace| {
            caller.access.weight(namespace).is_some()
                && (patterns.is_empty()
                    || patterns.iter().any(|pattern| pattern.matches(namespace)))
        };
        let mut found = if asked.view == View::Dead {
            self.dead_entries().await?
        } else {
            self.all_entries(standings(asked.view)).await?
        };
        found.retain(|entry| is_meant(&entry.namespace) && is_in(asked.view, entry));
        let mut placed: Vec<([u128; 2], Entry)> =
            found.into_iter().map(|entry| (place(asked.view, &entry), entry)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let fingerprint = cursor::fingerprint(caller, &(asked.view, &asked.namespaces));
        if let Some(text) = &asked.cursor {
            let last = cursor::read::<2>(text, fingerprint)?;
            placed.retain(|(place, _)| *place > last);
        }
        let has_more = placed.len() > limit;
        placed.truncate(limit);
        let last = placed.last().filter(|_| has_more);
        let next_cursor = last.map(|(place, _)| cursor::write(fingerprint, place));
        let mut reminders = Vec::with_capacity(placed.len());
        for (_, entry) in placed {
            reminders.push(self.shown(entry).await?);
        }
        Ok(ReminderPage { reminders, next_cursor })
    }

    /// One reminder.
    ///
    /// # Errors
    /// `Invalid` for a reference that means none or several that the caller may read; `Store`.
    pub async fn reminder(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<ReminderView, ServiceError> {
        let entry = self.find_reminder(caller, reference).await?;
        self.shown(entry).await
    }

    /// The reminder that a reference means to this caller.
    pub(super) async fn find_reminder(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<Entry, ServiceError> {
        let none = || {
            let expected = "the id or handle of a reminder that you may read";
            ServiceError::invalid("reminder", expected, format!("`{reference}`"))
        };
        let parsed: IdReference = reference.parse().map_err(|_| none())?;
        let ids = match parsed {
            IdReference::Whole(id) => vec![id],
            IdReference::Handle(handle) => self.reminders.entries_named(handle).await?,
        };
        let mut readable = Vec::new();
        for id in ids {
            let entry = self.reminders.entry(id).await?;
            readable.extend(entry.filter(|entry| caller.access.weight(&entry.namespace).is_some()));
        }
        match (readable.pop(), readable.is_empty()) {
            (Some(entry), true) => Ok(entry),
            (None, _) => Err(none()),
            (Some(entry), false) => {
                let ids: Vec<String> =
                    readable.iter().chain([&entry]).map(|entry| entry.id.to_string()).collect();
                let why = format!("`{reference}` means more than one: {}", ids.join(", "));
                Err(ServiceError::refused("reminder", why))
            }
        }
    }

    /// A reminder with its latest messages.
    pub(in crate::service) async fn shown(
        &self,
        entry: Entry,
    ) -> Result<ReminderView, ServiceError> {
        let mut rows = self.reminders.rows_of(entry.id).await?;
        rows.drain(..rows.len().saturating_sub(ROWS_SHOWN));
        Ok(ReminderView::new(entry, rows))
    }

    /// Every reminder of which there is this to say; none: all.
    pub(in crate::service) async fn all_entries(
        &self,
        standings: Vec<Standing>,
    ) -> Result<Vec<Entry>, ServiceError> {
        let mut query = EntryQuery { standings, limit: PAGE, ..EntryQuery::default() };
        let mut all = Vec::new();
        loop {
            let page = self.reminders.entries(query.clone()).await?;
            let is_last = page.len() < PAGE;
            query.after = page.last().map(|entry| entry.id);
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Every row in this state.
    pub(super) async fn all_rows(
        &self,
        state: DeliveryState,
        sink: Option<&str>,
    ) -> Result<Vec<Row>, ServiceError> {
        self.rows_from(state, sink, None).await
    }

    /// Every row in this state that was due at `from` or later.
    pub(super) async fn rows_from(
        &self,
        state: DeliveryState,
        sink: Option<&str>,
        from: Option<Timestamp>,
    ) -> Result<Vec<Row>, ServiceError> {
        let least = DeliveryKey::from_bytes([0; 16]);
        let (mut all, mut after) = (Vec::new(), from.map(|from| (from, least)));
        loop {
            let sink = sink.map(str::to_owned);
            let page = self.reminders.rows(state, sink, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|row| (row.delivery.due_at, row.delivery.key));
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn dead_entries(&self) -> Result<Vec<Entry>, ServiceError> {
        let rows = self.dead_rows(None).await?;
        let mut ids: Vec<MemoryId> = rows.iter().map(|row| row.reminder).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut entries = Vec::new();
        for id in ids {
            entries.extend(self.reminders.entry(id).await?);
        }
        Ok(entries)
    }
}

/// What there may be to say of the reminders in a view.
fn standings(view: View) -> Vec<Standing> {
    match view {
        View::Due => vec![Standing::Due],
        View::Upcoming => {
            vec![Standing::Due, Standing::Upcoming, Standing::Snoozed, Standing::Paused]
        }
        View::Proposed => vec![Standing::Proposed],
        View::Past => vec![Standing::Past],
        View::Dead | View::All => Vec::new(),
    }
}

/// Whether a reminder in one of those belongs there.
fn is_in(view: View, entry: &Entry) -> bool {
    let reminder = &entry.reminder;
    match view {
        View::Due => reminder.open.is_some(),
        View::Upcoming => next_told(entry).is_some(),
        View::Proposed | View::Past | View::Dead | View::All => true,
    }
}

/// When it is told next.
fn next_told(entry: &Entry) -> Option<Timestamp> {
    let by_rule = entry.reminder.upcoming(1).first().map(|(told_at, _)| *told_at);
    let snoozed = entry.reminder.snoozed.iter().map(|snooze| snooze.until);
    by_rule.into_iter().chain(snoozed).min()
}

/// Where it stands in a view: by time and id, or the newest id first.
fn place(view: View, entry: &Entry) -> [u128; 2] {
    let at = match view {
        View::Due => entry.reminder.open.map(|open| open.occurrence.at),
        View::Upcoming => next_told(entry),
        View::Proposed | View::Past | View::Dead | View::All => {
            return [0, u128::MAX - entry.id.as_u128()];
        }
    };
    // Times before 1970 would sort last, and none is told.
    let micros = at.map_or(0, |at| at.as_microsecond().max(0).cast_unsigned());
    [u128::from(micros), entry.id.as_u128()]
}
