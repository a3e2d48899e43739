//! What did not arrive: what was given up or may not have arrived, and what waits still.

use jiff::{SignedDuration, Timestamp};

use super::condition::SinkCondition;
use super::sinks::SinkReport;
use crate::domain::identity::Caller;
use crate::domain::limits::SCAN_PAGE;
use crate::domain::reminder::{DeliveryState, Entry, Outgoing, Row, StepError};
use crate::service::runs::for_the_person;
use crate::service::{Service, ServiceError};

/// Fewest digits by which a delivery is named.
const KEY_DIGITS_MIN: usize = 8;

/// Why nothing is tried that waits for a sink which takes messages.
const HELD: &str = "held until the reminder is resumed";

/// A message that was given up, or may not have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// It.
    pub row: Row,
    /// Its reminder.
    pub entry: Option<Entry>,
}

/// Which of the messages that were given up, or may not have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadOnes {
    /// Those of which these are the first digits of their keys.
    Keys(Vec<String>),
    /// Those for this sink.
    Sink(String),
    /// All.
    All,
}

/// Messages that wait for a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMessages {
    /// The sink; its `n_queued` are how many there are.
    pub sink: SinkReport,
    /// When what the first of them tells was due.
    pub since: Timestamp,
    /// When the next one is tried; `None`: not before somebody sees to the sink.
    pub next_try: Option<Timestamp>,
    /// What was wrong with the first of them, or is with the sink.
    pub why: Option<String>,
}

