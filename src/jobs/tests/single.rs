//! One run of a job at a time, one job at a time, whoever asks.

use std::time::Duration;

use super::fixture::{Act, Desk, at, nightly, settings};
use crate::domain::job::{JobName, Outcome, Trigger};
use crate::ports::{Asked, Maintenance as _, NotRun};

#[tokio::test]
async fn who_asks_for_a_job_that_runs_is_told_so() {
    let desk = Desk::new();
    desk.look().await;
    desk.decay.will([Act::Wait]);
    let run = desk.begin(JobName::Decay).await;
    for trigger in [Trigger::Owner, Trigger::Agent] {
        let refused = desk.scheduler.run(JobName::Decay, trigger, true).await.unwrap_err();
        let told = refused.to_string();
        assert!(matches!(refused, NotRun::Active { .. }));
        assert!(
            told.contains(&format!("as run {}", run.id)) && told.contains("12:00:00Z"),
            "{told}"
        );
    }
    desk.decay.gate.add_permits(1);
    desk.ended().await;
    assert_eq!(desk.decay.n_runs(), 1);
    assert!(desk.ask(JobName::Decay).await.is_ok());
}

#[tokio::test]
async fn a_job_slower_than_its_interval_never_runs_twice_at_once_and_the_skips_are_counted() {
    let desk = Desk::with(settings(&[JobName::Decay], "*/15 * * * *", Duration::from_hours(9)));
    desk.look().await;
    desk.decay.will([Act::Wait]);
    desk.clock.advance(Duration::from_mins(15));
    desk.scheduler.look().await;
    while desk.decay.n_runs() == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        desk.clock.advance(Duration::from_mins(15));
        desk.scheduler.look().await;
        desk.scheduler.look().await;
    }
    let state = desk.state().await;
    assert_eq!(state.n_skipped, 3);
    let (skipped_at, why) = state.last_skip.unwrap();
    assert_eq!(skipped_at, at("2026-12-01T13:00:00Z"));
    assert!(why.starts_with("going on since 2026-12-01T12:15:00Z as run"), "{why}");
    desk.decay.gate.add_permits(1);
    desk.ended().await;
    assert_eq!((desk.decay.n_runs(), desk.most_at_once()), (1, 1));
    desk.look_at("2026-12-01T13:15:00Z").await;
    assert_eq!(desk.decay.n_runs(), 2);
}

#[tokio::test]
async fn jobs_take_turns() {
    let desk = Desk::with(nightly(&[JobName::Decay, JobName::Archive]));
    desk.look().await;
    desk.decay.will([Act::Wait]);
    desk.begin(JobName::Decay).await;
    let begun = desk.scheduler.run_all(Trigger::Signal);
    let told: Vec<(JobName, bool)> =
        begun.iter().map(|(job, begun)| (*job, begun.is_ok())).collect();
    assert_eq!(told, [(JobName::Decay, false), (JobName::Archive, true)]);
    let waiting = desk.scheduler.jobs().remove(1).activity.unwrap();
    assert!(waiting.starts_with("waiting for its turn since"), "{waiting}");
    desk.decay.gate.add_permits(1);
    desk.ended().await;
    assert_eq!((desk.decay.n_runs(), desk.archive.n_runs(), desk.most_at_once()), (1, 1, 1));
}

#[tokio::test]
async fn what_comes_due_while_a_job_waits_for_its_turn_is_one_run() {
    let desk = Desk::with(settings(
        &[JobName::Decay, JobName::Archive],
        "*/15 * * * *",
        Duration::from_hours(9),
    ));
    desk.look().await;
    desk.archive.will([Act::Wait]);
    desk.begin(JobName::Archive).await;
    for _ in 0..4 {
        desk.clock.advance(Duration::from_mins(15));
        desk.scheduler.look().await;
    }
    assert_eq!(desk.decay.n_runs(), 0);
    desk.archive.gate.add_permits(1);
    desk.ended().await;
    assert_eq!(desk.decay.n_runs(), 1);
    let state = desk.state().await;
    assert_eq!((state.n_skipped, state.next_due_at), (0, Some(at("2026-12-01T13:15:00Z"))));
}

#[tokio::test]
async fn who_asks_for_a_long_run_is_told_that_it_is_under_way() {
    let desk = Desk::new();
    desk.look().await;
    desk.decay.will([Act::Wait]);
    let scheduler = desk.scheduler.clone();
    let asking =
        tokio::spawn(
            async move { scheduler.run(JobName::Decay, Trigger::Owner, false).await.unwrap() },
        );
    while desk.decay.n_runs() == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    let asked = asking.await.unwrap();
    assert!(matches!(asked, Asked::Begun(_)), "{asked:?}");
    let asked = desk.scheduler.run(JobName::Archive, Trigger::Owner, false).await.unwrap();
    assert_eq!(asked, Asked::Waits);
    desk.decay.gate.add_permits(1);
    desk.ended().await;
    assert_eq!(desk.runs().await[0].outcome, Some(Outcome::Done));
    assert_eq!(desk.archive.n_runs(), 1);
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_refused() {
    let desk = Desk::new();
    desk.look().await;
    let refused = desk.scheduler.run(JobName::Purge, Trigger::Owner, false).await;
    assert_eq!(refused, Err(NotRun::Unknown(JobName::Purge)));
}
