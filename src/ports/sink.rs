//! Sinks: the places where reminders reach a person.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::domain::reminder::{DeliveryKey, Outcome};
use crate::domain::sink::{Abilities, Message, SinkKind};

/// A place where messages go. One message is under way at a time: whoever calls keeps the pace and
/// the order.
pub trait Sink: Send + Sync {
    /// What the configuration calls it.
    fn name(&self) -> &str;

    /// What sort of place it is.
    fn kind(&self) -> SinkKind;

    /// Where messages go, for people, without a secret: a host, or a few words.
    fn place(&self) -> String;

    /// What it can do.
    fn abilities(&self) -> Abilities;

    /// Whether it could send anything, by what its files hold now; what it says has no secret in it.
    ///
    /// # Errors
    /// Why not.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// A number that changes with the files that hold its secrets, and says nothing of what stands in
    /// them. `None`: it has none.
    fn mark(&self) -> Option<u64> {
        None
    }

    /// Tries once to deliver a message, within the time that the configuration gives it. It never
    /// tries again by itself, and what it says has no secret and no word of the message in it.
    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome>;

    /// The key of the next message that a person acknowledges there: it never comes where
    /// [`Abilities::has_ack`] is false. A future that is dropped loses none.
    fn acknowledged(&self) -> BoxFuture<'_, DeliveryKey> {
        futures::future::pending().boxed()
    }
}
