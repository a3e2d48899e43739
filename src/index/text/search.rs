//! One search: the postings of the namespaces searched and the tail, tallied first (document
//! frequencies are known only then), scored after.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::document::NamespaceKey;
use super::segments::Segment;
use super::state::State;
use crate::domain::bm25::{bm25, idf, telling};
use crate::domain::id::MemoryId;
use crate::domain::namespace::Namespace;
use crate::domain::search::{TextCandidates, TextHit, TextQuery};
use crate::index::catalog::{Catalog, CompiledFilter, NamespaceSlot, Slot};

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
    pub(super) fn run(self, state: &State) -> tantivy::Result<TextCandidates> {
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
        Ok(self.ranked(&tally, &terms, n_documents, average))
    }

    /// Scores what was tallied and takes the best.
    fn ranked(
        self,
        tally: &Tally<'_>,
        terms: &Terms<'_>,
        n_documents: u64,
        average: f64,
    ) -> TextCandidates {
        let clauses: Vec<Scores> = terms
            .clauses
            .iter()
            .map(|clause| Scores::of(clause, tally, n_documents, average))
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
struct Found {
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
    found: Vec<Found>,
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
                self.found.push(Found { id: entry.id, slot, length });
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

/// The scores of one clause, by place in `Tally::found`.
struct Scores {
    bm25: Vec<f64>,
    /// Summed `weight * telling` of the terms met.
    covered: Vec<f64>,
    /// The same of all terms.
    whole: f64,
}

impl Scores {
    fn of(clause: &[(usize, f64)], tally: &Tally<'_>, n_documents: u64, average: f64) -> Self {
        let mut all = Self {
            bm25: vec![0.0; tally.found.len()],
            covered: vec![0.0; tally.found.len()],
            whole: 0.0,
        };
        for (term, weight) in clause {
            let Some(term) = tally.terms.get(*term) else { continue };
            let told = weight * telling(n_documents, term.n_containing);
            let idf = weight * idf(n_documents, term.n_containing);
            all.whole += told;
            for occurrence in &term.occurrences {
                let at = occurrence.found;
                if let (Some(found), Some(score), Some(covered)) =
                    (tally.found.get(at), all.bm25.get_mut(at), all.covered.get_mut(at))
                {
                    *score += bm25(occurrence.frequency, found.length, average, idf);
                    *covered += told;
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
