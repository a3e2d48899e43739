//! Sessions out of the store and back in.

use std::ops::Bound::{Excluded, Unbounded};

use redb::ReadTransaction;

use super::super::batch::Batch;
use super::super::codec::decode;
use super::super::errors::Result;
use super::super::records::Unknown;
use super::super::tables::{SESSIONS, TURNS, open_newer};
use super::forget::is_forgotten;
use super::read;
use super::records::{SessionRecord, SummaryRecord, TurnRecord};
use crate::domain::id::MemoryId;
use crate::domain::session::{Session, SessionKey};
use crate::domain::transfer::{ImportOutcome, TurnItem};

/// The session after `after` in the order of keys, without its turns.
pub(in crate::store) fn next_session(
    transaction: &ReadTransaction,
    after: Option<SessionKey>,
) -> Result<Option<Session>> {
    let Some(table) = open_newer(transaction, SESSIONS)? else { return Ok(None) };
    let first = after.as_ref().map_or(Unbounded, |key| Excluded(&key.0));
    let row = table.range::<&[u8; 32]>((first, Unbounded))?.next().transpose()?;
    match row {
        Some((key, _)) => read::head(transaction, SessionKey(*key.value())),
        None => Ok(None),
    }
}

/// The turn of a session after the `after`th, with its size, bytes.
pub(in crate::store) fn next_turn(
    transaction: &ReadTransaction,
    session: &Session,
    after: u64,
) -> Result<Option<(TurnItem, usize)>> {
    let key = session.key();
    let range = (&key.0, after.saturating_add(1))..=(&key.0, u64::MAX);
    let row = transaction.open_table(TURNS)?.range(range)?.next().transpose()?;
    row.map(|(place, turn)| {
        let n_bytes = turn.value().len();
        let turn = decode::<TurnRecord>(turn.value())?.into_turn(place.value().1)?;
        let item = TurnItem {
            namespace: session.namespace.clone(),
            session: session.name.clone(),
            started_at: session.started_at,
            last_turn: session.last_turn,
            turn,
        };
        Ok((item, n_bytes))
    })
    .transpose()
}

/// The session with this key, without its turns.
pub(in crate::store) fn head(
    transaction: &ReadTransaction,
    key: SessionKey,
) -> Result<Option<Session>> {
    read::head(transaction, key)
}

/// Takes in a session without its turns, unless one of its name is there.
pub(in crate::store) fn import_session(
    batch: &mut Batch<'_>,
    session: &Session,
    is_dry: bool,
) -> Result<ImportOutcome> {
    let key = session.key();
    if let Some(present) = batch.load_session(key)? {
        let is_same = present.started_at == session.started_at.as_microsecond()
            && present.last_turn == session.last_turn;
        return Ok(if is_same { ImportOutcome::Same } else { ImportOutcome::Different });
    }
    if is_forgotten(batch, key, 0, session.started_at)? {
        return Ok(ImportOutcome::ForgottenHere);
    }
    if is_dry {
        return Ok(ImportOutcome::Added);
    }
    batch.may_grow()?;
    let record = SessionRecord {
        namespace: session.namespace.to_string(),
        session: session.name.clone(),
        agent: session.agent.clone(),
        started_at: session.started_at.as_microsecond(),
        last_at: session.last_at.as_microsecond(),
        ended_at: session.ended_at.map(jiff::Timestamp::as_microsecond),
        last_turn: session.last_turn,
        // Its turns follow.
        n_waiting: 0,
        extract_at: None,
        look_at: session.look_at.as_microsecond(),
        unknown: Unknown::new(),
    };
    batch.put_session(key, record)?;
    if let Some(summary) = &session.summary {
        let mut summary = summary.clone();
        let mut parts = Vec::with_capacity(summary.parts.len());
        for part in summary.parts {
            let forgotten = is_forgotten(batch, key, part.turn, session.started_at)?;
            if !forgotten && !says_forgotten(batch, &part.memories)? {
                parts.push(part);
            }
        }
        summary.parts = parts;
        batch.put_summary(key, &SummaryRecord::of(&summary))?;
    }
    Ok(ImportOutcome::Added)
}

/// Takes in a turn of a session that has come in before, and to which nobody has added since.
pub(in crate::store) fn import_turn(
    batch: &mut Batch<'_>,
    item: &TurnItem,
    is_dry: bool,
) -> Result<ImportOutcome> {
    let key = SessionKey::of(&item.namespace, &item.session);
    let turn = &item.turn;
    if is_forgotten(batch, key, turn.number, item.started_at)?
        || says_forgotten(batch, &turn.memories)?
    {
        return Ok(ImportOutcome::ForgottenHere);
    }
    if is_dry {
        return Ok(ImportOutcome::Added);
    }
    let is_of = |session: &SessionRecord| {
        session.started_at == item.started_at.as_microsecond()
            && session.last_turn == item.last_turn
    };
    let Some(mut session) = batch.load_session(key)?.filter(is_of) else {
        return Ok(ImportOutcome::Different);
    };
    if batch.load_turn(key, turn.number)?.is_some() {
        return Ok(ImportOutcome::Same);
    }
    let through = batch.load_summary(key)?.map_or(0, |summary| summary.through);
    if turn.number <= through && turn.waiting.is_none() {
        return Ok(ImportOutcome::Same);
    }
    batch.may_grow()?;
    batch.put_turn(key, turn.number, &TurnRecord::of(turn))?;
    if turn.waiting.is_some() {
        session.n_waiting += 1;
    }
    batch.put_session(key, session)?;
    Ok(ImportOutcome::Added)
}

/// Whether one of these memories is forgotten here: then what it was taken out of is, too.
fn says_forgotten(batch: &Batch<'_>, memories: &[MemoryId]) -> Result<bool> {
    for id in memories {
        if batch.forgotten(*id)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
