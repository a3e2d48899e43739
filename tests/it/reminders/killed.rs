//! The real daemon, killed between every two steps of a delivery: each message arrives, at most once
//! more and marked so where the receiver cannot tell, and once by its key where it can. What was cut off
//! twice after its call was noted is shown as uncertain.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::{Value, json};

use super::receiver::{Got, Receiver, answer};
use crate::daemon::{Agent, Home, eventually};

/// The steps between which it ends.
const POINTS: [&str; 5] = [
    "reminder.queued",
    "reminder.claimed",
    "reminder.called",
    "reminder.answered",
    "reminder.settled",
];

/// What happens beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// Three reminders are due, and are one message.
    Digest,
    /// The receivers refuse the first call, so that it is the second that is cut off.
    Busy,
    /// The daemon ends once more where it ended before.
    Again,
}

const ALL: [Beside; 4] = [Beside::Nothing, Beside::Digest, Beside::Busy, Beside::Again];
/// Rounds at a time.
const AT_A_TIME: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_any_two_steps_loses_nothing_and_repeats_at_most_once_and_marked() {
    let all: Vec<(&str, Beside)> =
        ALL.iter().flat_map(|beside| POINTS.map(|point| (point, *beside))).collect();
    let mut n_repeated = 0;
    for some in all.chunks(AT_A_TIME) {
        let rounds = some.iter().map(|(point, beside)| round(point, *beside));
        n_repeated += futures::future::join_all(rounds).await.into_iter().sum::<usize>();
    }
    // Where it was cut off before the outcome was kept, nobody could know better.
    assert!(n_repeated > 0, "no round came between a call and its record");
}

/// A round; gives how many messages came twice.
async fn round(point: &str, beside: Beside) -> usize {
    let receiver = Receiver::start();
    let (plain, keyed) = (format!("{}/plain", receiver.base), format!("{}/keyed", receiver.base));
    let home = Home::with_config(&format!(
        "[embed]\nmodel = \"none\"\n[jobs]\nzone = \"UTC\"\n[reminders]\nbackoff_s = 1\n\
         [sinks.plain]\nkind = \"json\"\nknows_keys = false\nurl = \"{plain}\"\n\
         [sinks.keyed]\nkind = \"json\"\nurl = \"{keyed}\"\n"
    ))
    .expect_log("reminder not told");
    if beside == Beside::Busy {
        receiver.next("/", [answer(500, ""), answer(500, "")]);
    }
    let mut daemon = home
        .serve_with(|command| {
            command.env("RECALLD_FAULT_POINT", point);
        })
        .await;
    let agent = home.agent("a").await;
    let n = if beside == Beside::Digest { 3 } else { 1 };
    let due = SystemClock::new().now() + SignedDuration::from_millis(2_500);
    for number in 0..n {
        let asked = json!({ "text": format!("Errand {number}"), "at": due.to_string() });
        agent.must("reminder_set", asked).await;
    }
    let status = eventually("the daemon ends", async || daemon.exited()).await;
    assert!(!status.success(), "{status}");
    if beside == Beside::Again {
        // Where there is nothing of that step left to do, it goes on.
        let mut daemon = home.spawn_with(|command| {
            command.env("RECALLD_FAULT_POINT", point);
        });
        eventually("the daemon ends again, or is done", async || {
            let is_there = |path| !receiver.taken(path).is_empty();
            let is_done = daemon.exited().is_some() || is_there("/plain") && is_there("/keyed");
            is_done.then_some(())
        })
        .await;
    }
    let daemon = home.serve().await;
    let owner = home.owner().await;
    settled(&owner).await;
    assert!(daemon.stop().await.success());
    // What was taken and recorded does not come again.
    let daemon = home.serve().await;
    let owner = home.owner().await;
    settled(&owner).await;
    let n_uncertain = uncertain(&owner, "plain").await;
    drop(daemon);
    let what = format!("{point}, {beside:?}");
    let (plain, keyed) = (receiver.taken("/plain"), receiver.taken("/keyed"));
    assert_eq!(keys(&keyed).len(), 1, "{what}: {keyed:?}");
    if plain.is_empty() {
        // Cut off twice after the call was noted: it may have come twice already, for all we know, so
        // that it is left to the person.
        assert!(beside == Beside::Again && n_uncertain == 1, "{what}: {n_uncertain}");
        return 0;
    }
    assert_eq!(keys(&plain).len(), 1, "{what}: {plain:?}");
    for got in [&plain, &keyed].into_iter().flatten() {
        assert_eq!(got.data("reminders").as_array().unwrap().len(), n, "{what}: {got:?}");
    }
    assert!(plain.len() <= 2, "{what}: {plain:?}");
    let unmarked = plain.iter().skip(1).find(|got| *got.data("may_repeat") != json!(true));
    assert!(unmarked.is_none(), "{what}: {plain:?}");
    plain.len() - 1
}

fn keys(got: &[Got]) -> BTreeSet<String> {
    got.iter().map(|got| got.data("id").to_string()).collect()
}

/// Messages to a sink of which nobody knows whether they arrived.
async fn uncertain(owner: &Agent, name: &str) -> u64 {
    let answer = owner.must("sink_list", json!({})).await;
    let sinks = answer["sinks"].as_array().unwrap();
    sinks.iter().find(|sink| sink["name"] == name).unwrap()["n_uncertain"].as_u64().unwrap()
}

/// Waits until nothing is to be sent any more.
async fn settled(owner: &Agent) {
    eventually("everything is sent", async || {
        let answer = owner.must("sink_list", json!({})).await;
        let sinks = answer["sinks"].as_array().unwrap();
        let is_open = |sink: &Value| sink["n_queued"] != json!(0);
        (!sinks.iter().any(is_open)).then_some(())
    })
    .await;
}
