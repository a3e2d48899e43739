//! One search: the postings of the namespaces searched and the tail, tallied first (document
//! frequencies are known only then), scored after.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::document::{Document, NamespaceKey};
use super::segments::Segment;
use super::state::State;
use crate::domain::bm25::{bm25, idf, telling};
use crate::domain::id::MemoryId;
use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::domain::search::{TextCandidates, TextHit, TextQuery};
use crate::index::catalog::{Catalog, CompiledFilter, NamespaceSlot, Slot};

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) candidates: TextCandidates,
    /// How it was scored, if that is to be compared with the store.
    doubt: Option<Scoring>,
}

impl Found {
    /// Nothing, for certain.
    pub(crate) fn nothing() -> Self {
        Self { candidates: TextCandidates::default(), doubt: None }
    }

    /// Whether it needs no comparison with the store.
    pub(crate) fn is_certain(&self) -> bool {
        self.doubt.is_none()
    }

    /// The same for certain, if these memories, those of the hits in their order, are what the index
    /// took them for: in that namespace, and with such words that the score is the same. That no
    /// memory has any of the words is not to be said without proof.
    pub(crate) fn compared_with(self, memories: &[Option<Memory>]) -> Option<Self> {
        self.agrees_with(memories).then_some(Self { doubt: None, ..self })
    }

    fn agrees_with(&self, memories: &[Option<Memory>]) -> bool {
        let Some(scoring) = &self.doubt else { return true };
        let TextCandidates { hits, n_documents, .. } = &self.candidates;
        let agrees = |(hit, memory): (&TextHit, &Option<Memory>)| {
            memory.as_ref().is_some_and(|memory| {
                let expected = scoring.scores(&Document::of(memory));
                memory.namespace == hit.attributes.namespace
                    && expected.len() == hit.scores.len()
                    && expected.iter().zip(&hit.scores).all(|(a, b)| (a - b).abs() < SAME_SCORE)
            })
        };
        (scoring.n_met > 0 || scoring.has_no_term() || *n_documents == 0)
            && hits.len() == memories.len()
            && hits.iter().zip(memories).all(agrees)
    }
}

/// Scores of the same document that differ by less were only summed otherwise.
const SAME_SCORE: f64 = 1e-9;

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) query: &'a TextQuery,
    pub(super) filter: &'a CompiledFilter,
    pub(super) namespaces: &'a [Namespace],
    pub(super) k: usize,
}

impl Search<'_> {
    /// Searches everything `state` holds.
    pub(super) fn run(self, state: &State) -> tantivy::Result<Found> {
        let terms = Terms::of(self.query);
        let namespaces: HashMap<NamespaceKey, NamespaceSlot> = self
            .namespaces
            .iter()
            .filter_map(|name| Some((NamespaceKey::of(name), self.catalog.namespace_slot(name)?)))
            .collect();
        let mut tally = Tally::new(self, terms.tokens.len());
        for segment in state.segments.iter() {
            tally.add_segment(segment, state, &namespaces, &terms)?;
        }
        tally.add_tail(state, &namespaces, &terms);

        let n_documents = namespaces.values().map(|slot| self.catalog.n_in(*slot)).sum();
        let average = state.average_length(namespaces.into_keys());
        let scoring = Scoring::of(&terms, &tally, n_documents, average);
        let candidates = self.ranked(&tally, &scoring, n_documents);
        Ok(Found { candidates, doubt: state.unproven.then_some(scoring) })
    }

    /// Scores what was tallied and takes the best.
    fn ranked(self, tally: &Tally<'_>, scoring: &Scoring, n_documents: u64) -> TextCandidates {
        let clauses: Vec<Scores> = scoring
            .clauses
            .iter()
            .map(|clause| Scores::of(clause, tally, scoring.average))
            .collect();
        let score_of = |at: usize| clauses.first().map_or(0.0, |clause| clause.score(at));
        let order = |a: &usize, b: &usize| -> Ordering {
            let id = |at: usize| tally.found.get(at).map(|found| found.id);
            score_of(*b).total_cmp(&score_of(*a)).then_with(|| id(*a).cmp(&id(*b)))
        };
        let mut best: Vec<usize> = (0..tally.found.len()).collect();
        if self.k < best.len() {
            best.select_nth_unstable_by(self.k, order);
            best.truncate(self.k);
        }
        best.sort_unstable_by(order);
        let hit = |at: usize| {
            let found = tally.found.get(at)?;
            Some(TextHit {
                id: found.id,
                scores: clauses.iter().map(|clause| clause.score(at)).collect(),
                coverage: clauses.iter().map(|clause| clause.coverage(at)).collect(),
                attributes: self.catalog.attributes(self.catalog.entry(found.slot)?)?,
            })
        };
        TextCandidates {
            hits: best.into_iter().filter_map(hit).collect(),
            best: clauses.iter().map(Scores::best).collect(),
            n_matching: tally.found.len() as u64,
            n_documents,
            incomplete: None,
        }
    }
}

