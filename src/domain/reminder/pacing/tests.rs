//! Tests of waits and budgets.

use proptest::prelude::*;

use super::*;

const BACKOFF: Backoff =
    Backoff { base: SignedDuration::from_secs(5), max: SignedDuration::from_mins(15) };
const PACE: Pace = Pace { every: SignedDuration::from_secs(3), burst: 3 };
const BREAKER: Breaker = Breaker {
    n_failures: 3,
    pause: SignedDuration::from_mins(1),
    pause_max: SignedDuration::from_mins(10),
};

fn second(n: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + n).unwrap()
}

#[test]
fn the_bound_of_a_wait_doubles_until_its_maximum() {
    let longest = |n| BACKOFF.wait(n, 1.0).as_secs();
    let bounds: Vec<i64> = (0..=10).map(longest).collect();
    assert_eq!(bounds, [5, 5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
    assert_eq!(longest(u32::MAX), 900);
    assert_eq!(BACKOFF.wait(3, 0.0), SignedDuration::ZERO);
    assert_eq!(BACKOFF.wait(3, 0.25).as_secs(), 5);
    assert_eq!(BACKOFF.wait(3, 1.0 / 3.0).subsec_nanos() % 1_000, 0, "as it is kept");
    assert_eq!(BACKOFF.wait(3, f64::NAN).as_secs(), 20);
}

#[test]
fn a_sink_is_left_alone_as_it_asks_within_reason() {
    for (asked, waited) in [(-5, 1), (0, 1), (7, 7), (3_600, 3_600), (86_400, 3_600)] {
        assert_eq!(retry_after(SignedDuration::from_secs(asked)).as_secs(), waited, "{asked}");
    }
}

#[test]
fn a_burst_goes_at_once_and_the_rest_at_its_pace() {
    let mut sink = SinkState::default();
    for _ in 0..3 {
        assert_eq!(sink.gate(&PACE, second(0)), Gate::Open);
        sink.use_at(&PACE, second(0));
    }
    assert_eq!(sink.gate(&PACE, second(0)), Gate::Wait(second(3)));
    assert_eq!(sink.gate(&PACE, second(3)), Gate::Open);
    sink.use_at(&PACE, second(3));
    assert_eq!(sink.gate(&PACE, second(5)), Gate::Wait(second(6)));
    // After a rest there is a whole burst again.
    for _ in 0..3 {
        assert_eq!(sink.gate(&PACE, second(60)), Gate::Open);
        sink.use_at(&PACE, second(60));
    }
    assert_eq!(sink.gate(&PACE, second(60)), Gate::Wait(second(63)));
}

#[test]
fn a_sink_that_fails_again_and_again_is_left_alone_ever_longer() {
    let mut sink = SinkState::default();
    let mut pauses = Vec::new();
    for _ in 0..8 {
        sink.paused_until = None;
        sink.fail(&BREAKER, None, second(0));
        pauses.push(sink.paused_until.map(|until| until.duration_since(second(0)).as_mins()));
    }
    let expected = [None, None, Some(1), Some(2), Some(4), Some(8), Some(10), Some(10)];
    assert_eq!(pauses, expected);
    assert_eq!(sink.gate(&PACE, second(599)), Gate::Wait(second(600)));
    assert_eq!(sink.gate(&PACE, second(600)), Gate::Open);
    sink.succeed();
    assert_eq!(sink, SinkState::default());
}

#[test]
fn what_a_sink_asks_for_holds_for_all_messages_to_it() {
    let mut sink = SinkState::default();
    sink.fail(&BREAKER, Some(SignedDuration::from_secs(7)), second(0));
    assert_eq!(sink.gate(&PACE, second(6)), Gate::Wait(second(7)));
    // A shorter wait that is asked for later does not end it.
    sink.fail(&BREAKER, Some(SignedDuration::from_secs(1)), second(1));
    assert_eq!(sink.gate(&PACE, second(6)), Gate::Wait(second(7)));
    sink.disable("gone".to_owned(), second(0));
    assert_eq!(sink.gate(&PACE, second(600)), Gate::Disabled("gone"));
}

#[test]
fn a_clock_that_was_ahead_leaves_no_pause_behind() {
    let mut sink = SinkState::default();
    sink.fail(&BREAKER, Some(SignedDuration::from_secs(600)), second(86_400));
    sink.use_at(&PACE, second(86_400));
    assert_eq!(sink.gate(&PACE, second(0)), Gate::Open);
    sink.use_at(&PACE, second(0));
    sink.fail(&BREAKER, Some(SignedDuration::from_secs(7)), second(0));
    assert_eq!(sink.gate(&PACE, second(6)), Gate::Wait(second(7)));
    assert!(sink.full_at < Some(second(86_400)));
}

#[test]
fn nagging_has_a_budget() {
    let budget = NagBudget { per_day: 3, apart: SignedDuration::from_secs(120) };
    assert!(budget.allows(&[], second(0)));
    assert!(!budget.allows(&[second(0)], second(119)));
    assert!(budget.allows(&[second(0)], second(120)));
    let told = [second(0), second(200), second(400)];
    assert!(!budget.allows(&told, second(86_399)));
    assert!(budget.allows(&told, second(86_400)));
    // The clock was three days ahead and is right again.
    let ahead = [second(0), second(259_200), second(259_400), second(259_600)];
    assert!(budget.allows(&ahead, second(300)));
    assert!(!budget.allows(&ahead, second(100)));
}

proptest! {
    #[test]
    fn no_more_go_than_the_pace_allows(looks in proptest::collection::vec(0..4_i64, 1..200)) {
        let mut sink = SinkState::default();
        let (mut now, mut sent) = (0, Vec::new());
        for seconds in looks {
            now += seconds;
            if sink.gate(&PACE, second(now)) == Gate::Open {
                sink.use_at(&PACE, second(now));
                sent.push(now);
            }
        }
        for (place, from) in sent.iter().enumerate() {
            for (n, until) in (1..).zip(&sent[place..]) {
                prop_assert!(n <= 3 + (until - from) / 3, "{} in {} s", n, until - from);
            }
        }
    }
}
