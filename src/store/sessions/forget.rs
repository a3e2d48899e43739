//! Forgetting what was said: with a memory that says it, with a whole session, and again in a backup.
//!
//! A turn that is forgotten leaves its number behind and when that was, no text, so that a backup that
//! is put back, or an export, does not bring it back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};

use super::super::batch::Batch;
use super::super::codec::decode;
use super::super::errors::Result;
use super::super::records::IdText;
use super::super::tables::{FORGOTTEN_TURNS, open_newer};
use super::super::withdraw::Gone;
use super::records::{SessionRecord, SummaryRecord, TurnRecord};
use crate::domain::id::MemoryId;
use crate::domain::memory::Origin;
use crate::domain::session::SessionKey;

/// Stands for all turns of a session until then.
const ALL: u64 = 0;
/// Shortest text that is looked for inside of turns, characters; a shorter one must be a whole turn.
const WITHIN_CHARS_MIN: usize = 4;

/// What of one namespace is forgotten.
#[derive(Default)]
struct Lost {
    ids: BTreeSet<MemoryId>,
    texts: Vec<String>,
}

impl Lost {
    /// Whether a text that these memories were taken out of says what is forgotten.
    fn is_said_in(&self, text: &str, memories: &[IdText]) -> bool {
        let says = |lost: &String| {
            if lost.chars().count() < WITHIN_CHARS_MIN {
                bare(text) == lost
            } else {
                text.contains(lost.as_str())
            }
        };
        memories.iter().any(|id| self.ids.contains(&id.0)) || self.texts.iter().any(says)
    }
}

/// A text without what ends a sentence.
fn bare(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '!', '。', '！'])
}

/// Forgets the turns out of which forgotten memories were taken or that say the same, and what summaries
/// tell of them. What is only withdrawn was said by nobody.
pub(in crate::store) fn forget_said(
    batch: &mut Batch<'_>,
    gone: &[Gone],
    at: Timestamp,
) -> Result<()> {
    if batch.tables().sessions.is_empty()? {
        return Ok(());
    }
    let mut lost: BTreeMap<&str, Lost> = BTreeMap::new();
    for Gone { memory, .. } in gone.iter().filter(|gone| !gone.is_withdrawn) {
        let lost = lost.entry(memory.record.namespace.as_str()).or_default();
        lost.ids.insert(memory.id);
        let text = bare(&memory.record.content);
        if !text.is_empty() {
            lost.texts.push(text.to_owned());
        }
    }
    let mut hit = Vec::new();
    for row in batch.tables().sessions.iter()? {
        let (key, record) = row?;
        let record: SessionRecord = decode(record.value())?;
        if let Some(lost) = lost.get(record.namespace.as_str()) {
            let key = SessionKey(*key.value());
            let turns = turns_that(batch, key, |turn| lost.is_said_in(&turn.text, &turn.memories))?;
            hit.push((key, turns, lost));
        }
    }
    for (key, turns, lost) in hit {
        forget_turns(batch, key, &turns, at)?;
        retain_parts(batch, key, |part| !lost.is_said_in(&part.text, &part.memories))?;
    }
    Ok(())
}

/// Cuts the links of turns to memories that an undo has withdrawn: what was said was not forgotten.
pub(in crate::store) fn let_go(batch: &mut Batch<'_>, gone: &[Gone]) -> Result<()> {
    let is_extracted = |gone: &&Gone| gone.memory.record.origin == Origin::Extracted.as_str();
    let ids: BTreeSet<MemoryId> =
        gone.iter().filter(is_extracted).map(|gone| gone.memory.id).collect();
    if ids.is_empty() || batch.tables().sessions.is_empty()? {
        return Ok(());
    }
    let is_kept = |id: &IdText| !ids.contains(&id.0);
    let mut turns = Vec::new();
    for row in batch.tables().turns.iter()? {
        let (place, turn) = row?;
        let ((key, number), mut turn) = (place.value(), decode::<TurnRecord>(turn.value())?);
        if !turn.memories.iter().all(is_kept) {
            turn.memories.retain(is_kept);
            turns.push((SessionKey(*key), number, turn));
        }
    }
    let mut summaries = Vec::new();
    for row in batch.tables().session_summaries.iter()? {
        let (key, summary) = row?;
        let mut summary: SummaryRecord = decode(summary.value())?;
        if !summary.parts.iter().flat_map(|part| &part.memories).all(is_kept) {
            for part in &mut summary.parts {
                part.memories.retain(is_kept);
            }
            summaries.push((SessionKey(*key.value()), summary));
        }
    }
    for (key, number, turn) in turns {
        batch.put_turn(key, number, &turn)?;
    }
    for (key, summary) in summaries {
        batch.put_summary(key, &summary)?;
    }
    Ok(())
}

