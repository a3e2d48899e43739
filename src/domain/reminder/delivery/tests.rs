//! Deliveries from queued to sent, and every way to fail.

use proptest::prelude::*;

use super::*;
use crate::domain::reminder::Kind;

const POLICY: RetryPolicy = RetryPolicy {
    backoff: Backoff { base: SignedDuration::from_secs(5), max: SignedDuration::from_mins(15) },
    attempts_max: 12,
    sink_knows_keys: false,
    repeats_uncertain: true,
};

fn second(n: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + n).unwrap()
}

fn key(kind: Kind) -> DeliveryKey {
    DeliveryKey::new(b"reminder", 0, "2026-11-27T15:00".parse().unwrap(), kind, "slack")
}

/// Due now, for an hour.
fn queued() -> Delivery {
    let now = second(0);
    Delivery::new(key(Kind::First), "slack".to_owned(), now, now, second(3_600), now)
}

const fn lease(owner: u128, until: Timestamp) -> Lease {
    Lease { owner, until }
}

/// Claimed and called at a moment.
fn called(delivery: &mut Delivery, owner: u128, at: i64) {
    delivery.claim(lease(owner, second(at + 30)), second(at)).unwrap();
    delivery.call(owner, second(at)).unwrap();
}

/// Called at a moment, with an outcome a second later.
fn tried(delivery: &mut Delivery, at: i64, outcome: Outcome, policy: &RetryPolicy) {
    called(delivery, 7, at);
    delivery.settle(7, second(at), outcome, policy, 1.0, second(at + 1)).unwrap();
}

fn busy(after: Option<i64>) -> Outcome {
    Outcome::Retry { after: after.map(SignedDuration::from_secs), why: "busy".to_owned() }
}

fn timeout() -> Outcome {
    Outcome::Unknown("no answer within 15 s".to_owned())
}

#[test]
fn nothing_waits_for_a_time_that_a_clock_was_ahead_of() {
    let hour = 3_600;
    let mut delivery = queued();
    delivery.expires_at = second(24 * hour);
    tried(&mut delivery, 0, busy(Some(600)), &POLICY);
    for now in [-2_900, 1, 600] {
        assert!(!delivery.hasten(&POLICY, second(now)), "{now}");
        assert_eq!(delivery.not_before, second(601));
    }
    assert!(delivery.hasten(&POLICY, second(-7 * hour)));
    assert_eq!(delivery.next_step(second(-7 * hour)), NextStep::Claim);
    called(&mut delivery, 8, -7 * hour);
    assert!(!delivery.hasten(&POLICY, second(-9 * hour)), "it is being sent");
}

#[test]
fn a_delivery_is_sent_once() {
    let mut delivery = queued();
    assert_eq!(delivery.next_step(second(0)), NextStep::Claim);
    tried(&mut delivery, 0, Outcome::Sent { remote_id: Some("42".to_owned()) }, &POLICY);
    assert_eq!(delivery.state, DeliveryState::Sent);
    assert_eq!(delivery.sent_at, Some(second(1)));
    assert_eq!(delivery.remote_id.as_deref(), Some("42"));
    assert_eq!(delivery.next_step(second(10)), NextStep::Nothing);
    let error = delivery.claim(lease(8, second(60)), second(10)).unwrap_err();
    assert_eq!(error.to_string(), "cannot claim a delivery that is sent");
    assert!(delivery.retry(second(9_999), second(10)).is_err());
    assert!(delivery.drop_it().is_err());
}

#[test]
fn a_delivery_to_a_sink_that_is_disabled_waits_until_it_expires() {
    let mut delivery = queued();
    tried(&mut delivery, 0, Outcome::Disabled("the webhook is gone".to_owned()), &POLICY);
    assert_eq!(delivery.state, DeliveryState::Queued);
    assert_eq!(delivery.why.as_deref(), Some("the webhook is gone"));
    assert!(!delivery.may_repeat);
    delivery.expire(second(3_600)).unwrap();
    assert_eq!(delivery.state, DeliveryState::Dead);
    assert_eq!(delivery.why.as_deref(), Some("expired: the webhook is gone"));
}

#[test]
fn only_one_holds_the_lease() {
    let mut delivery = queued();
    delivery.claim(lease(7, second(30)), second(0)).unwrap();
    assert_eq!(delivery.next_step(second(29)), NextStep::Wait(second(30)));
    assert!(delivery.claim(lease(8, second(60)), second(29)).is_err());
    assert_eq!(delivery.call(8, second(1)), Err(StepError::LeaseLost));
    assert_eq!(delivery.call(7, second(30)), Err(StepError::LeaseLost), "it is over");
    delivery.call(7, second(1)).unwrap();
    assert_eq!(delivery.call(7, second(2)), Err(StepError::LeaseLost), "one call to a claim");
    let settled = delivery.settle(8, second(1), Outcome::Accepted, &POLICY, 0.5, second(3));
    assert_eq!(settled, Err(StepError::LeaseLost));
    assert!(delivery.drop_it().is_err(), "it is being sent");
}

