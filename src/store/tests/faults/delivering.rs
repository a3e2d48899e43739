//! A delivery whose process ends at any operation of its disk, between any two of its steps: the sink
//! gets each message, and none twice without being told that it may be.
//!
//! The sink is a list; what is written of it does not go back when the power is cut.

use jiff::{SignedDuration, Timestamp};

use super::super::fixture::{SETTINGS, at};
use super::super::reminders::{entry, row};
use super::disk::{Disk, Random, seed};
use crate::domain::id::MemoryId;
use crate::domain::reminder::{
    Backoff, DeliveryKey, DeliveryState, Enact, Enacted, Lease, NextStep, Outcome, RetryPolicy,
};
use crate::ports::Reminders as _;
use crate::store::RedbStore;

/// For how long a row is claimed, seconds.
const LEASE: i64 = 60;
/// Cuts at each operation.
const CUTS: usize = 2;

/// A call of the sink.
#[derive(Clone, Copy, Debug)]
struct Call {
    key: DeliveryKey,
    may_repeat: bool,
    /// Operations of the disk until then.
    n_ops: u64,
}

/// How a sink is used.
#[derive(Clone, Copy, Debug)]
struct Manners {
    sink_knows_keys: bool,
    repeats_uncertain: bool,
}

impl Manners {
    const fn policy(self) -> RetryPolicy {
        let wait = SignedDuration::from_secs(1);
        RetryPolicy {
            backoff: Backoff { base: wait, max: wait },
            attempts_max: 5,
            sink_knows_keys: self.sink_knows_keys,
            repeats_uncertain: self.repeats_uncertain,
        }
    }
}

async fn enact(store: &RedbStore, request: Enact, now: Timestamp) {
    let enacted = store.enact(request, now).await.unwrap();
    assert!(matches!(enacted, Enacted::Done(_)), "{enacted:?}");
}

/// Queues what is due once, then delivers whatever waits until nothing does.
async fn run(disk: &Disk, manners: Manners, start: i64) -> Vec<Call> {
    let store = RedbStore::open_with_backend(disk.clone(), SETTINGS, at(0)).unwrap();
    let mut calls = Vec::new();
    tick(&store).await;
    for second in start.. {
        let now = at(second);
        let waiting = store.rows(DeliveryState::Queued, None, None, 9).await.unwrap();
        if waiting.is_empty() {
            break;
        }
        assert!(second < start + 1_000, "{waiting:?} wait for ever");
        for mut row in waiting {
            let lease = Lease {
                owner: u128::from(now.as_second().unsigned_abs()),
                until: at(second + LEASE),
            };
            match row.delivery.next_step(now) {
                NextStep::Claim => row.delivery.claim(lease, now).unwrap(),
                NextStep::Recover => {
                    row.delivery.recover(&manners.policy(), 0.5, now).unwrap();
                    enact(&store, Enact { rows: vec![row], ..Enact::default() }, now).await;
                    continue;
                }
                NextStep::Wait(_) | NextStep::Expire | NextStep::Nothing => continue,
            }
            enact(&store, Enact { rows: vec![row.clone()], ..Enact::default() }, now).await;
            row.version += 1;
            row.delivery.call(lease.owner, now).unwrap();
            enact(&store, Enact { rows: vec![row.clone()], ..Enact::default() }, now).await;
            row.version += 1;
            let (key, may_repeat) = (row.delivery.key, row.delivery.may_repeat);
            calls.push(Call { key, may_repeat, n_ops: disk.n_ops() });
            let sent = Outcome::Sent { remote_id: None };
            row.delivery.settle(lease.owner, now, sent, &manners.policy(), 0.5, now).unwrap();
            enact(&store, Enact { rows: vec![row], ..Enact::default() }, now).await;
        }
    }
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    store.close();
    calls
}

/// What the engine does at each start: the reminder if it is not there, and what is due of it.
async fn tick(store: &RedbStore) {
    let due = entry(MemoryId::new(1, 1), "a", 10);
    let queued = vec![row(&due, "desk", 10), row(&due, "team", 10)];
    let is_there = store.entry(due.id).await.unwrap().is_some();
    let new = if is_there { Vec::new() } else { vec![due] };
    enact(store, Enact { new, queued, ..Enact::default() }, at(10)).await;
}

/// Cuts a run at each operation and goes on with what is left. Gives how many messages were sent twice
/// and how many were left as uncertain.
async fn cut_everywhere(manners: Manners, random: &mut Random) -> (u64, u64) {
    let disk = Disk::new(Vec::new());
    RedbStore::open_with_backend(disk.clone(), SETTINGS, at(0)).unwrap().close();
    let disk = Disk::new(disk.image());
    let calls = run(&disk, manners, 20).await;
    assert_eq!(calls.len(), 2);
    let (mut n_twice, mut n_uncertain) = (0, 0);
    let mut cuts = disk.cuts();
    for n_ops in 0..=disk.n_ops() {
        cuts.advance(n_ops);
        for _ in 0..CUTS {
            let left = Disk::new(cuts.cut(random));
            let again = run(&left, manners, 100).await;
            let store = RedbStore::open_with_backend(left, SETTINGS, at(0)).unwrap();
            for call in &calls {
                let before = u64::from(call.n_ops <= n_ops);
                let after: Vec<&Call> = again.iter().filter(|late| late.key == call.key).collect();
                let state = store.row(call.key).await.unwrap().unwrap().delivery.state;
                let case =
                    format!("{manners:?}, cut at {n_ops}: {before} before, {after:?}, {state}");
                assert!(after.len() <= 1, "{case}");
                let n_sent = before + after.len() as u64;
                if n_sent == 2 {
                    n_twice += 1;
                    let is_known = manners.sink_knows_keys || after[0].may_repeat;
                    assert!(is_known && !may_leave(manners), "{case}");
                }
                if state == DeliveryState::Uncertain {
                    n_uncertain += 1;
                    assert!(may_leave(manners) && after.is_empty(), "{case}");
                } else {
                    assert!(state == DeliveryState::Sent && n_sent >= 1, "{case}");
                }
            }
            store.close();
        }
    }
    (n_twice, n_uncertain)
}

/// Whether what may have been sent is left alone.
const fn may_leave(manners: Manners) -> bool {
    !manners.sink_knows_keys && !manners.repeats_uncertain
}

#[tokio::test]
async fn a_message_is_sent_whenever_its_process_ends_and_twice_only_if_marked_so() {
    let mut random = Random::new(seed("cut deliveries"));
    for (sink_knows_keys, repeats_uncertain) in [(true, false), (false, true), (false, false)] {
        let manners = Manners { sink_knows_keys, repeats_uncertain };
        let (n_twice, n_uncertain) = cut_everywhere(manners, &mut random).await;
        eprintln!("{manners:?}: {n_twice} sent twice, {n_uncertain} uncertain");
        // Some cut has hit the moment between the call and the note of what came of it.
        assert_eq!((n_twice > 0, n_uncertain > 0), (!may_leave(manners), may_leave(manners)));
    }
}
