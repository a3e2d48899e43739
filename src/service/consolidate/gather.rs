//! What a consolidation looks at: the memories of a namespace without a summary and the live
//! summaries, each with the vector that stands for it.
//!
//! Only vectors of one model, and of texts in one sort of script, are compared. What the model does not
//! read, and everything where there is none, is compared by its words.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::consolidation::{
    FINGERPRINT_KEY, Item, MAKER_KEY, Policy, REQUESTED_KEY, Summary, WORD_SPREAD, centre,
    is_source, word_vector,
};
use crate::domain::embedding::{ScriptShares, SpaceId, Vector};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::likeness::Spread;
use crate::domain::limits::{CLUSTER_POINTS_MAX, SCAN_PAGE};
use crate::domain::memory::{Kind, Memory, Metadata, Origin, Status};
use crate::domain::namespace::Namespace;
use crate::domain::ranking::Reader;
use crate::ports::{Listing, Snapshot, StoreError};
use crate::service::Service;

/// Share of Latin script from which a text counts as Latin, as for [`Reader::likeness`].
const LATIN_MIN: f32 = 0.5;
/// Share of a text that a model must be able to read for its vector to stand for it.
const READABLE_MIN: f32 = 0.5;

/// How texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Means {
    /// By the model, texts in Latin script.
    Latin,
    /// By the model, texts in another script.
    Other,
    /// By their words.
    Words,
}

/// The model whose vectors are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Its space, which must be complete.
    pub space: SpaceId,
    /// What it reads, and how near it puts texts.
    pub reader: Reader,
}

/// What is planned together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// How cosines of these vectors are spread: [`Policy::for_model`] wants to know.
    pub spread: Spread,
    /// Memories without a summary.
    pub items: Vec<Item>,
    /// Live summaries.
    pub summaries: Vec<Summary>,
}

impl Batch {
    /// The policy on the scale of these vectors.
    pub fn policy(&self, grouping: Policy) -> Policy {
        grouping.for_model(self.spread)
    }
}

/// Everything of one namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gathered {
    /// At most one for each way to compare.
    pub batches: Vec<Batch>,
    /// Memories that wait for a vector, or have no words: they are looked at when they have some.
    pub n_without_vector: usize,
    /// Whether older memories were left out, since there were
    /// [`CLUSTER_POINTS_MAX`] newer ones.
    pub is_cut: bool,
}

impl Service {
    /// The model whose vectors are looked at; `None` if there is none.
    ///
    /// # Errors
    /// Why its vectors cannot be looked at yet. What would be put together by words meanwhile would
    /// come apart again.
    pub fn view(&self) -> Result<Option<View>, String> {
        if self.embedder.is_none() {
            return Ok(None);
        }
        let open = self.meaning.open().ok_or_else(|| self.meaning.trouble())?;
        if !open.is_complete() {
            return Err("memories are still being embedded with a new model".to_owned());
        }
        Ok(Some(View { space: open.id, reader: open.reader() }))
    }
}

/// Gathers a namespace. Left out is what must stay as it is: pinned memories, those of importance 1.0,
/// and the kinds that are no sources.
///
/// # Errors
/// If the store fails.
pub async fn gather(
    snapshot: &dyn Snapshot,
    view: Option<View>,
    namespace: &Namespace,
    now: Timestamp,
) -> Result<Gathered, StoreError> {
    let mut gatherer = Gatherer { snapshot, view, batches: BTreeMap::new(), n_without_vector: 0 };
    let is_cut = gatherer.items(namespace, now).await?;
    gatherer.summaries(namespace, now).await?;
    Ok(Gathered {
        batches: gatherer.batches.into_values().collect(),
        n_without_vector: gatherer.n_without_vector,
        is_cut,
    })
}

struct Gatherer<'a> {
    snapshot: &'a dyn Snapshot,
    view: Option<View>,
    batches: BTreeMap<Means, Batch>,
    n_without_vector: usize,
}