#[test]
fn a_claim_can_be_given_back_before_the_call() {
    let mut delivery = queued();
    delivery.claim(lease(7, second(30)), second(0)).unwrap();
    delivery.release(7, second(20)).unwrap();
    assert_eq!(delivery.next_step(second(1)), NextStep::Wait(second(20)));
    assert_eq!(delivery.n_attempts, 0);
    called(&mut delivery, 7, 20);
    assert_eq!(delivery.release(7, second(40)), Err(StepError::LeaseLost));
}

#[test]
fn who_ends_before_the_call_has_sent_nothing() {
    let mut delivery = queued();
    delivery.claim(lease(7, second(30)), second(0)).unwrap();
    assert!(delivery.recover(&POLICY, 0.5, second(29)).is_err());
    delivery.recover(&POLICY, 0.5, second(30)).unwrap();
    assert_eq!(delivery, queued());
}

#[test]
fn who_ends_after_the_call_may_have_sent_it() {
    let recovered = |policy: &RetryPolicy| {
        let mut delivery = queued();
        called(&mut delivery, 7, 0);
        delivery.recover(policy, 1.0, second(30)).unwrap();
        delivery
    };
    // It is sent once more, and marked; not a second time.
    let mut marked = recovered(&POLICY);
    assert_eq!((marked.state, marked.may_repeat), (DeliveryState::Queued, true));
    assert_eq!(marked.next_step(second(30)), NextStep::Wait(second(35)));
    tried(&mut marked, 35, timeout(), &POLICY);
    assert_eq!(marked.state, DeliveryState::Uncertain);
    assert_eq!(marked.why.as_deref(), Some("no answer within 15 s"));
    // A sink that knows the key has it once whatever happens.
    let keyed = RetryPolicy { sink_knows_keys: true, ..POLICY };
    let mut known = recovered(&keyed);
    for at in [100, 200, 300] {
        tried(&mut known, at, timeout(), &keyed);
        assert_eq!((known.state, known.may_repeat), (DeliveryState::Queued, false));
    }
    let left = recovered(&RetryPolicy { repeats_uncertain: false, ..POLICY });
    assert_eq!((left.state, left.may_repeat), (DeliveryState::Uncertain, false));
}

#[test]
fn an_answer_that_comes_after_the_lease_counts_if_nobody_called_again() {
    let sent = || Outcome::Sent { remote_id: None };
    let mut late = queued();
    called(&mut late, 7, 0);
    late.recover(&POLICY, 1.0, second(30)).unwrap();
    let mut again = late.clone();
    late.settle(7, second(0), sent(), &POLICY, 1.0, second(31)).unwrap();
    assert_eq!(late.state, DeliveryState::Sent);
    assert_eq!(
        again.settle(7, second(0), timeout(), &POLICY, 1.0, second(31)),
        Err(StepError::LeaseLost)
    );
    called(&mut again, 8, 35);
    assert_eq!(
        again.settle(7, second(0), sent(), &POLICY, 1.0, second(36)),
        Err(StepError::LeaseLost)
    );
}

#[test]
fn a_busy_sink_is_tried_again_when_it_says_so() {
    let mut delivery = queued();
    tried(&mut delivery, 0, busy(Some(7)), &POLICY);
    assert_eq!(delivery.next_step(second(7)), NextStep::Wait(second(8)));
    tried(&mut delivery, 8, busy(None), &POLICY);
    assert_eq!(delivery.not_before, second(9 + 10));
    tried(&mut delivery, 19, Outcome::Accepted, &POLICY);
    assert_eq!((delivery.state, delivery.why), (DeliveryState::Accepted, None));
}

#[test]
fn what_is_refused_is_dead_at_once_and_can_be_tried_again_by_hand() {
    let mut delivery = queued();
    tried(&mut delivery, 0, Outcome::Refused("404 no_service".to_owned()), &POLICY);
    assert_eq!(delivery.state, DeliveryState::Dead);
    assert_eq!(delivery.why.as_deref(), Some("404 no_service"));
    delivery.retry(second(9_000), second(5_000)).unwrap();
    assert_eq!(delivery.next_step(second(5_000)), NextStep::Claim);
    assert!(!delivery.may_repeat);
    tried(&mut delivery, 5_000, Outcome::Refused("404 no_service".to_owned()), &POLICY);
    delivery.drop_it().unwrap();
    assert_eq!(delivery.next_step(second(6_000)), NextStep::Nothing);
}

#[test]
fn what_is_uncertain_and_tried_again_by_hand_is_marked() {
    let mut delivery = queued();
    tried(&mut delivery, 0, timeout(), &RetryPolicy { repeats_uncertain: false, ..POLICY });
    delivery.retry(second(9_000), second(5_000)).unwrap();
    assert!(delivery.may_repeat);
}