/// Forgets sessions for good; returns how many turns that were.
pub(in crate::store) fn erase(
    batch: &mut Batch<'_>,
    keys: &[SessionKey],
    at: Timestamp,
) -> Result<u64> {
    batch.may_tidy()?;
    let mut n_turns = 0;
    for key in keys {
        let Some(session) = batch.load_session(*key)? else { continue };
        n_turns += batch.remove_session(*key, &session)?;
        batch.change().forgotten_turns.insert((&key.0, ALL), at.as_microsecond())?;
    }
    Ok(n_turns)
}

/// Forgets in a copy what the store at `old` has forgotten of sessions.
pub(in crate::store) fn forget_again(batch: &mut Batch<'_>, old: &ReadTransaction) -> Result<()> {
    let Some(table) = open_newer(old, FORGOTTEN_TURNS)? else { return Ok(()) };
    for row in table.iter()? {
        let (place, at) = row?;
        let ((key, number), at) = (place.value(), at.value());
        let key = SessionKey(*key);
        batch.change().forgotten_turns.insert((&key.0, number), at)?;
        // A session that was begun after that is another one of the same name.
        let Some(session) = batch.load_session(key)?.filter(|session| session.started_at <= at)
        else {
            continue;
        };
        if number == ALL {
            batch.remove_session(key, &session)?;
        } else {
            let turns = turns_that(batch, key, |turn| turn.received_at <= at)?;
            let is_there = turns.contains(&number).then_some(number);
            drop_turns(batch, key, &is_there.into_iter().collect())?;
            retain_parts(batch, key, |part| !part.may_tell_of(number))?;
        }
    }
    Ok(())
}

/// Whether a turn, or all of its session until then, was forgotten here after the session was begun.
pub(super) fn is_forgotten(
    batch: &Batch<'_>,
    key: SessionKey,
    number: u64,
    started_at: Timestamp,
) -> Result<bool> {
    let started_at = started_at.as_microsecond();
    for number in [ALL, number] {
        let row = batch.tables().forgotten_turns.get((&key.0, number))?;
        if row.is_some_and(|at| at.value() >= started_at) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Numbers of the turns that fit.
fn turns_that(
    batch: &Batch<'_>,
    key: SessionKey,
    fits: impl Fn(&TurnRecord) -> bool,
) -> Result<BTreeSet<u64>> {
    let mut numbers = BTreeSet::new();
    for row in batch.tables().turns.range((&key.0, 0)..=(&key.0, u64::MAX))? {
        let (place, turn) = row?;
        if fits(&decode(turn.value())?) {
            numbers.insert(place.value().1);
        }
    }
    Ok(numbers)
}

fn forget_turns(
    batch: &mut Batch<'_>,
    key: SessionKey,
    numbers: &BTreeSet<u64>,
    at: Timestamp,
) -> Result<()> {
    drop_turns(batch, key, numbers)?;
    for number in numbers {
        batch.change().forgotten_turns.insert((&key.0, *number), at.as_microsecond())?;
        retain_parts(batch, key, |part| !part.may_tell_of(*number))?;
    }
    Ok(())
}

/// Removes turns, and that they wait.
fn drop_turns(batch: &mut Batch<'_>, key: SessionKey, numbers: &BTreeSet<u64>) -> Result<()> {
    let Some(mut session) = batch.load_session(key)?.filter(|_| !numbers.is_empty()) else {
        return Ok(());
    };
    for number in numbers {
        let is_waiting = batch.load_turn(key, *number)?.is_some_and(|turn| turn.waiting.is_some());
        session.n_waiting = session.n_waiting.saturating_sub(u64::from(is_waiting));
        batch.remove_turn(key, *number)?;
    }
    batch.put_session(key, session)
}

/// Drops the parts of a summary that do not fit.
fn retain_parts(
    batch: &mut Batch<'_>,
    key: SessionKey,
    fits: impl Fn(&super::records::PartRecord) -> bool,
) -> Result<()> {
    let Some(summary) = batch.load_summary(key)? else { return Ok(()) };
    let n_before = summary.parts.len();
    let parts: Vec<_> = summary.parts.into_iter().filter(|part| fits(part)).collect();
    if parts.len() < n_before {
        batch.put_summary(key, &SummaryRecord { parts, ..summary })?;
    }
    Ok(())
}
