//! Recall: both arms under one filter, one ranking, an honest answer within the deadline.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::{Instant, timeout_at};

use super::linked::contradicting;
use super::meaning::OpenSpace;
use super::pool::{Pool, archived_filter, load};
use super::scope::Scope;
use super::{Service, ServiceError, Settings, cursor};
use crate::domain::budget::tokens_estimate;
use crate::domain::chunk::chunks;
use crate::domain::embedding::{SpaceId, Vector};
use crate::domain::excerpt::excerpt;
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{
    ARCHIVED_CANDIDATES_MAX, HIT_CHARS_MAX, HIT_TOKENS_OVERHEAD, QUERY_BYTES_MAX,
    RANKED_RECORDS_MAX, RECALL_TOKENS_MAX, RECALL_TOKENS_MIN, SEARCH_LIMIT_MAX,
    TEXT_CANDIDATES_MAX, VECTOR_CANDIDATES_MAX, VECTORS_WAIT_MAX,
};
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::domain::ranking::{
    Candidate, Fused, Hit, Question, Ranking, Reader, VectorArm, View, fuse, rank, spoken,
};
use crate::domain::search::{TextCandidates, VectorCandidates};
use crate::ports::{Measured, Snapshot};

/// A question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecallRequest {
    /// What is looked for.
    pub query: String,
    /// Where.
    pub scope: Scope,
    /// At most this many hits, 1..=[`SEARCH_LIMIT_MAX`].
    pub limit: Option<usize>,
    /// At most this many tokens of hits.
    pub max_tokens: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// Zone of the dates in the question.
    pub zone: Option<TimeZone>,
}

/// What was found, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallAnswer {
    /// The hits of this page.
    pub hits: Vec<Recalled>,
    /// Candidates that were left out because they do not answer the question.
    pub n_below_threshold: usize,
    /// Memories under the filter that cannot be found by meaning yet.
    pub pending_vectors: u64,
    /// Which arm is missing in this answer, and why.
    pub degraded: Vec<String>,
    /// Present while there are more hits.
    pub next_cursor: Option<String>,
    /// What was changed about the question.
    pub warnings: Vec<String>,
}

/// One hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// The memory.
    pub memory: Memory,
    /// The order of this answer.
    pub score: f64,
    /// How well it answers the question in itself, 0.0..=1.0.
    pub relevance: f64,
    /// The terms of the score, readable.
    pub reasons: Vec<String>,
    /// Its best part, at most [`HIT_CHARS_MAX`] characters.
    pub excerpt: String,
    /// Whether the memory says more than the excerpt.
    pub truncated: bool,
    /// Strength now, 0.0..=1.0.
    pub strength: f64,
    /// Current memories that say otherwise, without it being clear which is right.
    pub contradicts: Vec<Memory>,
}

/// What the arms found before the deadline.
#[derive(Default)]
struct Found {
    text: TextCandidates,
    archived: TextCandidates,
    vector: Option<VectorCandidates>,
    degraded: Vec<String>,
}