impl Service {
    /// What was given up and what may not have arrived, the latest first.
    ///
    /// # Errors
    /// `Invalid` for who is not the person; `Store`.
    pub async fn dead_letters(
        &self,
        caller: &Caller,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, ServiceError> {
        for_the_person(caller)?;
        let mut rows = self.dead_rows(None).await?;
        rows.sort_by_key(|row| std::cmp::Reverse((row.delivery.due_at, row.delivery.key)));
        rows.truncate(limit);
        let mut letters = Vec::with_capacity(rows.len());
        for row in rows {
            let entry = self.reminders.entry(row.reminder).await?;
            letters.push(DeadLetter { row, entry });
        }
        Ok(letters)
    }

    /// What is due and waits, by sink.
    ///
    /// # Errors
    /// `Invalid` for who is not the person; `Store`.
    pub async fn waiting_messages(
        &self,
        caller: &Caller,
    ) -> Result<Vec<WaitingMessages>, ServiceError> {
        for_the_person(caller)?;
        let (now, settings) = (self.clock.now(), self.settings());
        let mut all = Vec::new();
        for sink in self.known_sinks().await?.into_iter().filter(|sink| sink.n_queued > 0) {
            let queue = self.queue_of(&sink.name, &settings.reminders, now).await?;
            // It may have been sent since it was counted.
            let Some(first) = queue.rows().next() else { continue };
            let (since, why) = (first.delivery.due_at, first.delivery.why.clone());
            let outlet = self.outlets.named(&sink.name);
            let is_used = outlet.filter(|_| sink.condition != SinkCondition::Disabled);
            let next = is_used.map(|outlet| queue.next(&outlet, &settings, now));
            let next_try = match &next {
                Some(Outgoing::Message(_)) => Some(now.max(sink.waits_until.unwrap_or(now))),
                Some(Outgoing::Wait(at)) => {
                    Some(sink.waits_until.map_or(*at, |until| until.max(*at)))
                }
                Some(Outgoing::Nothing) | None => None,
            };
            let held = (next == Some(Outgoing::Nothing)).then(|| HELD.to_owned());
            let why = held.or_else(|| sink.why.clone()).or(why);
            all.push(WaitingMessages { sink, since, next_try, why });
        }
        Ok(all)
    }

    /// Tries once more to send what was given up; gives the rows as they are now.
    ///
    /// # Errors
    /// `Invalid` for a key that names none or several, for a sink for which there are none, and for who
    /// is not the person; nothing is done then. `Store`.
    pub async fn retry_dead(
        &self,
        caller: &Caller,
        which: &DeadOnes,
    ) -> Result<Vec<Row>, ServiceError> {
        let now = self.clock.now();
        let grace = self.settings().reminders.policy.grace.max(SignedDuration::from_hours(1));
        let expires_at = now.checked_add(grace).unwrap_or(Timestamp::MAX);
        let retry = |row: &mut Row| {
            row.delivery.retry(expires_at, now)?;
            // It goes by itself: under the key of a message that it was a part of, a sink that knows keys
            // would take the first part that comes for all of them.
            row.message = None;
            Ok(())
        };
        self.change_dead(caller, which, retry).await
    }

    /// Drops what was given up; gives the rows as they are now.
    ///
    /// # Errors
    /// Those of [`Service::retry_dead`].
    pub async fn drop_dead(
        &self,
        caller: &Caller,
        which: &DeadOnes,
    ) -> Result<Vec<Row>, ServiceError> {
        self.change_dead(caller, which, |row| row.delivery.drop_it()).await
    }

    /// Does something to each of them, page by page; where others come in the way, one by one, as far
    /// as it is dead still.
    async fn change_dead(
        &self,
        caller: &Caller,
        which: &DeadOnes,
        change: impl Fn(&mut Row) -> Result<(), StepError>,
    ) -> Result<Vec<Row>, ServiceError> {
        for_the_person(caller)?;
        let now = self.clock.now();
        let meant = self.meant(which).await?;
        let mut done = Vec::with_capacity(meant.len());
        for page in meant.chunks(SCAN_PAGE) {
            let mut rows = page.to_vec();
            for row in &mut rows {
                change(row).map_err(|why| ServiceError::refused("delivery", why))?;
            }
            if self.keep_rows(rows.clone(), now).await? {
                done.extend(rows);
                continue;
            }
            for row in page {
                let found = self.reminders.row(row.delivery.key).await?;
                let Some(mut row) = found.filter(is_dead) else { continue };
                if change(&mut row).is_ok() && self.keep_rows(vec![row.clone()], now).await? {
                    done.push(row);
                }
            }
        }
        self.outlets.tell();
        Ok(done)
    }

    /// Those that are meant, as they are.
    async fn meant(&self, which: &DeadOnes) -> Result<Vec<Row>, ServiceError> {
        let keys = match which {
            DeadOnes::All => return self.dead_rows(None).await,
            DeadOnes::Sink(sink) => {
                let rows = self.dead_rows(Some(sink)).await?;
                if rows.is_empty() {
                    let expected = "a sink for which messages were given up or are uncertain";
                    return Err(ServiceError::invalid("sink", expected, format!("`{sink}`")));
                }
                return Ok(rows);
            }
            DeadOnes::Keys(keys) => keys,
        };
        let dead = self.dead_rows(None).await?;
        let mut by_key: Vec<(String, Row)> =
            dead.into_iter().map(|row| (row.delivery.key.to_string(), row)).collect();
        by_key.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut meant: Vec<Row> = Vec::with_capacity(keys.len());
        for key in keys {
            let digits = key.trim().to_lowercase();
            let from = by_key.partition_point(|(known, _)| *known < digits);
            let mut named =
                by_key.iter().skip(from).take_while(|(known, _)| known.starts_with(&digits));
            match (named.next(), named.next()) {
                (Some((_, row)), None) if digits.len() >= KEY_DIGITS_MIN => {
                    if !meant.iter().any(|known| known.delivery.key == row.delivery.key) {
                        meant.push(row.clone());
                    }
                }
                _ => return Err(no_such(key)),
            }
        }
        Ok(meant)
    }

    /// Rows that were given up or are uncertain.
    pub(super) async fn dead_rows(&self, sink: Option<&str>) -> Result<Vec<Row>, ServiceError> {
        let mut rows = self.all_rows(DeliveryState::Dead, sink).await?;
        rows.extend(self.all_rows(DeliveryState::Uncertain, sink).await?);
        Ok(rows)
    }
}

fn is_dead(row: &Row) -> bool {
    matches!(row.delivery.state, DeliveryState::Dead | DeliveryState::Uncertain)
}

fn no_such(key: &str) -> ServiceError {
    let expected = format!(
        "the first {KEY_DIGITS_MIN} or more digits of the one message that is meant, of those that \
         were given up or are uncertain"
    );
    ServiceError::invalid("delivery", expected, format!("`{key}`"))
}
