//! Embedding spaces: one for each identity of a model that was ever used.

use redb::ReadableTable;
use serde::{Deserialize, Serialize};

use crate::domain::embedding::{Languages, ModelIdentity, SpaceId};

use super::batch::Batch;
use super::codec::{Stored, decode, encode};
use super::errors::{Result, damaged};
use super::records::Unknown;

/// The space of `model`. If it is new, every memory waits for vectors in it.
pub(super) fn find_or_make(
    batch: &mut Batch<'_>,
    model: &ModelIdentity,
    now: jiff::Timestamp,
) -> Result<SpaceId> {
    let wanted = SpaceRecord::new(model, now);
    let mut next = 0;
    for row in batch.tables().spaces.iter()? {
        let (number, record) = row?;
        if decode::<SpaceRecord>(record.value())?.is_same_model(&wanted) {
            return Ok(SpaceId(number.value()));
        }
        next = number.value().checked_add(1).ok_or_else(|| damaged("no space number is left"))?;
    }
    let bytes = encode(&wanted)?;
    let tables = batch.change();
    tables.spaces.insert(next, bytes.as_slice())?;
    for row in tables.memories.iter()? {
        tables.pending.insert((next, row?.0.value()), ())?;
    }
    Ok(SpaceId(next))
}

/// The identity of the model of an embedding space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SpaceRecord {
    pub(super) name: String,
    pub(super) dimension: usize,
    pub(super) tokens_max: usize,
    pub(super) pooling: String,
    pub(super) normalised: bool,
    pub(super) query_prefix: String,
    pub(super) document_prefix: String,
    pub(super) weights_hash: String,
    pub(super) tokenizer_hash: String,
    pub(super) text_template: String,
    pub(super) languages: String,
    pub(super) created_at: i64,
    #[serde(flatten)]
    pub(super) unknown: Unknown,
}

impl Stored for SpaceRecord {
    const WHAT: &'static str = "embedding space";
}

impl SpaceRecord {
    /// The space of `model`, made at `at`.
    pub(super) fn new(model: &ModelIdentity, at: jiff::Timestamp) -> Self {
        // Destructured, so that a new part of the identity cannot be left out.
        let ModelIdentity {
            name,
            dimension,
            tokens_max,
            pooling,
            normalised,
            query_prefix,
            document_prefix,
            weights_hash,
            tokenizer_hash,
            text_template,
            languages,
        } = model.clone();
        let languages = match languages {
            Languages::Latin => "latin",
            Languages::All => "all",
        };
        Self {
            name,
            dimension,
            tokens_max,
            pooling,
            normalised,
            query_prefix,
            document_prefix,
            weights_hash,
            tokenizer_hash,
            text_template,
            languages: languages.to_owned(),
            created_at: at.as_microsecond(),
            unknown: Unknown::new(),
        }
    }

    /// Whether vectors of both can be compared. A space with fields we do not know is another one.
    pub(super) fn is_same_model(&self, other: &Self) -> bool {
        Self { created_at: other.created_at, ..self.clone() } == *other
    }
}