impl Service {
    /// Searches. Answers within the deadline with the arms it has by then, and says which.
    ///
    /// # Errors
    /// `Invalid`, `NotReadable`, `Store`. A missing arm is no error.
    pub async fn recall(
        &self,
        caller: &Caller,
        request: RecallRequest,
    ) -> Result<RecallAnswer, ServiceError> {
        let started = self.clock.monotonic();
        let settings = self.settings();
        let deadline = tokio_deadline(settings.recall_deadline);
        let now = self.clock.now();
        let page = page(caller, &request, &settings)?;
        let mut warnings = Vec::new();
        let query = checked_query(&request.query, &mut warnings)?;
        let question = Question::read(query);
        if question.terms.clauses.iter().all(Vec::is_empty) {
            warnings.push("`query` holds no word to search for".to_owned());
        }
        let snapshot = self.store.snapshot().await?;
        let filter = self.filter(caller, &snapshot, &request.scope).await?;
        let space = self.space_in_time().await;
        let space = space.as_deref();
        let reader = space.map_or_else(Reader::default, OpenSpace::reader);
        let least = settings.ranking.question_readable_min;
        let meaning = self.query_vector(space, (query, &question), least, deadline);
        let archived = archived_filter(&request.scope, &filter);
        let filters = (&filter, archived.as_ref());
        let found = self.candidates(&snapshot, &question, filters, meaning, deadline).await?;
        let zone = request.zone.as_ref().unwrap_or(&settings.zone);
        let mut fused = fuse(
            &question,
            &found.text,
            found.vector.as_ref().map(|candidates| VectorArm { candidates, reader }),
            &settings.ranking,
            zone,
        );
        fused.truncate(RANKED_RECORDS_MAX);
        let mut pool = load(&snapshot, fused, &filter).await?;
        let fused = fuse(&question, &found.archived, None, &settings.ranking, zone);
        let mut archived = load(&snapshot, fused, archived.as_ref().unwrap_or(&filter)).await?;
        archived.give_exact(&question, &mut pool);
        let weights = weights(caller, pool.memories.iter().chain(&archived.memories));
        let view = View {
            now,
            weights: &weights,
            reader,
            ranking: &settings.ranking,
            decay: &settings.decay,
        };
        let mut ranking = self.rank(&snapshot, space, &question, &pool, &view).await?;
        if ranking.hits.is_empty() && !archived.memories.is_empty() {
            // Nothing current answers: better something that is archived, and marked so, than nothing.
            pool.take(archived);
            ranking = self.rank(&snapshot, space, &question, &pool, &view).await?;
        }
        let (mut hits, next_cursor) = self.cut(&page, &question, &ranking, &pool, now);
        for hit in &mut hits {
            hit.contradicts = contradicting(caller, &snapshot, &hit.memory).await?;
        }
        self.note_returned(caller, hits.iter().map(|hit| hit.memory.id), now);
        let elapsed = self.clock.monotonic().saturating_sub(started);
        log(&ranking, &pool.memories, elapsed);
        let degraded = !found.degraded.is_empty();
        self.meter.record(Measured::Recall { n_hits: hits.len(), elapsed, degraded });
        Ok(RecallAnswer {
            hits,
            n_below_threshold: ranking.n_below_threshold,
            pending_vectors: found.vector.as_ref().map_or(0, |vector| vector.n_pending),
            degraded: found.degraded,
            next_cursor,
            warnings,
        })
    }

    /// Both arms: words at once, while the question is being embedded; then meaning. Archived memories
    /// are found by words, beside the others.
    async fn candidates(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        question: &Question,
        (filter, archived): (&Filter, Option<&Filter>),
        meaning: impl Future<Output = Result<(SpaceId, Vector), String>>,
        deadline: Instant,
    ) -> Result<Found, ServiceError> {
        let mut found = Found::default();
        let terms = question.terms.clone();
        let text = self.candidates.by_text(snapshot, terms, filter, TEXT_CANDIDATES_MAX);
        let archived = async {
            let terms = question.terms.clone();
            let k = ARCHIVED_CANDIDATES_MAX;
            let arm = self.candidates.by_text(snapshot, terms, archived?, k);
            // If this fails so does the search for the others, which says so.
            timeout_at(deadline, arm).await.ok()?.ok()
        };
        let (text, archived, vector) = tokio::join!(timeout_at(deadline, text), archived, meaning);
        found.archived = archived.unwrap_or_default();
        match text {
            Ok(Ok(text)) => {
                found.degraded.extend(text.incomplete.iter().map(|why| format!("text: {why}")));
                found.text = text;
            }
            Ok(Err(error)) => found.degraded.push(format!("text: {error}")),
            Err(_) => found.degraded.push("text: it did not answer within the deadline".to_owned()),
        }
        match vector {
            Ok((space, vector)) => {
                let also = found.text.hits.iter().map(|hit| hit.id).collect();
                let k = VECTOR_CANDIDATES_MAX;
                let arm = self.candidates.by_vector(snapshot, space, vector, filter, k, also);
                match timeout_at(deadline, arm).await {
                    Ok(Ok(candidates)) => found.vector = Some(candidates),
                    Ok(Err(error)) => found.degraded.push(format!("vectors: {error}")),
                    Err(_) => {
                        found
                            .degraded
                            .push("vectors: they did not answer within the deadline".to_owned());
                    }
                }
            }
            Err(reason) => found.degraded.push(format!("vectors: {reason}")),
        }
        Ok(found)
    }

