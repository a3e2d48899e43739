//! Consolidation over a real store: memories become summaries, and stay, whatever the model does.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::fixture::{Fixture, agent, draft, owner};
use super::writer::{Manner, Writer};
use crate::domain::id::MemoryId;
use crate::domain::job::{JobName, NewRun, Outcome, RunId, Trigger};
use crate::domain::memory::{Kind, Memory, Origin, Status};
use crate::domain::summary::Unusable;
use crate::domain::transfer::ExportPlace;
use crate::ports::{Clock as _, Ledger as _, Store as _};
use crate::service::ServiceError;
use crate::service::consolidate::Consolidation;
use crate::service::consolidate::report::Report;
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::get::GetRequest;
use crate::service::recall::RecallRequest;
use crate::service::remember::Draft;
use crate::service::update::UpdateRequest;

/// A run of the job, noted in the ledger.
pub(super) async fn consolidate(f: &Fixture) -> (RunId, Report) {
    let order = begun(f, false).await;
    let report = f.service.consolidate(&order).await.unwrap();
    ended(f, order.run, &report).await;
    (order.run, report)
}

async fn begun(f: &Fixture, is_dry_run: bool) -> Consolidation {
    let new = NewRun {
        job: JobName::Consolidate,
        trigger: Trigger::Owner,
        is_dry_run,
        scheduled_at: None,
        now: f.clock.now(),
        lease: "test".to_owned(),
    };
    let run = f.store.begin_run(new).await.unwrap().unwrap();
    Consolidation { run: run.id, now: run.now, is_dry_run, stop: CancellationToken::new() }
}

async fn ended(f: &Fixture, run: RunId, report: &Report) {
    let facts = report.facts().to_string();
    let ending = f.store.finish_run(run, report.outcome(), report.n_changed, facts, f.clock.now());
    ending.await.unwrap();
}

/// Everything there is, by id.
pub(super) async fn records(f: &Fixture) -> BTreeMap<MemoryId, Memory> {
    let snapshot = f.store.snapshot().await.unwrap();
    let all = snapshot.scan(None, 10_000).await.unwrap();
    all.into_iter().map(|memory| (memory.id, memory)).collect()
}

pub(super) async fn live(f: &Fixture, kind: Kind) -> Vec<Memory> {
    let is_live = |memory: &Memory| memory.kind == kind && memory.status == Status::Active;
    records(f).await.into_values().filter(is_live).collect()
}

async fn fact(f: &Fixture, content: &str) -> MemoryId {
    f.remember(&agent("a"), draft(content)).await.id
}

const TOPICS: [&str; 4] = [
    "Mara watered the tomato plants in the greenhouse before breakfast, round",
    "The nightly backup of the invoice database filled the old disk, attempt",
    "Choir rehearsal moved to the parish hall beside the library, evening",
    "The ferry crossing to the island was rough and late again, trip",
];

/// Six facts about a topic, each of its own number, in order of ids.
async fn six(f: &Fixture, topic: &str) -> Vec<MemoryId> {
    let mut ids = Vec::new();
    for n in 1..=6 {
        ids.push(fact(f, &format!("{topic} {n}")).await);
    }
    ids.sort_unstable();
    ids
}

/// The reader finds these very words in what a search for them gives.
async fn is_recalled(f: &Fixture, content: &str) -> bool {
    let query = content.to_owned();
    let request = RecallRequest { query, limit: Some(20), ..RecallRequest::default() };
    let answer = f.service.recall(&owner(), request).await.unwrap();
    answer.hits.iter().any(|hit| &*hit.memory.content == content)
}

