//! The log of the daemon. Its lines hold the words of reminders, which no other line of the log does:
//! whoever configures this sink asks for it.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::text::{self, Style};
use crate::domain::limits::SINK_TITLE_CHARS_MAX;
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Abilities, Message, SinkKind, SinkSettings};
use crate::ports::Sink;

/// The log.
pub(super) struct Log(pub(super) SinkSettings);

impl Sink for Log {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn kind(&self) -> SinkKind {
        self.0.kind
    }

    fn place(&self) -> String {
        "the log".to_owned()
    }

    fn abilities(&self) -> Abilities {
        self.0.abilities
    }

    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome> {
        let title = text::title(message, Style::PLAIN, SINK_TITLE_CHARS_MAX);
        let text = text::body(message, Style::PLAIN, &self.0.abilities);
        tracing::info!(
            sink = self.0.name,
            key = %message.key,
            due_at = %message.due_at,
            urgent = message.is_urgent,
            title,
            text,
            "reminder"
        );
        futures::future::ready(Outcome::Sent { remote_id: None }).boxed()
    }
}
