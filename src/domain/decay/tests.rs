//! The forgetting curve against its formula, whatever the path.

use proptest::prelude::*;

use super::*;

const DAY: i64 = 86_400;

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + day * DAY).unwrap()
}

#[test]
fn half_of_what_lies_above_the_floor_is_gone_after_one_half_life() {
    let policy = DecayPolicy::default();
    for kind in Kind::ALL {
        let days = policy.half_life_days(*kind);
        let now = at(0) + jiff::SignedDuration::from_secs_f64(days * 86_400.0);
        let anchor = Anchor { value: 0.9, at: at(0) };
        let strength = policy.strength(anchor, *kind, 0.9, false, now);
        assert!((strength - 0.5).abs() < 1e-9, "{kind}: {strength}");
    }
}

#[test]
fn pinned_and_most_important_memories_do_not_decay() {
    let policy = DecayPolicy::default();
    let anchor = Anchor { value: 0.6, at: at(0) };
    assert!((policy.strength(anchor, Kind::Task, 0.6, true, at(9_000)) - 0.6).abs() < 1e-12);
    assert!((policy.strength(anchor, Kind::Task, 1.0, false, at(9_000)) - 0.6).abs() < 1e-12);
}

#[test]
fn strength_stays_between_floor_and_anchor_even_if_the_clock_went_back() {
    let policy = DecayPolicy::default();
    for value in [0.0, 0.05, 0.1, 0.5, 1.0] {
        for day in [-400, 0, 1, 10_000] {
            let anchor = Anchor { value, at: at(0) };
            let strength = policy.strength(anchor, Kind::Event, 0.4, false, at(day));
            assert!(strength <= value && strength >= value.min(0.1), "{value} {day}");
        }
    }
}

#[test]
fn use_moves_the_anchor_and_stays_in_range() {
    assert!((reinforced(0.5, Use::Read, at(0)).value - 0.525).abs() < 1e-12);
    assert!((reinforced(1.0, Use::Useful, at(0)).value - 1.0).abs() < 1e-12);
    assert!((reinforced(0.5, Use::Useless, at(0)).value - 0.4).abs() < 1e-12);
}

#[test]
fn cues_raise_importance_only_as_words() {
    for (kind, text, expected) in [
        (Kind::Fact, "The router is white", 0.5),
        (Kind::Fact, "Always use tabs", 0.8),
        (Kind::Fact, "sideways", 0.5),
        (Kind::Instruction, "never push to main", 0.9),
        (Kind::Event, "请记住这个地址", 0.8),
    ] {
        assert!((initial_importance(kind, text) - expected).abs() < 1e-12, "{text}");
    }
}

#[test]
fn strengths_are_counted_by_tenths() {
    let mut distribution = Distribution::default();
    for strength in [0.0, 0.099, 0.1, 0.55, 0.999, 1.0, -0.5, 2.0, f64::NAN] {
        distribution.add(strength);
    }
    assert_eq!(distribution.tenths(), [4, 1, 0, 0, 0, 1, 0, 0, 0, 3]);
    assert_eq!(distribution.total(), 9);
}

/// Moments in order, from the anchor on: where somebody looks.
fn cuts() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0_u64..5_000_000_000, 1..40).prop_map(|mut seconds| {
        for at in &mut seconds {
            *at /= 20;
        }
        seconds.sort_unstable();
        seconds
    })
}

proptest! {
    /// However an interval is cut, with the strength of each cut taken for a new anchor, the end is
    /// the same as in one step.
    #[test]
    fn every_path_through_an_interval_leads_to_the_same_strength(
        value in 0.0_f64..=1.0,
        kind in prop::sample::select(Kind::ALL),
        cuts in cuts(),
    ) {
        let policy = DecayPolicy::default();
        let first = Anchor { value, at: at(0) };
        let mut anchor = first;
        for seconds in cuts {
            let now = at(0) + std::time::Duration::from_secs(seconds);
            let direct = policy.strength(first, kind, 0.5, false, now);
            let stepwise = policy.strength(anchor, kind, 0.5, false, now);
            prop_assert!((direct - stepwise).abs() < 1e-9, "{direct} {stepwise} at {seconds} s");
            anchor = Anchor { value: stepwise, at: now };
        }
    }

    /// Strength never grows by itself, and never leaves its bounds.
    #[test]
    fn strength_only_falls(value in 0.0_f64..=1.0, kind in prop::sample::select(Kind::ALL), cuts in cuts()) {
        let policy = DecayPolicy::default();
        let anchor = Anchor { value, at: at(0) };
        let mut last = value;
        for seconds in cuts {
            let now = at(0) + std::time::Duration::from_secs(seconds);
            let strength = policy.strength(anchor, kind, 0.5, false, now);
            prop_assert!(strength <= last && strength >= value.min(policy.floor));
            last = strength;
        }
    }
}

/// What many articles propose: each time the job runs, the stored score is multiplied by
/// `exp(-rate * days since the last access)`. That counts the first day as often as the job runs.
fn naive(score: f64, rate: f64, days_since_access: f64) -> f64 {
    score * (-rate * days_since_access).exp()
}

#[test]
fn the_naive_rule_compounds_and_depends_on_how_often_it_runs() {
    let rate = std::f64::consts::LN_2 / 30.0;
    let once = naive(1.0, rate, 30.0);
    let daily = (1..=30).fold(1.0, |score, day| naive(score, rate, f64::from(day)));
    assert!((once - 0.5).abs() < 1e-9, "one run: one half-life");
    // 1 + 2 + ... + 30 days instead of 30: a thousandth instead of a half.
    assert!((daily - (-rate * 465.0).exp()).abs() < 1e-12 && daily < 1e-4, "{daily}");
    // Ours, run once or daily, with the same half-life.
    let policy = DecayPolicy { floor: 0.0, ..DecayPolicy::default() };
    let strength = |anchor: Anchor, day| policy.strength(anchor, Kind::Event, 0.5, false, at(day));
    let mut anchor = Anchor { value: 1.0, at: at(0) };
    let in_one = strength(anchor, 30);
    for day in 1..=30 {
        anchor = Anchor { value: strength(anchor, day), at: at(day) };
    }
    assert!((in_one - 0.5).abs() < 1e-9 && (anchor.value - in_one).abs() < 1e-9);
}
