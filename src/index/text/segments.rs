//! The committed part of the index as a search sees it: postings, and the id and length behind each
//! document number, kept in RAM because a search asks for them once a document it meets.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use tantivy::index::SegmentId;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{
    DocId, DocSet, InvertedIndexReader, Searcher, SegmentReader, TERMINATED, TantivyError, Term,
};

use super::disk::{Column, Fields};
use super::document::NamespaceKey;
use super::state::Known;
use crate::domain::id::MemoryId;
use crate::index::catalog::{Catalog, Slot};

/// The segments of one commit.
#[derive(Debug, Default)]
pub(super) struct Segments(Vec<Segment>);

/// One immutable segment; of its documents those that were deleted since are skipped.
pub(super) struct Segment {
    id: SegmentId,
    reader: SegmentReader,
    words: Arc<InvertedIndexReader>,
    documents: Arc<Documents>,
    fields: Fields,
}

/// By document number.
struct Documents {
    ids: Vec<MemoryId>,
    lengths: Vec<u32>,
    /// Where the catalog had the memory when it was last met: a hint that saves a look-up by id.
    slots: Vec<AtomicU32>,
}

impl Segments {
    /// The segments of `searcher`; what `previous` already holds of them is taken over.
    pub(super) fn of(
        searcher: &Searcher,
        fields: Fields,
        previous: &Self,
    ) -> tantivy::Result<Self> {
        let segments = searcher.segment_readers().iter().map(|reader| {
            let id = reader.segment_id();
            let documents = match previous.0.iter().find(|segment| segment.id == id) {
                Some(segment) => Arc::clone(&segment.documents),
                None => Arc::new(Documents::read(reader)?),
            };
            let words = reader.inverted_index(fields.words)?;
            Ok(Segment { id, reader: reader.clone(), words, documents, fields })
        });
        Ok(Self(segments.collect::<tantivy::Result<_>>()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.0.iter()
    }

    /// What is known of every memory in them.
    ///
    /// # Errors
    /// If a memory is there twice, or what the library fails with.
    pub(super) fn known(&self) -> tantivy::Result<HashMap<MemoryId, Known>> {
        let mut all = HashMap::new();
        for segment in &self.0 {
            let namespaces = read_column(&segment.reader, Column::Namespace)?;
            let sequences = read_column(&segment.reader, Column::Sequence)?;
            for doc in segment.reader.doc_ids_alive() {
                let at = doc as usize;
                let (Some((id, length)), Some(namespace), Some(sequence)) =
                    (segment.document(doc), namespaces.get(at), sequences.get(at))
                else {
                    return Err(broken("a document has no columns"));
                };
                let namespace = NamespaceKey(*namespace);
                let known = Known { namespace, length, sequence: *sequence };
                if all.insert(id, known).is_some() {
                    return Err(broken("a memory is indexed twice"));
                }
            }
        }
        Ok(all)
    }
}

impl Segment {
    /// Document numbers are below this.
    pub(super) fn doc_end(&self) -> usize {
        self.documents.ids.len()
    }

    /// Id and length in tokens of a document.
    pub(super) fn document(&self, doc: DocId) -> Option<(MemoryId, u32)> {
        let at = doc as usize;
        Some((*self.documents.ids.get(at)?, *self.documents.lengths.get(at)?))
    }

    /// Where the catalog has the memory with this id, which is that of the document.
    pub(super) fn slot(&self, doc: DocId, id: MemoryId, catalog: &Catalog) -> Option<Slot> {
        let hint = self.documents.slots.get(doc as usize)?;
        let slot = hint.load(Relaxed);
        if catalog.entry(slot).is_some_and(|entry| entry.id == id) {
            return Some(slot);
        }
        let slot = catalog.slot(id)?;
        hint.store(slot, Relaxed);
        Some(slot)
    }

    /// The ids of all its memories.
    pub(super) fn ids(&self) -> impl Iterator<Item = MemoryId> + '_ {
        self.reader.doc_ids_alive().filter_map(|doc| Some(self.document(doc)?.0))
    }

    /// Calls `visit` with each document that contains `token` in that namespace, and how often.
    pub(super) fn each_posting(
        &self,
        namespace: NamespaceKey,
        token: &str,
        mut visit: impl FnMut(DocId, u32),
    ) -> tantivy::Result<()> {
        let term = Term::from_field_text(self.fields.words, &namespace.term(token));
        let Some(mut postings) = self.words.read_postings(&term, IndexRecordOption::WithFreqs)?
        else {
            return Ok(());
        };
        let alive = self.reader.alive_bitset();
        let mut doc = postings.doc();
        while doc != TERMINATED {
            if doc as usize >= self.doc_end() {
                return Err(broken("a posting names a document that is not there"));
            }
            if alive.is_none_or(|alive| alive.is_alive(doc)) {
                visit(doc, postings.term_freq());
            }
            doc = postings.advance();
        }
        Ok(())
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Segment").field(&self.id).finish()
    }
}

impl Documents {
    fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        let high = read_column(reader, Column::IdHigh)?;
        let low = read_column(reader, Column::IdLow)?;
        let ids: Vec<MemoryId> = high
            .into_iter()
            .zip(low)
            .map(|(high, low)| MemoryId::from_u128(u128::from(high) << 64 | u128::from(low)))
            .collect();
        let lengths = read_column(reader, Column::Length)?
            .into_iter()
            .map(|length| u32::try_from(length).unwrap_or(u32::MAX))
            .collect();
        let slots = std::iter::repeat_with(AtomicU32::default).take(ids.len()).collect();
        Ok(Self { ids, lengths, slots })
    }
}

/// A column whole.
fn read_column(reader: &SegmentReader, column: Column) -> tantivy::Result<Vec<u64>> {
    let column = reader.fast_fields().u64(column.name())?;
    if column.num_docs() != reader.max_doc() {
        return Err(broken("a column has not one value a document"));
    }
    let mut values = vec![0; reader.max_doc() as usize];
    column.first_or_default_col(0).get_range(0, &mut values);
    Ok(values)
}

fn broken(what: &str) -> TantivyError {
    TantivyError::InternalError(what.to_owned())
}
