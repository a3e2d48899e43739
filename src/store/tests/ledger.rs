//! States of jobs and their runs.

use super::fixture::{Fixture, at, new_run, set};
use crate::domain::change::ChangeSet;
use crate::domain::job::{JobName, JobState, NewRun, Outcome, RunId, Running, Trigger};
use crate::ports::Ledger;

#[tokio::test]
async fn a_run_is_kept_from_its_begin_to_its_end() {
    let mut f = Fixture::new();
    let begun = f.store.begin_run(new_run(5)).await.unwrap().unwrap();
    assert_eq!(
        (begun.id, begun.job, begun.trigger),
        (RunId(1), JobName::Consolidate, Trigger::Timer)
    );
    assert_eq!((begun.scheduled_at, begun.now, begun.started_at), (Some(at(5)), at(5), at(5)));
    assert_eq!((begun.finished_at, &begun.outcome, &*begun.report), (None, &None, "{}"));
    assert_eq!(f.store.run(begun.id).await.unwrap(), Some(begun.clone()));
    let [state] = &f.store.job_states().await.unwrap()[..] else { panic!("one job") };
    assert_eq!((state.running, state.last_started_at), (Some(begun.id), Some(at(5))));

    let partial = Outcome::Partial("no time".to_owned());
    let report = "{\"n\":3}".to_owned();
    f.store.finish_run(begun.id, partial.clone(), 3, report, at(9)).await.unwrap();
    f.reopen();
    let ended = f.store.run(begun.id).await.unwrap().unwrap();
    assert_eq!((ended.finished_at, ended.outcome.as_ref()), (Some(at(9)), Some(&partial)));
    assert_eq!((ended.n_changed, &*ended.report), (3, "{\"n\":3}"));
    let [state] = &f.store.job_states().await.unwrap()[..] else { panic!("one job") };
    assert_eq!((state.running, state.last_finished_at), (None, Some(at(9))));
    assert_eq!(state.last_outcome, Some(partial));
    // It ends once.
    f.store.finish_run(begun.id, Outcome::Done, 9, String::new(), at(10)).await.unwrap();
    assert_eq!(f.store.run(begun.id).await.unwrap(), Some(ended));
    f.finish().await;
}

#[tokio::test]
async fn a_job_runs_once_at_a_time() {
    let f = Fixture::new();
    let (first, second) =
        tokio::join!(f.store.begin_run(new_run(1)), f.store.begin_run(new_run(1)));
    let (first, second) = (first.unwrap(), second.unwrap());
    let run = first.unwrap().id;
    assert_eq!(second, Err(Running { run, started_at: at(1) }));
    let other = NewRun { job: JobName::Decay, ..new_run(2) };
    assert!(f.store.begin_run(other).await.unwrap().is_ok(), "another job may run");
    f.end(run, 3).await;
    assert!(f.store.begin_run(new_run(4)).await.unwrap().is_ok());
    f.finish().await;
}

#[tokio::test]
async fn a_run_of_a_process_that_is_gone_is_interrupted() {
    let f = Fixture::new();
    let left = f.begin(1).await;
    let other = NewRun { lease: "the next process".to_owned(), ..new_run(7) };
    let next = f.store.begin_run(other).await.unwrap().unwrap();
    let ended = f.store.run(left).await.unwrap().unwrap();
    assert_eq!((ended.outcome, ended.finished_at), (Some(Outcome::Interrupted), Some(at(7))));
    let dry = NewRun { job: JobName::Decay, is_dry_run: true, ..new_run(8) };
    f.store.begin_run(dry).await.unwrap().unwrap();
    assert_eq!(f.store.interrupt_open_runs(at(9)).await.unwrap(), 2);
    assert_eq!(f.store.interrupt_open_runs(at(10)).await.unwrap(), 0);
    let ended = f.store.run(next.id).await.unwrap().unwrap();
    assert_eq!((ended.outcome, ended.finished_at), (Some(Outcome::Interrupted), Some(at(9))));
    let states = f.store.job_states().await.unwrap();
    let told: Vec<_> = states.iter().map(|s| (s.job, s.running, s.last_outcome.clone())).collect();
    let expected =
        [(JobName::Consolidate, None, Some(Outcome::Interrupted)), (JobName::Decay, None, None)];
    assert_eq!(told, expected);
    f.finish().await;
}

#[tokio::test]
async fn a_saved_state_is_read_back_but_for_the_open_run() {
    let f = Fixture::new();
    let run = f.begin(1).await;
    let whole = JobState {
        job: JobName::Consolidate,
        last_scheduled_at: Some(at(1)),
        last_started_at: Some(at(2)),
        last_finished_at: Some(at(3)),
        last_outcome: Some(Outcome::Failed("x".to_owned())),
        last_success_at: Some(at(4)),
        next_due_at: Some(at(5)),
        running: None,
        n_failures: 6,
        paused_until: Some(at(7)),
        n_skipped: 8,
        last_skip: Some((at(9), "late".to_owned())),
    };
    f.store.save_job_state(whole.clone()).await.unwrap();
    let expected = JobState { running: Some(run), ..whole };
    assert_eq!(f.store.job_states().await.unwrap(), [expected]);
    f.finish().await;
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_the_oldest_go() {
    let f = Fixture::new();
    let mut runs = Vec::new();
    for n in 0..6 {
        let new = vec![f.fact(&n.to_string())];
        runs.push(f.run(ChangeSet { new, ..set() }, n).await);
    }
    let decay = f.store.begin_run(NewRun { job: JobName::Decay, ..new_run(9) }).await.unwrap();
    let decay = decay.unwrap().id;
    let ids = |runs: Vec<crate::domain::job::Run>| -> Vec<u64> {
        runs.into_iter().map(|run| run.id.0).collect()
    };
    assert_eq!(ids(f.store.runs(None, None, 3).await.unwrap()), [7, 6, 5]);
    assert_eq!(ids(f.store.runs(None, Some(runs[2]), 9).await.unwrap()), [2, 1]);
    assert_eq!(ids(f.store.runs(Some(JobName::Decay), None, 9).await.unwrap()), [7]);
    // Two rows a run: itself and what it stored. The open one stays.
    assert_eq!(f.store.trim_runs(3).await.unwrap(), 8);
    assert_eq!(ids(f.store.runs(None, None, 9).await.unwrap()), [7, 6, 5]);
    assert_eq!(f.store.run_changes(runs[0], 9).await.unwrap(), []);
    assert_eq!(f.store.trim_runs(0).await.unwrap(), 4);
    assert_eq!(ids(f.store.runs(None, None, 9).await.unwrap()), [decay.0]);
    assert_eq!(f.begin(10).await, RunId(8), "no number is given twice");
    f.finish().await;
}

#[tokio::test]
async fn trimming_goes_on_past_a_page() {
    let f = Fixture::new();
    let n = crate::domain::limits::SCAN_PAGE + 1;
    let new = (0..n).map(|n| f.fact(&n.to_string())).collect();
    f.run(ChangeSet { new, ..set() }, 1).await;
    assert_eq!(f.store.trim_runs(0).await.unwrap(), n as u64 + 1);
    assert_eq!(f.store.runs(None, None, 9).await.unwrap(), []);
    f.finish().await;
}
