//! What must be true after every run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recalld::domain::grounding::{self, Source, Summary};
use recalld::domain::id::MemoryId;
use recalld::domain::memory::{Kind, Memory, Origin, Status};
use recalld::ports::Store as _;
use recalld::service::get::GetRequest;
use recalld::service::recall::RecallRequest;
use recalld::service::scope::Scope;

use super::acts::Book;
use super::world::{World, owner};

/// Half-lives of the design, days.
const fn half_life(kind: Kind) -> f64 {
    match kind {
        Kind::Task => 14.0,
        Kind::Event => 30.0,
        Kind::Fact | Kind::Reflection => 90.0,
        Kind::Preference | Kind::Summary => 180.0,
        Kind::Procedure | Kind::Instruction | Kind::Profile => 365.0,
    }
}

/// Strength by the formula of the design, written down a second time.
pub fn strength(memory: &Memory, now: Timestamp) -> f64 {
    let anchor = memory.usage.anchor;
    if memory.pinned || memory.importance >= 1.0 {
        return anchor.value;
    }
    let days = now.duration_since(anchor.at).as_secs_f64() / 86_400.0;
    let floor = anchor.value.min(0.1);
    floor + (anchor.value - floor) * 2.0_f64.powf(-days / half_life(memory.kind))
}

/// The noted strengths are those of `now`.
pub async fn strengths(world: &World, records: &BTreeMap<MemoryId, Memory>, now: Timestamp) {
    let snapshot = world.store.snapshot().await.unwrap();
    let noted = snapshot.weaker_than(f64::INFINITY, None, usize::MAX).await.unwrap();
    assert_eq!(noted.len(), records.len());
    for (noted, id) in noted {
        let expected = strength(&records[&id], now);
        assert!((noted - expected).abs() < 1e-9, "{id}: {noted} instead of {expected}");
    }
}

/// Jobs take nothing away, and change nothing that somebody said: of each memory only its links, its
/// status and what marks it as summarised; and nothing at all of what is pinned or as important as
/// can be.
pub fn only_links(
    before: &BTreeMap<MemoryId, Memory>,
    after: &BTreeMap<MemoryId, Memory>,
    book: &Book,
) {
    for (id, old) in before {
        let new = after.get(id).unwrap_or_else(|| panic!("{id} is gone: {old:?}"));
        let linked = Memory {
            updated_at: new.updated_at,
            status: new.status,
            superseded_by: new.superseded_by,
            valid_to: new.valid_to,
            consolidated_into: new.consolidated_into,
            // Of a product: how it came about.
            metadata: if old.origin == Origin::Consolidated {
                new.metadata.clone()
            } else {
                old.metadata.clone()
            },
            version: new.version,
            ..old.clone()
        };
        assert_eq!(linked, *new);
        if old.origin != Origin::Consolidated {
            assert_eq!(
                (old.superseded_by, old.valid_to),
                (new.superseded_by, new.valid_to),
                "{id}"
            );
        }
    }
    for (id, as_stored) in &book.fixed {
        assert_eq!(*as_stored, after[id], "nothing touches it");
    }
}

/// Everything that a summary says stands in what it was made of.
pub fn grounded(product: &Memory, records: &BTreeMap<MemoryId, Memory>) {
    assert!(product.derived_from.len() > 1, "{product:?}");
    let sources: Vec<&Memory> = product.derived_from.iter().map(|id| &records[id]).collect();
    let handles: Vec<String> = sources.iter().map(|source| source.id.handle()).collect();
    let texts: Vec<Source<'_>> = sources
        .iter()
        .zip(&handles)
        .map(|(source, id)| Source {
            id,
            text: &source.content,
            event_date: Some(TimeZone::UTC.to_datetime(source.event_time()).date()),
        })
        .collect();
    let citations: Vec<&str> = handles.iter().map(String::as_str).collect();
    let summary = Summary { text: &product.content, citations: &citations };
    let violations = grounding::check(&summary, &texts, &grounding::Policy::for_extracts());
    assert!(violations.is_empty(), "{violations:#?}\n{}\n{texts:#?}", product.content);
}

/// The summary of a memory was made of it, and speaks for it while it is current.
pub fn spoken_for(records: &BTreeMap<MemoryId, Memory>) {
    for memory in records.values() {
        let Some(into) = memory.consolidated_into else { continue };
        let summary = &records[&into];
        assert!(summary.derived_from.contains(&memory.id), "{memory:?}\n{summary:?}");
        assert!(
            matches!(summary.status, Status::Active | Status::Archived),
            "{memory:?}\n{summary:?}"
        );
    }
}

/// These memories are found by their ids and by what they say, be it by the summary that speaks for
/// them.
pub async fn reachable(world: &World, records: &BTreeMap<MemoryId, Memory>, ids: &[MemoryId]) {
    for ids in ids.chunks(20) {
        let references = ids.iter().map(ToString::to_string).collect();
        let request = GetRequest { references, ..GetRequest::default() };
        let answer = world.service.get(&owner(), request).await.unwrap();
        assert_eq!(answer.missing, Vec::<String>::new());
    }
    for id in ids {
        let memory = &records[id];
        let scope = Scope {
            include_superseded: matches!(memory.status, Status::Superseded | Status::Invalidated),
            ..Scope::default()
        };
        let query: String = memory.content.chars().take(400).collect();
        let request = RecallRequest { query, scope, limit: Some(30), ..RecallRequest::default() };
        let answer = world.service.recall(&owner(), request).await.unwrap();
        let is_it = |found: &Memory| {
            found.id == *id
                || memory.consolidated_into == Some(found.id)
                // Of several that say the same, one is shown.
                || found.content.contains(memory.content.trim_end_matches(['.', '。']))
        };
        let found: Vec<&Memory> = answer.hits.iter().map(|hit| &hit.memory).collect();
        assert!(found.iter().any(|found| is_it(found)), "{memory:#?}\n{found:#?}");
    }
}

/// Every memory that was said is there, word by word.
pub fn nothing_lost(book: &Book, records: &BTreeMap<MemoryId, Memory>) {
    for (id, text) in &book.texts {
        assert_eq!(*records[id].content, **text, "{id}");
    }
}
