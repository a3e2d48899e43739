//! Sinks that took nothing from us: what is known of them until the daemon ends, and how they are used
//! again: at a start and a reload, after a test that was taken, and when the files change that they
//! read their secrets from.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::change::CONFLICTS_MAX;
use super::outlets::Outlet;
use crate::domain::reminder::{Enact, Enacted, Outcome, SinkChange, SinkState};
use crate::service::{Service, ServiceError};

/// What is known of sinks that took nothing, by name.
#[derive(Default)]
pub(super) struct Doubts(Mutex<BTreeMap<String, Doubt>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Doubt {
    /// It took nothing while its files had this mark.
    Disabled(Option<u64>),
    /// It took nothing, for this reason, and was not tried since somebody has seen to it.
    Untried(String),
}

impl Doubts {
    /// Takes what came of a call that was made while the files had this mark.
    pub(super) fn learn(&self, name: &str, outcome: &Outcome, mark: Option<u64>) {
        match outcome {
            Outcome::Disabled(_) => {
                self.all().insert(name.to_owned(), Doubt::Disabled(mark));
            }
            // It was tried, and what it said last is in its messages.
            Outcome::Sent { .. }
            | Outcome::Accepted
            | Outcome::Refused(_)
            | Outcome::Retry { .. }
            | Outcome::Unknown(_) => {
                self.all().remove(name);
            }
        }
    }

    /// Why a sink took nothing that was not tried since.
    pub(super) fn untried(&self, name: &str) -> Option<String> {
        match self.all().get(name)? {
            Doubt::Untried(why) => Some(why.clone()),
            Doubt::Disabled(_) => None,
        }
    }

    /// Whether the files of a sink have changed since it took nothing.
    fn is_changed(&self, outlet: &Outlet) -> bool {
        let known = self.all().get(outlet.sink.name()).cloned();
        matches!(known, Some(Doubt::Disabled(mark)) if mark != outlet.sink.mark())
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Doubt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Uses sinks again whose files have changed since they took nothing; whether there is one.
    ///
    /// # Errors
    /// `Store`.
    pub async fn reopen_sinks(&self) -> Result<bool, ServiceError> {
        let mut is_any = false;
        for outlet in self.outlets.all().iter().filter(|one| self.outlets.doubts.is_changed(one)) {
            let name = outlet.sink.name();
            tracing::info!(sink = name, "sink is tried again: its files have changed");
            self.try_anew(name).await?;
            is_any = true;
        }
        Ok(is_any)
    }

    /// Lets the next message try a sink that took nothing.
    pub(super) async fn try_anew(&self, name: &str) -> Result<(), ServiceError> {
        let before = self.change_sink(name, SinkState::enable).await?;
        if let Some(why) = before.and_then(|state| state.disabled) {
            self.outlets.doubts.all().insert(name.to_owned(), Doubt::Untried(why));
        }
        Ok(())
    }

    /// Changes what is known of a sink; gives what was known before. `None`: others changed it all the
    /// time, and it is as it was.
    pub(super) async fn change_sink(
        &self,
        name: &str,
        change: impl Fn(&mut SinkState),
    ) -> Result<Option<SinkState>, ServiceError> {
        for _ in 0..CONFLICTS_MAX {
            let was = self.sink_state(name).await?;
            let mut is = was.clone();
            change(&mut is);
            if is == was {
                return Ok(Some(was));
            }
            let sinks = vec![SinkChange { name: name.to_owned(), was: was.clone(), is }];
            let enact = Enact { sinks, ..Enact::default() };
            if matches!(self.enact_reminders(enact, self.clock.now()).await?, Enacted::Done(_)) {
                return Ok(Some(was));
            }
        }
        Ok(None)
    }

    /// What is known of a sink.
    pub(super) async fn sink_state(&self, name: &str) -> Result<SinkState, ServiceError> {
        let states = self.reminders.sink_states().await?;
        let found = states.into_iter().find(|(known, _)| known == name);
        Ok(found.map(|(_, state)| state).unwrap_or_default())
    }
}
