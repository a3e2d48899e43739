//! What `status` says of reminders.

use jiff::Timestamp;

use super::condition::SinkCondition;
use super::sinks::SinkReport;
use crate::domain::reminder::{BREAKER, told};
use crate::ports::StoreError;
use crate::service::Service;

/// The reminders and their sinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemindersStatus {
    /// When something is due next.
    pub next_at: Option<Timestamp>,
    /// The sinks.
    pub sinks: Vec<SinkReport>,
}

impl RemindersStatus {
    /// What is wrong with them; `None`: nothing.
    fn trouble(&self, said: impl Fn(Timestamp) -> String) -> Option<String> {
        let mut troubles: Vec<String> =
            self.sinks.iter().filter_map(|sink| trouble(sink, &said)).collect();
        let there = self.sinks.iter().filter(|sink| sink.condition != SinkCondition::Gone);
        let n_dead: u64 = there.map(n_lost).sum();
        if n_dead > 0 {
            let what = "messages that did not get through";
            troubles.push(format!("{what}: {n_dead} (`recalld remind dead`)"));
        }
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }
}

fn n_lost(sink: &SinkReport) -> u64 {
    sink.n_dead + sink.n_uncertain
}

fn trouble(sink: &SinkReport, said: impl Fn(Timestamp) -> String) -> Option<String> {
    let (name, why) = (&sink.name, sink.why.as_deref().unwrap_or("the reason is not known"));
    let advice = sink.advice.as_ref().map_or_else(String::new, |advice| format!(" ({advice})"));
    match sink.condition {
        SinkCondition::Ok => None,
        SinkCondition::Failing => (sink.n_failures >= BREAKER.n_failures)
            .then(|| format!("sink {name} failed {} times in a row: {why}", sink.n_failures)),
        SinkCondition::Untried => {
            Some(format!("sink {name} took nothing and was not tried since: {why}{advice}"))
        }
        SinkCondition::Disabled => {
            let since = sink.since.map_or_else(String::new, |at| format!(" since {}", said(at)));
            Some(format!("sink {name} takes nothing{since}: {why}{advice}"))
        }
        SinkCondition::Gone => (n_lost(sink) > 0).then(|| {
            format!(
                "sink {name} is not configured any more, messages for it that did not get \
                 through: {}{advice}",
                n_lost(sink)
            )
        }),
    }
}

impl Service {
    /// The reminders, and what is wrong with them. Without sinks there is nothing that could be.
    pub(in crate::service) async fn reminders_status(
        &self,
    ) -> Result<(RemindersStatus, Option<String>), StoreError> {
        let next_at = self.reminders.next_wake().await?;
        let status = RemindersStatus { next_at, sinks: self.known_sinks().await? };
        let settings = self.settings();
        let zone = super::set::usual_zone(&settings);
        let trouble = status.trouble(|at| told(at, zone));
        Ok((status, trouble))
    }

    /// What is wrong with each sink that takes nothing, or took nothing when it was last tried.
    ///
    /// # Errors
    /// `Store`.
    pub async fn sink_troubles(&self) -> Result<Vec<String>, StoreError> {
        let settings = self.settings();
        let zone = super::set::usual_zone(&settings);
        let mut sinks = self.known_sinks().await?;
        sinks.retain(|sink| {
            matches!(sink.condition, SinkCondition::Disabled | SinkCondition::Untried)
        });
        Ok(sinks.iter().filter_map(|sink| trouble(sink, |at| told(at, zone))).collect())
    }

    /// Whether reminders reach anybody but agents.
    pub(in crate::service) fn has_sinks(&self) -> bool {
        !self.outlets.all().is_empty()
    }
}
