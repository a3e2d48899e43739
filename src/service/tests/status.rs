//! What the daemon says of itself when a part is unwell, and since when.

use std::time::Duration;

use jiff::Timestamp;

use super::fixture::Fixture;
use super::model::Mood;
use crate::domain::embedding::Scripts;
use crate::ports::Clock as _;
use crate::service::status::{PartState, StatusReport};

/// Names of the parts that are unwell, with the time since when.
fn unwell(report: &StatusReport) -> Vec<(&'static str, Timestamp)> {
    let state = |part: &crate::service::status::PartStatus| {
        let (since, because) = part.state.trouble()?;
        assert!(!because.is_empty(), "{}", part.name);
        Some((part.name, since))
    };
    report.parts.iter().filter_map(state).collect()
}

#[tokio::test(start_paused = true)]
async fn a_sound_daemon_says_so() {
    let fixture = Fixture::new().await;
    fixture.store("Rex is our dog").await;
    let report = fixture.service.status().await;
    assert!(report.is_ok(), "{:?}", report.parts);
    let names: Vec<&str> = report.parts.iter().map(|part| part.name).collect();
    assert_eq!(names, ["store", "backup", "text", "vectors", "model", "llm", "reminders"]);
    assert_eq!(report.store.unwrap().n_memories, 1);
    assert!(report.notes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dead_model_is_named_with_the_time_since_when() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Dead);
    let since = fixture.clock.now();
    for _ in 0..2 {
        let report = fixture.service.status().await;
        assert_eq!(unwell(&report), [("model", since)]);
        assert!(!report.is_ok());
        fixture.clock.advance(Duration::from_mins(1));
    }
    fixture.model.set(Mood::Well);
    assert!(fixture.service.status().await.is_ok());

    // A second illness has a beginning of its own.
    fixture.model.set(Mood::Dead);
    let since = fixture.clock.now();
    assert_eq!(unwell(&fixture.service.status().await), [("model", since)]);
}

#[tokio::test(start_paused = true)]
async fn a_part_is_unwell_since_it_began_and_not_since_somebody_asked() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Dead);
    std::fs::remove_file(fixture.dir.path().join(crate::store::FILE_NAME)).unwrap();
    let since = fixture.clock.now();
    fixture.store.look_for_file().await.unwrap_err();
    fixture.service.look_at_parts();
    fixture.clock.advance(Duration::from_hours(1));
    let report = fixture.service.status().await;
    assert_eq!(unwell(&report), [("store", since), ("model", since)]);
    let store = &report.parts[0].state;
    assert!(matches!(store, PartState::Down { .. }), "{store:?}");
    assert_eq!(report.store.unwrap().n_memories, 0, "it is still read");
}

#[tokio::test(start_paused = true)]
async fn indexes_that_are_not_loaded_are_named_until_they_are() {
    let fixture = Fixture::unloaded(Scripts::ALL);
    let since = fixture.clock.now();
    for _ in 0..2 {
        assert_eq!(unwell(&fixture.service.status().await), [("text", since), ("vectors", since)]);
        fixture.clock.advance(Duration::from_mins(1));
    }
    fixture.load().await;
    let report = fixture.service.status().await;
    assert!(report.is_ok(), "{:?}", report.parts);
}

#[tokio::test(start_paused = true)]
async fn a_closed_store_is_named_and_the_rest_still_reported() {
    let fixture = Fixture::new().await;
    fixture.store.close();
    let report = fixture.service.status().await;
    assert_eq!(
        unwell(&report).iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["store", "reminders"]
    );
    assert_eq!(report.store, None);
}

#[tokio::test(start_paused = true)]
async fn notes_tell_of_languages_and_of_memories_that_wait() {
    let fixture = Fixture::with_scripts(Scripts::LATIN).await;
    fixture.model.set(Mood::Slow);
    fixture.store("Rex is our dog").await;
    let notes = fixture.service.status().await.notes.join("\n");
    assert!(notes.contains("Latin script only") && notes.contains("1 memories"), "{notes}");
}
