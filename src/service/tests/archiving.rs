//! Archiving and purging by their jobs, and how archived memories are reached and brought back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{Fixture, agent, contents, draft, draft_in, owner};
use crate::domain::change::{ChangeSet, NewMemory, Patch};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::job::{NewRun, Outcome, RunId, Trigger};
use crate::domain::memory::{Kind, Memory, Metadata, Origin, Status};
use crate::domain::retention::RetentionRule;
use crate::jobs::{Archive, Decay, Job, Purge, RunContext, RunReport};
use crate::ports::{Clock as _, Ids as _, Ledger as _, Store as _};
use crate::service::get::GetRequest;
use crate::service::recall::RecallRequest;
use crate::service::remember::Draft;
use crate::service::scope::Scope;
use crate::service::update::UpdateRequest;

const DAY: Duration = Duration::from_hours(24);

/// Runs a job as the scheduler does.
async fn run_as(fixture: &Fixture, job: &dyn Job, is_dry_run: bool) -> (RunId, RunReport) {
    let now = fixture.clock.now();
    let new = NewRun {
        job: job.name(),
        trigger: Trigger::Owner,
        is_dry_run,
        scheduled_at: None,
        now,
        lease: "test".to_owned(),
    };
    let id = fixture.store.begin_run(new).await.unwrap().unwrap().id;
    let context = RunContext {
        run: id,
        now,
        is_dry_run,
        stop: CancellationToken::new(),
        deadline: Duration::MAX,
    };
    let report = job.run(context).await.unwrap();
    let (outcome, text) = (report.outcome.clone(), report.report.to_string());
    fixture.store.finish_run(id, outcome, report.n_changed, text, now).await.unwrap();
    (id, report)
}

async fn decay(fixture: &Fixture) {
    run_as(fixture, &Decay::new(fixture.service.clone()), false).await;
}

async fn archive(fixture: &Fixture) -> (RunId, RunReport) {
    decay(fixture).await;
    run_as(fixture, &Archive::new(fixture.service.clone()), false).await
}

async fn purge(fixture: &Fixture) -> RunReport {
    run_as(fixture, &Purge::new(fixture.service.clone()), false).await.1
}

async fn all(fixture: &Fixture) -> Vec<Memory> {
    fixture.store.snapshot().await.unwrap().scan(None, 1_000).await.unwrap()
}

fn event(content: &str) -> Draft {
    Draft { kind: Some(Kind::Event), importance: Some(0.4), ..draft(content) }
}

/// An archived event.
async fn archived(fixture: &Fixture, content: &str) -> MemoryId {
    let id = fixture.remember(&agent("a"), event(content)).await.id;
    fixture.clock.advance(91 * DAY);
    archive(fixture).await;
    assert_eq!(fixture.memory(id).await.status, Status::Archived);
    id
}

/// Fifty memories of several kinds, in English and Chinese, each about something of its own.
async fn fifty(fixture: &Fixture) -> Vec<(MemoryId, String)> {
    let kinds = [Kind::Fact, Kind::Preference, Kind::Event, Kind::Task, Kind::Instruction];
    let mut stored = Vec::new();
    for n in 0..50 {
        let content = if n % 2 == 0 {
            format!("Crate {n} stands in aisle {} beside the blue ladder", n * 7)
        } else {
            format!("第{n}号箱子放在第{}排货架上", n * 7)
        };
        let draft = Draft { kind: Some(kinds[n % kinds.len()]), ..draft(&content) };
        stored.push((fixture.remember(&agent("a"), draft).await.id, content));
    }
    stored
}

