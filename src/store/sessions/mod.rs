//! Working memory: sessions, their turns, and what is told of turns that are gone.
//!
//! A turn is kept until its summary tells of it and nothing waits to be taken out of it. What is taken
//! out of turns is noted in the transaction that stores it, so a crash neither loses nor repeats it.

mod forget;
mod read;
mod records;
pub(super) mod transfer;
mod verify;

pub(super) use forget::{erase, forget_again, forget_said, let_go};
pub(super) use verify::check;

use futures::future::BoxFuture;
use jiff::Timestamp;
use redb::{ReadableTable as _, ReadableTableMetadata as _};

use super::RedbStore;
use super::apply::apply;
use super::batch::Batch;
use super::codec::{decode, encode};
use super::errors::{Result, damaged};
use super::records::{IdText, Unknown, id_texts};
use super::requests::{Keyed, RequestRecord};
use crate::domain::limits::{SESSION_TURNS_MAX, SESSIONS_MAX};
use crate::domain::session::{
    Append, Appended, Fate, NotAppended, Relook, Retell, Session, SessionInfo, SessionKey, Settle,
    Settled,
};
use crate::ports::Sessions;

use records::{SessionRecord, SummaryRecord, TurnRecord, WaitingRecord};

impl Sessions for RedbStore {
    fn append(
        &self,
        request: Append,
    ) -> BoxFuture<'_, Result<std::result::Result<Appended, NotAppended>>> {
        Box::pin(self.writer.write(move |batch| append(batch, &request)))
    }

    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>>> {
        let read = move |rows: &redb::ReadTransaction| read::session(rows, key);
        Box::pin(async move { self.begin_read().await?.read(read).await })
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionInfo>>> {
        Box::pin(async move { self.begin_read().await?.read(read::sessions).await })
    }

    fn due_sessions(
        &self,
        now: Timestamp,
        after: Option<(Timestamp, SessionKey)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Timestamp, SessionKey)>>> {
        let read = move |rows: &redb::ReadTransaction| read::due(rows, now, after, limit);
        Box::pin(async move { self.begin_read().await?.read(read).await })
    }

    fn next_session_look(&self) -> BoxFuture<'_, Result<Option<Timestamp>>> {
        Box::pin(async move { self.begin_read().await?.read(read::next_look).await })
    }

    fn settle(&self, request: Settle) -> BoxFuture<'_, Result<Settled>> {
        Box::pin(self.writer.write(move |batch| settle(batch, &request)))
    }

    fn retell(&self, request: Retell) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.writer.write(move |batch| retell(batch, &request)))
    }

    fn relook(&self, request: Relook) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.write(move |batch| relook(batch, &request)))
    }

    fn expire(&self, key: SessionKey, last_turn: u64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.writer.write(move |batch| expire(batch, key, last_turn)))
    }

    fn erase_sessions(&self, keys: Vec<SessionKey>, at: Timestamp) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.write(move |batch| erase(batch, &keys, at)))
    }
}

/// Adds turns to a session.
fn append(
    batch: &mut Batch<'_>,
    request: &Append,
) -> Result<std::result::Result<Appended, NotAppended>> {
    let first = batch.first_answer(Keyed::Append, request.request.as_ref(), request.at)?;
    if let Some((first, last, n_waiting)) = first.and_then(|record| record.turns) {
        return Ok(Ok(Appended { first, last, n_waiting }));
    }
    let key = SessionKey::of(&request.namespace, &request.name);
    let present = batch.load_session(key)?;
    let n_new = request.turns.len() as u64;
    if let Some(refusal) = refusal(batch, present.as_ref(), n_new)? {
        return Ok(Err(refusal));
    }
    if n_new > 0 {
        batch.may_grow()?;
    } else {
        batch.may_tidy()?;
    }
    let at = request.at.as_microsecond();
    let mut session = present.unwrap_or_else(|| begun(request));
    let first = session.last_turn + 1;
    for (number, turn) in (first..).zip(&request.turns) {
        let record = TurnRecord::new(turn, request.agent.clone(), request.at);
        batch.put_turn(key, number, &record)?;
    }
    session.last_turn += n_new;
    session.n_waiting += n_new;
    if n_new > 0 {
        session.last_at = at;
        session.ended_at = None;
    }
    if request.ends {
        session.ended_at = Some(at);
    }
    let is_due = session.extract_at.is_some_and(|due| due <= at);
    if session.n_waiting > 0 && !is_due {
        session.extract_at = Some(request.extract_at.as_microsecond());
    }
    let expires_at = request.expires_at.as_microsecond();
    let is_full = batch.n_recent(key)? >= request.full;
    session.look_at = match session.extract_at {
        _ if is_full => at,
        Some(extract_at) => extract_at.min(expires_at),
        None => expires_at,
    };
    let answer = Appended { first, last: session.last_turn, n_waiting: session.n_waiting };
    batch.put_session(key, session)?;
    let turns = Some((answer.first, answer.last, answer.n_waiting));
    let record = RequestRecord { turns, ..RequestRecord::at(request.at) };
    batch.keep_answer(Keyed::Append, request.request.as_ref(), &record, request.at)?;
    Ok(Ok(answer))
}

