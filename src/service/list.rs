//! Listing memories in order of event time, without ranking.

use jiff::Timestamp;

use super::scope::Scope;
use super::{Service, ServiceError, cursor};
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX};
use crate::domain::memory::Memory;
use crate::ports::Listing;

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListRequest {
    /// What is listed.
    pub scope: Scope,
    /// Oldest event time first instead of newest.
    pub oldest_first: bool,
    /// At most this many, 1..=[`LIST_LIMIT_MAX`].
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// The page.
#[derive(Clone, Debug, PartialEq)]
pub struct ListAnswer {
    /// In order of event time, ties by id.
    pub memories: Vec<Memory>,
    /// Present while there are more.
    pub next_cursor: Option<String>,
}

impl Service {
    /// Lists memories.
    ///
    /// # Errors
    /// `Invalid`, `NotReadable`, `Store`.
    pub async fn list(
        &self,
        caller: &Caller,
        request: ListRequest,
    ) -> Result<ListAnswer, ServiceError> {
        let limit = request.limit.unwrap_or(LIST_LIMIT_DEFAULT);
        if !(1..=LIST_LIMIT_MAX).contains(&limit) {
            return Err(ServiceError::invalid(
                "limit",
                format!("a number 1 to {LIST_LIMIT_MAX}"),
                limit,
            ));
        }
        let snapshot = self.store.snapshot().await?;
        let filter = self.filter(caller, &snapshot, &request.scope).await?;
        let fingerprint = cursor::fingerprint(caller, &(&request.scope, request.oldest_first));
        let after = match &request.cursor {
            Some(text) => Some(position(cursor::read::<2>(text, fingerprint)?)),
            None => None,
        };
        let listing =
            Listing { filter, newest_first: !request.oldest_first, after, limit: limit + 1 };
        let mut memories = snapshot.list(listing).await?;
        let has_more = memories.len() > limit;
        memories.truncate(limit);
        let next_cursor = memories.last().filter(|_| has_more).map(|last| {
            let micros = last.event_time().as_microsecond().cast_unsigned();
            cursor::write(fingerprint, &[u128::from(micros), last.id.as_u128()])
        });
        Ok(ListAnswer { memories, next_cursor })
    }
}

fn position([micros, id]: [u128; 2]) -> (Timestamp, MemoryId) {
    let micros = u64::try_from(micros).unwrap_or(0).cast_signed();
    let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
    (time, MemoryId::from_u128(id))
}
