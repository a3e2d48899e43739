//! The words of one memory, counted: what is written to the index and what the tail is searched in.

use std::collections::BTreeMap;

use crate::domain::memory::Memory;
use crate::domain::namespace::Namespace;
use crate::domain::text::tokens::tokens;

/// Stands for a namespace in terms and columns: the first 64 bits of the hash of its path. Two that
/// collide share postings, never results: each hit is checked against the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamespaceKey(pub(super) u64);

impl NamespaceKey {
    pub(super) fn of(namespace: &Namespace) -> Self {
        let hash = blake3::hash(namespace.as_str().as_bytes());
        let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
        Self(u64::from_be_bytes(first))
    }

    /// The term under which the index holds `token` for the memories of this namespace.
    pub(super) fn term(self, token: &str) -> String {
        format!("{:016x}{token}", self.0)
    }
}

/// The counted words of one memory, compact, because thousands may wait in the tail.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) namespace: NamespaceKey,
    /// Tokens that count towards the length.
    pub(super) length: u32,
    /// The distinct tokens, one after the other.
    text: String,
    /// Where each of them stands, in their order.
    words: Box<[Word]>,
}

#[derive(Debug)]
struct Word {
    start: u32,
    end: u32,
    frequency: u32,
}

impl Document {
    pub(super) fn of(memory: &Memory) -> Self {
        let mut frequencies: BTreeMap<String, u32> = BTreeMap::new();
        let mut length = 0;
        for token in tokens(&memory.content) {
            length += u32::from(token.counts());
            *frequencies.entry(token.text).or_default() += 1;
        }
        let mut text = String::new();
        let mut end_of = |token: &str| {
            text.push_str(token);
            u32::try_from(text.len()).unwrap_or(u32::MAX)
        };
        let mut start = 0;
        let words = frequencies
            .into_iter()
            .map(|(token, frequency)| {
                let end = end_of(&token);
                Word { start: std::mem::replace(&mut start, end), end, frequency }
            })
            .collect();
        text.shrink_to_fit();
        Self { namespace: NamespaceKey::of(&memory.namespace), length, text, words }
    }

    /// How often `token` occurs, 0 if it does not.
    pub(super) fn frequency(&self, token: &str) -> u32 {
        self.words
            .binary_search_by(|word| self.token(word).cmp(token))
            .ok()
            .and_then(|at| self.words.get(at))
            .map_or(0, |word| word.frequency)
    }

    /// The distinct tokens, each with how often it occurs.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, u32)> {
        self.words.iter().map(|word| (self.token(word), word.frequency))
    }

    fn token(&self, word: &Word) -> &str {
        self.text.get(word.start as usize..word.end as usize).unwrap_or("")
    }
}
