//! Embedding spaces: one for each model that was used and whose vectors are still kept.
//!
//! A space is the identity of a model *and* what that model makes of a few fixed texts, so that
//! other weights under an old name are noticed. Its number is never given again.

use jiff::Timestamp;
use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};

use crate::domain::embedding::{
    ModelIdentity, Scripts, Space, SpaceId, SpaceNote, Vector, probes_agree,
};
use crate::domain::likeness::{Likeness, Spread};
use crate::domain::limits::SCAN_PAGE;

use super::batch::Batch;
use super::codec::{Stored, decode, encode};
use super::errors::{Result, damaged};
use super::records::{Unknown, time, times};
use super::tables::{MEMORIES, META_NEXT_SPACE, META_SPACE, PENDING, SPACES, VECTOR_SETS, meta};

/// The space of `model`, whose vectors of the probe texts are `probes`; from now on the one in use.
/// If it is new, every memory waits for vectors in it.
pub(super) fn find_or_make(
    batch: &mut Batch<'_>,
    model: &ModelIdentity,
    probes: &[Vector],
    now: Timestamp,
) -> Result<SpaceId> {
    let wanted = SpaceRecord::new(model, probes, now);
    let number = match find(batch, &wanted)? {
        Some((number, known)) => {
            if known.probes.is_empty() && !wanted.probes.is_empty() {
                take_probes(batch, number, known, wanted)?;
            }
            number
        }
        None => make(batch, wanted)?,
    };
    if meta(&batch.tables().meta, META_SPACE)? != u64::from(number) {
        batch.change().meta.insert(META_SPACE, u64::from(number))?;
    }
    Ok(SpaceId(number))
}

/// The space of the same model: one whose probes agree before one that has none yet.
fn find(batch: &Batch<'_>, wanted: &SpaceRecord) -> Result<Option<(u32, SpaceRecord)>> {
    let mut unprobed = None;
    for row in batch.tables().spaces.iter()? {
        let (number, bytes) = row?;
        let known = decode::<SpaceRecord>(bytes.value())?;
        if known.is_dropped || !known.is_same_model(wanted) {
            continue;
        }
        if known.probes.is_empty() || wanted.probes.is_empty() {
            unprobed = Some((number.value(), known));
        } else if probes_agree(&known.probes, &wanted.probes) {
            return Ok(Some((number.value(), known)));
        }
    }
    Ok(unprobed)
}

/// A space of a version that knew no probes takes those of its model. If it has served before, it
/// is as complete as it was then.
fn take_probes(
    batch: &mut Batch<'_>,
    number: u32,
    known: SpaceRecord,
    wanted: SpaceRecord,
) -> Result<()> {
    let has_served = batch.tables().vector_sets.range((number, 0)..=(number, u128::MAX))?.next();
    let completed_at = match has_served.transpose()? {
        Some(_) => known.completed_at.or(Some(wanted.created_at)),
        None => known.completed_at.or(wanted.completed_at),
    };
    write(batch, number, &SpaceRecord { probes: wanted.probes, completed_at, ..known })
}

fn make(batch: &mut Batch<'_>, wanted: SpaceRecord) -> Result<u32> {
    let last = batch.tables().spaces.last()?.map_or(0, |row| u64::from(row.0.value()) + 1);
    let next = last.max(meta(&batch.tables().meta, META_NEXT_SPACE)?);
    let number = u32::try_from(next).map_err(|_| damaged("no space number is left"))?;
    // Where there is nothing to embed, nothing is missing.
    let is_complete = batch.tables().memories.is_empty()?;
    let completed_at = is_complete.then_some(wanted.created_at);
    write(batch, number, &SpaceRecord { completed_at, ..wanted })?;
    let tables = batch.change();
    tables.meta.insert(META_NEXT_SPACE, next + 1)?;
    for row in tables.memories.iter()? {
        tables.pending.insert((number, row?.0.value()), ())?;
    }
    Ok(number)
}

/// Notes something about a space; nothing if it is gone.
pub(super) fn note(batch: &mut Batch<'_>, id: SpaceId, note: SpaceNote) -> Result<()> {
    let Some(mut record) = read(batch, id.0)? else { return Ok(()) };
    match note {
        SpaceNote::Likeness(likeness) => record.likeness = Some(LikenessRecord::of(likeness)),
        SpaceNote::Completed(at) => record.completed_at = Some(at.as_microsecond()),
    }
    write(batch, id.0, &record)
}

/// Takes away up to a page of what a space holds, and at last the space; how much that was. From
/// the first page on it is no space that anything is found in or added to.
pub(super) fn drop_page(batch: &mut Batch<'_>, id: SpaceId) -> Result<u64> {
    let Some(mut record) = read(batch, id.0)? else { return Ok(0) };
    if !record.is_dropped {
        record.is_dropped = true;
        write(batch, id.0, &record)?;
    }
    let range = || (id.0, 0)..=(id.0, u128::MAX);
    let tables = batch.change();
    let sets = tables.vector_sets.range(range())?.take(SCAN_PAGE);
    let sets: Vec<(u128, u32)> = sets
        .map(|row| row.map(|(key, set)| (key.value().1, set.value().1)))
        .collect::<std::result::Result<_, _>>()?;
    for (memory, n_chunks) in &sets {
        tables.vector_sets.remove((id.0, *memory))?;
        for chunk in 0..*n_chunks {
            tables.vectors.remove((id.0, *memory, chunk))?;
        }
    }
    let pending = tables.pending.range(range())?.take(SCAN_PAGE - sets.len());
    let pending: Vec<u128> = pending
        .map(|row| row.map(|(key, _)| key.value().1))
        .collect::<std::result::Result<_, _>>()?;
    for memory in &pending {
        tables.pending.remove((id.0, *memory))?;
    }
    let n_dropped = sets.len() + pending.len();
    if n_dropped < SCAN_PAGE {
        tables.spaces.remove(id.0)?;
    }
    Ok(n_dropped as u64)
}

