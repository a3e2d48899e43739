//! A small store of memories beside the index, and a plain BM25 over all of it to compare with.

mod differential;
pub(in crate::index) mod disk;
mod faults;
mod finding;
mod sealed;
mod statistics;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::{TextIndex, TextSettings};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::memory::{Kind, Memory};
use crate::domain::namespace::Namespace;
use crate::domain::search::{TextCandidates, TextQuery};
use crate::domain::text::query::read;
use crate::index::catalog::Catalog;
use crate::index::fixtures;
use crate::ports::IndexError;

/// Commits only when asked to.
const SETTINGS: TextSettings =
    TextSettings { commit_every: Duration::from_hours(1), buffer_bytes: 0 };

/// The store that indexes are of.
const IDENTITY: u64 = 0xfeed;

/// Opens an index and waits until that is done.
fn open(dir: &Path) -> TextIndex {
    let index = TextIndex::open(dir, SETTINGS);
    index.wait_until_open();
    index
}

/// An index with the store and the catalog it belongs to.
struct World {
    index: TextIndex,
    catalog: Catalog,
    memories: BTreeMap<MemoryId, Memory>,
    sequence: u64,
    dir: PathBuf,
    _home: TempDir,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("text");
        let index = open(&dir);
        assert!(index.needs_rebuild(), "there was nothing to open");
        index.start_rebuild(IDENTITY);
        index.finish_rebuild(0);
        let (catalog, memories) = (Catalog::default(), BTreeMap::new());
        Self { index, catalog, memories, sequence: 0, dir, _home: home }
    }

    /// Stores a memory in `user`, or changes its text.
    fn put(&mut self, n: u64, content: &str) -> MemoryId {
        self.put_in("user", n, content)
    }

    fn put_in(&mut self, namespace: &str, n: u64, content: &str) -> MemoryId {
        self.put_memory(memory(namespace, n, content))
    }

    fn put_memory(&mut self, memory: Memory) -> MemoryId {
        let id = memory.id;
        self.sequence += 1;
        self.catalog.put(&memory);
        self.index.put(&memory, self.sequence);
        self.memories.insert(id, memory);
        id
    }

    fn remove(&mut self, n: u64) {
        let id = id(n);
        self.sequence += 1;
        self.catalog.remove(id);
        self.index.remove(id, self.sequence);
        self.memories.remove(&id);
    }

    /// Ends the index and opens its directory again.
    fn reopen(&mut self) {
        self.index.close();
        self.index = open(&self.dir);
    }

    /// Wipes the index and puts everything again.
    fn rebuild(&mut self) {
        self.index.start_rebuild(IDENTITY);
        for memory in self.memories.values() {
            self.index.put(memory, self.sequence);
        }
        self.index.finish_rebuild(self.sequence);
    }

    fn try_search(&self, query: &TextQuery, filter: &Filter, k: usize) -> Answer {
        let compiled = self.catalog.compile(filter);
        let found = self.index.search(&self.catalog, query, &compiled, &filter.namespaces, k);
        found.map(|found| found.candidates)
    }

    fn search(&self, query: &str, filter: &Filter, k: usize) -> TextCandidates {
        self.try_search(&read(query), filter, k).unwrap()
    }

    /// The numbers of the memories of `user` that `query` finds, best first.
    fn find(&self, query: &str) -> Vec<u64> {
        let found = self.search(query, &in_namespaces(&["user"]), 1_000);
        found.hits.iter().map(|hit| number(hit.id)).collect()
    }
}

type Answer = Result<TextCandidates, IndexError>;

fn id(n: u64) -> MemoryId {
    // The halves differ, so that a mix-up would show.
    MemoryId::new(n, u128::from(n) << 20 | 0xabc)
}

fn number(id: MemoryId) -> u64 {
    u64::try_from(id.as_u128() >> 80).unwrap()
}

fn memory(namespace: &str, n: u64, content: &str) -> Memory {
    fixtures::memory(id(n), namespace, content)
}

fn in_namespaces(names: &[&str]) -> Filter {
    let namespaces: Vec<Namespace> = names.iter().map(|name| name.parse().unwrap()).collect();
    Filter { namespaces, ..Filter::default() }
}

/// Copies the files of a directory, as a crash would leave them.
fn copy_of(dir: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// `SplitMix64` (Steele, Lea and Flood 2014): the same numbers for a seed, for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
