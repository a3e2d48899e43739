//! Reading sessions.

use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable as _};

use super::super::codec::decode;
use super::super::errors::{Result, damaged};
use super::super::records::{time, times};
use super::super::tables::{SESSION_LOOKS, SESSION_SUMMARIES, SESSIONS, TURNS, open_newer};
use super::records::{SessionRecord, SummaryRecord, TurnRecord};
use crate::domain::session::{Session, SessionInfo, SessionKey};

/// A session with its turns.
pub(super) fn session(transaction: &ReadTransaction, key: SessionKey) -> Result<Option<Session>> {
    let Some(head) = head(transaction, key)? else { return Ok(None) };
    let turns = transaction
        .open_table(TURNS)?
        .range((&key.0, 0)..=(&key.0, u64::MAX))?
        .map(|row| {
            let (place, turn) = row?;
            decode::<TurnRecord>(turn.value())?.into_turn(place.value().1)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(Session { turns, ..head }))
}

/// A session without its turns.
pub(super) fn head(transaction: &ReadTransaction, key: SessionKey) -> Result<Option<Session>> {
    let Some(table) = open_newer(transaction, SESSIONS)? else { return Ok(None) };
    let Some(row) = table.get(&key.0)? else { return Ok(None) };
    let record: SessionRecord = decode(row.value())?;
    let summary = transaction.open_table(SESSION_SUMMARIES)?.get(&key.0)?;
    let summary =
        summary.map(|row| decode::<SummaryRecord>(row.value())?.into_summary()).transpose()?;
    Ok(Some(Session {
        namespace: record.namespace.parse().map_err(damaged)?,
        name: record.session,
        agent: record.agent,
        started_at: time(record.started_at)?,
        last_at: time(record.last_at)?,
        ended_at: times(record.ended_at)?,
        last_turn: record.last_turn,
        extract_at: times(record.extract_at)?,
        look_at: time(record.look_at)?,
        turns: Vec::new(),
        summary,
    }))
}

/// All sessions.
pub(super) fn sessions(transaction: &ReadTransaction) -> Result<Vec<SessionInfo>> {
    let Some(table) = open_newer(transaction, SESSIONS)? else { return Ok(Vec::new()) };
    table
        .iter()?
        .map(|row| {
            let record: SessionRecord = decode(row?.1.value())?;
            Ok(SessionInfo {
                namespace: record.namespace.parse().map_err(damaged)?,
                name: record.session,
                last_turn: record.last_turn,
                n_waiting: record.n_waiting,
                started_at: time(record.started_at)?,
                last_at: time(record.last_at)?,
            })
        })
        .collect()
}

/// Sessions that were to be looked at by `now`.
pub(super) fn due(
    transaction: &ReadTransaction,
    now: Timestamp,
    after: Option<(Timestamp, SessionKey)>,
    limit: usize,
) -> Result<Vec<(Timestamp, SessionKey)>> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let Some(table) = open_newer(transaction, SESSION_LOOKS)? else { return Ok(Vec::new()) };
    let place = after.map(|(at, key)| (at.as_microsecond(), key.0));
    let first = place.as_ref().map_or(Unbounded, |(at, key)| Excluded((*at, key)));
    let last = Included((now.as_microsecond(), &[u8::MAX; 32]));
    if after.is_some_and(|(at, _)| at > now) {
        return Ok(Vec::new());
    }
    table.range::<(i64, &[u8; 32])>((first, last))?.take(limit).map(|row| look(&row?.0)).collect()
}

/// When the next session is to be looked at.
pub(super) fn next_look(transaction: &ReadTransaction) -> Result<Option<Timestamp>> {
    let Some(table) = open_newer(transaction, SESSION_LOOKS)? else { return Ok(None) };
    let first = table.first()?;
    Ok(first.map(|(key, _)| look(&key)).transpose()?.map(|(at, _)| at))
}

fn look(key: &redb::AccessGuard<'_, (i64, &'static [u8; 32])>) -> Result<(Timestamp, SessionKey)> {
    let (at, key) = key.value();
    Ok((time(at)?, SessionKey(*key)))
}
