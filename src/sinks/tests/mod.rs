//! Sinks against servers of this machine that answer as each service does.

mod outcomes;
mod secrecy;
mod server;

mod desktop;
mod email;
mod exec;

use jiff::Timestamp;

use super::webhook::Draft;
use crate::domain::sink::{Abilities, Message, SinkKind};

/// What a test tells: words in which every sink finds something to act on.
pub(super) fn message() -> Message {
    Message {
        key: "0123456789abcdef0123456789abcdef".parse().unwrap(),
        title: "Reminder: team meeting & <!channel>".to_owned(),
        text: "https://example.org/a_b *bold* @here".to_owned(),
        footer: "r7k2m9qx".to_owned(),
        is_urgent: false,
        may_repeat: false,
        due_at: Timestamp::from_second(1_700_000_000).unwrap(),
        reminders: vec!["r7k2m9qx".to_owned()],
    }
}

/// The same part of a request of a sink as the sink makes it.
pub(super) fn drafted<T>(kind: SinkKind, message: &Message, make: impl Fn(&Draft<'_>) -> T) -> T {
    drafted_with(kind, message, "SECtest123", make)
}

/// The same with another secret to sign with.
pub(super) fn drafted_with<T>(
    kind: SinkKind,
    message: &Message,
    secret: &str,
    make: impl Fn(&Draft<'_>) -> T,
) -> T {
    make(&Draft {
        message,
        abilities: &Abilities::of(kind),
        breaks_links: true,
        url: "https://example.org/".parse().unwrap(),
        token: "123456:s3cr3t-tok3n",
        secret: Some(secret),
        to: "-100123",
        now: Timestamp::from_second(1_700_000_000).unwrap(),
    })
}
