//! Down times, sleep, clock steps, failures: what becomes due, when, and how often.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::domain::job::RunId;

const DELAY: Duration = Duration::from_mins(1);

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn nightly() -> Schedule {
    Schedule::parse("0 4 * * *", &TimeZone::UTC).unwrap()
}

fn fresh() -> JobState {
    JobState::new(JobName::Decay)
}

/// The state after a run that ended like this.
fn finished(mut state: JobState, outcome: &Outcome, at: Timestamp) -> JobState {
    state.begin(RunId(1), false, at);
    state.end(outcome, false, at);
    paused(state, at)
}

/// As seen by a daemon that started long ago.
fn settled(now: &str) -> View {
    let started_at = at("2026-01-01T00:00:00Z");
    View { now: at(now), started_at, catch_up_at: started_at + DELAY }
}

/// As seen by a daemon that started at `started`.
fn started(started: &str, now: &str) -> View {
    let started_at = at(started);
    View { now: at(now), started_at, catch_up_at: started_at + DELAY }
}

/// A state that has run each night up to this one.
fn after_run(night: &str) -> JobState {
    let due = at(night);
    let state = launched(&nightly(), fresh(), due, due);
    finished(state, &Outcome::Done, due + Duration::from_secs(3))
}

#[test]
fn a_new_job_waits_for_its_first_time() {
    let state = due_at_start(&nightly(), fresh(), at("2026-12-01T12:00:00Z"));
    let due = at("2026-12-02T04:00:00Z");
    assert_eq!(look(&state, settled("2026-12-01T12:00:00Z")), Look::Wait(due));
    assert_eq!(look(&state, settled("2026-12-02T03:59:59.999Z")), Look::Wait(due));
    let run = Look::Run { trigger: Trigger::Timer, scheduled_at: due };
    assert_eq!(look(&state, settled("2026-12-02T04:00:00Z")), run);
    assert_eq!(look(&state, settled("2026-12-02T04:04:59Z")), run);
    let late = Look::Run { trigger: Trigger::CatchUp, scheduled_at: due };
    assert_eq!(look(&state, settled("2026-12-02T04:05:01Z")), late);
    assert_eq!(look(&fresh(), settled("2026-12-01T12:00:00Z")), Look::Idle);
}

#[test]
fn after_three_days_down_there_is_one_run_and_it_waits_a_while() {
    let start = "2026-12-05T10:00:00Z";
    let state = due_at_start(&nightly(), after_run("2026-12-02T04:00:00Z"), at(start));
    let from = at(start) + DELAY;
    assert_eq!(look(&state, started(start, start)), Look::Wait(from));
    let Look::Run { trigger, scheduled_at } = look(&state, started(start, "2026-12-05T10:01:00Z"))
    else {
        panic!("not due");
    };
    assert_eq!((trigger, scheduled_at), (Trigger::CatchUp, at("2026-12-03T04:00:00Z")));
    let state = launched(&nightly(), state, scheduled_at, from);
    let state = finished(state, &Outcome::Done, from);
    let next = at("2026-12-06T04:00:00Z");
    assert_eq!(look(&state, started(start, "2026-12-05T10:01:01Z")), Look::Wait(next));
}

#[test]
fn after_sleep_the_missed_run_comes_at_once() {
    // The daemon lived through it, so nothing else starts at this moment.
    let state = after_run("2026-12-02T04:00:00Z");
    let run = Look::Run { trigger: Trigger::CatchUp, scheduled_at: at("2026-12-03T04:00:00Z") };
    assert_eq!(look(&state, settled("2026-12-04T09:00:00Z")), run);
}

#[test]
fn an_interrupted_run_is_made_again_once_together_with_what_was_missed() {
    let due = at("2026-12-03T04:00:00Z");
    let mut state = launched(&nightly(), after_run("2026-12-02T04:00:00Z"), due, due);
    state.begin(RunId(7), false, due);
    let view = settled("2026-12-03T04:00:01Z");
    assert_eq!(look(&state, view), Look::Wait(at("2026-12-04T04:00:00Z")));
    let start = "2026-12-06T10:00:00Z";
    state.end(&Outcome::Interrupted, false, at(start));
    let state = failed_by_end_of_process(state, at(start));
    assert_eq!((state.n_failures, state.paused_until), (1, None));
    let state = due_at_start(&nightly(), state, at(start));
    assert_eq!(look(&state, started(start, start)), Look::Wait(at(start) + DELAY));
    let now = at("2026-12-06T10:02:00Z");
    let run = Look::Run { trigger: Trigger::CatchUp, scheduled_at: due };
    assert_eq!(look(&state, started(start, "2026-12-06T10:02:00Z")), run);
    let state = finished(launched(&nightly(), state, due, now), &Outcome::Done, now);
    let next = at("2026-12-07T04:00:00Z");
    assert_eq!(look(&state, started(start, "2026-12-06T10:03:00Z")), Look::Wait(next));
    assert_eq!(state.n_failures, 0);
}

#[test]
fn a_clock_set_back_ten_minutes_brings_no_run_again() {
    let state = after_run("2026-12-02T04:00:00Z");
    let now = "2026-12-01T23:59:00Z";
    let next = at("2026-12-03T04:00:00Z");
    for now in ["2026-12-02T03:55:00Z", "2026-12-02T04:00:00Z"] {
        let state = due_at_start(&nightly(), state.clone(), at(now));
        assert_eq!(look(&state, settled(now)), Look::Wait(next), "{now}");
    }
    // Set back further than that, the last run says nothing of tonight.
    let state = due_at_start(&nightly(), state, at(now));
    assert_eq!(look(&state, settled(now)), Look::Wait(at("2026-12-02T04:00:00Z")));
}