#[test]
fn it_is_given_up_after_so_many_attempts_or_when_its_time_is_over() {
    let policy = RetryPolicy { attempts_max: 3, ..POLICY };
    let mut delivery = queued();
    for at in [0, 100, 200] {
        tried(&mut delivery, at, busy(None), &policy);
    }
    assert_eq!(delivery.why.as_deref(), Some("given up after 3 attempts: busy"));
    let mut delivery = queued();
    tried(&mut delivery, 0, busy(Some(3_600)), &POLICY);
    assert_eq!(delivery.state, DeliveryState::Dead);
    assert_eq!(delivery.why.as_deref(), Some("expires before the next attempt: busy"));
    let mut delivery = queued();
    assert_eq!(delivery.next_step(second(3_599)), NextStep::Claim);
    assert!(delivery.expire(second(3_599)).is_err());
    assert!(delivery.claim(lease(7, second(4_000)), second(3_600)).is_err());
    delivery.expire(second(3_600)).unwrap();
    assert_eq!(delivery.why.as_deref(), Some("expired before it could be sent"));
}

#[test]
fn a_key_is_the_same_for_the_same_telling_alone() {
    let kinds =
        [Kind::First, Kind::Snoozed(1), Kind::Snoozed(2), Kind::Repeated(1), Kind::Escalated];
    let mut keys: Vec<DeliveryKey> = kinds.map(key).into();
    let civil = "2026-11-27T15:00".parse().unwrap();
    keys.push(DeliveryKey::new(b"reminder", 1, civil, Kind::First, "slack"));
    keys.push(DeliveryKey::new(b"reminder", 0, civil, Kind::First, "slack2"));
    keys.push(DeliveryKey::new(b"reminde", 0, civil, Kind::First, "slack"));
    let next = "2026-11-28T15:00".parse().unwrap();
    keys.push(DeliveryKey::new(b"reminder", 0, next, Kind::First, "slack"));
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 9);
    let first = key(Kind::First);
    assert_eq!(first, key(Kind::First));
    assert_eq!(first.to_string().parse(), Ok(first));
    assert_eq!(DeliveryKey::from_bytes(first.as_bytes()), first);
    for text in ["", "+123456789012345678901234567890a", "xyz"] {
        assert_eq!(text.parse::<DeliveryKey>(), Err(InvalidDeliveryKey));
    }
}

/// What happens to a call.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Sent,
    Busy,
    /// The sink took it, and the answer was lost.
    TakenAndLost,
    /// It did not get through, and nobody knows.
    Lost,
    KilledBeforeCall,
    KilledAfterCall,
    KilledAfterAnswer,
}

proptest! {
    #[test]
    fn whatever_happens_there_is_at_most_one_repeat_and_it_is_marked(
        fates in proptest::collection::vec(
            prop_oneof![
                Just(Fate::Sent), Just(Fate::Busy), Just(Fate::TakenAndLost), Just(Fate::Lost),
                Just(Fate::KilledBeforeCall), Just(Fate::KilledAfterCall), Just(Fate::KilledAfterAnswer),
            ],
            1..14,
        ),
        sink_knows_keys in any::<bool>(),
        repeats_uncertain in any::<bool>(),
        random in 0.0..1.0,
    ) {
        let policy = RetryPolicy { sink_knows_keys, repeats_uncertain, ..POLICY };
        let mut delivery = Delivery { expires_at: second(1_000_000), ..queued() };
        let (mut now, mut owner) = (0_i64, 0);
        // Whether each message that got through was marked.
        let mut taken = Vec::new();
        for fate in fates {
            now += 3_700;
            owner += 1;
            if delivery.next_step(second(now)) == NextStep::Recover {
                delivery.recover(&policy, random, second(now)).unwrap();
                now += 3_700;
            }
            if delivery.claim(lease(owner, second(now + 30)), second(now)).is_err() {
                prop_assert_eq!(delivery.next_step(second(now)), NextStep::Nothing);
                break;
            }
            if let Fate::KilledBeforeCall = fate {
                continue;
            }
            delivery.call(owner, second(now)).unwrap();
            if matches!(fate, Fate::Sent | Fate::TakenAndLost | Fate::KilledAfterAnswer) {
                taken.push(delivery.may_repeat);
            }
            let outcome = match fate {
                Fate::Sent => Outcome::Sent { remote_id: None },
                Fate::Busy => busy(None),
                Fate::TakenAndLost | Fate::Lost => timeout(),
                Fate::KilledBeforeCall | Fate::KilledAfterCall | Fate::KilledAfterAnswer => continue,
            };
            delivery.settle(owner, second(now), outcome, &policy, random, second(now)).unwrap();
        }
        if !sink_knows_keys {
            prop_assert!(taken.len() <= 2, "{:?}", taken);
            prop_assert!(taken.iter().skip(1).all(|is_marked| *is_marked), "{:?}", taken);
            prop_assert!(repeats_uncertain || taken.len() <= 1);
        }
        if delivery.state == DeliveryState::Sent {
            prop_assert!(!taken.is_empty());
        }
    }
}