    /// The space in use; while the model is being asked what it is, the search waits for it a little.
    async fn space_in_time(&self) -> Option<Arc<OpenSpace>> {
        self.embedder.as_ref()?;
        tokio::time::timeout(VECTORS_WAIT_MAX, self.meaning.opened()).await.ok().flatten()
    }

    /// The vector of the question, or why there is none.
    async fn query_vector(
        &self,
        space: Option<&OpenSpace>,
        (query, question): (&str, &Question),
        readable_min: f32,
        deadline: Instant,
    ) -> Result<(SpaceId, Vector), String> {
        let embedder = self.embedder.as_ref().ok_or("no embedding model is configured")?;
        if question.terms.clauses.iter().all(Vec::is_empty) {
            return Err("there is nothing to embed".to_owned());
        }
        let space = space.ok_or_else(|| self.meaning.trouble())?;
        if let Some(pass) = self.reembedding() {
            return Err(format!("{pass}; until then search is by words"));
        }
        if !space.reader().reads(&question.scripts, readable_min) {
            return Err(format!(
                "the model reads {} script only; this was searched by words",
                space.model.scripts
            ));
        }
        match timeout_at(deadline, embedder.embed_query(spoken(query).into())).await {
            Ok(Ok(vector)) => Ok((space.id, vector)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the model did not answer within the deadline".to_owned()),
        }
    }

    async fn rank(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        space: Option<&OpenSpace>,
        question: &Question,
        Pool { fused, memories }: &Pool,
        view: &View<'_>,
    ) -> Result<Ranking, ServiceError> {
        let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id).collect();
        let vectors = match space.filter(|space| space.is_complete()) {
            Some(space) => snapshot.vectors(space.id, ids).await?,
            None => vec![Vec::new(); memories.len()],
        };
        let candidates: Vec<Candidate<'_>> = fused
            .iter()
            .zip(memories)
            .zip(&vectors)
            .map(|((fused, memory), vectors)| Candidate { fused, memory, vectors })
            .collect();
        Ok(rank(question, &candidates, view))
    }

    /// The hits of the page, within its limit and its token budget; at least one if there are any.
    fn cut(
        &self,
        page: &Page,
        question: &Question,
        ranking: &Ranking,
        Pool { fused, memories }: &Pool,
        now: Timestamp,
    ) -> (Vec<Recalled>, Option<String>) {
        let mut hits: Vec<Recalled> = Vec::new();
        let mut n_tokens = 0;
        let mut next = page.offset;
        for hit in ranking.hits.iter().skip(page.offset).take(page.limit) {
            let (Some(fused), Some(memory)) = (fused.get(hit.index), memories.get(hit.index))
            else {
                continue;
            };
            let recalled = self.recalled(question, hit, fused, memory, now);
            n_tokens += tokens_estimate(&recalled.excerpt) + HIT_TOKENS_OVERHEAD;
            if n_tokens > page.tokens_max && !hits.is_empty() {
                break;
            }
            hits.push(recalled);
            next += 1;
        }
        let has_more = next < ranking.hits.len();
        let next_cursor = has_more.then(|| cursor::write(page.fingerprint, &[next as u128]));
        (hits, next_cursor)
    }

