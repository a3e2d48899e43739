//! That the tables of sessions agree with each other.

use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};

use super::super::codec::decode;
use super::super::errors::{Result, damaged};
use super::super::tables::{SESSION_LOOKS, SESSION_SUMMARIES, SESSIONS, TURNS, open_newer};
use super::super::verify::Verified;
use super::records::{SessionRecord, SummaryRecord, TurnRecord};
use crate::domain::session::SessionKey;

/// Each session has its key and one time at which it is looked at, counts its waiting turns, and turns
/// and summaries belong to sessions.
pub(in crate::store) fn check(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let Some(sessions) = open_newer(transaction, SESSIONS)? else { return Ok(()) };
    let turns = transaction.open_table(TURNS)?;
    let summaries = transaction.open_table(SESSION_SUMMARIES)?;
    let looks = transaction.open_table(SESSION_LOOKS)?;
    let (mut n_turns, mut n_summaries) = (0, 0);
    for row in sessions.iter()? {
        let (key, record) = row?;
        let (key, record) = (*key.value(), decode::<SessionRecord>(record.value())?);
        let name = blake3::Hash::from_bytes(key).to_hex();
        let name = name.get(..8).unwrap_or_default();
        let own = SessionKey::of(&record.namespace.parse().map_err(damaged)?, &record.session);
        found.expect(own.0 == key, || format!("session {name} is not where it belongs"));
        let is_looked_at = looks.get((record.look_at, &key))?.is_some();
        found.expect(is_looked_at, || format!("session {name} is never looked at"));
        let through = match summaries.get(&key)? {
            Some(summary) => {
                n_summaries += 1;
                decode::<SummaryRecord>(summary.value())?.through
            }
            None => 0,
        };
        found.expect(through <= record.last_turn, || {
            format!("session {name} tells of turn {through} of {}", record.last_turn)
        });
        let mut n_waiting = 0;
        for row in turns.range((&key, 0)..=(&key, u64::MAX))? {
            let (place, turn) = row?;
            let (number, turn) = (place.value().1, decode::<TurnRecord>(turn.value())?);
            n_turns += 1;
            n_waiting += u64::from(turn.waiting.is_some());
            found.expect((1..=record.last_turn).contains(&number), || {
                format!("session {name}: turn {number} of {}", record.last_turn)
            });
            found.expect(number > through || turn.waiting.is_some(), || {
                format!("session {name}: turn {number} is kept for nothing")
            });
        }
        found.expect(n_waiting == record.n_waiting, || {
            format!("session {name}: {n_waiting} turns wait instead of {}", record.n_waiting)
        });
        found.expect((n_waiting > 0) == record.extract_at.is_some(), || {
            format!("session {name}: {n_waiting} turns wait until {:?}", record.extract_at)
        });
    }
    found.expect_len("session_looks", looks.len()?, sessions.len()?);
    found.expect_len("turns", turns.len()?, n_turns);
    found.expect_len("session_summaries", summaries.len()?, n_summaries);
    Ok(())
}
