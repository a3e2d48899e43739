//! What the person sees of the sinks.

use jiff::Timestamp;

use super::condition::SinkCondition;
use super::outlets::Outlet;
use super::send::within;
use crate::domain::identity::Caller;
use crate::domain::reminder::{DeliveryState, Gate, Outcome, RowCount, SinkState};
use crate::domain::sink::SinkKind;
use crate::ports::StoreError;
use crate::service::runs::for_the_person;
use crate::service::{Service, ServiceError};

/// A sink as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkReport {
    /// What the configuration calls it, or called it.
    pub name: String,
    /// What sort of place it is, and where; `None`: it is not in the configuration any more.
    pub place: Option<(SinkKind, String)>,
    /// How it is.
    pub condition: SinkCondition,
    /// What is wrong with it, without a secret.
    pub why: Option<String>,
    /// What helps.
    pub advice: Option<String>,
    /// Since when it takes nothing, if that is known.
    pub since: Option<Timestamp>,
    /// Failures since the last success.
    pub n_failures: u32,
    /// Until when it is left alone, if it is.
    pub waits_until: Option<Timestamp>,
    /// Messages that wait.
    pub n_queued: u64,
    /// Messages that were given up.
    pub n_dead: u64,
    /// Messages that may not have arrived.
    pub n_uncertain: u64,
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
        let outlets = self.outlets.all();
        let states = self.reminders.sink_states().await?;
        let counts = self.reminders.row_counts().await?;
        let mut names: Vec<String> = self.outlets.names();
        let of_rows = counts.iter().filter(|(state, ..)| is_open(*state)).map(|(_, name, _)| name);
        for name in of_rows {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let mut reports = Vec::with_capacity(names.len());
        for name in names {
            let outlet = outlets.iter().find(|outlet| outlet.sink.name() == name);
            let known = states.iter().find(|(known, _)| *known == name);
            let state = known.map(|(_, state)| state.clone()).unwrap_or_default();
            let mut report = self.report(name, outlet, &state, &counts);
            if report.condition == SinkCondition::Failing {
                let first =
                    self.reminders.rows(DeliveryState::Queued, Some(report.name.clone()), None, 1);
                report.why = first.await?.pop().and_then(|row| row.delivery.why);
            }
            reports.push(report);
        }
        Ok(reports)
    }

    fn report(
        &self,
        name: String,
        outlet: Option<&Outlet>,
        state: &SinkState,
        counts: &[RowCount],
    ) -> SinkReport {
        let n_of = |state: DeliveryState| {
            let of = counts.iter().filter(|(known, sink, _)| *known == state && *sink == name);
            of.map(|(_, _, n)| n).sum()
        };
        let (condition, why) = match outlet {
            Some(outlet) => self.condition(outlet, state),
            None => (SinkCondition::Gone, None),
        };
        let gate = outlet.map(|one| state.gate(&one.sink.abilities().pace, self.clock.now()));
        let waits_until = match gate {
            Some(Gate::Wait(at)) => Some(at),
            Some(Gate::Open | Gate::Disabled(_)) | None => None,
        };
        let has_files = outlet.is_some_and(|outlet| outlet.sink.mark().is_some());
        SinkReport {
            place: outlet.map(|outlet| (outlet.sink.kind(), outlet.sink.place())),
            condition,
            why,
            advice: condition.advice(&name, has_files),
            since: state.disabled_at,
            n_failures: state.n_failures,
            waits_until,
            n_queued: n_of(DeliveryState::Queued),
            n_dead: n_of(DeliveryState::Dead),
            n_uncertain: n_of(DeliveryState::Uncertain),
            name,
        }
    }

    /// How a sink is, and why. What its files say now goes before what came of the last message.
    fn condition(&self, outlet: &Outlet, state: &SinkState) -> (SinkCondition, Option<String>) {
        let untried = self.outlets.doubts.untried(outlet.sink.name());
        if let Some(why) = outlet.sink.check().err().or_else(|| state.disabled.clone()) {
            (SinkCondition::Disabled, Some(why))
        } else if let Some(why) = untried {
            (SinkCondition::Untried, Some(why))
        } else if state.n_failures > 0 {
            (SinkCondition::Failing, None)
        } else {
            (SinkCondition::Ok, None)
        }
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
        let mark = outlet.sink.mark();
        let outcome = within(outlet.timeout * 2, &outlet, &message).await;
        match &outcome {
            Outcome::Sent { .. } | Outcome::Accepted => {
                let seen_to = |state: &mut SinkState| {
                    state.succeed();
                    state.enable();
                };
                self.change_sink(name, seen_to).await?;
                self.outlets.tell();
            }
            Outcome::Disabled(why) => {
                let at = self.clock.now();
                self.change_sink(name, |state| state.disable(why.clone(), at)).await?;
            }
            Outcome::Refused(_) | Outcome::Retry { .. } | Outcome::Unknown(_) => {
                return Ok(outcome);
            }
        }
        self.outlets.doubts.learn(name, &outcome, mark);
        Ok(outcome)
    }
}

/// Whether rows in this state are of interest still.
const fn is_open(state: DeliveryState) -> bool {
    matches!(state, DeliveryState::Queued | DeliveryState::Dead | DeliveryState::Uncertain)
}
