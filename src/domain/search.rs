//! What is asked of the candidate arms, and what they answer.

use jiff::Timestamp;

use super::embedding::ScriptShares;
use super::id::MemoryId;
use super::namespace::Namespace;

/// One token of a query, with the factor on its inverse document frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryTerm {
    /// A token as [`super::text::tokens`] makes it.
    pub token: String,
    /// 1.0, or less for tokens that say little (a single CJK character: 0.5).
    pub weight: f64,
}

/// A question as the text arm sees it: a set of terms a clause, each scored on its own. Clause 0 is
/// the whole question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextQuery {
    /// At most [`super::limits::QUERY_CLAUSES_MAX`] clauses of at most
    /// [`super::limits::QUERY_TERMS_MAX`] terms, no term twice in one clause.
    pub clauses: Vec<Vec<QueryTerm>>,
}

/// What the indexes know of a memory without reading its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Attributes {
    /// Where it lives.
    pub namespace: Namespace,
    /// Event time.
    pub event_time: Timestamp,
    /// How much of it is in which script.
    pub scripts: ScriptShares,
}

/// A memory found by its words.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHit {
    /// Which.
    pub id: MemoryId,
    /// BM25 score for each clause of the query, 0.0 where it matches none of its terms.
    pub scores: Vec<f64>,
    /// For each clause the share of its terms that this memory contains, 0.0..=1.0, each term
    /// counted by `weight *` [`telling`](super::bm25::telling). A term that no memory searched
    /// contains counts most, so that matching one common word of a question about something unheard
    /// of gives little. Says how well the words match whatever
    /// the other memories are like, which a BM25 score does not.
    pub coverage: Vec<f64>,
    /// Its attributes.
    pub attributes: Attributes,
}

/// The answer of the text arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextCandidates {
    /// Best first by clause 0, ties by id.
    pub hits: Vec<TextHit>,
    /// The best score a clause over everything searched, 0.0 where nothing matches.
    pub best: Vec<f64>,
    /// Memories that match at least one term under the filter.
    pub n_matching: u64,
    /// Memories under the filter's namespaces (the BM25 collection size).
    pub n_documents: u64,
    /// Why there may be more than these, if there may.
    pub incomplete: Option<String>,
}

/// A memory found by its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorHit {
    /// Which.
    pub id: MemoryId,
    /// Cosine of its best chunk with the query, -1.0..=1.0.
    pub cosine: f64,
    /// Number of that chunk.
    pub chunk: u32,
    /// Chunks of the memory, at least 1: the best of many is high by chance.
    pub n_chunks: u32,
    /// Its attributes.
    pub attributes: Attributes,
}

/// The answer of the vector arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorCandidates {
    /// Best first, ties by id; then those asked for by id.
    pub hits: Vec<VectorHit>,
    /// Mean cosine over the memories of the namespaces searched (or a sample of them).
    pub mean: f64,
    /// Standard deviation of the same.
    pub deviation: f64,
    /// Memories under the filter that have no vector yet.
    pub n_pending: u64,
}
