//! The port of the working memory: the turns of conversations, beside the memories.

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::StoreError;
use crate::domain::session::{
    Append, Appended, NotAppended, Relook, Retell, Session, SessionInfo, SessionKey, Settle,
    Settled,
};

/// The sessions of a store. What is taken out of turns becomes memories in the same transaction, and
/// what is forgotten is gone from the turns too.
pub trait Sessions: Send + Sync {
    /// Adds turns, durable at the answer. A known request key gives the first answer again.
    fn append(
        &self,
        request: Append,
    ) -> BoxFuture<'_, Result<Result<Appended, NotAppended>, StoreError>>;

    /// A session with its turns.
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, StoreError>>;

    /// All sessions, in no order that means anything.
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionInfo>, StoreError>>;

    /// Sessions that were to be looked at by `now`, after `after`, in the order of that time.
    fn due_sessions(
        &self,
        now: Timestamp,
        after: Option<(Timestamp, SessionKey)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Timestamp, SessionKey)>, StoreError>>;

    /// When the next session is to be looked at.
    fn next_session_look(&self) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>>;

    /// Notes what was taken out of turns, durable at the answer.
    fn settle(&self, request: Settle) -> BoxFuture<'_, Result<Settled, StoreError>>;

    /// Puts a summary in the place of another; turns that it tells of go, unless they wait. `false`:
    /// what it was made of is not there any more.
    fn retell(&self, request: Retell) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Notes when a session is to be looked at again.
    fn relook(&self, request: Relook) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes a session without waiting turns, unless a turn came after `last_turn`; whether it did.
    fn expire(&self, key: SessionKey, last_turn: u64) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Forgets sessions for good; returns how many turns that were.
    fn erase_sessions(
        &self,
        keys: Vec<SessionKey>,
        at: Timestamp,
    ) -> BoxFuture<'_, Result<u64, StoreError>>;
}
