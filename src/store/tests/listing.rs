//! Listings, scans, handles, the log and the report.

use std::collections::BTreeSet;

use super::fixture::{Fixture, at, tags};
use crate::domain::filter::{Filter, TagMatch};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::memory::{Kind, Memory, Status};
use crate::domain::namespace::Namespace;
use crate::ports::{Listing, Store};

/// 60 memories over three namespaces, three kinds, four event times, some of them superseded.
async fn fill(f: &Fixture) -> Vec<Memory> {
    let mut earlier = None;
    for n in 0..60_i64 {
        let mut new = f.fact(&format!("memory {n}"));
        new.namespace =
            ["user", "agent/a", "shared/b"][usize::try_from(n % 3).unwrap()].parse().unwrap();
        new.kind = Kind::ALL[usize::try_from(n / 5 % 3).unwrap()];
        new.tags = tags(&[["red", "blue"][usize::try_from(n % 2).unwrap()]]);
        if n % 4 == 0 {
            new.tags.insert(0, "all".to_owned());
        }
        new.occurred_at = (n % 5 != 0).then(|| at(n % 4));
        new.supersedes = earlier.filter(|_| n % 7 == 6);
        earlier = Some(new.id);
        f.remember_one(new, 100 + n).await;
    }
    f.snapshot().await.scan(None, 100).await.unwrap()
}

fn namespaces(names: &[&str]) -> Vec<Namespace> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn filters() -> Vec<Filter> {
    let base =
        Filter { namespaces: namespaces(&["user", "shared/b", "none"]), ..Filter::default() };
    vec![
        base.clone(),
        Filter::default(),
        Filter { namespaces: namespaces(&["user", "user", "agent/a", "shared/b"]), ..base.clone() },
        Filter { kinds: vec![Kind::Fact, Kind::Preference], ..base.clone() },
        Filter { tags: tags(&["all", "red"]), ..base.clone() },
        Filter { tags: tags(&["all", "blue"]), tag_match: TagMatch::All, ..base.clone() },
        Filter { statuses: vec![Status::Superseded], ..base.clone() },
        Filter { after: Some(at(1)), before: Some(at(3)), ..base.clone() },
        Filter { after: Some(at(110)), kinds: vec![Kind::Instruction], ..base.clone() },
        Filter { before: Some(at(110)), tags: tags(&["blue"]), ..base.clone() },
        Filter { importance_min: Some(0.9), ..base },
    ]
}

#[tokio::test]
async fn pages_hold_exactly_what_matches_in_order() {
    let f = Fixture::new();
    let all = fill(&f).await;
    assert_eq!(all.len(), 60);
    let snapshot = f.snapshot().await;
    for filter in filters() {
        for newest_first in [true, false] {
            let mut expected: Vec<_> =
                all.iter().filter(|memory| filter.matches(memory)).cloned().collect();
            expected.sort_by_key(|memory| (memory.event_time(), memory.id));
            if newest_first {
                expected.reverse();
            }
            for limit in [1, 7, 100] {
                let mut listed: Vec<Memory> = Vec::new();
                loop {
                    let after = listed.last().map(|memory| (memory.event_time(), memory.id));
                    let filter = filter.clone();
                    let listing = Listing { filter, newest_first, after, limit };
                    let page = snapshot.list(listing).await.unwrap();
                    assert!(page.len() <= limit);
                    if page.is_empty() {
                        break;
                    }
                    listed.extend(page);
                }
                assert_eq!(listed, expected, "{filter:?} {newest_first} {limit}");
            }
        }
    }
    f.finish().await;
}

#[tokio::test]
async fn a_scan_passes_over_all_memories_in_order_of_ids() {
    let f = Fixture::new();
    fill(&f).await;
    let snapshot = f.snapshot().await;
    let mut seen: Vec<MemoryId> = Vec::new();
    loop {
        let page = snapshot.scan(seen.last().copied(), 7).await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|memory| memory.id));
    }
    assert_eq!(seen.len(), 60);
    assert!(seen.is_sorted());
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 60);
    f.finish().await;
}