/// All spaces, in order of creation.
pub(super) fn list(transaction: &ReadTransaction) -> Result<Vec<Space>> {
    let n_memories = transaction.open_table(MEMORIES)?.len()?;
    let pending = transaction.open_table(PENDING)?;
    let sets = transaction.open_table(VECTOR_SETS)?;
    let mut spaces = Vec::new();
    for row in transaction.open_table(SPACES)?.iter()? {
        let (number, bytes) = row?;
        let id = SpaceId(number.value());
        let range = (id.0, 0)..=(id.0, u128::MAX);
        let record = decode::<SpaceRecord>(bytes.value())?;
        let n_pending = pending.range(range.clone())?.count() as u64;
        // A memory has vectors or waits for them, except in a space that is being dropped.
        let n_embedded = if record.is_dropped {
            sets.range(range)?.count() as u64
        } else {
            n_memories.saturating_sub(n_pending)
        };
        spaces.push(record.into_space(id, n_embedded, n_pending)?);
    }
    Ok(spaces)
}

fn read(batch: &Batch<'_>, number: u32) -> Result<Option<SpaceRecord>> {
    let row = batch.tables().spaces.get(number)?;
    row.map(|row| decode(row.value())).transpose()
}

fn write(batch: &mut Batch<'_>, number: u32, record: &SpaceRecord) -> Result<()> {
    let bytes = encode(record)?;
    batch.change().spaces.insert(number, bytes.as_slice())?;
    Ok(())
}

/// An embedding space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SpaceRecord {
    #[serde(flatten, with = "IdentityFields")]
    pub(super) model: ModelIdentity,
    pub(super) created_at: i64,
    /// What the model makes of the probe texts; none in what 0.1.0 wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) probes: Vec<Vec<f32>>,
    /// When every memory had vectors for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) completed_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) likeness: Option<LikenessRecord>,
    /// Its rows are being removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) is_dropped: bool,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Stored for SpaceRecord {
    const WHAT: &'static str = "embedding space";
}

impl SpaceRecord {
    fn new(model: &ModelIdentity, probes: &[Vector], at: Timestamp) -> Self {
        Self {
            model: model.clone(),
            created_at: at.as_microsecond(),
            probes: probes.iter().map(|probe| probe.to_vec()).collect(),
            completed_at: None,
            likeness: None,
            is_dropped: false,
            unknown: Unknown::new(),
        }
    }

    /// Whether the identities agree. A space with fields we do not know is another one.
    fn is_same_model(&self, other: &Self) -> bool {
        self.model == other.model && self.unknown == other.unknown
    }

    fn into_space(self, id: SpaceId, n_embedded: u64, n_pending: u64) -> Result<Space> {
        Ok(Space {
            id,
            model: self.model,
            created_at: time(self.created_at)?,
            completed_at: times(self.completed_at)?,
            likeness: self.likeness.and_then(LikenessRecord::into_likeness),
            is_dropped: self.is_dropped,
            n_embedded,
            n_pending,
        })
    }
}

/// How [`ModelIdentity`] is stored.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelIdentity")]
struct IdentityFields {
    name: String,
    dimension: usize,
    tokens_max: usize,
    pooling: String,
    normalised: bool,
    query_prefix: String,
    document_prefix: String,
    weights_hash: String,
    tokenizer_hash: String,
    text_template: String,
    #[serde(rename = "languages", with = "script_words")]
    scripts: Scripts,
}

/// How [`Scripts`] are stored.
mod script_words {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::domain::embedding::Scripts;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "so serde hands it over")]
    pub(super) fn serialize<S: Serializer>(scripts: &Scripts, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&scripts.words())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scripts, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// How [`Likeness`] is stored: with the version of the texts it was measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LikenessRecord {
    pairs: u32,
    latin: SpreadRecord,
    across: SpreadRecord,
    other: SpreadRecord,
}

/// How [`Spread`] is stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct SpreadRecord {
    unrelated: f64,
    related: f64,
}

impl LikenessRecord {
    fn of(likeness: Likeness) -> Self {
        let stored = |Spread { unrelated, related }| SpreadRecord { unrelated, related };
        let Likeness { latin, across, other } = likeness;
        let pairs = Likeness::PAIRS_VERSION;
        Self { pairs, latin: stored(latin), across: stored(across), other: stored(other) }
    }

    /// `None` if it was measured on other texts.
    fn into_likeness(self) -> Option<Likeness> {
        let read = |SpreadRecord { unrelated, related }| Spread { unrelated, related };
        let Self { pairs, latin, across, other } = self;
        let likeness = Likeness { latin: read(latin), across: read(across), other: read(other) };
        (pairs == Likeness::PAIRS_VERSION).then_some(likeness)
    }
}
