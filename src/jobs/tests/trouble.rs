//! Jobs that fail, panic, take too long or are stopped, and a store that refuses.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::fixture::{Act, Desk, at, settings};
use crate::domain::job::{JobName, Outcome, Trigger};
use crate::domain::limits::{JOB_FAILURES_MAX, JOB_PAUSE_MIN, JOB_RETRY};
use crate::ports::{Clock as _, Maintenance as _, NotRun};
use crate::service::status::PartState;

fn failed(outcome: Option<Outcome>) -> String {
    match outcome {
        Some(Outcome::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nothing_runs_before_the_states_are_read() {
    let desk = Desk::new();
    let refused = desk.scheduler.run(JobName::Decay, Trigger::Owner, false).await;
    assert_eq!(refused, Err(NotRun::NotReady("starting".to_owned())));
    desk.scheduler.open().await;
    assert!(desk.ask(JobName::Decay).await.is_ok());
}

#[tokio::test]
async fn a_panic_is_a_failed_run_and_the_next_one_comes() {
    let desk = Desk::new();
    desk.look().await;
    desk.decay.will([Act::Panic]);
    desk.look_at("2026-12-02T04:00:00Z").await;
    let why = failed(desk.runs().await[0].outcome.clone());
    assert!(why.contains("panicked") && !why.contains("secret"), "{why}");
    let PartState::Degraded { because, .. } = desk.scheduler.part().state else {
        panic!("the status is silent")
    };
    assert!(because.contains("decay failed"), "{because}");
    desk.look_at("2026-12-03T04:00:00Z").await;
    assert_eq!(desk.runs().await[1].outcome, Some(Outcome::Done));
    assert_eq!(desk.scheduler.part().state, PartState::Ok);
}

#[tokio::test]
async fn after_five_failures_a_job_pauses_and_whoever_asks_may_still_run_it() {
    let desk = Desk::with(settings(&[JobName::Decay], "*/15 * * * *", Duration::from_hours(1)));
    desk.look().await;
    desk.decay.will([Act::Fail, Act::Panic, Act::Fail, Act::Fail, Act::Fail]);
    for n in 1..=JOB_FAILURES_MAX {
        desk.clock.advance(Duration::from_mins(15));
        desk.look().await;
        assert_eq!(desk.state().await.n_failures, n);
    }
    let failed_at = desk.clock.now();
    assert_eq!(desk.state().await.paused_until, Some(failed_at + JOB_PAUSE_MIN));
    for _ in 0..3 {
        desk.clock.advance(Duration::from_mins(15));
        desk.look().await;
    }
    let state = desk.state().await;
    assert_eq!((desk.decay.n_runs(), state.n_skipped), (5, 3));
    assert!(state.last_skip.unwrap().1.contains("after 5 failures"));
    assert_eq!(desk.ask(JobName::Decay).await.unwrap().outcome, Some(Outcome::Done));
    assert_eq!(desk.state().await.paused_until, None);
    desk.clock.advance(Duration::from_mins(15));
    desk.look().await;
    assert_eq!(desk.decay.n_runs(), 7);
}

#[tokio::test]
async fn a_run_whose_time_is_over_ends_with_what_it_has() {
    let desk = Desk::with(settings(&[JobName::Decay], "0 4 * * *", Duration::from_millis(1)));
    desk.look().await;
    desk.decay.will([Act::Wait]);
    let run = desk.ask(JobName::Decay).await.unwrap();
    let Some(Outcome::Partial(why)) = &run.outcome else { panic!("{run:?}") };
    assert!(why.contains("its time of 0 s was over"), "{why}");
    assert_eq!(run.n_changed, 3);
    assert_eq!(desk.state().await.n_failures, 0);
}

#[tokio::test]
async fn a_run_that_does_not_hear_is_cut_off() {
    let desk = Desk::with(settings(&[JobName::Decay], "0 4 * * *", Duration::from_mins(2)));
    desk.look().await;
    desk.decay.will([Act::Deaf]);
    desk.begin(JobName::Decay).await;
    tokio::time::pause();
    desk.ended().await;
    let why = failed(desk.runs().await[0].outcome.clone());
    assert!(why.contains("did not end when its time of 120 s was over"), "{why}");
    tokio::time::resume();
    assert!(desk.ask(JobName::Decay).await.is_ok(), "the job can run again");
}

#[tokio::test]
async fn a_stop_waits_for_the_page_and_leaves_the_run_to_the_next_start() {
    for act in [Act::Wait, Act::Deaf] {
        let desk = Desk::new();
        desk.look().await;
        desk.decay.will([act]);
        desk.begin(JobName::Decay).await;
        tokio::time::pause();
        desk.stop.cancel();
        desk.tasks.close();
        desk.tasks.wait().await;
        tokio::time::resume();
        assert_eq!(desk.runs().await[0].outcome, Some(Outcome::Interrupted), "{act:?}");
        let refused = desk.scheduler.run(JobName::Decay, Trigger::Owner, false).await;
        assert_eq!(refused, Err(NotRun::Stopping));
        let state = desk.state().await;
        assert_eq!((state.running, state.n_failures), (None, 0), "nobody's fault");
        let next = desk.restarted();
        next.clock.advance(Duration::from_mins(1));
        next.look().await;
        next.clock.advance(Duration::from_mins(2));
        next.look().await;
        next.look().await;
        assert_eq!(next.decay.n_runs(), 1);
        assert_eq!(next.runs().await[1].trigger, Trigger::CatchUp);
    }
}

#[tokio::test]
async fn a_store_without_room_postpones_a_run_and_loses_none() {
    let desk = Desk::new();
    desk.look().await;
    desk.ledger.refuses.store(true, Ordering::SeqCst);
    desk.look_at("2026-12-02T04:00:00Z").await;
    let refused = desk.ask(JobName::Decay).await.unwrap_err();
    assert!(refused.to_string().contains("disk"), "{refused}");
    assert_eq!(desk.decay.n_runs(), 0);
    assert!(matches!(desk.scheduler.part().state, PartState::Degraded { .. }));
    // In the store it is still due, for a daemon that starts now.
    assert_eq!(desk.state().await.next_due_at, Some(at("2026-12-02T04:00:00Z")));
    desk.ledger.refuses.store(false, Ordering::SeqCst);
    desk.clock.advance(JOB_RETRY);
    desk.look().await;
    let runs = desk.runs().await;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].trigger, Trigger::Timer);
    assert_eq!(desk.scheduler.part().state, PartState::Ok);
    assert_eq!(desk.state().await.next_due_at, Some(at("2026-12-03T04:00:00Z")));
}

#[tokio::test]
async fn the_end_of_a_run_is_noted_as_soon_as_there_is_room_again() {
    let desk = Desk::new();
    desk.look().await;
    desk.decay.will([Act::Wait]);
    desk.begin(JobName::Decay).await;
    tokio::time::pause();
    desk.ledger.refuses.store(true, Ordering::SeqCst);
    desk.decay.gate.add_permits(1);
    for _ in 0..5 {
        tokio::time::sleep(JOB_RETRY / 2).await;
    }
    assert_eq!(desk.runs().await[0].finished_at, None);
    let refused = desk.scheduler.run(JobName::Decay, Trigger::Owner, false).await;
    assert!(matches!(refused, Err(NotRun::Active { .. })), "{refused:?}");
    desk.ledger.refuses.store(false, Ordering::SeqCst);
    desk.ended().await;
    assert_eq!(desk.runs().await[0].outcome, Some(Outcome::Done));
    tokio::time::resume();
    assert!(desk.ask(JobName::Decay).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_loop_runs_what_is_due_and_ends_when_it_is_told_to() {
    let desk = Desk::new();
    let scheduler = desk.scheduler.clone();
    let living = tokio::spawn(async move {
        scheduler.live(|| Box::pin(std::future::pending())).await;
    });
    while desk.scheduler.jobs()[0].state.next_due_at.is_none() {
        tokio::task::yield_now().await;
    }
    desk.clock.advance(Duration::from_hours(16));
    while desk.decay.n_runs() == 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    desk.stop.cancel();
    living.await.unwrap();
    desk.tasks.close();
    desk.tasks.wait().await;
    assert_eq!(desk.decay.n_runs(), 1);
}
