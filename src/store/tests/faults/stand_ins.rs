//! Small stand-ins behind the ports: ids by step, a model of letters, no indexes, no counters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::super::fixture;
use super::workload::{Step, id_of};
use crate::domain::embedding::{ModelIdentity, Scripts, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::search::{TextCandidates, TextQuery, VectorCandidates};
use crate::ports::{
    ArmReport, Candidates, EmbedError, Embedder, EmbedderReport, Ids, IndexError, IndexReport,
    Measured, Meter, ParityReport, Rebuilds, Snapshot,
};

/// Ids by step.
pub(super) struct StepIds(pub(super) Mutex<(Step, u64)>);

impl Default for StepIds {
    fn default() -> Self {
        Self(Mutex::new((Step::Begin, 0)))
    }
}

impl Ids for StepIds {
    fn next_id(&self, _now: Timestamp) -> MemoryId {
        let mut next = self.0.lock().unwrap();
        next.1 += 1;
        id_of(next.0, next.1 - 1)
    }
}

/// Coordinates of its vectors: the letters, and one for all texts.
const DIMENSION: usize = 27;

/// A model that knows how often each letter stands in a text.
#[derive(Default)]
pub(super) struct Letters {
    /// It answers with an error.
    pub(super) is_down: AtomicBool,
}

impl Embedder for Letters {
    fn identity(&self) -> Option<ModelIdentity> {
        Some(ModelIdentity {
            dimension: DIMENSION,
            scripts: Scripts::ALL,
            ..fixture::model("letters")
        })
    }

    fn embed_documents(
        &self,
        texts: Vec<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, EmbedError>> {
        let is_down = self.is_down.load(Ordering::Relaxed);
        Box::pin(async move {
            if is_down {
                return Err(EmbedError::Unavailable("it is down".to_owned()));
            }
            Ok(texts.iter().map(|text| vec![letters(text)]).collect())
        })
    }

    fn embed_query(&self, text: Arc<str>) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        Box::pin(async move { Ok(letters(&text)) })
    }

    fn report(&self) -> EmbedderReport {
        EmbedderReport { ready: true, detail: String::new(), n_waiting: 0 }
    }
}

fn letters(text: &str) -> Vector {
    let mut counts = [0.0_f32; DIMENSION];
    // A text without such letters has a direction too.
    counts[DIMENSION - 1] = 1.0;
    for letter in text.bytes().filter(u8::is_ascii_alphabetic) {
        counts[usize::from(letter.to_ascii_lowercase() - b'a')] += 1.0;
    }
    let length = counts.iter().map(|x| x * x).sum::<f32>().sqrt();
    counts.iter().map(|x| x / length).collect()
}

/// Counts nothing.
pub(super) struct Uncounted;

impl Meter for Uncounted {
    fn record(&self, _event: Measured) {}

    fn snapshot(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// No indexes: nothing is found.
pub(super) struct Nothing;

impl Candidates for Nothing {
    fn by_text<'a>(
        &'a self,
        _snapshot: &'a Arc<dyn Snapshot>,
        _query: TextQuery,
        _filter: &'a Filter,
        _k: usize,
    ) -> BoxFuture<'a, Result<TextCandidates, IndexError>> {
        Box::pin(async { Err(IndexError::NotReady("text")) })
    }

    fn by_vector<'a>(
        &'a self,
        _snapshot: &'a Arc<dyn Snapshot>,
        _space: SpaceId,
        _vector: Vector,
        _filter: &'a Filter,
        _k: usize,
        _also: Vec<MemoryId>,
    ) -> BoxFuture<'a, Result<VectorCandidates, IndexError>> {
        Box::pin(async { Err(IndexError::NotReady("vector")) })
    }

    fn report(&self) -> IndexReport {
        let arm = ArmReport {
            ready: false,
            detail: String::new(),
            n_memories: 0,
            disk_bytes: 0,
            watermark: 0,
        };
        IndexReport {
            vectors: arm.clone(),
            text: arm,
            n_graphs: 0,
            n_pending_vectors: 0,
            text_rebuilds: Rebuilds::default(),
        }
    }

    fn check<'a>(
        &'a self,
        _snapshot: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<ParityReport, IndexError>> {
        Box::pin(async { Err(IndexError::NotReady("text")) })
    }
}
