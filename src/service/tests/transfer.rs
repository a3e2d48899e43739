//! What an import refuses, and what it takes out of what it accepts.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::fixture::{Fixture, agent, owner};
use crate::domain::id::MemoryId;
use crate::domain::memory;
use crate::domain::reminder::{Entry, Lead, Pattern, Reminder, Rule, Snooze, Source, Status};
use crate::domain::transfer::{ExportPlace, ImportOutcome, Item, Version};
use crate::service::ServiceError;
use crate::service::transfer::{Imported, Incoming};

/// Makes a version one that breaks a limit.
type Change = fn(&mut Version);

/// The first exported item of a store with one memory, to be changed.
async fn one_item(fixture: &Fixture) -> Item {
    fixture.store("The gate is green").await;
    fixture.service.export(&owner(), ExportPlace::Start).await.unwrap().items.remove(0)
}

fn changed(item: &Item, change: impl FnOnce(&mut Version)) -> Item {
    let mut item = item.clone();
    match &mut item {
        Item::Memory { version, .. } | Item::Earlier(version) => change(version),
        Item::Forgotten(_) | Item::Session(_) | Item::Turn(_) | Item::Reminder(_) => {
            panic!("a memory was expected")
        }
    }
    item
}

async fn import(fixture: &Fixture, items: Vec<Item>) -> Imported {
    let incoming = vec![Incoming { line: 7, group: items }];
    fixture.service.import(&owner(), incoming, false, false).await.unwrap().remove(0)
}

#[tokio::test(start_paused = true)]
async fn what_breaks_a_limit_is_refused_by_its_line_and_named() {
    let (source, target) = (Fixture::new().await, Fixture::new().await);
    let item = one_item(&source).await;
    let cases: [(&str, Change); 9] = [
        ("content", |version| version.memory.content = " ".into()),
        ("content", |version| version.memory.content = "x".repeat(40_000).into()),
        ("tags", |version| version.memory.tags = vec!["b".to_owned(), "a".to_owned()]),
        ("importance", |version| version.memory.importance = f64::NAN),
        ("usage.anchor", |version| version.memory.usage.anchor.value = 1.5),
        ("agent", |version| version.memory.agent = Some("No Agent!".to_owned())),
        ("content_version", |version| version.content_version = 2),
        ("superseded_by", |version| version.memory.status = memory::Status::Superseded),
        ("version", |version| version.memory.version = 3),
    ];
    for (field, change) in cases {
        let imported = import(&target, vec![changed(&item, change)]).await;
        let reason = imported.outcome.unwrap_err();
        assert!(reason.starts_with(&format!("`{field}`")), "{field}: {reason}");
        assert_eq!(imported.line, 7);
    }
    assert_eq!(target.n_memories().await, 0);
    assert_eq!(import(&target, vec![item]).await.outcome, Ok(ImportOutcome::Added));
    assert_eq!(target.found("what colour is the gate").await, ["The gate is green"]);
}

#[tokio::test(start_paused = true)]
async fn secrets_are_taken_out_of_what_comes_in() {
    let (source, target) = (Fixture::new().await, Fixture::new().await);
    let item = one_item(&source).await;
    let item = changed(&item, |version| {
        version.memory.content = "password = hunter2hunter2".into();
        let value = "\"token: ghp_abcdefghijklmnopqrstuvwxyz0123456789\"".to_owned();
        version.memory.metadata.insert("note".to_owned(), value.clone());
        version.later.insert("later".to_owned(), value);
    });
    let imported = import(&target, vec![item.clone()]).await;
    assert_eq!(imported.outcome, Ok(ImportOutcome::Added));
    assert!(!imported.redacted.is_empty());
    let page = target.service.export(&owner(), ExportPlace::Start).await.unwrap();
    let text = format!("{:?}", page.items);
    assert!(!text.contains("hunter2") && !text.contains("ghp_"), "{text}");
    assert_eq!(import(&target, vec![item]).await.outcome, Ok(ImportOutcome::Same));
}

#[tokio::test(start_paused = true)]
async fn only_the_person_exports_and_imports() {
    let fixture = Fixture::new().await;
    let refused = fixture.service.export(&agent("a"), ExportPlace::Start).await;
    assert!(matches!(refused, Err(ServiceError::Invalid { .. })), "{refused:?}");
    let refused = fixture.service.import(&agent("a"), Vec::new(), false, false).await;
    assert!(matches!(refused, Err(ServiceError::Invalid { .. })), "{refused:?}");
}

/// Makes a reminder one that breaks a limit.
type ChangeEntry = fn(&mut Entry);

/// A reminder as it comes out of an export.
fn reminder(text: &str) -> Entry {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let start = "2026-03-02T09:00".parse().unwrap();
    let rule = Rule::every(start, TimeZone::UTC, Pattern::Daily).unwrap();
    Entry {
        id: MemoryId::new(1, 1),
        version: 1,
        namespace: "user".parse().unwrap(),
        text: text.to_owned(),
        source: Source::Stated,
        memory: None,
        evidence: Vec::new(),
        topic: None,
        sinks: Vec::new(),
        actor: "owner".to_owned(),
        created_at: now,
        updated_at: now,
        proposed_at: None,
        skipped: None,
        wakes_at: None,
        reminder: Reminder::new(rule, Lead::NONE, Status::Active, now).unwrap(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_reminder_that_breaks_a_limit_is_refused_and_one_with_a_secret_loses_it() {
    let target = Fixture::new().await;
    let cases: [(&str, ChangeEntry); 8] = [
        ("text", |entry| entry.text = " ".to_owned()),
        ("text", |entry| entry.text = "x".repeat(3_000)),
        ("topic", |entry| entry.topic = Some("x".repeat(3_000))),
        ("sinks", |entry| entry.sinks = vec![String::new()]),
        ("sinks", |entry| entry.sinks = vec!["x".to_owned(); 65]),
        ("actor", |entry| entry.actor = "somebody".to_owned()),
        ("agent", |entry| entry.actor = "agent/No Agent!".to_owned()),
        ("snoozed", |entry| {
            let (until, occurrence) = entry.reminder.upcoming(1)[0];
            entry.reminder.snoozed = vec![Snooze { occurrence, until, n: 1 }; 9];
        }),
    ];
    for (field, change) in cases {
        let mut entry = reminder("Water the plants");
        change(&mut entry);
        let imported = import(&target, vec![Item::Reminder(Box::new(entry))]).await;
        let reason = imported.outcome.unwrap_err();
        assert!(reason.starts_with(&format!("`{field}`")), "{field}: {reason}");
    }
    let secret = Entry {
        topic: Some("password = hunter2hunter2".to_owned()),
        ..reminder("Use password = hunter2hunter2")
    };
    let imported = import(&target, vec![Item::Reminder(Box::new(secret))]).await;
    assert_eq!(imported.outcome, Ok(ImportOutcome::Added));
    assert!(!imported.redacted.is_empty());
    let page = target.service.export(&owner(), ExportPlace::Start).await.unwrap();
    let text = format!("{:?}", page.items);
    assert!(text.contains("Use password") && !text.contains("hunter2"), "{text}");
}