    fn recalled(
        &self,
        question: &Question,
        hit: &Hit,
        fused: &Fused,
        memory: &Memory,
        now: Timestamp,
    ) -> Recalled {
        let chunk = fused.chunk.and_then(|chunk| self.chunk_range(memory, chunk));
        let part = excerpt(&memory.content, &question.terms, chunk, HIT_CHARS_MAX);
        Recalled {
            excerpt: memory.content.get(part.range).unwrap_or_default().to_owned(),
            truncated: part.truncated,
            score: hit.score,
            relevance: hit.relevance,
            reasons: hit.reasons.iter().map(ToString::to_string).collect(),
            strength: self.strength(memory, now),
            memory: memory.clone(),
            contradicts: Vec::new(),
        }
    }

    fn chunk_range(&self, memory: &Memory, chunk: u32) -> Option<Range<usize>> {
        let tokens_max = self.meaning.open()?.model.tokens_max;
        chunks(&memory.content, tokens_max).into_iter().nth(chunk as usize)
    }
}

/// Which part of the ranking is asked for.
struct Page {
    limit: usize,
    tokens_max: usize,
    offset: usize,
    fingerprint: u64,
}

/// Which part of the ranking a request asks for.
fn page(
    caller: &Caller,
    request: &RecallRequest,
    settings: &Settings,
) -> Result<Page, ServiceError> {
    let limit = request.limit.unwrap_or(settings.recall_limit);
    if !(1..=SEARCH_LIMIT_MAX).contains(&limit) {
        let expected = format!("a number 1 to {SEARCH_LIMIT_MAX}");
        return Err(ServiceError::invalid("limit", expected, limit));
    }
    let tokens_max = request.max_tokens.unwrap_or(settings.recall_tokens_max);
    if !(RECALL_TOKENS_MIN..=RECALL_TOKENS_MAX).contains(&tokens_max) {
        let expected = format!("a number {RECALL_TOKENS_MIN} to {RECALL_TOKENS_MAX}");
        return Err(ServiceError::invalid("max_tokens", expected, tokens_max));
    }
    let fingerprint = cursor::fingerprint(caller, &(&request.query, &request.scope));
    let offset = match &request.cursor {
        Some(text) => {
            let [offset] = cursor::read::<1>(text, fingerprint)?;
            usize::try_from(offset).unwrap_or(usize::MAX)
        }
        None => 0,
    };
    Ok(Page { limit, tokens_max, offset, fingerprint })
}

/// The namespaces of these memories, each with its weight for the caller.
fn weights<'a>(
    caller: &Caller,
    memories: impl Iterator<Item = &'a Memory>,
) -> Vec<(Namespace, f64)> {
    let mut weights: Vec<(Namespace, f64)> = Vec::new();
    for memory in memories {
        if let Some(weight) = caller.access.weight(&memory.namespace)
            && !weights.iter().any(|(namespace, _)| *namespace == memory.namespace)
        {
            weights.push((memory.namespace.clone(), weight));
        }
    }
    weights
}

/// The query, cut at [`QUERY_BYTES_MAX`] with a warning.
fn checked_query<'a>(query: &'a str, warnings: &mut Vec<String>) -> Result<&'a str, ServiceError> {
    if query.trim().is_empty() {
        return Err(ServiceError::invalid("query", "a question or some words", "nothing"));
    }
    if query.len() > QUERY_BYTES_MAX {
        warnings.push(format!("`query` was cut at {QUERY_BYTES_MAX} bytes"));
    }
    Ok(query.get(..query.floor_char_boundary(QUERY_BYTES_MAX)).unwrap_or(query))
}

/// The wait is real time even where the clock port is not: it guards a conversation.
fn tokio_deadline(wait: Duration) -> Instant {
    Instant::now() + wait
}

fn log(ranking: &Ranking, memories: &[Memory], elapsed: Duration) {
    let hits: Vec<String> = ranking
        .hits
        .iter()
        .filter_map(|hit| {
            let memory = memories.get(hit.index)?;
            Some(format!("{}:{:.3}:{}", hit.id.handle(), hit.score, memory.status))
        })
        .collect();
    tracing::debug!(
        n_items = hits.len(),
        n_below_threshold = ranking.n_below_threshold,
        elapsed_ms = elapsed.as_secs_f64() * 1e3,
        hits = hits.join(" "),
        "recall"
    );
}