/// The distinct tokens of a query, and its clauses in terms of them.
struct Terms<'a> {
    tokens: Vec<&'a str>,
    /// Places in `tokens`, each with its weight.
    clauses: Vec<Vec<(usize, f64)>>,
}

impl<'a> Terms<'a> {
    fn of(query: &'a TextQuery) -> Self {
        let mut tokens = Vec::new();
        let mut places = HashMap::new();
        let mut place_of = |token: &'a str| {
            *places.entry(token).or_insert_with(|| {
                tokens.push(token);
                tokens.len() - 1
            })
        };
        let clauses = query
            .clauses
            .iter()
            .map(|clause| clause.iter().map(|term| (place_of(&term.token), term.weight)).collect())
            .collect();
        Self { tokens, clauses }
    }
}

/// A memory that contains a term and passes the filter.
struct Met {
    id: MemoryId,
    slot: Slot,
    length: u32,
}

/// A term in a memory: place in `Tally::found`, and how often.
struct Occurrence {
    found: usize,
    frequency: u32,
}

/// Whether a memory that contains a term counts.
#[derive(Clone, Copy)]
enum Admission {
    /// Not met yet.
    Unknown,
    /// Gone, or changed since and taken from the tail, or of another namespace.
    Out,
    /// Counts for the statistics; the filter keeps it out of the result.
    Counted,
    /// Counts and passes; its place in `Tally::found`.
    Found(usize),
}

/// What was met of the query's terms.
struct Tally<'a> {
    search: Search<'a>,
    found: Vec<Met>,
    /// By term.
    terms: Vec<TermTally>,
}

#[derive(Default)]
struct TermTally {
    /// Memories of the namespaces searched that contain it, whatever the filter says.
    n_containing: u64,
    occurrences: Vec<Occurrence>,
}

impl<'a> Tally<'a> {
    fn new(search: Search<'a>, n_terms: usize) -> Self {
        let terms = std::iter::repeat_with(TermTally::default).take(n_terms).collect();
        Self { search, found: Vec::new(), terms }
    }

    fn add_segment(
        &mut self,
        segment: &Segment,
        state: &State,
        namespaces: &HashMap<NamespaceKey, NamespaceSlot>,
        terms: &Terms<'_>,
    ) -> tantivy::Result<()> {
        let mut admissions = Vec::new();
        for (key, namespace) in namespaces {
            for (term, token) in terms.tokens.iter().enumerate() {
                segment.each_posting(*key, token, |doc, frequency| {
                    if admissions.is_empty() {
                        admissions = vec![Admission::Unknown; segment.doc_end()];
                    }
                    let Some(admission) = admissions.get_mut(doc as usize) else { return };
                    if matches!(admission, Admission::Unknown) {
                        *admission = match segment.document(doc) {
                            Some((id, length)) if !state.tail.contains_key(&id) => {
                                let slot = segment.slot(doc, id, self.search.catalog);
                                self.admit(slot, length, *namespace)
                            }
                            _ => Admission::Out,
                        };
                    }
                    self.count(term, *admission, frequency);
                })?;
            }
        }
        Ok(())
    }

    fn add_tail(
        &mut self,
        state: &State,
        namespaces: &HashMap<NamespaceKey, NamespaceSlot>,
        terms: &Terms<'_>,
    ) {
        for (id, change) in &state.tail {
            let Some(document) = &change.document else { continue };
            let Some(namespace) = namespaces.get(&document.namespace) else { continue };
            let mut admission = Admission::Unknown;
            for (term, token) in terms.tokens.iter().enumerate() {
                let frequency = document.frequency(token);
                if frequency == 0 {
                    continue;
                }
                if matches!(admission, Admission::Unknown) {
                    admission =
                        self.admit(self.search.catalog.slot(*id), document.length, *namespace);
                }
                self.count(term, admission, frequency);
            }
        }
    }

