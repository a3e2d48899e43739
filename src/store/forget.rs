//! Forgetting: out of every reader's sight at once, and erased when its time has come.
//!
//! What was made of a forgotten memory goes for good in the same transaction ([`super::withdraw`]).

use std::collections::BTreeSet;

use redb::{ReadableTable, Table};
use serde::{Deserialize, Serialize};

use crate::domain::change::{Effect, Forget, Forgotten, Operation};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::SCAN_PAGE;

use super::batch::{Batch, By, StoredMemory};
use super::codec::{Stored, decode, encode};
use super::errors::Result;
use super::records::{IdText, Unknown, UsageRecord, time, times};
use super::reminders::forget_about;
use super::requests::{Keyed, RequestItem, RequestRecord};
use super::sessions;
use super::staging::Staging;
use super::withdraw::{self, Gone};

/// Who erases what is due, in the log.
const ERASE_JOB: Actor = Actor::Job("erase");

/// Carries out a [`Forget`].
pub(super) fn forget(batch: &mut Batch<'_>, request: &Forget) -> Result<Forgotten> {
    let key = request.request.as_ref();
    if let Some(first) = batch.first_answer(Keyed::Forget, key, request.at)? {
        return replayed(&first);
    }
    let by = By::new(&request.actor, request.at);
    let named: BTreeSet<MemoryId> = request.ids.iter().copied().collect();
    let derived = withdraw::made_of(batch, named.iter().copied())?;
    let (mut ids, mut missing) = (Vec::new(), Vec::new());
    let mut gone = Vec::new();
    let mut seen = BTreeSet::new();
    let is_kept = |id: &MemoryId| !derived.contains(id);
    for id in request.ids.iter().copied().filter(is_kept).filter(|id| seen.insert(*id)) {
        let is_forgotten = match batch.load(id)? {
            Some(stored) => {
                let fate =
                    Fate { restorable_until: request.restorable_until, erase_by: request.erase_by };
                batch.take_away(&stored, fate, Operation::Forget, by)?;
                gone.push(Gone { memory: stored, is_withdrawn: false });
                true
            }
            // The person may cut short the grace of what an agent has forgotten.
            None => request.restorable_until.is_none() && batch.erase(id, by)?,
        };
        if is_forgotten { &mut ids } else { &mut missing }.push(id);
    }
    let withdrawn = withdraw::withdraw(batch, &derived, by, &mut gone)?;
    let mut staging = Staging::default();
    withdraw::unlink(batch, &mut staging, &gone)?;
    staging.write(batch, by, None)?;
    sessions::forget_said(batch, &gone, request.at)?;
    let answer = RequestRecord {
        items: ids.iter().map(|id| item(*id)).collect(),
        missing: missing.iter().map(|id| IdText(*id)).collect(),
        withdrawn: withdrawn.iter().map(|id| IdText(*id)).collect(),
        erase_by: Some(request.erase_by.as_microsecond()),
        restorable_until: request.restorable_until.map(jiff::Timestamp::as_microsecond),
        ..RequestRecord::at(request.at)
    };
    batch.keep_answer(Keyed::Forget, key, &answer, request.at)?;
    replayed(&answer)
}

/// Erases the content of forgotten memories that are due at `now`, at most a page of them. Returns
/// how many.
pub(super) fn erase_due(batch: &mut Batch<'_>, now: jiff::Timestamp) -> Result<u64> {
    batch.may_tidy()?;
    let due = batch
        .tables()
        .erasures
        .range(..=(now.as_microsecond(), u128::MAX))?
        .take(SCAN_PAGE)
        .map(|row| Ok(MemoryId::from_u128(row?.0.value().1)))
        .collect::<Result<Vec<_>>>()?;
    for id in &due {
        batch.erase(*id, By::new(&ERASE_JOB, now))?;
    }
    Ok(due.len() as u64)
}

/// What becomes of the content of a memory that is taken away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    /// Until when it can be brought back; `None`: its content goes at once.
    pub(super) restorable_until: Option<jiff::Timestamp>,
    /// When its content must be gone at the latest.
    pub(super) erase_by: jiff::Timestamp,
}

/// Takes all versions of a memory out of a table, oldest first.
fn take_versions(
    table: &mut Table<'_, (u128, u64), &'static [u8]>,
    id: MemoryId,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let bits = id.as_u128();
    let range = (bits, 0)..=(bits, u64::MAX);
    table
        .extract_from_if(range, |_, _| true)?
        .map(|row| {
            let (key, record) = row?;
            Ok((key.value().1, record.value().to_vec()))
        })
        .collect()
}

