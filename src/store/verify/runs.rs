//! Jobs, runs, what the runs changed, and the strengths beside the memories.

use std::collections::BTreeMap;

use redb::{ReadTransaction, ReadableTable as _};

use super::super::codec::decode;
use super::super::errors::Result;
use super::super::ledger::job_states;
use super::super::runs::RunRecord;
use super::super::tables::{
    MEMORIES, META, META_RUN, RUN_CHANGES, RUNS, STRENGTHS, meta, open_newer,
};
use super::{Verified, has};
use crate::domain::id::MemoryId;

/// A run is open if and only if its job says so, and every change belongs to a run.
pub(super) fn check(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let last = meta(&transaction.open_table(META)?, META_RUN)?;
    let mut open = BTreeMap::new();
    let runs = open_newer(transaction, RUNS)?;
    if let Some(runs) = &runs {
        for row in runs.iter()? {
            let (id, record) = row?;
            let (id, record) = (id.value(), decode::<RunRecord>(record.value())?);
            found.expect((1..=last).contains(&id), || format!("run {id} is not in 1..={last}"));
            if record.finished_at.is_none() {
                open.insert(id, record.job);
            }
        }
    }
    for state in job_states(transaction)? {
        let Some(run) = state.running else { continue };
        let is_open = open.remove(&run.0).as_deref() == Some(state.job.as_str());
        found.expect(is_open, || format!("{}: its run {run} is not open", state.job));
    }
    for (run, job) in open {
        found.expect(false, || format!("run {run} is open, and {job} does not know"));
    }
    if let (Some(runs), Some(changes)) = (runs, open_newer(transaction, RUN_CHANGES)?) {
        for row in changes.iter()? {
            let (run, sequence) = row?.0.value();
            let is_known = has(&runs, run)?;
            found.expect(is_known, || format!("change {sequence} of the unknown run {run}"));
        }
    }
    Ok(())
}

/// Strengths are those of memories that are there.
pub(super) fn check_strengths(transaction: &ReadTransaction, found: &mut Verified) -> Result<()> {
    let Some(strengths) = open_newer(transaction, STRENGTHS)? else { return Ok(()) };
    let memories = transaction.open_table(MEMORIES)?;
    for row in strengths.iter()? {
        let (bits, strength) = row?;
        let (id, strength) = (MemoryId::from_u128(bits.value()), strength.value());
        found.expect((0.0..=1.0).contains(&strength), || format!("{id}: strength {strength}"));
        let is_there = has(&memories, bits.value())?;
        found.expect(is_there, || format!("{id}: a strength without a memory"));
    }
    Ok(())
}