#[test]
fn a_clock_that_was_years_ahead_does_not_silence_a_job() {
    let state = after_run("2031-06-01T04:00:00Z");
    let now = "2026-12-01T12:00:00Z";
    let state = due_at_start(&nightly(), state, at(now));
    assert_eq!(look(&state, settled(now)), Look::Wait(at("2026-12-02T04:00:00Z")));
}

#[test]
fn a_clock_set_forward_brings_one_run() {
    let quarter = Schedule::parse("*/15 * * * *", &TimeZone::UTC).unwrap();
    let state = due_at_start(&quarter, fresh(), at("2026-12-01T12:01:00Z"));
    let view = settled("2026-12-01T18:07:00Z");
    let Look::Run { scheduled_at, .. } = look(&state, view) else { panic!("not due") };
    let state = launched(&quarter, state, scheduled_at, view.now);
    assert_eq!(look(&state, view), Look::Wait(at("2026-12-01T18:15:00Z")));
}

#[test]
fn a_new_schedule_starts_nothing_by_itself() {
    let state = after_run("2026-12-02T04:00:00Z");
    let morning = Schedule::parse("0 6 * * *", &TimeZone::UTC).unwrap();
    let now = "2026-12-02T12:00:00Z";
    let state = due_at_start(&morning, state, at(now));
    assert_eq!(look(&state, settled(now)), Look::Wait(at("2026-12-03T06:00:00Z")));
}

#[test]
fn a_job_that_was_switched_off_has_missed_nothing() {
    let mut state = after_run("2026-12-02T04:00:00Z");
    state.last_outcome = Some(Outcome::Interrupted);
    let state = disabled(state);
    assert_eq!(look(&state, settled("2026-12-20T12:00:00Z")), Look::Idle);
    let state = due_at_start(&nightly(), state, at("2026-12-20T12:00:00Z"));
    let view = started("2026-12-20T12:00:00Z", "2026-12-20T12:30:00Z");
    assert_eq!(look(&state, view), Look::Wait(at("2026-12-21T04:00:00Z")));
}

#[test]
fn after_five_failures_in_a_row_a_job_pauses_longer_each_time() {
    let mut state = fresh();
    let now = at("2026-12-02T04:00:00Z");
    let fail = |state| finished(state, &Outcome::Failed("no".to_owned()), now);
    for n in 1..JOB_FAILURES_MAX {
        state = fail(state);
        assert_eq!((state.n_failures, state.paused_until), (n, None));
    }
    for hours in [1, 2, 4, 8, 16, 32, 64, 128, 168, 168] {
        state = fail(state);
        assert_eq!(state.paused_until, Some(now + Duration::from_hours(hours)));
    }
    for _ in 0..100 {
        state = fail(state);
    }
    assert_eq!(state.paused_until, Some(now + JOB_PAUSE_MAX));
    let well = finished(state, &Outcome::Partial("half".to_owned()), now);
    assert_eq!((well.n_failures, well.paused_until), (0, None));
}

#[test]
fn what_is_due_in_a_pause_is_skipped_and_counted() {
    let mut state = due_at_start(&nightly(), fresh(), at("2026-12-01T12:00:00Z"));
    state.n_failures = 6;
    state.paused_until = Some(at("2026-12-02T05:00:00Z"));
    let view = settled("2026-12-02T04:00:10Z");
    let Look::Skip(why) = look(&state, view) else { panic!("not skipped") };
    assert!(why.contains("2026-12-02T05:00:00Z") && why.contains("6 failures"), "{why}");
    let state = skipped(&nightly(), state, why.clone(), view.now);
    assert_eq!((state.n_skipped, state.last_skip.clone()), (1, Some((view.now, why))));
    assert_eq!(look(&state, view), Look::Wait(at("2026-12-02T05:00:00Z")));
    let after = settled("2026-12-02T05:00:00Z");
    assert_eq!(look(&state, after), Look::Wait(at("2026-12-03T04:00:00Z")));
}

#[test]
fn the_delay_of_a_job_is_its_own_and_always_the_same() {
    let delays: Vec<Duration> =
        JobName::ALL.iter().map(|job| catch_up_delay(DELAY, 42, *job)).collect();
    for (delay, job) in delays.iter().zip(JobName::ALL) {
        assert!((DELAY..=2 * DELAY).contains(delay), "{delay:?}");
        assert_eq!(*delay, catch_up_delay(DELAY, 42, *job));
        assert_ne!(*delay, catch_up_delay(DELAY, 43, *job));
    }
    assert_ne!(delays[0], delays[1]);
    assert_eq!(catch_up_delay(Duration::ZERO, 42, JobName::Decay), Duration::ZERO);
}

proptest! {
    /// However a week is cut into looks, the machine slept or not, a nightly job runs at most once
    /// for each night, and is never behind after a look.
    #[test]
    fn no_night_is_run_twice(minutes in prop::collection::vec(1_u64..3_000, 1..60)) {
        let schedule = nightly();
        let mut now = at("2026-12-01T12:00:00Z");
        let mut state = due_at_start(&schedule, fresh(), now);
        let mut nights = Vec::new();
        for minutes in minutes {
            now += Duration::from_mins(minutes);
            let view = View { now, ..settled("2026-12-01T12:00:00Z") };
            if let Look::Run { scheduled_at, .. } = look(&state, view) {
                nights.push(scheduled_at);
                state = launched(&schedule, state, scheduled_at, now);
                state = finished(state, &Outcome::Done, now);
            }
            let is_waiting = matches!(look(&state, view), Look::Wait(next) if next > now);
            prop_assert!(is_waiting);
        }
        prop_assert!(nights.is_sorted_by(|a, b| a < b), "{nights:?}");
    }
}
