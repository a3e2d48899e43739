//! The steps of reminders, past the engine: what it has the store carry out.

use super::super::super::fixture::key;
use super::super::super::reminders::{entry, row};
use super::{STEP, Step, World, id_of};
use crate::domain::reminder::{DeliveryState, Enact, Entry, Lease, SinkChange, SinkState};
use crate::ports::{Clock as _, Reminders as _};
use crate::service::ServiceError;

/// When the reminders are due, seconds from the first step.
const DUE: i64 = 100_000;

impl World {
    /// Takes one of these steps.
    pub(super) async fn tell(&self, step: Step) -> Result<String, ServiceError> {
        if step == Step::Remind {
            self.remind().await
        } else if step == Step::Claim {
            self.claim().await
        } else if step == Step::Settle {
            self.settle().await
        } else {
            self.trim_told().await
        }
    }

    /// Sets two reminders, the second about a memory that is forgotten later.
    async fn remind(&self) -> Result<String, ServiceError> {
        let about = Some(id_of(Step::TogetherThird, 0));
        let of_memory = Entry { memory: about, ..entry(id_of(Step::Remind, 1), "lamp", DUE) };
        let entries = vec![entry(id_of(Step::Remind, 0), "tide", DUE), of_memory];
        let rows = |sink: &'static str| entries.iter().map(move |entry| row(entry, sink, DUE));
        let request = Enact {
            queued: rows("desk").chain(rows("team")).collect(),
            new: entries.clone(),
            request: Some(key("remind")),
            ..Enact::default()
        };
        Ok(format!("{:?}", self.store.enact(request, self.clock.now()).await?))
    }

    /// Claims the first message to one sink, and notes that the sink is called.
    async fn claim(&self) -> Result<String, ServiceError> {
        let now = self.clock.now();
        let mut rows =
            self.store.rows(DeliveryState::Queued, Some("desk".to_owned()), None, 1).await?;
        for row in &mut rows {
            row.delivery.claim(Lease { owner: 1, until: now + 3 * STEP }, now).unwrap();
            row.delivery.call(1, now).unwrap();
        }
        let sinks = self.desk(SinkState { full_at: Some(now), ..SinkState::default() }).await?;
        let request = Enact { rows, sinks, ..Enact::default() };
        Ok(format!("{:?}", self.store.enact(request, now).await?))
    }

    /// What was claimed was sent, all else is given up; and the first reminder is over.
    async fn settle(&self) -> Result<String, ServiceError> {
        let mut rows = self.store.rows(DeliveryState::Queued, None, None, 9).await?;
        for row in &mut rows {
            let is_ours = row.delivery.lease.take().is_some();
            row.delivery.state = if is_ours { DeliveryState::Sent } else { DeliveryState::Dead };
        }
        let changed = self.store.entry(id_of(Step::Remind, 0)).await?.map(|mut entry| {
            entry.reminder.finish().unwrap();
            Entry { wakes_at: None, ..entry }
        });
        let sinks = self.desk(SinkState::default()).await?;
        let changed = changed.into_iter().collect();
        let request = Enact { changed, rows, sinks, ..Enact::default() };
        Ok(format!("{:?}", self.store.enact(request, self.clock.now()).await?))
    }

    /// What is known of one sink from now on.
    async fn desk(&self, is: SinkState) -> Result<Vec<SinkChange>, ServiceError> {
        let states = self.store.sink_states().await?;
        let was = states.into_iter().find(|(name, _)| name == "desk");
        let was = was.map(|(_, state)| state).unwrap_or_default();
        Ok(vec![SinkChange { name: "desk".to_owned(), was, is }])
    }

    /// Trims; what was trimmed of the reminder that goes on may be told anew.
    async fn trim_told(&self) -> Result<String, ServiceError> {
        let now = self.clock.now();
        let n_trimmed = self.store.trim_reminders(now).await?;
        let left = self.store.entry(id_of(Step::Remind, 1)).await?.unwrap();
        let rows = vec![row(&left, "desk", DUE + 86_400)];
        let request = Enact { queued: rows, ..Enact::default() };
        Ok(format!("{n_trimmed} {:?}", self.store.enact(request, now).await?))
    }
}