impl Batch<'_> {
    /// Takes a memory out of every reader's sight, with the reminders about it, and keeps of it what its
    /// fate says.
    pub(super) fn take_away(
        &mut self,
        old: &StoredMemory,
        fate: Fate,
        operation: Operation,
        by: By<'_>,
    ) -> Result<()> {
        let bits = old.id.as_u128();
        forget_about(self, old.id)?;
        let record = self.remove(old)?;
        let mut versions = take_versions(&mut self.change().versions, old.id)?;
        versions.push((old.record.version, record));

        let is_restorable = fate.restorable_until.is_some();
        let tombstone = ForgottenRecord {
            namespace: old.record.namespace.clone(),
            version: old.record.version,
            forgotten_at: by.at.as_microsecond(),
            erase_by: fate.erase_by.as_microsecond(),
            restorable_until: fate.restorable_until.map(jiff::Timestamp::as_microsecond),
            erased_at: (!is_restorable).then(|| by.at.as_microsecond()),
            usage: is_restorable.then(|| old.usage.clone()),
            unknown: Unknown::new(),
        };
        let bytes = encode(&tombstone)?;
        let tables = self.change();
        tables.forgotten.insert(bits, bytes.as_slice())?;
        if is_restorable {
            for (version, record) in &versions {
                tables.forgotten_versions.insert((bits, *version), record.as_slice())?;
            }
            tables.erasures.insert((tombstone.due(), bits), ())?;
        } else {
            self.drop_sources(old.id, &versions)?;
        }
        let sequence = self.log(by, operation, old.id, old.record.version, &[])?;
        let namespace = old.record.namespace()?;
        self.tell(sequence, Effect::Removed { id: old.id, namespace });
        Ok(())
    }

    /// Erases the content of a forgotten memory; `false` if there is none any more.
    pub(super) fn erase(&mut self, id: MemoryId, by: By<'_>) -> Result<bool> {
        let Some(mut tombstone) = self.forgotten(id)?.filter(|row| row.erased_at.is_none()) else {
            return Ok(false);
        };
        let versions = self.take_forgotten_versions(id, &tombstone)?;
        self.drop_sources(id, &versions)?;
        tombstone.erased_at = Some(by.at.as_microsecond());
        tombstone.restorable_until = None;
        tombstone.usage = None;
        let bytes = encode(&tombstone)?;
        self.change().forgotten.insert(id.as_u128(), bytes.as_slice())?;
        self.log(by, Operation::Erase, id, tombstone.version, &[])?;
        Ok(true)
    }

    /// What may be told of a forgotten memory.
    pub(super) fn forgotten(&self, id: MemoryId) -> Result<Option<ForgottenRecord>> {
        self.tables().forgotten.get(id.as_u128())?.map(|row| decode(row.value())).transpose()
    }

    /// Takes the content of a forgotten memory, oldest version first, and that it must be erased.
    pub(super) fn take_forgotten_versions(
        &mut self,
        id: MemoryId,
        tombstone: &ForgottenRecord,
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let tables = self.change();
        let versions = take_versions(&mut tables.forgotten_versions, id)?;
        tables.erasures.remove((tombstone.due(), id.as_u128()))?;
        Ok(versions)
    }
}

fn item(id: MemoryId) -> RequestItem {
    RequestItem { id: IdText(id), status: String::new(), changed: Vec::new() }
}

/// The receipt that was given first.
fn replayed(first: &RequestRecord) -> Result<Forgotten> {
    Ok(Forgotten {
        ids: first.items.iter().map(|item| item.id.0).collect(),
        withdrawn: first.withdrawn.iter().map(|id| id.0).collect(),
        missing: first.missing.iter().map(|id| id.0).collect(),
        forgotten_at: time(first.at)?,
        erase_by: time(first.erase_by.unwrap_or(first.at))?,
        restorable_until: times(first.restorable_until)?,
    })
}

/// What may be told of a forgotten memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ForgottenRecord {
    pub(super) namespace: String,
    pub(super) version: u64,
    pub(super) forgotten_at: i64,
    pub(super) erase_by: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) restorable_until: Option<i64>,
    /// When its content went; until then it is in `forgotten_versions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) erased_at: Option<i64>,
    /// How it had been used, while it can be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<UsageRecord>,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for ForgottenRecord {
    const WHAT: &'static str = "forgotten memory";
}

impl ForgottenRecord {
    /// When its content must go at the latest: past the grace, or past the promise to erase.
    pub(super) fn due(&self) -> i64 {
        self.restorable_until.map_or(self.erase_by, |until| until.min(self.erase_by))
    }
}
