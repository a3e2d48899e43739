//! What the person sees of the sinks, and what was not told.

use jiff::{SignedDuration, Timestamp};

use crate::domain::identity::Caller;
use crate::domain::reminder::{
    DeliveryState, Enact, Enacted, Entry, Gate, Outcome, Row, SinkState,
};
use crate::domain::sink::SinkKind;
use crate::ports::StoreError;
use crate::service::runs::for_the_person;
use crate::service::{Service, ServiceError};

/// Fewest digits by which a delivery is named.
const KEY_DIGITS_MIN: usize = 8;

/// A sink as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkReport {
    /// What the configuration calls it, or called it.
    pub name: String,
    /// What sort of place it is, and where; `None`: it is not in the configuration any more.
    pub place: Option<(SinkKind, String)>,
    /// What is known of it.
    pub state: SinkState,
    /// Until when it is left alone, if it is.
    pub waits_until: Option<Timestamp>,
    /// Messages that wait.
    pub n_queued: u64,
    /// Messages that were given up.
    pub n_dead: u64,
    /// Messages that may not have arrived.
    pub n_uncertain: u64,
}

/// A message that was given up, or may not have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// It.
    pub row: Row,
    /// Its reminder.
    pub entry: Option<Entry>,
}

impl Service {
    /// Every sink, those that are gone and have messages still among them.
    ///
    /// # Errors
    /// `Store`.
    pub async fn sink_reports(&self) -> Result<Vec<SinkReport>, ServiceError> {
        Ok(self.known_sinks().await?)
    }

    pub(super) async fn known_sinks(&self) -> Result<Vec<SinkReport>, StoreError> {
        let now = self.clock.now();
        let outlets = self.outlets.all();
        let states = self.reminders.sink_states().await?;
        let counts = self.reminders.row_counts().await?;
        let n_of = |name: &str, state: DeliveryState| {
            let of = counts.iter().filter(|(known, sink, _)| *known == state && sink == name);
            of.map(|(_, _, n)| n).sum()
        };
        let mut names: Vec<String> = self.outlets.names();
        let of_rows = counts.iter().filter(|(state, ..)| is_open(*state)).map(|(_, name, _)| name);
        for name in of_rows {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let report = |name: String| {
            let outlet = outlets.iter().find(|outlet| outlet.sink.name() == name);
            let known = states.iter().find(|(known, _)| *known == name);
            let state = known.map(|(_, state)| state.clone()).unwrap_or_default();
            let gate = outlet.map(|outlet| state.gate(&outlet.sink.abilities().pace, now));
            let waits_until = match gate {
                Some(Gate::Wait(at)) => Some(at),
                Some(Gate::Open | Gate::Disabled(_)) | None => None,
            };
            SinkReport {
                place: outlet.map(|outlet| (outlet.sink.kind(), outlet.sink.place())),
                waits_until,
                n_queued: n_of(&name, DeliveryState::Queued),
                n_dead: n_of(&name, DeliveryState::Dead),
                n_uncertain: n_of(&name, DeliveryState::Uncertain),
                state,
                name,
            }
        };
        Ok(names.into_iter().map(report).collect())
    }

    /// Sends a test message, whatever the sink's pace and quiet hours. One that is taken shows that
    /// somebody has seen to the sink.
    ///
    /// # Errors
    /// `Invalid` for a sink that there is not, and for who is not the person; `Store`.
    pub async fn test_sink(&self, caller: &Caller, name: &str) -> Result<Outcome, ServiceError> {
        for_the_person(caller)?;
        let now = self.clock.now();
        let Some(outlet) = self.outlets.named(name) else {
            let names = self.outlets.names().join(", ");
            let expected = format!("the name of a configured sink ({names})");
            return Err(ServiceError::invalid("name", expected, format!("`{name}`")));
        };
        let title = "Test of recalld".to_owned();
        let message = self.notice(name, title, "Reminders reach this place.", now);
        let outcome = super::deliver::within(outlet.timeout * 2, &outlet, &message).await;
        if matches!(outcome, Outcome::Sent { .. } | Outcome::Accepted) {
            let mut state = self.sink_state(name).await?;
            state.succeed();
            state.enable();
            let sinks = vec![(name.to_owned(), state)];
            let enact = Enact { sinks, ..Enact::default() };
            self.enact_reminders(enact, self.clock.now()).await?;
            self.outlets.tell();
        }
        Ok(outcome)
    }

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
        let mut rows = self.dead_rows().await?;
        rows.sort_by_key(|row| std::cmp::Reverse((row.delivery.due_at, row.delivery.key)));
        rows.truncate(limit);
        let mut letters = Vec::with_capacity(rows.len());
        for row in rows {
            let entry = self.reminders.entry(row.reminder).await?;
            letters.push(DeadLetter { row, entry });
        }
        Ok(letters)
    }

    /// Tries once more to send what was given up; gives the row as it is now.
    ///
    /// # Errors
    /// `Invalid` for a key that names none or several, and for who is not the person; `Store`.
    pub async fn retry_delivery(&self, caller: &Caller, key: &str) -> Result<Row, ServiceError> {
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
        self.change_dead(caller, key, retry).await
    }

    /// Drops what was given up; gives the row as it is now.
    ///
    /// # Errors
    /// Those of [`Service::retry_delivery`].
    pub async fn drop_delivery(&self, caller: &Caller, key: &str) -> Result<Row, ServiceError> {
        self.change_dead(caller, key, |row| row.delivery.drop_it()).await
    }

    async fn change_dead(
        &self,
        caller: &Caller,
        key: &str,
        change: impl Fn(&mut Row) -> Result<(), crate::domain::reminder::StepError>,
    ) -> Result<Row, ServiceError> {
        for_the_person(caller)?;
        let (now, key) = (self.clock.now(), key.trim().to_lowercase());
        let mut named = self.dead_rows().await?;
        named.retain(|row| row.delivery.key.to_string().starts_with(&key));
        let found = match named.len() {
            1 if key.len() >= KEY_DIGITS_MIN => named.pop(),
            _ => None,
        };
        let Some(mut row) = found else {
            let expected = format!(
                "the first {KEY_DIGITS_MIN} or more digits of the one message that is meant, of \
                 those that were given up or are uncertain"
            );
            return Err(ServiceError::invalid("delivery", expected, format!("`{key}`")));
        };
        change(&mut row).map_err(|why| ServiceError::refused("delivery", why))?;
        let enact = Enact { rows: vec![row.clone()], ..Enact::default() };
        match self.enact_reminders(enact, now).await? {
            Enacted::Done(_) => {
                self.outlets.tell();
                Ok(row)
            }
            Enacted::Conflict(why) => Err(ServiceError::refused("delivery", why)),
            Enacted::TooMany => Err(super::set::too_many()),
        }
    }

    /// Rows that were given up or are uncertain.
    pub(super) async fn dead_rows(&self) -> Result<Vec<Row>, ServiceError> {
        let mut rows = self.all_rows(DeliveryState::Dead, None).await?;
        rows.extend(self.all_rows(DeliveryState::Uncertain, None).await?);
        Ok(rows)
    }
}

/// Whether rows in this state are of interest still.
const fn is_open(state: DeliveryState) -> bool {
    matches!(state, DeliveryState::Queued | DeliveryState::Dead | DeliveryState::Uncertain)
}