#[tokio::test(start_paused = true)]
async fn after_ninety_days_of_nothing_everything_is_found_by_its_words() {
    let fixture = Fixture::new().await;
    let stored = fifty(&fixture).await;
    let n_rows = fixture.index_report().vectors.n_memories;
    assert_eq!(n_rows, 50);
    fixture.clock.advance(90 * DAY);
    let before = all(&fixture).await;
    decay(&fixture).await;
    assert_eq!(all(&fixture).await, before, "scoring changes no memory, nor when it was used");
    let (_, report) = archive(&fixture).await;
    let n_archived = report.n_changed;
    assert!((1..50).contains(&n_archived), "{:?}", report.report);
    for (before, after) in before.iter().zip(all(&fixture).await) {
        assert_eq!(after.usage, before.usage);
        if after.status == Status::Active {
            assert_eq!(after, *before);
        }
    }
    assert_eq!(fixture.index_report().vectors.n_memories, 50 - n_archived, "they leave RAM");
    assert_eq!(fixture.index_report().n_pending_vectors, 0);
    assert_eq!(fixture.parity().await, 0);
    for (id, content) in &stored {
        let answer = fixture.recall(&owner(), content).await;
        assert_eq!(answer.hits[0].memory.id, *id, "{content}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_years_of_runs_lose_nothing_and_leave_what_is_pinned() {
    let fixture = Fixture::new().await;
    let stored = fifty(&fixture).await;
    let pinned = Draft { pinned: true, ..event("The pinned umbrella is vermilion") };
    let pinned = fixture.remember(&agent("a"), pinned).await.id;
    let most = Draft { importance: Some(1.0), ..event("The most important kettle is green") };
    let most = fixture.remember(&agent("a"), most).await.id;
    let before = [fixture.memory(pinned).await, fixture.memory(most).await];
    let mut n_archived = 0;
    for _ in 0..24 {
        fixture.clock.advance(30 * DAY);
        n_archived += archive(&fixture).await.1.n_changed;
    }
    assert_eq!([fixture.memory(pinned).await, fixture.memory(most).await], before);
    let snapshot = fixture.store.snapshot().await.unwrap();
    let mut n_logged = 0;
    for (id, content) in &stored {
        let answer = fixture.recall(&owner(), content).await;
        assert_eq!(answer.hits[0].memory.id, *id, "{content}");
        let entries = snapshot.log_of(*id, 100).await.unwrap();
        n_logged += entries.iter().filter(|entry| entry.actor == "job/archive").count() as u64;
    }
    assert!(n_archived > 20 && n_logged == n_archived, "{n_archived} {n_logged}");
}

#[tokio::test(start_paused = true)]
async fn an_archived_memory_is_reached_by_its_words_by_need_and_on_request() {
    let fixture = Fixture::new().await;
    let id = archived(&fixture, "Ticket INC-90312 was about the harpsichord").await;
    let found = async |query: &str| fixture.recall(&owner(), query).await;
    assert_eq!(found("harpsichord").await.hits[0].memory.status, Status::Archived, "by need");
    fixture.store("The harpsichord was sold to the museum").await;
    let answer = found("harpsichord tuning").await;
    assert_eq!(contents(&answer), ["The harpsichord was sold to the museum"]);
    let answer = found("what was INC-90312 again?").await;
    assert_eq!(answer.hits[0].memory.id, id, "by an identifier");
    let answer = found("about the harpsichord").await;
    assert!(answer.hits.iter().any(|hit| hit.memory.id == id), "by an exact phrase");
    let scope = Scope { include_archived: true, ..Scope::default() };
    let request = RecallRequest { scope, ..super::fixture::question("harpsichord tuning") };
    let answer = fixture.service.recall(&owner(), request).await.unwrap();
    assert_eq!(answer.hits.len(), 2, "on request");
}

#[tokio::test(start_paused = true)]
async fn being_used_makes_a_memory_current_again_with_its_vectors() {
    let fixture = Fixture::new().await;
    let id = archived(&fixture, "Rex the dog was ill").await;
    assert!(fixture.found("puppy").await.is_empty(), "its vector is not in RAM");
    let n_embedded = fixture.model.n_documents();
    let get = GetRequest { references: vec![id.to_string()], history: false, reinforces: true };
    fixture.service.get(&owner(), get.clone()).await.unwrap();
    assert_eq!(fixture.memory(id).await.status, Status::Archived, "the person only looks");
    let got = fixture.service.get(&agent("a"), get).await.unwrap();
    assert_eq!(got.memories[0].memory.status, Status::Active);
    assert_eq!(fixture.found("puppy").await, ["Rex the dog was ill"]);
    assert_eq!(fixture.model.n_documents(), n_embedded, "nothing is embedded anew");
    assert_eq!(fixture.parity().await, 0);
    assert_eq!(archive(&fixture).await.1.n_changed, 0, "it was wanted");

    let id = archived(&fixture, "The hedge was cut").await;
    let answer = fixture.service.unarchive(&agent("a"), vec![id.handle()]).await.unwrap();
    assert_eq!(answer.restored[0].status, Status::Active);
    let answer = fixture.service.unarchive(&agent("a"), vec![id.handle()]).await.unwrap();
    assert!(answer.restored.is_empty() && answer.untouched.len() == 1);
    assert!(fixture.service.unarchive(&agent("a"), vec!["0000000000".to_owned()]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_undo_gives_back_what_a_run_archived_and_the_next_run_leaves_it() {
    let fixture = Fixture::new().await;
    for n in 0..5 {
        fixture.remember(&agent("a"), event(&format!("Parcel {n} came"))).await;
    }
    fixture.clock.advance(91 * DAY);
    decay(&fixture).await;
    let before = all(&fixture).await;
    let tried = run_as(&fixture, &Archive::new(fixture.service.clone()), true).await.1;
    assert_eq!((tried.n_changed, &tried.report["n_archived"]), (0, &json!(5)));
    assert_eq!(all(&fixture).await, before, "a dry run changes nothing");
    let (run, report) = archive(&fixture).await;
    assert_eq!((report.n_changed, report.outcome), (5, Outcome::Done));
    assert_eq!(report.report["archived"], tried.report["archived"]);
    let read = before[0].id.to_string();
    let get = GetRequest { references: vec![read], history: false, reinforces: true };
    fixture.service.get(&agent("a"), get).await.unwrap();

    let undone = fixture.service.undo_run(&owner(), run).await.unwrap();
    assert_eq!((undone.restored.len(), undone.left.len()), (4, 1), "one was changed since");
    for (before, after) in before.iter().zip(all(&fixture).await).skip(1) {
        assert_eq!(Memory { version: before.version, ..after }, *before);
    }
    assert_eq!(fixture.index_report().vectors.n_memories, 5);
    assert_eq!(fixture.parity().await, 0);
    let (_, report) = archive(&fixture).await;
    assert_eq!(report.n_changed, 0, "{:?}", report.report);
    assert_eq!(report.report["stays"]["brought back"], 4);
}

#[tokio::test(start_paused = true)]
async fn what_a_job_marked_may_go_and_what_somebody_changed_may_not() {
    let fixture = Fixture::of_words(None).await;
    let mut ids = Vec::new();
    for n in 1..=7 {
        let text = format!("The ferry to the island was late and rough, crossing {n}");
        ids.push(fixture.remember(&agent("a"), event(&text)).await.id);
    }
    fixture.clock.advance(80 * DAY);
    let report = super::consolidating::consolidate(&fixture).await.1;
    assert_eq!(report.n_changed, 8, "{report:?}");
    let patch = Patch { tags: Some(vec!["sea".to_owned()]), ..Patch::default() };
    let request = UpdateRequest { reference: ids[0].to_string(), patch, request: None };
    fixture.service.update(&agent("a"), request).await.unwrap();
    fixture.clock.advance(11 * DAY);
    let (_, report) = archive(&fixture).await;
    assert_eq!(report.n_changed, 6, "{:?}", report.report);
    assert_eq!(fixture.memory(ids[0]).await.status, Status::Active);
    for id in &ids[1..] {
        assert_eq!(fixture.memory(*id).await.status, Status::Archived);
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_keeps_one_source_that_is_current() {
    let fixture = Fixture::new().await;
    let mut sources = Vec::new();
    for n in 0..3 {
        sources.push(fixture.remember(&agent("a"), event(&format!("Walk {n}"))).await.id);
    }
    let now = fixture.clock.now();
    let summary = NewMemory {
        id: crate::clock::SeededIds::new(99).next_id(now),
        namespace: "user".parse().unwrap(),
        content: "Three walks".into(),
        kind: Kind::Summary,
        tags: Vec::new(),
        metadata: Metadata::new(),
        session: None,
        agent: None,
        occurred_at: None,
        importance: 0.9,
        pinned: false,
        origin: Origin::Consolidated,
        supersedes: None,
        derived_from: sources.clone(),
        contradicts: Vec::new(),
        embedded: None,
        reminders: Vec::new(),
    };
    let set = ChangeSet {
        run: None,
        new: vec![summary],
        changes: Vec::new(),
        marks: Vec::new(),
        actor: Actor::Owner,
        at: now,
    };
    fixture.store.apply(set).await.unwrap();
    fixture.clock.advance(91 * DAY);
    let (_, report) = archive(&fixture).await;
    assert_eq!(report.n_changed, 2, "{:?}", report.report);
    assert_eq!(report.report["stays"]["only source of a summary"], 1);
    assert_eq!(archive(&fixture).await.1.n_changed, 0, "nor the next time");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_purged_but_by_a_rule_that_was_shown_first() {
    let fixture = Fixture::new().await;
    let log = |n: usize| draft_in("shared/ci", &format!("Build {n} passed"));
    for n in 0..3 {
        fixture.remember(&agent("a"), log(n)).await;
    }
    fixture.remember(&agent("a"), Draft { pinned: true, ..log(3) }).await;
    fixture.store("The build server is called Hopper").await;
    fixture.clock.advance(31 * DAY);
    let young = fixture.remember(&agent("a"), log(4)).await.id;
    let report = purge(&fixture).await;
    assert_eq!((report.n_changed, &report.report["n_rules"]), (0, &json!(0)));
    assert_eq!(fixture.n_memories().await, 6);

    fixture.reconfigure(|settings| {
        settings.retention = vec![RetentionRule {
            namespace: "shared/*".parse().unwrap(),
            kinds: vec![Kind::Fact],
            statuses: Vec::new(),
            older_than_days: 30,
        }];
    });
    let shown = purge(&fixture).await;
    assert_eq!((shown.n_changed, &shown.report["only_shows"]), (0, &json!(true)));
    assert_eq!(shown.report["n_due"], 3);
    assert_eq!(fixture.n_memories().await, 6, "new rules are only shown");
    let report = purge(&fixture).await;
    assert_eq!((report.n_changed, &report.report["due"]), (3, &shown.report["due"]));
    assert_eq!(fixture.n_memories().await, 3);
    assert_eq!(fixture.memory(young).await.status, Status::Active);
    let taken = report.report["due"].as_array().and_then(|ids| ids[0].as_str()).unwrap();
    let back = fixture.service.restore(&owner(), taken).await.unwrap();
    assert_eq!(back.status, Status::Active, "while the grace lasts");
    assert!(matches!(purge(&fixture).await.report["n_due"], Value::Number(_)));
}
