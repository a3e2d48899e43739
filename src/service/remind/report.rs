//! What `status` says of reminders.

use jiff::Timestamp;

use super::owner::SinkReport;
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
        let n_dead: u64 = self.sinks.iter().map(|sink| sink.n_dead + sink.n_uncertain).sum();
        if n_dead > 0 {
            let what = "messages that did not get through";
            troubles.push(format!("{what}: {n_dead} (recalld remind dead)"));
        }
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }
}

fn trouble(sink: &SinkReport, said: impl Fn(Timestamp) -> String) -> Option<String> {
    let name = &sink.name;
    if let Some(why) = &sink.state.disabled {
        let since =
            sink.state.disabled_at.map_or_else(String::new, |at| format!(" since {}", said(at)));
        return Some(format!("sink {name} takes nothing{since}: {why}"));
    }
    let n = sink.state.n_failures;
    (n >= BREAKER.n_failures).then(|| format!("sink {name} failed {n} times in a row"))
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

    /// Whether reminders reach anybody but agents.
    pub(in crate::service) fn has_sinks(&self) -> bool {
        !self.outlets.all().is_empty()
    }
}
