//! Properties of every reminder, however it is looked at.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::domain::reminder::rule::any_rule;

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn any_lead() -> impl Strategy<Value = Lead> {
    let time = (0..24_i8).prop_map(|hour| Some(jiff::civil::Time::constant(hour, 30, 0, 0)));
    prop_oneof![
        Just(Lead::NONE),
        (1..4_000_u32).prop_map(Lead::minutes),
        (0..9_u16, prop_oneof![Just(None), time]).prop_map(|(days, at)| Lead::Civil { days, at }),
    ]
}

fn any_reminder() -> impl Strategy<Value = Reminder> {
    let on_missed =
        prop_oneof![Just(OnMissed::Late), Just(OnMissed::Skip), Just(OnMissed::Coalesce)];
    (any_rule(), any_lead(), on_missed, 1..60_000_i64).prop_map(
        |((_, rule), lead, on_missed, minutes)| {
            let now = rule.first().unwrap().at - SignedDuration::from_mins(minutes);
            let reminder = Reminder::new(rule, lead, Status::Active, now).unwrap();
            Reminder { on_missed, ..reminder }
        },
    )
}

/// Looks: so many minutes after the last, or before it.
fn any_looks() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![
        4 => 0..90_i64,
        4 => 0..3_000_i64,
        2 => 0..200_000_i64,
        1 => -1_430..0_i64,
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn each_occurrence_is_told_or_skipped_once(mut reminder in any_reminder(), looks in any_looks()) {
        let started = reminder.counts_from;
        let (mut now, mut latest) = (started, started);
        let mut told = BTreeSet::new();
        let mut n_dealt_with = 0;
        for minutes in looks {
            // A clock is set back within a day.
            now = (now + SignedDuration::from_mins(minutes)).max(latest - DAY);
            latest = latest.max(now);
            let mut n_superseded = 0;
            for effect in reminder.tick(now, &POLICY) {
                match effect {
                    Effect::Tell(telling) => {
                        prop_assert!(telling.due_at <= now);
                        prop_assert!(told.insert(telling.occurrence.civil), "twice");
                        let is_coalesced = reminder.on_missed == OnMissed::Coalesce;
                        prop_assert_eq!(telling.n_missed, if is_coalesced { n_superseded } else { 0 });
                        n_dealt_with += 1;
                    }
                    Effect::Skip { first, last, n, .. } => {
                        prop_assert!(first.civil <= last.civil);
                        n_dealt_with += n;
                        n_superseded = n;
                    }
                }
            }
            prop_assert_eq!(reminder.generation, 0);
            // All that was due until the latest of the looks has been dealt with, and no more.
            if let Some(done) = reminder.done_through {
                let first = reminder.rule.next_after(started).unwrap();
                let n = 1 + reminder.rule.n_between(first.civil, done);
                prop_assert_eq!(n_dealt_with, n);
            }
            if let Some(pending) = reminder.pending() {
                prop_assert!(reminder.due_at(pending) > now);
            }
        }
    }

    #[test]
    fn who_looks_when_there_is_something_to_do_is_never_late(mut reminder in any_reminder()) {
        let mut expected = reminder.rule.next_after(reminder.counts_from);
        for _ in 0..40 {
            let Some(now) = reminder.wakes_at(&POLICY) else { break };
            for effect in reminder.tick(now, &POLICY) {
                let Effect::Tell(telling) = effect else {
                    // Two moments may fall together: the wall moved them forward, or one civil lead.
                    continue;
                };
                prop_assert_eq!(telling.lateness(now), SignedDuration::ZERO);
                while expected.is_some_and(|expected| expected.civil < telling.occurrence.civil) {
                    let before = expected.unwrap();
                    prop_assert_eq!(reminder.due_at(before), telling.due_at);
                    expected = reminder.rule.next_after_civil(before.civil);
                }
                prop_assert_eq!(Some(telling.occurrence), expected);
                expected = reminder.rule.next_after_civil(telling.occurrence.civil);
            }
            prop_assert!(reminder.wakes_at(&POLICY).is_none_or(|next| next > now), "no busy loop");
        }
    }
}
