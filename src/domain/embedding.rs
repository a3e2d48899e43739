//! Embedding spaces, and the vectors of a memory.

use std::sync::Arc;

/// How a space is called inside one store. Vectors of two spaces are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// What a model reads; the other scripts are left to the text arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Languages {
    /// Latin script only (the bundled English model).
    Latin,
    /// All of them.
    All,
}

/// Everything that makes vectors comparable: two models are the same space only if all of it is
/// equal. Equal dimensions prove nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelIdentity {
    /// Name of the model.
    pub name: String,
    /// Coordinates of a vector.
    pub dimension: usize,
    /// Longest input, tokens.
    pub tokens_max: usize,
    /// How token vectors become one (and whether it is normalised), in the model's own words.
    pub pooling: String,
    /// Whether vectors have length 1.
    pub normalised: bool,
    /// Put before a query.
    pub query_prefix: String,
    /// Put before a document.
    pub document_prefix: String,
    /// Hash of the weights.
    pub weights_hash: String,
    /// Hash of the tokenizer.
    pub tokenizer_hash: String,
    /// Version of our layout of the embedded text and of its chunks.
    pub text_template: String,
    /// What the model reads.
    pub languages: Languages,
}

/// A vector of `dimension` floats of length 1.
pub type Vector = Arc<[f32]>;

/// The vectors of one memory in one space, one a chunk, made from one version of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// The space the vectors belong to.
    pub space: SpaceId,
    /// One vector a chunk, at least one.
    pub chunks: Vec<Vector>,
}