#[tokio::test]
async fn a_snapshot_stays_as_it_was() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let before = f.snapshot().await;
    f.forget(&[id], None, 2).await;
    f.store_fact("b", 3).await;
    assert!(before.memories(vec![id]).await.unwrap()[0].is_some());
    assert_eq!((before.sequence(), f.snapshot().await.sequence()), (1, 3));
    drop(before);
    f.finish().await;
}

#[tokio::test]
async fn a_handle_leads_to_every_id_it_begins() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    let mut twin = f.fact("b");
    // The same 40 bits at the start of the tail, others behind them.
    twin.id = MemoryId::from_u128((id.as_u128() ^ 1) | 1 << 127);
    f.remember_one(twin.clone(), 1).await;
    let resolve = async |text: &str| {
        let Ok(IdReference::Handle(handle)) = text.parse() else { panic!("{text}") };
        f.snapshot().await.resolve(handle).await.unwrap()
    };
    let mut both = resolve(&id.handle()).await;
    both.sort();
    let mut expected = vec![id, twin.id];
    expected.sort();
    assert_eq!(both, expected);
    assert_eq!(resolve(&id.tail_text()).await, [id]);
    assert_eq!(resolve("00000000").await, []);
    f.finish().await;
}

#[tokio::test]
async fn the_report_counts_what_can_be_read() {
    let f = Fixture::new();
    let all = fill(&f).await;
    f.forget(&[all[0].id], Some(10), 500).await;
    let report = f.store.report().await.unwrap();
    assert_eq!(report.n_memories, 59);
    assert_eq!(report.namespaces.iter().map(|(_, n)| n).sum::<u64>(), 59);
    let names: Vec<_> = report.namespaces.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["agent/a", "shared/b", "user"]);
    assert_eq!(f.snapshot().await.namespaces().await.unwrap(), namespaces(&names));
    assert_eq!((report.n_forgotten_pending, report.format_version), (1, 1));
    assert_eq!(report.sequence, f.snapshot().await.sequence());
    assert!(report.file_bytes > 0);
    assert_eq!(report.location, f.dir.path().join("recalld.redb").display().to_string());
    f.finish().await;
}

#[tokio::test]
async fn a_namespace_stays_known_when_it_is_empty() {
    let f = Fixture::new();
    let id = f.store_fact("a", 1).await;
    f.forget(&[id], None, 2).await;
    assert_eq!(f.snapshot().await.namespaces().await.unwrap(), [Namespace::user()]);
    assert_eq!(f.store.report().await.unwrap().namespaces, [(Namespace::user(), 0)]);
    f.finish().await;
}

#[tokio::test]
async fn the_log_is_trimmed_by_sequence_and_age_and_never_starts_anew() {
    let mut f = Fixture::new();
    for n in 1..=10 {
        f.store_fact(&n.to_string(), n).await;
    }
    let sequences = async |f: &Fixture| {
        let log = f.snapshot().await.log(0, 99).await.unwrap();
        log.iter().map(|entry| entry.sequence).collect::<Vec<_>>()
    };
    let log = f.snapshot().await.log(3, 2).await.unwrap();
    assert_eq!(
        log.iter().map(|e| (e.sequence, e.at)).collect::<Vec<_>>(),
        [(4, at(4)), (5, at(5))]
    );
    assert_eq!((log[0].actor.as_str(), log[0].version), ("owner", 1));
    assert_eq!(f.snapshot().await.log_start(), 0);
    assert_eq!(f.store.trim_log(4, at(99)).await.unwrap(), 4);
    assert_eq!(f.store.trim_log(9, at(7)).await.unwrap(), 2);
    assert_eq!(sequences(&f).await, [7, 8, 9, 10]);
    assert_eq!(f.snapshot().await.log_start(), 7);
    assert_eq!(f.store.trim_log(99, at(99)).await.unwrap(), 4);
    assert_eq!(f.store.trim_log(99, at(99)).await.unwrap(), 0);
    f.reopen();
    assert_eq!((f.snapshot().await.log_start(), f.snapshot().await.sequence()), (11, 10));
    f.store_fact("more", 20).await;
    assert_eq!(sequences(&f).await, [11]);
    f.finish().await;
}