fn refusal(
    batch: &Batch<'_>,
    present: Option<&SessionRecord>,
    n_new: u64,
) -> Result<Option<NotAppended>> {
    Ok(match present {
        None if n_new == 0 => Some(NotAppended::Missing),
        None if batch.tables().sessions.len()? >= SESSIONS_MAX => Some(NotAppended::TooMany),
        Some(session) if session.n_waiting + n_new > SESSION_TURNS_MAX => Some(NotAppended::Full),
        None | Some(_) => None,
    })
}

fn begun(request: &Append) -> SessionRecord {
    let at = request.at.as_microsecond();
    SessionRecord {
        namespace: request.namespace.to_string(),
        session: request.name.clone(),
        agent: request.agent.clone(),
        started_at: at,
        last_at: at,
        ended_at: None,
        last_turn: 0,
        n_waiting: 0,
        extract_at: None,
        look_at: at,
        unknown: Unknown::new(),
    }
}

/// Notes what was taken out of turns, with the memories that were made of them.
fn settle(batch: &mut Batch<'_>, request: &Settle) -> Result<Settled> {
    let key = request.key;
    let Some(mut session) = batch.load_session(key)? else { return Ok(Settled::Changed) };
    let mut turns = Vec::with_capacity(request.turns.len());
    for (number, fate) in &request.turns {
        match batch.load_turn(key, *number)? {
            Some(turn) if turn.waiting.is_some() => turns.push((*number, turn, fate)),
            Some(_) | None => return Ok(Settled::Changed),
        }
    }
    let applied = apply(batch, &request.set)?;
    if !applied.conflicts.is_empty() {
        return Ok(Settled::Changed);
    }
    let summary = batch.load_summary(key)?;
    let through = summary.as_ref().map_or(0, |summary| summary.through);
    let mut retold = summary.clone();
    for (number, mut turn, fate) in turns {
        match fate {
            Fate::Later(waiting) => {
                turn.waiting = Some(WaitingRecord::of(*waiting));
                batch.put_turn(key, number, &turn)?;
            }
            Fate::Done(places) => {
                let made = places.iter().filter_map(|place| applied.stored.get(*place));
                turn.waiting = None;
                turn.memories = id_texts(&made.map(|one| one.id).collect::<Vec<_>>());
                session.n_waiting = session.n_waiting.saturating_sub(1);
                if number > through {
                    batch.put_turn(key, number, &turn)?;
                } else {
                    batch.remove_turn(key, number)?;
                    note_memories(retold.as_mut(), number, &turn.memories);
                }
            }
        }
    }
    if let Some(retold) = retold.filter(|retold| summary.as_ref() != Some(retold)) {
        batch.put_summary(key, &retold)?;
    }
    batch.put_session(key, session)?;
    Ok(Settled::Done(applied))
}

/// Notes which memories were taken out of a turn that a summary may tell of.
fn note_memories(summary: Option<&mut SummaryRecord>, turn: u64, memories: &[IdText]) {
    let parts = summary.into_iter().flat_map(|summary| &mut summary.parts);
    for part in parts.filter(|part| part.may_tell_of(turn)) {
        let new = memories.iter().filter(|id| !part.memories.contains(id)).copied();
        part.memories.extend(new.collect::<Vec<_>>());
    }
}

/// Puts a summary in the place of another.
fn retell(batch: &mut Batch<'_>, request: &Retell) -> Result<bool> {
    let key = request.key;
    let present = batch.load_summary(key)?.map(SummaryRecord::into_summary).transpose()?;
    if batch.load_session(key)?.is_none() || present != request.before {
        return Ok(false);
    }
    for number in &request.of {
        if batch.load_turn(key, *number)?.is_none() {
            return Ok(false);
        }
    }
    batch.may_tidy()?;
    batch.put_summary(key, &SummaryRecord::of(&request.summary))?;
    for number in &request.of {
        let Some(turn) = batch.load_turn(key, *number)? else { continue };
        if *number <= request.summary.through && turn.waiting.is_none() {
            batch.remove_turn(key, *number)?;
        }
    }
    Ok(true)
}