impl Gatherer<'_> {
    /// The memories without a summary, newest first; whether there are more.
    async fn items(&mut self, namespace: &Namespace, now: Timestamp) -> Result<bool, StoreError> {
        let kinds = Kind::ALL.iter().copied().filter(|kind| is_source(*kind)).collect();
        let mut listing = listing(namespace, kinds, now);
        let mut n_items = 0;
        loop {
            let page = self.snapshot.list(listing.clone()).await?;
            let Some(last) = page.last() else { return Ok(false) };
            listing.after = Some((last.event_time(), last.id));
            let open: Vec<&Memory> = page
                .iter()
                .filter(|memory| memory.consolidated_into.is_none() && !is_fixed(memory))
                .collect();
            for (memory, vector) in self.with_vectors(&open).await? {
                match vector {
                    Some(_) if n_items >= CLUSTER_POINTS_MAX => return Ok(true),
                    Some(vector) => {
                        n_items += 1;
                        let means = self.means(&memory.content);
                        self.batch(means).items.push(Item::of(memory, vector));
                    }
                    None => self.n_without_vector += 1,
                }
            }
        }
    }

    /// The live summaries with their sources, each to the batch of its first one.
    async fn summaries(&mut self, namespace: &Namespace, now: Timestamp) -> Result<(), StoreError> {
        let mut listing = listing(namespace, vec![Kind::Summary], now);
        loop {
            let page = self.snapshot.list(listing.clone()).await?;
            let Some(last) = page.last() else { return Ok(()) };
            listing.after = Some((last.event_time(), last.id));
            for memory in &page {
                let is_own = !memory.metadata.contains_key(REQUESTED_KEY);
                if is_own
                    && memory.origin == Origin::Consolidated
                    && !memory.derived_from.is_empty()
                {
                    self.summary(memory, now).await?;
                }
            }
        }
    }

    async fn summary(&mut self, memory: &Memory, now: Timestamp) -> Result<(), StoreError> {
        let sources = self.snapshot.memories(memory.derived_from.clone()).await?;
        let holds = |source: &&Memory| {
            matches!(source.status, Status::Active | Status::Archived)
                && source.valid_to.is_none_or(|end| end > now)
        };
        let live: Vec<&Memory> = sources.iter().flatten().filter(holds).collect();
        let means = live.first().map_or(Means::Words, |source| self.means(&source.content));
        let first = live.first().copied().or_else(|| sources.iter().flatten().next());
        let kind = first.map_or(Kind::Event, |source| source.kind);
        // A source that waits for its vector is one all the same, but nothing is near to it.
        let items = self
            .with_vectors(&live)
            .await?
            .into_iter()
            .map(|(source, vector)| Item::of(source, vector.unwrap_or_else(|| Arc::from([]))));
        let summary = Summary {
            id: memory.id,
            namespace: memory.namespace.clone(),
            kind,
            sources: items.collect(),
            fingerprint: text(&memory.metadata, FINGERPRINT_KEY),
            made_by: text(&memory.metadata, MAKER_KEY),
        };
        self.batch(means).summaries.push(summary);
        Ok(())
    }

    /// Each memory with the vector that stands for it, if it has one.
    async fn with_vectors<'m>(
        &self,
        memories: &[&'m Memory],
    ) -> Result<Vec<(&'m Memory, Option<Vector>)>, StoreError> {
        let by_model: Vec<MemoryId> = memories
            .iter()
            .filter(|memory| self.means(&memory.content) != Means::Words)
            .map(|memory| memory.id)
            .collect();
        let mut vectors: HashMap<MemoryId, Vector> = HashMap::new();
        if let Some(view) = self.view.filter(|_| !by_model.is_empty()) {
            let chunks = self.snapshot.vectors(view.space, by_model.clone()).await?;
            let found = by_model.into_iter().zip(chunks);
            vectors.extend(found.filter_map(|(id, chunks)| Some((id, centre(&chunks)?))));
        }
        let vector = |memory: &Memory| match self.means(&memory.content) {
            Means::Words => word_vector(&memory.content),
            Means::Latin | Means::Other => vectors.get(&memory.id).cloned(),
        };
        Ok(memories.iter().map(|memory| (*memory, vector(memory))).collect())
    }

    fn means(&self, text: &str) -> Means {
        let scripts = ScriptShares::of(text);
        match self.view.filter(|view| view.reader.reads(&scripts, READABLE_MIN)) {
            Some(_) if scripts.latin() >= LATIN_MIN => Means::Latin,
            Some(_) => Means::Other,
            None => Means::Words,
        }
    }

    fn batch(&mut self, means: Means) -> &mut Batch {
        let likeness = self.view.map(|view| view.reader.likeness);
        let spread = match (means, likeness) {
            (Means::Latin, Some(likeness)) => likeness.latin,
            (Means::Other, Some(likeness)) => likeness.other,
            (Means::Words, _) | (_, None) => WORD_SPREAD,
        };
        let empty = || Batch { spread, items: Vec::new(), summaries: Vec::new() };
        self.batches.entry(means).or_insert_with(empty)
    }
}

/// Whether nothing may touch it.
fn is_fixed(memory: &Memory) -> bool {
    memory.pinned || memory.importance >= 1.0
}

/// The text of a metadata field.
fn text(metadata: &Metadata, key: &str) -> Option<String> {
    serde_json::from_str(metadata.get(key)?).ok()
}

fn listing(namespace: &Namespace, kinds: Vec<Kind>, now: Timestamp) -> Listing {
    let filter = Filter {
        namespaces: vec![namespace.clone()],
        kinds,
        statuses: vec![Status::Active],
        valid_at: Some(now),
        ..Filter::default()
    };
    Listing { filter, newest_first: true, after: None, limit: SCAN_PAGE }
}
