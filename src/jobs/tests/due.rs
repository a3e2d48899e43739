//! What is due, when, and how often: down times, sleep, steps of the clock, new timetables.

use std::time::Duration;

use super::fixture::{Act, Desk, at, nightly, settings};
use crate::domain::job::{JobName, Outcome, Trigger};
use crate::ports::{Clock as _, Ledger as _, Maintenance as _};

#[tokio::test]
async fn a_job_runs_at_its_time_and_not_before() {
    let desk = Desk::new();
    desk.look().await;
    desk.look_at("2026-12-02T03:59:59Z").await;
    assert_eq!(desk.decay.n_runs(), 0);
    desk.look_at("2026-12-02T04:00:07Z").await;
    desk.look().await;
    let runs = desk.runs().await;
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!((run.trigger, run.is_dry_run), (Trigger::Timer, false));
    assert_eq!(run.scheduled_at, Some(at("2026-12-02T04:00:00Z")));
    assert_eq!((run.outcome.clone(), run.n_changed), (Some(Outcome::Done), 3));
    assert_eq!(run.report, r#"{"n":3}"#);
    let state = desk.state().await;
    assert_eq!(state.next_due_at, Some(at("2026-12-03T04:00:00Z")));
    assert_eq!(state.last_success_at, Some(at("2026-12-02T04:00:07Z")));
    assert_eq!(desk.archive.n_runs(), 0, "it has no timetable");
    assert_eq!(desk.decay.runs.lock().unwrap()[0].now, at("2026-12-02T04:00:07Z"));
}

#[tokio::test]
async fn after_three_days_down_each_job_runs_once_within_five_minutes() {
    let desk = Desk::with(nightly(&[JobName::Decay, JobName::Archive]));
    desk.look_at("2026-12-02T04:00:00Z").await;
    let desk = desk.restarted();
    desk.clock.advance(Duration::from_hours(78));
    let started = desk.clock.now();
    let desk = desk.restarted();
    desk.look().await;
    assert_eq!(desk.decay.n_runs() + desk.archive.n_runs(), 0, "not at once");
    for _ in 0..10 {
        desk.clock.advance(Duration::from_secs(30));
        desk.look().await;
    }
    assert_eq!((desk.decay.n_runs(), desk.archive.n_runs()), (1, 1));
    let run = desk.runs().await.pop().unwrap();
    assert_eq!(
        (run.trigger, run.scheduled_at),
        (Trigger::CatchUp, Some(at("2026-12-03T04:00:00Z")))
    );
    assert!(run.started_at >= started + super::fixture::DELAY, "{run:?}");
    assert_eq!(desk.state().await.next_due_at, Some(at("2026-12-06T04:00:00Z")));
}

#[tokio::test]
async fn a_run_that_was_killed_is_told_as_interrupted_and_made_again_once() {
    let desk = Desk::new();
    desk.look().await;
    desk.decay.will([Act::Wait]);
    desk.clock.advance(Duration::from_hours(16));
    desk.scheduler.look().await;
    while desk.decay.n_runs() == 0 {
        tokio::task::yield_now().await;
    }
    // The process is gone; nothing of it ends in order.
    let next = desk.restarted();
    next.clock.advance(Duration::from_secs(10));
    next.look().await;
    let runs = next.runs().await;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].outcome, Some(Outcome::Interrupted));
    let state = next.state().await;
    assert_eq!((state.running, state.n_failures), (None, 1), "it may have been the job's fault");
    for _ in 0..10 {
        next.clock.advance(Duration::from_secs(30));
        next.look().await;
    }
    let runs = next.runs().await;
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!((runs[1].trigger, runs[1].outcome.clone()), (Trigger::CatchUp, Some(Outcome::Done)));
    assert_eq!(next.state().await.n_failures, 0);
}

#[tokio::test]
async fn a_clock_set_back_ten_minutes_neither_repeats_nor_silences() {
    let desk = Desk::with(settings(&[JobName::Decay], "*/15 * * * *", Duration::from_hours(1)));
    desk.look().await;
    desk.look_at("2026-12-01T12:15:01Z").await;
    assert_eq!(desk.decay.n_runs(), 1);
    desk.clock.set(at("2026-12-01T12:05:01Z"));
    desk.look().await;
    desk.look_at("2026-12-01T12:15:30Z").await;
    assert_eq!(desk.decay.n_runs(), 1, "the quarter was served");
    desk.look_at("2026-12-01T12:30:01Z").await;
    assert_eq!(desk.decay.n_runs(), 2);
}

#[tokio::test]
async fn a_clock_that_was_years_ahead_and_is_put_right_silences_nothing() {
    let desk = Desk::new();
    desk.look().await;
    desk.clock.set(at("2030-01-01T00:00:00Z"));
    desk.look().await;
    assert_eq!(desk.decay.n_runs(), 1, "what was due in between is done once");
    desk.clock.set(at("2026-12-01T13:00:00Z"));
    desk.look().await;
    desk.look_at("2026-12-02T04:00:01Z").await;
    assert_eq!(desk.decay.n_runs(), 2);
    assert_eq!(desk.state().await.next_due_at, Some(at("2026-12-03T04:00:00Z")));
}

#[tokio::test]
async fn a_new_timetable_starts_nothing_by_itself_and_a_running_job_ends_as_it_began() {
    let desk = Desk::new();
    desk.look().await;
    desk.decay.will([Act::Wait]);
    desk.begin(JobName::Decay).await;
    desk.scheduler.reconfigure(settings(&[JobName::Decay], "0 11 * * *", Duration::from_secs(1)));
    desk.scheduler.look().await;
    assert_eq!(desk.state().await.next_due_at, Some(at("2026-12-02T11:00:00Z")));
    desk.decay.gate.add_permits(1);
    desk.ended().await;
    assert_eq!(desk.runs().await[0].outcome, Some(Outcome::Done));
    desk.look_at("2026-12-02T04:00:01Z").await;
    assert_eq!(desk.decay.n_runs(), 1);
    desk.look_at("2026-12-02T11:00:01Z").await;
    assert_eq!(desk.decay.n_runs(), 2);
}

#[tokio::test]
async fn a_job_that_is_switched_off_runs_when_asked_and_misses_nothing() {
    let desk = Desk::new();
    desk.look().await;
    desk.scheduler.reconfigure(nightly(&[]));
    desk.look_at("2026-12-04T12:00:00Z").await;
    assert_eq!(desk.decay.n_runs(), 0);
    assert_eq!(desk.state().await.next_due_at, None);
    assert!(desk.ask(JobName::Decay).await.is_ok());
    assert!(desk.scheduler.run_all(Trigger::Signal).is_empty());
    desk.scheduler.reconfigure(nightly(&[JobName::Decay]));
    desk.look().await;
    assert_eq!(desk.decay.n_runs(), 1);
    assert_eq!(desk.state().await.next_due_at, Some(at("2026-12-05T04:00:00Z")));
}

#[tokio::test]
async fn a_try_leaves_no_trace_in_the_state_and_tells_the_job() {
    let desk = Desk::new();
    desk.look().await;
    let before = desk.state().await;
    let asked = desk.scheduler.run(JobName::Decay, Trigger::Agent, true).await.unwrap();
    assert!(matches!(asked, crate::ports::Asked::Ended(run) if run.is_dry_run));
    assert!(desk.decay.runs.lock().unwrap()[0].is_dry_run);
    assert_eq!(desk.state().await, before);
    assert!(desk.ledger.runs(None, None, 10).await.unwrap()[0].is_dry_run);
}
