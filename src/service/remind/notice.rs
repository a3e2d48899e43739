//! A word to the person from the daemon itself, by whatever sink takes it.

use jiff::Timestamp;

use super::outlets::HOOK;
use super::send::within;
use super::set::usual_zone;
use crate::domain::reminder::{DeliveryKey, Gate, Kind, Outcome, told};
use crate::domain::sink::Message;
use crate::service::{Service, ServiceError};

impl Service {
    /// Says through another sink that one takes nothing any more; the first that takes that is enough.
    pub(super) async fn tell_disabled(
        &self,
        name: &str,
        why: &str,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let text =
            format!("{why}\nWhat is due there waits. See to it, then: recalld sinks test {name}");
        let message = self.notice(name, format!("Sink {name} takes no reminders"), &text, now);
        for outlet in self.outlets.all().iter() {
            let other = outlet.sink.name();
            if other == name || other == HOOK {
                continue;
            }
            let state = self.sink_state(other).await?;
            if state.gate(&outlet.sink.abilities().pace, now) != Gate::Open {
                continue;
            }
            let outcome = within(outlet.timeout * 2, outlet, &message).await;
            if matches!(outcome, Outcome::Sent { .. } | Outcome::Accepted) {
                break;
            }
        }
        Ok(())
    }

    /// A message about a sink that is no reminder.
    pub(super) fn notice(&self, sink: &str, title: String, text: &str, now: Timestamp) -> Message {
        let settings = self.settings();
        let zone = usual_zone(&settings);
        let id = self.ids.next_id(now).as_u128().to_be_bytes();
        let key = DeliveryKey::new(&id, 0, zone.to_datetime(now), Kind::First, sink);
        Message {
            key,
            title,
            text: format!("{text}\nSent {}", told(now, zone)),
            footer: String::new(),
            is_urgent: false,
            may_repeat: false,
            due_at: now,
            reminders: Vec::new(),
        }
    }
}
