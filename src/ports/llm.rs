//! Language models: what they are asked for, and how they fail.

use futures::future::BoxFuture;

use super::StoreError;
use crate::domain::summary::{Draft, ScoredFact, ScoredTurn, SummaryRequest, Unusable};

/// Why a language model gave nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// It cannot be asked now: it is away, left alone for a while, or its budget of the day is spent.
    /// The same request may go well later.
    #[error("the language model is away: {0}")]
    Away(String),
    /// It was asked, and what came of it is useless.
    #[error("the language model is of no use here: {0}")]
    Unusable(Unusable),
}

/// A language model.
pub trait LanguageModel: Send + Sync {
    /// What its endpoint calls it.
    fn model(&self) -> &str;

    /// Reads what it kept in the marks, so that the report tells of it before the first request.
    fn recall(&self) -> BoxFuture<'_, ()>;

    /// State, for `status`.
    fn report(&self) -> LlmReport;
}

/// A model that writes summaries. Nobody who waits for an answer to a person may wait for one.
pub trait Summarizer: LanguageModel {
    /// Changes whenever the same sources would be asked about in other words.
    fn prompt_version(&self) -> u32;

    /// A draft, which may be wrong in every way.
    fn summarise(&self, request: SummaryRequest) -> BoxFuture<'_, Result<Draft, LlmError>>;
}

/// A model that chooses what of a conversation is worth remembering.
pub trait Scorer: LanguageModel {
    /// The statements that it would keep. Each names a turn that was given and has scores in their
    /// range; whether the turn says so is to be proven. Empty: none is worth keeping.
    fn score(&self, turns: Vec<ScoredTurn>) -> BoxFuture<'_, Result<Vec<ScoredFact>, LlmError>>;
}

/// State of a language model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmReport {
    /// What its endpoint calls it.
    pub model: String,
    /// Host and port of the endpoint.
    pub place: String,
    /// How answers are asked to have their form: `json_schema`, `json_object` or `text`.
    pub form: &'static str,
    /// Why it is not what it should be, if that is so.
    pub trouble: Option<String>,
    /// Calls of this day (UTC), and how many a day may have.
    pub calls: (u64, u64),
    /// Tokens of this day, and how many a day may have.
    pub tokens: (u64, u64),
}

/// Small facts that outlive the process, each under a name.
pub trait Marks: Send + Sync {
    /// What was kept under a name.
    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// Keeps something under a name, in place of what was there.
    fn keep_mark<'a>(
        &'a self,
        name: &'a str,
        value: Vec<u8>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}
