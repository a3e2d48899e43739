//! What the jobs make of memories: its life is told, and it goes with what it was made of.

use std::sync::Arc;

use jiff::Timestamp;
use recalld::clock::{RandomIds, SystemClock};
use recalld::domain::change::{Change, ChangeSet, NewMemory, Patch, Remember};
use recalld::domain::id::MemoryId;
use recalld::domain::identity::Actor;
use recalld::domain::job::{JobName, NewRun, Outcome, Trigger};
use recalld::domain::memory::{Kind, Metadata, Origin};
use recalld::domain::namespace::Namespace;
use recalld::ports::{Clock as _, Ids as _, Ledger as _, Store as _};
use recalld::store::{RedbStore, StoreSettings};
use serde_json::{Value, json};

use crate::daemon::Home;
use crate::forget::assert_gone;

fn now() -> Timestamp {
    SystemClock::new().now()
}

fn made(content: &str, kind: Kind, of: &[MemoryId]) -> NewMemory {
    NewMemory {
        id: RandomIds::default().next_id(now()),
        namespace: Namespace::user(),
        content: Arc::from(content),
        kind,
        tags: Vec::new(),
        metadata: Metadata::new(),
        session: None,
        agent: None,
        occurred_at: None,
        importance: 0.5,
        pinned: false,
        origin: if of.is_empty() { Origin::Stated } else { Origin::Consolidated },
        supersedes: None,
        derived_from: of.to_vec(),
        contradicts: Vec::new(),
        embedded: None,
        reminders: Vec::new(),
    }
}

/// A store in which a run has summarised two memories, and made a profile of the summary.
async fn summarised(home: &Home) -> [MemoryId; 4] {
    let (now, actor) = (now(), Actor::Job("consolidate"));
    let settings = StoreSettings { cache_bytes: 4 << 20 };
    let store = RedbStore::open(&home.state(), settings, now).unwrap();
    let sources = [("The safe opens with vermilion", Kind::Event), ("Tea is at four", Kind::Event)]
        .map(|(content, kind)| made(content, kind, &[]));
    let ids = [sources[0].id, sources[1].id];
    let (request, at) = (None, now);
    let remember = Remember { memories: sources.to_vec(), request, actor: Actor::Owner, at };
    store.remember(remember).await.unwrap();
    let begun = NewRun {
        job: JobName::Consolidate,
        trigger: Trigger::Timer,
        is_dry_run: false,
        scheduled_at: Some(now),
        now,
        lease: "a process that is gone".to_owned(),
    };
    let run = store.begin_run(begun).await.unwrap().unwrap().id;
    let summary = made("The safe opens with vermilion and tea is at four", Kind::Summary, &ids);
    let profile = made("Somebody with a vermilion safe", Kind::Profile, &[summary.id]);
    let [first, second] = ids;
    let all = [first, second, summary.id, profile.id];
    let patch = Patch { consolidated_into: Some(Some(summary.id)), ..Patch::default() };
    let changes = ids.map(|id| Change { id, version: 1, patch: patch.clone() }).to_vec();
    let (new, marks) = (vec![summary, profile], Vec::new());
    let set = ChangeSet { run: Some(run), new, changes, marks, actor, at: now };
    assert_eq!(store.apply(set).await.unwrap().conflicts, []);
    store.finish_run(run, Outcome::Done, 4, "{}".to_owned(), now).await.unwrap();
    store.close();
    all
}

fn history(home: &Home, id: MemoryId) -> Value {
    let output = home.run(&["--json", "history", &id.to_string()]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What was done, by whom and in which run.
fn told(changes: &Value) -> Vec<(String, String, Option<u64>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = changes.as_array().unwrap().iter();
    changes.map(|c| (text(&c["operation"]), text(&c["actor"]), c["run"].as_u64())).collect()
}

#[tokio::test]
async fn what_was_made_of_a_secret_goes_with_it_and_its_life_is_still_told() {
    let home = Home::with_config("[embed]\nmodel = \"none\"\n[mcp]\ntoolset = \"full\"\n");
    let [secret, other, summary, profile] = summarised(&home).await;
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let read = json!({ "ids": [secret.to_string()], "history": true });
    let read = agent.must("memory_get", read).await;
    assert_eq!(read["memories"][0]["consolidated_into"], summary.to_string(), "{read}");
    let by_run = |operation: &str| (operation.to_owned(), "job/consolidate".to_owned(), Some(1));
    let stored = ("store".to_owned(), "owner".to_owned(), None);
    assert_eq!(told(&read["changes"]), [stored.clone(), by_run("update")]);
    let read = agent.must("memory_get", json!({ "ids": [profile.to_string()] })).await;
    assert_eq!(read["memories"][0]["derived_from"], json!([summary.to_string()]), "{read}");

    let table = home.run(&["history", &secret.handle()]);
    let table = String::from_utf8(table.stdout).unwrap();
    for word in ["job/consolidate", "consolidated_into", "update"] {
        assert!(table.contains(word), "{table}");
    }
    let refused = agent.client.call_tool("memory_history", json!({}), crate::daemon::WAIT).await;
    assert!(refused.is_err(), "{refused:?}");

    let receipt = agent.must("memory_forget", json!({ "ids": [secret.to_string()] })).await;
    assert_eq!((&receipt["n_forgotten"], &receipt["n_withdrawn"]), (&json!(1), &json!(2)));
    for id in [secret, summary, profile] {
        assert_gone(&home, &id.to_string(), "vermilion").await;
    }
    let export = home.run(&["export"]);
    assert!(!String::from_utf8_lossy(&export.stdout).contains("vermilion"));
    let life = history(&home, summary);
    assert_eq!(life["is_there"], false);
    let withdrawn = ("withdraw".to_owned(), "agent/a".to_owned(), None);
    assert_eq!(told(&life["changes"]), [by_run("store"), withdrawn]);
    let kept = history(&home, other);
    assert_eq!(kept["is_there"], true);
    let freed = ("update".to_owned(), "agent/a".to_owned(), None);
    assert_eq!(told(&kept["changes"]), [stored, by_run("update"), freed]);
    let unknown = RandomIds::default().next_id(now()).to_string();
    assert!(!home.run(&["history", &unknown]).status.success());
}
