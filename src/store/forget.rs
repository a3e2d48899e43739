//! Forgetting: out of every reader's sight at once, and erased when its time has come.

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
use super::requests::{Keyed, RequestItem, RequestRecord};

/// Who erases what is due, in the log.
const ERASE_JOB: Actor = Actor::Job("erase");

/// Carries out a [`Forget`].
pub(super) fn forget(batch: &mut Batch<'_>, request: &Forget) -> Result<Forgotten> {
    let key = request.request.as_ref();
    if let Some(first) = batch.first_answer(Keyed::Forget, key, request.at)? {
        return replayed(&first);
    }
    let by = By { actor: &request.actor, at: request.at };
    let (mut ids, mut missing) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for id in request.ids.iter().copied().filter(|id| seen.insert(*id)) {
        let is_forgotten = match batch.load(id)? {
            Some(stored) => {
                forget_one(batch, &stored, request, by)?;
                true
            }
            // The person may cut short the grace of what an agent has forgotten.
            None => request.restorable_until.is_none() && erase(batch, id, by)?,
        };
        if is_forgotten { &mut ids } else { &mut missing }.push(id);
    }
    let answer = RequestRecord {
        at: request.at.as_microsecond(),
        items: ids.iter().map(|id| item(*id)).collect(),
        missing: missing.iter().map(|id| IdText(*id)).collect(),
        erase_by: Some(request.erase_by.as_microsecond()),
        restorable_until: request.restorable_until.map(jiff::Timestamp::as_microsecond),
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
        erase(batch, *id, By { actor: &ERASE_JOB, at: now })?;
    }
    Ok(due.len() as u64)
}

fn forget_one(
    batch: &mut Batch<'_>,
    old: &StoredMemory,
    request: &Forget,
    by: By<'_>,
) -> Result<()> {
    let bits = old.id.as_u128();
    let record = batch.remove(old)?;
    let mut versions = take_versions(&mut batch.change().versions, old.id)?;
    versions.push((old.record.version, record));

    let is_restorable = request.restorable_until.is_some();
    let tombstone = ForgottenRecord {
        namespace: old.record.namespace.clone(),
        version: old.record.version,
        forgotten_at: by.at.as_microsecond(),
        erase_by: request.erase_by.as_microsecond(),
        restorable_until: request.restorable_until.map(jiff::Timestamp::as_microsecond),
        erased_at: (!is_restorable).then(|| by.at.as_microsecond()),
        usage: is_restorable.then(|| old.usage.clone()),
        unknown: Unknown::new(),
    };
    let bytes = encode(&tombstone)?;
    let tables = batch.change();
    tables.forgotten.insert(bits, bytes.as_slice())?;
    if is_restorable {
        for (version, record) in &versions {
            tables.forgotten_versions.insert((bits, *version), record.as_slice())?;
        }
        tables.erasures.insert((tombstone.due(), bits), ())?;
    }
    let sequence = batch.log(by, Operation::Forget, old.id, old.record.version, &[])?;
    let namespace = old.record.namespace()?;
    batch.tell(sequence, Effect::Removed { id: old.id, namespace });
    Ok(())
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

/// Erases the content of a forgotten memory; `false` if there is none any more.
fn erase(batch: &mut Batch<'_>, id: MemoryId, by: By<'_>) -> Result<bool> {
    let Some(mut tombstone) = batch.forgotten(id)?.filter(|row| row.erased_at.is_none()) else {
        return Ok(false);
    };
    batch.take_forgotten_versions(id, &tombstone)?;
    tombstone.erased_at = Some(by.at.as_microsecond());
    tombstone.restorable_until = None;
    tombstone.usage = None;
    let bytes = encode(&tombstone)?;
    batch.change().forgotten.insert(id.as_u128(), bytes.as_slice())?;
    batch.log(by, Operation::Erase, id, tombstone.version, &[])?;
    Ok(true)
}

impl Batch<'_> {
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