#[tokio::test(start_paused = true)]
async fn related_memories_become_one_summary_and_a_second_run_does_nothing() {
    for (texts, words) in
        [(&TOPICS[0], "tomato plants"), (&"李娜早上在温室里给番茄浇水，轮次", "温室里的番茄")]
    {
        let writer = Writer::new(&[Manner::Well]);
        let f = Fixture::of_words(Some(writer.clone())).await;
        let mut ids = six(&f, texts).await;
        let tag = |n: usize| Draft {
            tags: vec!["garden".to_owned(), format!("t{n}")],
            ..draft(&format!("{texts} {}", n + 6))
        };
        for n in 1..=2 {
            ids.push(f.remember(&agent("a"), tag(n)).await.id);
        }
        ids.sort_unstable();
        let before = records(&f).await;
        let (run, report) = consolidate(&f).await;
        assert_eq!(report.outcome(), Outcome::Done, "{report:#?}");
        let summaries = live(&f, Kind::Summary).await;
        let [summary] = summaries.as_slice() else { panic!("{summaries:#?}") };
        assert_eq!((summary.origin, &summary.derived_from), (Origin::Consolidated, &ids));
        assert_eq!(summary.metadata["summary_kind"], "\"model\"");
        assert_eq!(summary.metadata["summary_of"], "\"fact\"");
        assert_eq!(summary.occurred_at, before.values().map(Memory::event_time).max());
        assert!(summary.tags.is_empty(), "a tag that not all have is not its own");
        assert_eq!(report.n_changed, 9);
        for (id, memory) in records(&f).await {
            let Some(before) = before.get(&id) else { continue };
            assert_eq!(memory.consolidated_into, Some(summary.id));
            let unmarked = Memory {
                consolidated_into: None,
                version: before.version,
                updated_at: before.updated_at,
                ..memory
            };
            assert_eq!(unmarked, *before);
        }
        let log = f.store.snapshot().await.unwrap().log_of(summary.id, 9).await.unwrap();
        assert_eq!((&*log[0].actor, log[0].run), ("job/consolidate", Some(run)));

        // The summary comes first, and shows the way to its sources, which are found by their words.
        let hits = f.recall(&owner(), words).await.hits;
        assert_eq!(hits[0].memory.id, summary.id, "{hits:#?}");
        let source = hits.iter().find(|hit| ids.contains(&hit.memory.id)).unwrap();
        assert!(source.reasons.contains(&"summarised x0.90".to_owned()), "{source:?}");
        for memory in before.values() {
            assert!(is_recalled(&f, &memory.content).await, "{}", memory.content);
        }

        let (sequence, n_calls) = (f.store.snapshot().await.unwrap().sequence(), writer.n_calls());
        let (_, again) = consolidate(&f).await;
        assert_eq!((again.outcome(), again.n_changed), (Outcome::Done, 0), "{again:#?}");
        assert_eq!(f.store.snapshot().await.unwrap().sequence(), sequence);
        assert_eq!(writer.n_calls(), n_calls);
    }
}