    fn admit(&mut self, slot: Option<Slot>, length: u32, namespace: NamespaceSlot) -> Admission {
        let entry = slot.and_then(|slot| Some((slot, self.search.catalog.entry(slot)?)));
        match entry {
            Some((slot, entry)) if entry.namespace == namespace => {
                if !self.search.filter.matches(entry) {
                    return Admission::Counted;
                }
                self.found.push(Met { id: entry.id, slot, length });
                Admission::Found(self.found.len() - 1)
            }
            _ => Admission::Out,
        }
    }

    fn count(&mut self, term: usize, admission: Admission, frequency: u32) {
        let Some(tally) = self.terms.get_mut(term) else { return };
        match admission {
            Admission::Unknown | Admission::Out => {}
            Admission::Counted => tally.n_containing += 1,
            Admission::Found(found) => {
                tally.n_containing += 1;
                tally.occurrences.push(Occurrence { found, frequency });
            }
        }
    }
}

/// What a term of the query adds to a score.
#[derive(Debug)]
struct Weighed {
    /// Its place in the tally.
    term: usize,
    token: String,
    idf: f64,
    telling: f64,
}

/// How the memories that were found are scored.
#[derive(Debug)]
struct Scoring {
    clauses: Vec<Vec<Weighed>>,
    average: f64,
    /// Terms met, once a memory.
    n_met: u64,
}

impl Scoring {
    fn of(terms: &Terms<'_>, tally: &Tally<'_>, n_documents: u64, average: f64) -> Self {
        let weigh = |&(term, weight): &(usize, f64)| {
            let n_containing = tally.terms.get(term)?.n_containing;
            Some(Weighed {
                term,
                token: (*terms.tokens.get(term)?).to_owned(),
                idf: weight * idf(n_documents, n_containing),
                telling: weight * telling(n_documents, n_containing),
            })
        };
        let clauses = terms.clauses.iter().map(|clause| clause.iter().filter_map(weigh).collect());
        let n_met = tally.terms.iter().map(|term| term.n_containing).sum();
        Self { clauses: clauses.collect(), average, n_met }
    }

    /// The score of a document for each clause.
    fn scores(&self, document: &Document) -> Vec<f64> {
        let score = |term: &Weighed| {
            bm25(document.frequency(&term.token), document.length, self.average, term.idf)
        };
        self.clauses.iter().map(|clause| clause.iter().map(score).sum()).collect()
    }

    fn has_no_term(&self) -> bool {
        self.clauses.iter().all(Vec::is_empty)
    }
}

/// The scores of one clause, by place in `Tally::found`.
struct Scores {
    bm25: Vec<f64>,
    /// Summed `weight * telling` of the terms met.
    covered: Vec<f64>,
    /// The same of all terms.
    whole: f64,
}

impl Scores {
    fn of(clause: &[Weighed], tally: &Tally<'_>, average: f64) -> Self {
        let mut all = Self {
            bm25: vec![0.0; tally.found.len()],
            covered: vec![0.0; tally.found.len()],
            whole: 0.0,
        };
        for weighed in clause {
            let Some(term) = tally.terms.get(weighed.term) else { continue };
            all.whole += weighed.telling;
            for occurrence in &term.occurrences {
                let at = occurrence.found;
                if let (Some(found), Some(score), Some(covered)) =
                    (tally.found.get(at), all.bm25.get_mut(at), all.covered.get_mut(at))
                {
                    *score += bm25(occurrence.frequency, found.length, average, weighed.idf);
                    *covered += weighed.telling;
                }
            }
        }
        all
    }

    fn score(&self, at: usize) -> f64 {
        self.bm25.get(at).copied().unwrap_or(0.0)
    }

    fn coverage(&self, at: usize) -> f64 {
        let covered = self.covered.get(at).copied().unwrap_or(0.0);
        if self.whole > 0.0 { (covered / self.whole).min(1.0) } else { 0.0 }
    }

    fn best(&self) -> f64 {
        self.bm25.iter().copied().fold(0.0, f64::max)
    }
}

/// Every memory that `state` holds.
pub(super) fn ids(state: &State) -> HashSet<MemoryId> {
    let committed = state.segments.iter().flat_map(Segment::ids);
    let mut ids: HashSet<MemoryId> = committed.filter(|id| !state.tail.contains_key(id)).collect();
    let put =
        |(id, change): (&MemoryId, &super::state::Change)| change.document.as_ref().map(|_| *id);
    ids.extend(state.tail.iter().filter_map(put));
    ids
}
