//! The loop of the reminders, in real time on a clock that is moved by hand.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::recorder::{Answer, Recorder, World, outlet, time};
use crate::domain::reminder::Outcome;
use crate::jobs::Reminding;
use crate::ports::Clock;

/// Longest wait for what has to come; only a failure takes so long.
const LONGEST: Duration = Duration::from_mins(1);

fn begin(w: &World) -> (CancellationToken, JoinHandle<()>) {
    begin_asked(w, || std::future::pending().boxed())
}

fn begin_asked(
    w: &World,
    asked: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> (CancellationToken, JoinHandle<()>) {
    let stop = CancellationToken::new();
    let clock: Arc<dyn Clock> = w.f.clock.clone();
    let reminding = Reminding { service: Arc::clone(&w.service), clock, stop: stop.clone() };
    let living = tokio::spawn(async move { reminding.live(asked).await });
    (stop, living)
}

async fn arrived(sink: &Recorder, n: usize) {
    let waiting = async {
        while sink.arrived().len() < n {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LONGEST, waiting).await.expect("nothing arrived");
}

#[tokio::test]
async fn what_is_set_while_the_loop_waits_is_told_in_time_and_acknowledged_where_it_is_shown() {
    let w = World::new().await;
    w.team.may(|abilities| abilities.has_ack = true);
    let (stop, living) = begin(&w);
    w.f.clock.set(time("2026-11-30T13:59:59.9+01:00"));
    let view = w.set_at("tea", "2026-11-30T14:00").await;
    w.f.clock.advance(Duration::from_millis(100));
    arrived(&w.team, 1).await;
    assert_eq!(w.team.times(), ["2026-11-30T13:00:00Z"]);
    w.team.acknowledge(w.team.arrived()[0].message.key);
    let acked = async {
        let id = view.entry.id.to_string();
        while w
            .service
            .reminder(&super::fixture::owner(), &id)
            .await
            .unwrap()
            .entry
            .reminder
            .open
            .is_some()
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LONGEST, acked).await.expect("not acknowledged");
    stop.cancel();
    living.await.unwrap();
}

#[tokio::test]
async fn a_slow_sink_holds_up_no_other_and_the_end_waits_for_its_answer() {
    let w = World::new().await;
    let phone = Recorder::new("phone", &w.f.clock);
    let answers = Arc::new(Notify::new());
    phone.answers([Answer::Waits(Arc::clone(&answers))]);
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone)]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.f.clock.set(time("2026-11-30T14:00+01:00"));
    let (stop, living) = begin(&w);
    arrived(&phone, 1).await;
    arrived(&w.team, 1).await;
    w.set_at("cake", "2026-11-30T14:00:01").await;
    w.f.clock.advance(Duration::from_secs(1));
    w.service.use_sinks(vec![outlet(&w.team), outlet(&phone)]);
    arrived(&w.team, 2).await;
    assert_eq!(phone.arrived().len(), 1, "one at a time");
    stop.cancel();
    tokio::task::yield_now().await;
    assert!(!living.is_finished());
    answers.notify_one();
    living.await.unwrap();
    let view = w.service.dead_letters(&super::fixture::owner(), 10).await.unwrap();
    assert!(view.is_empty());
    let report = w.service.sink_reports().await.unwrap();
    let phone = report.iter().find(|report| report.name == "phone").unwrap();
    assert_eq!(phone.n_queued, 1, "what had not begun waits for the next start");
}

#[tokio::test]
async fn a_sink_whose_files_have_changed_is_told_what_waits_without_other_news() {
    let w = World::new().await;
    w.team.answers([Answer::Is(Outcome::Disabled("401".to_owned()))]);
    w.set_at("tea", "2026-11-30T14:00").await;
    w.f.clock.set(time("2026-11-30T14:00+01:00"));
    // It goes round all the time, as it does by itself every half minute.
    let (stop, living) = begin_asked(&w, || tokio::time::sleep(Duration::from_millis(2)).boxed());
    arrived(&w.team, 1).await;
    w.f.clock.advance(Duration::from_mins(10));
    w.team.gets_other_files();
    arrived(&w.team, 2).await;
    stop.cancel();
    living.await.unwrap();
}