#[tokio::test(start_paused = true)]
async fn three_topics_that_one_note_touches_stay_three() {
    let f = Fixture::of_words(None).await;
    let mut topics = Vec::new();
    for topic in &TOPICS[..3] {
        topics.push(six(&f, topic).await);
    }
    let bridge = fact(
        &f,
        "Mara watered the tomato plants in the greenhouse; the nightly backup of the invoice \
         database filled the old disk; choir rehearsal moved to the parish hall beside the library",
    )
    .await;
    let (_, report) = consolidate(&f).await;
    assert_eq!(report.by_why, BTreeMap::from([("new", 3)]), "{report:#?}");
    for summary in live(&f, Kind::Summary).await {
        let of = |topic: &&Vec<MemoryId>| {
            summary.derived_from.iter().all(|id| topic.contains(id) || *id == bridge)
        };
        assert!(topics.iter().any(|topic| of(&topic)), "{summary:#?}");
        assert_eq!(summary.metadata["summary_kind"], "\"extractive\"");
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_and_namespaces_are_summarised_apart() {
    let f = Fixture::of_words(None).await;
    let mut sets = Vec::new();
    for (kind, namespace) in [
        (Kind::Event, "user"),
        (Kind::Task, "user"),
        (Kind::Event, "agent/a"),
        (Kind::Instruction, "user"),
    ] {
        let mut ids = Vec::new();
        for n in 1..=6 {
            let draft = Draft {
                kind: Some(kind),
                namespace: Some(namespace.to_owned()),
                ..draft(&format!("{} {n} {kind}", TOPICS[1]))
            };
            ids.push(f.remember(&agent("a"), draft).await.id);
        }
        ids.sort_unstable();
        sets.push(ids);
    }
    consolidate(&f).await;
    let summaries = live(&f, Kind::Summary).await;
    assert_eq!(summaries.len(), 3, "standing orders are not summarised: {summaries:#?}");
    for set in &sets[..3] {
        assert!(summaries.iter().any(|summary| summary.derived_from == *set), "{summaries:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_answers_rubbish_for_twenty_runs_costs_no_memory() {
    let writer = Writer::new(&[
        Manner::Useless(Unusable::NotJson),
        Manner::Useless(Unusable::Empty),
        Manner::Useless(Unusable::Cut),
        Manner::Away,
        Manner::Invents,
    ]);
    let f = Fixture::of_words(Some(writer.clone())).await;
    let mut originals = BTreeMap::new();
    for place in 0..25 {
        for n in 1..=8 {
            let topic = TOPICS[place % 4];
            let text = format!("{topic} {n} of house{place}x, street{place}x, town{place}x");
            originals.insert(fact(&f, &text).await, text);
        }
    }
    assert_eq!(originals.len(), 200);
    for run in 0..20 {
        let (_, report) = consolidate(&f).await;
        assert!(matches!(report.outcome(), Outcome::Partial(_)) || run > 3, "{report:#?}");
        assert_eq!(report.by_author.get("model"), None, "{report:#?}");
        let told = report.facts().to_string();
        assert!(!told.contains("tomato") && !told.contains("Ouagadougou"), "no content: {told}");
    }
    let records = records(&f).await;
    for (id, text) in &originals {
        let memory = &records[id];
        assert_eq!((&*memory.content, memory.status), (text.as_str(), Status::Active));
        assert!(is_recalled(&f, text).await, "{text}");
    }
    let summaries = live(&f, Kind::Summary).await;
    assert!(!summaries.is_empty());
    for summary in &summaries {
        assert!(!summary.content.contains("Ouagadougou"), "{}", summary.content);
    }
    // Each memory is spoken for by the one live summary that is made of it.
    for (id, memory) in records.iter().filter(|(id, _)| originals.contains_key(id)) {
        let of: Vec<MemoryId> = summaries
            .iter()
            .filter(|summary| summary.derived_from.contains(id))
            .map(|summary| summary.id)
            .collect();
        assert_eq!(memory.consolidated_into.into_iter().collect::<Vec<_>>(), of);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_quoted_while_the_model_was_away_is_written_when_it_is_back() {
    let writer = Writer::new(&[Manner::Away]);
    let f = Fixture::of_words(Some(writer.clone())).await;
    let ids = six(&f, TOPICS[0]).await;
    six(&f, TOPICS[1]).await;
    let (_, report) = consolidate(&f).await;
    let why = report.outcome().why().unwrap_or_default().to_owned();
    assert!(why.contains("it answered 500"), "{report:#?}");
    assert_eq!(report.by_author, BTreeMap::from([("extract_away", 2)]));
    let quoting = live(&f, Kind::Summary).await;
    assert_eq!(quoting[0].metadata["redo"], "true");
    // Still away: it is asked, and nothing is written.
    let (before, n_calls) = (records(&f).await, writer.n_calls());
    let (_, report) = consolidate(&f).await;
    assert!(matches!(report.outcome(), Outcome::Partial(_)), "{report:#?}");
    assert_eq!((report.n_waiting, writer.n_calls()), (2, n_calls + 2));
    assert_eq!(records(&f).await, before);
    // Back.
    writer.set(&[Manner::Well]);
    let (_, report) = consolidate(&f).await;
    assert_eq!((report.outcome(), report.by_why["redone"]), (Outcome::Done, 2), "{report:#?}");
    let summaries = live(&f, Kind::Summary).await;
    assert_eq!(summaries.len(), 2);
    for summary in &summaries {
        assert_eq!(summary.metadata["summary_kind"], "\"model\"");
        assert!(quoting.iter().any(|old| Some(old.id) == summary.supersedes));
    }
    let superseded = f.memory(quoting[0].id).await;
    assert_eq!(superseded.status, Status::Superseded);
    let into = f.memory(ids[0]).await.consolidated_into;
    assert!(summaries.iter().any(|summary| Some(summary.id) == into));
    assert_eq!(consolidate(&f).await.1.n_changed, 0);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_never_right_is_left_alone_in_the_end() {
    let writer = Writer::new(&[Manner::Invents]);
    let f = Fixture::of_words(Some(writer.clone())).await;
    six(&f, TOPICS[0]).await;
    let (_, report) = consolidate(&f).await;
    assert_eq!(report.by_author, BTreeMap::from([("extract_refused", 1)]));
    assert!(report.rejections.values().sum::<u64>() >= 2, "{report:#?}");
    let first = live(&f, Kind::Summary).await;
    for _ in 0..2 {
        let (_, report) = consolidate(&f).await;
        assert!(matches!(report.outcome(), Outcome::Partial(_)), "{report:#?}");
    }
    let n_calls = writer.n_calls();
    let (_, report) = consolidate(&f).await;
    assert_eq!((report.outcome(), report.n_changed), (Outcome::Done, 0));
    assert_eq!(writer.n_calls(), n_calls);
    let last = live(&f, Kind::Summary).await;
    assert_eq!((last.len(), last[0].id), (1, first[0].id), "it stays the same memory");
    assert_eq!(last[0].content, first[0].content);
}

#[tokio::test(start_paused = true)]
async fn one_fact_reworded_thirty_times_over_ten_runs_has_one_live_summary() {
    let english = |n: usize| {
        let opener = ["Remember that", "As told before:", "Once more:", "Note:", "Mind that", "So"];
        let closer =
            ["", ", says her brother", ", even in traces", " since childhood", " for ever"];
        let (opener, closer) = (opener[n % 6], closer[n / 6]);
        format!("{opener} Mara Lindgren is severely allergic to roasted peanuts{closer}")
    };
    let chinese = |n: usize| {
        let opener = ["记住，", "再说一遍：", "注意，", "请记得，", "医生说", "大家都知道"];
        let closer = ["。", "，从小就这样。", "，一点点也会发作。", "，要小心。", "，很危险。"];
        format!("{}李娜对炒花生严重过敏{}", opener[n % 6], closer[n / 6])
    };
    let wordings: [&dyn Fn(usize) -> String; 2] = [&english, &chinese];
    for wording in wordings {
        let writer = Writer::new(&[Manner::Well]);
        let f = Fixture::of_words(Some(writer.clone())).await;
        let mut ids = Vec::new();
        for run in 0..10 {
            for n in 0..3 {
                ids.push(fact(&f, &wording(run * 3 + n)).await);
            }
            consolidate(&f).await;
            let n_live = live(&f, Kind::Summary).await.len();
            assert!(n_live <= 1, "run {run}: {n_live}");
            let n_calls = writer.n_calls();
            let (_, again) = consolidate(&f).await;
            assert_eq!((again.outcome(), again.n_changed), (Outcome::Done, 0), "{again:#?}");
            assert_eq!(writer.n_calls(), n_calls);
        }
        ids.sort_unstable();
        let summary = live(&f, Kind::Summary).await.remove(0);
        assert_eq!(summary.derived_from, ids);
        for id in ids {
            assert_eq!(f.memory(id).await.consolidated_into, Some(summary.id));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stores_go_on_while_a_summary_is_written_and_a_changed_source_holds_it_up() {
    let writer = Writer::new(&[Manner::Waits]);
    let f = Arc::new(Fixture::of_words(Some(writer.clone())).await);
    let ids = six(&f, TOPICS[0]).await;
    let order = begun(&f, false).await;
    let meanwhile = async {
        while writer.n_calls() == 0 {
            tokio::task::yield_now().await;
        }
        for n in 0..50 {
            let id = fact(&f, &format!("lorem{n} ipsum{n}")).await;
            assert!(records(&f).await.contains_key(&id));
        }
        let patch = crate::domain::change::Patch { pinned: Some(true), ..Default::default() };
        let update = UpdateRequest { reference: ids[0].to_string(), patch, request: None };
        f.service.update(&owner(), update).await.unwrap();
        writer.gate.add_permits(1);
    };
    let (report, ()) = tokio::join!(f.service.consolidate(&order), meanwhile);
    let report = report.unwrap();
    ended(&f, order.run, &report).await;
    assert_eq!((report.n_conflicts, report.n_changed), (1, 0), "{report:#?}");
    assert!(report.outcome().why().unwrap().contains("changed meanwhile"));
    assert_eq!(live(&f, Kind::Summary).await, []);
    writer.set(&[Manner::Well]);
    consolidate(&f).await;
    let summaries = live(&f, Kind::Summary).await;
    // The pinned one stays as it is.
    assert!(summaries.iter().any(|one| one.derived_from == ids[1..]), "{summaries:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_ends_and_the_next_one_goes_on() {
    let writer = Writer::new(&[Manner::Waits]);
    let f = Fixture::of_words(Some(writer.clone())).await;
    six(&f, TOPICS[0]).await;
    six(&f, TOPICS[1]).await;
    let order = begun(&f, false).await;
    writer.gate.add_permits(1);
    let stopper = async {
        while writer.n_calls() < 2 {
            tokio::task::yield_now().await;
        }
        order.stop.cancel();
    };
    let (report, ()) = tokio::join!(f.service.consolidate(&order), stopper);
    let report = report.unwrap();
    ended(&f, order.run, &report).await;
    assert_eq!(report.outcome(), Outcome::Partial("it was told to end".to_owned()));
    assert_eq!(live(&f, Kind::Summary).await.len(), 1);
    writer.gate.add_permits(1);
    consolidate(&f).await;
    assert_eq!(live(&f, Kind::Summary).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_the_plan_and_does_nothing() {
    let writer = Writer::new(&[Manner::Well]);
    let f = Fixture::of_words(Some(writer.clone())).await;
    let ids = six(&f, TOPICS[0]).await;
    let sequence = f.store.snapshot().await.unwrap().sequence();
    let order = begun(&f, true).await;
    let report = f.service.consolidate(&order).await.unwrap();
    ended(&f, order.run, &report).await;
    assert_eq!((report.tasks.len(), report.tasks[0].why), (1, "new"));
    assert_eq!(report.tasks[0].sources, ids);
    let facts = report.facts();
    assert_eq!((&facts["n_items"], &facts["n_tasks"]), (&6.into(), &1.into()), "{facts}");
    assert!(!facts.to_string().contains("tomato"), "no content: {facts}");
    assert_eq!((writer.n_calls(), report.n_changed), (0, 0));
    assert_eq!(f.store.snapshot().await.unwrap().sequence(), sequence);
    assert_eq!(f.store.snapshot().await.unwrap().mark("consolidate/user").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn new_evidence_extends_a_summary_and_an_undo_gives_back_what_was_before() {
    let unversioned = |records: BTreeMap<MemoryId, Memory>| -> BTreeMap<MemoryId, Memory> {
        records.into_iter().map(|(id, memory)| (id, Memory { version: 0, ..memory })).collect()
    };
    let f = Fixture::of_words(None).await;
    six(&f, TOPICS[0]).await;
    let at_first = unversioned(records(&f).await);
    let (first, _) = consolidate(&f).await;
    fact(&f, &format!("{} 7", TOPICS[0])).await;
    six(&f, TOPICS[1]).await;
    let before = unversioned(records(&f).await);
    let (second, report) = consolidate(&f).await;
    assert_eq!(report.by_why, BTreeMap::from([("extended", 1), ("new", 1)]), "{report:#?}");
    let summaries = live(&f, Kind::Summary).await;
    assert_eq!(summaries.iter().map(|one| one.derived_from.len()).sum::<usize>(), 13);
    let undone = f.service.undo_run(&owner(), second).await.unwrap();
    assert_eq!((undone.withdrawn.len(), undone.left.len()), (2, 0), "{undone:?}");
    assert_eq!(unversioned(records(&f).await), before);
    // What was undone is planned again.
    let (third, report) = consolidate(&f).await;
    assert_eq!(report.by_why, BTreeMap::from([("extended", 1), ("new", 1)]), "{report:#?}");
    f.service.undo_run(&owner(), third).await.unwrap();
    assert_eq!(unversioned(records(&f).await), before);
    // And what the first run did, after all that was built on it.
    let undone = f.service.undo_run(&owner(), first).await.unwrap();
    assert_eq!(undone.left, [], "{undone:?}");
    let left = unversioned(records(&f).await);
    for (id, memory) in &at_first {
        assert_eq!(left.get(id), Some(memory));
    }
    assert!(left.values().all(|memory| memory.kind != Kind::Summary), "{left:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_forgotten_memory_said_is_in_no_summary_and_no_answer() {
    let f = Fixture::of_words(None).await;
    let mut ids = six(&f, TOPICS[0]).await;
    let secret = fact(&f, &format!("{} of Rumpelstiltskin", TOPICS[0])).await;
    consolidate(&f).await;
    // One more summary on top of it, so that there is an earlier one too.
    ids.push(fact(&f, &format!("{} 7", TOPICS[0])).await);
    consolidate(&f).await;
    let summary = live(&f, Kind::Summary).await.remove(0);
    assert!(summary.derived_from.contains(&secret));
    let request = ForgetRequest::Ids { references: vec![secret.to_string()], request: None };
    let answer = f.service.forget(&owner(), request).await.unwrap();
    let ForgetAnswer::Receipt { receipt, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(receipt.withdrawn.len(), 2, "{receipt:?}");
    for gone in [secret, summary.id] {
        let get =
            GetRequest { references: vec![gone.to_string()], history: true, ..Default::default() };
        let refused = f.service.get(&owner(), get).await.unwrap_err();
        assert!(matches!(refused, ServiceError::NotFound { .. }), "{refused}");
    }
    for query in ["Rumpelstiltskin", "tomato plants"] {
        for hit in f.recall(&owner(), query).await.hits {
            assert!(!hit.memory.content.contains("Rumpelstiltskin"), "{hit:?}");
        }
    }
    let page = f.service.export(&owner(), ExportPlace::default()).await.unwrap();
    assert!(!format!("{page:?}").contains("Rumpelstiltskin"));
    for id in &ids {
        assert_eq!(f.memory(*id).await.consolidated_into, None);
    }
    // The others are summarised anew, and every earlier version is clean.
    consolidate(&f).await;
    let summaries = live(&f, Kind::Summary).await;
    assert_eq!(summaries.iter().map(|one| one.derived_from.len()).sum::<usize>(), 7);
    let snapshot = f.store.snapshot().await.unwrap();
    for memory in records(&f).await.into_values() {
        for version in snapshot.history(memory.id).await.unwrap().iter().chain([&memory]) {
            assert!(!version.content.contains("Rumpelstiltskin"), "{version:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_no_longer_holds_leaves_its_summary() {
    let f = Fixture::of_words(None).await;
    let ids = six(&f, TOPICS[0]).await;
    consolidate(&f).await;
    let replacing =
        Draft { supersedes: Some(ids[5].to_string()), ..draft("The greenhouse is sold") };
    f.remember(&agent("a"), replacing).await;
    let (_, report) = consolidate(&f).await;
    assert_eq!(report.by_why, BTreeMap::from([("changed", 1)]), "{report:#?}");
    let summary = live(&f, Kind::Summary).await.remove(0);
    assert_eq!(summary.derived_from, ids[..5]);
    assert_eq!(f.memory(ids[5]).await.consolidated_into, None);
    // Without a single one it ends.
    for id in &ids[..5] {
        let ended = Some(Some(f.clock.now()));
        let patch = crate::domain::change::Patch { valid_to: ended, ..Default::default() };
        let update = UpdateRequest { reference: id.to_string(), patch, request: None };
        f.service.update(&owner(), update).await.unwrap();
    }
    let (_, report) = consolidate(&f).await;
    assert_eq!((report.n_ended, report.outcome()), (1, Outcome::Done), "{report:#?}");
    assert_eq!(live(&f, Kind::Summary).await, []);
    assert_eq!(f.memory(summary.id).await.status, Status::Invalidated);
    assert_eq!(f.memory(ids[0]).await.consolidated_into, None);
    assert_eq!(consolidate(&f).await.1.n_changed, 0);
}

#[tokio::test(start_paused = true)]
async fn while_memories_are_embedded_anew_nothing_is_put_together() {
    let f = Fixture::unloaded(crate::domain::embedding::Scripts::ALL);
    let (_, report) = consolidate(&f).await;
    assert!(matches!(report.outcome(), Outcome::Skipped(_)), "{report:#?}");
}