/// Notes when a session is to be looked at again.
fn relook(batch: &mut Batch<'_>, request: &Relook) -> Result<()> {
    let Some(mut session) = batch.load_session(request.key)? else { return Ok(()) };
    batch.may_tidy()?;
    let extract_at = request.extract_at.map(Timestamp::as_microsecond);
    let look_at = request.look_at.as_microsecond();
    if session.last_turn == request.last_turn {
        session.extract_at = extract_at;
        session.look_at = look_at;
    } else {
        session.extract_at = session.extract_at.into_iter().chain(extract_at).min();
        session.look_at = session.look_at.min(look_at);
    }
    batch.put_session(request.key, session)
}

/// Removes a session that nobody has added to.
fn expire(batch: &mut Batch<'_>, key: SessionKey, last_turn: u64) -> Result<bool> {
    match batch.load_session(key)? {
        Some(session) if session.last_turn == last_turn && session.n_waiting == 0 => {
            batch.may_tidy()?;
            batch.remove_session(key, &session)?;
            Ok(true)
        }
        Some(_) | None => Ok(false),
    }
}

impl Batch<'_> {
    pub(super) fn load_session(&self, key: SessionKey) -> Result<Option<SessionRecord>> {
        self.tables().sessions.get(&key.0)?.map(|row| decode(row.value())).transpose()
    }

    fn load_turn(&self, key: SessionKey, number: u64) -> Result<Option<TurnRecord>> {
        self.tables().turns.get((&key.0, number))?.map(|row| decode(row.value())).transpose()
    }

    fn load_summary(&self, key: SessionKey) -> Result<Option<SummaryRecord>> {
        self.tables().session_summaries.get(&key.0)?.map(|row| decode(row.value())).transpose()
    }

    /// Turns that no summary tells of.
    fn n_recent(&self, key: SessionKey) -> Result<usize> {
        let through = self.load_summary(key)?.map_or(0, |summary| summary.through);
        let range = (&key.0, through.saturating_add(1))..=(&key.0, u64::MAX);
        Ok(self.tables().turns.range(range)?.count())
    }

    /// Writes the record of a session, and when it is to be looked at. There is a time to look at
    /// waiting turns if and only if there are some.
    fn put_session(&mut self, key: SessionKey, mut session: SessionRecord) -> Result<()> {
        session.extract_at =
            (session.n_waiting > 0).then(|| session.extract_at.unwrap_or(session.look_at));
        let bytes = encode(&session)?;
        let tables = self.change();
        let before: Option<SessionRecord> = tables
            .sessions
            .insert(&key.0, bytes.as_slice())?
            .map(|row| decode(row.value()))
            .transpose()?;
        if let Some(before) = before {
            tables.session_looks.remove((before.look_at, &key.0))?;
        }
        tables.session_looks.insert((session.look_at, &key.0), ())?;
        Ok(())
    }

    fn put_turn(&mut self, key: SessionKey, number: u64, turn: &TurnRecord) -> Result<()> {
        let bytes = encode(turn)?;
        self.change().turns.insert((&key.0, number), bytes.as_slice())?;
        Ok(())
    }

    fn remove_turn(&mut self, key: SessionKey, number: u64) -> Result<()> {
        let removed = self.change().turns.remove((&key.0, number))?.is_some();
        if removed { Ok(()) } else { Err(damaged(format!("turn {number} of a session is gone"))) }
    }

    fn put_summary(&mut self, key: SessionKey, summary: &SummaryRecord) -> Result<()> {
        let bytes = encode(summary)?;
        self.change().session_summaries.insert(&key.0, bytes.as_slice())?;
        Ok(())
    }

    /// Removes a session with everything in it; returns how many turns that were.
    fn remove_session(&mut self, key: SessionKey, session: &SessionRecord) -> Result<u64> {
        let tables = self.change();
        tables.sessions.remove(&key.0)?;
        tables.session_looks.remove((session.look_at, &key.0))?;
        tables.session_summaries.remove(&key.0)?;
        let range = (&key.0, 0)..=(&key.0, u64::MAX);
        let mut n_turns = 0;
        for row in tables.turns.extract_from_if(range, |_, _| true)? {
            row?;
            n_turns += 1;
        }
        Ok(n_turns)
    }
}
