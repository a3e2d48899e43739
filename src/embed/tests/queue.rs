//! Order, bounds and failures of the queue, with a model that does what the test says, when the test
//! says so.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;

use crate::domain::embedding::{ModelIdentity, Scripts};
use crate::domain::limits::{EMBED_QUEUE_MAX, QUERY_CACHE_MAX};
use crate::embed::{Choice, Loaded, Model, ModelError, Plan, Queue};
use crate::ports::{EmbedError, Embedder};

/// Longest wait of a test for its own other half; only a failing test waits that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the model is asked, seen by the test, and the permission to answer, given by it.
struct Script {
    asked: Receiver<Vec<String>>,
    permit: Sender<()>,
}

impl Script {
    #[track_caller]
    fn next(&self) -> Vec<String> {
        self.asked.recv_timeout(PATIENCE).expect("the model is called")
    }

    fn allow(&self, n: usize) {
        for _ in 0..n {
            self.permit.send(()).unwrap();
        }
    }

    fn calls_so_far(&self) -> Vec<String> {
        self.asked.try_iter().flatten().collect()
    }
}

struct Scripted {
    asked: Sender<Vec<String>>,
    permit: Option<Receiver<()>>,
    batch_max: usize,
}

impl Model for Scripted {
    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.asked.send(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap();
        if let Some(permit) = &self.permit {
            let waited = permit.recv_timeout(PATIENCE);
            waited.map_err(|error| ModelError::Text(error.to_string()))?;
        }
        assert!(!texts.iter().any(|text| text.contains("panic")), "as told");
        if texts.iter().any(|text| text.contains("error")) {
            return Err(ModelError::Text("as told".to_owned()));
        }
        if texts.iter().any(|text| text.contains("down")) {
            return Err(ModelError::Down("as told".to_owned()));
        }
        Ok(texts
            .iter()
            .map(|text| match *text {
                "infinite" => vec![f32::NAN, 0.0],
                "zero" => vec![0.0, 0.0],
                "long" => vec![1.0, 0.0, 0.0],
                text => vec![text.len() as f32, 1.0],
            })
            .collect())
    }
}

fn identity() -> ModelIdentity {
    ModelIdentity {
        name: "scripted".to_owned(),
        dimension: 2,
        tokens_max: 12,
        pooling: "none".to_owned(),
        normalised: true,
        query_prefix: "q: ".to_owned(),
        document_prefix: String::new(),
        weights_hash: String::new(),
        tokenizer_hash: String::new(),
        text_template: String::new(),
        scripts: Scripts::ALL,
    }
}

/// A queue whose model takes `batch_max` texts a call and, if `gated`, waits for permits.
fn scripted(batch_max: usize, gated: bool) -> (Arc<Queue>, Script) {
    let (asked, seen) = channel();
    let (permit, permits) = channel();
    let model = Mutex::new(Some(Scripted { asked, permit: gated.then_some(permits), batch_max }));
    let queue = Queue::start(identity(), 1, move || {
        let model = model.lock().unwrap().take().ok_or("loaded twice")?;
        Ok(Box::new(model) as Box<dyn Model>)
    });
    (Arc::new(queue), Script { asked: seen, permit })
}

fn texts(texts: &[&str]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(*text)).collect()
}

/// Six chunks of ten one-piece words with the window of [`identity`], less the overlap.
fn long_text(word: &str) -> Arc<str> {
    [word; 48].join(" ").into()
}

#[tokio::test]
async fn a_query_waits_for_one_chunk_of_a_long_document_at_most() {
    let (queue, script) = scripted(1, true);
    let mut document = queue.embed_documents(vec![long_text("w"), long_text("v")]);
    assert!(document.as_mut().now_or_never().is_none());
    script.next();
    let mut query = queue.embed_query("which".into());
    assert!(query.as_mut().now_or_never().is_none());
    script.allow(2);
    query.await.unwrap();
    assert_eq!(script.next(), ["q: which"]);
    script.allow(100);
    let vectors = document.await.unwrap();
    assert_eq!(vectors.len(), 2);
    assert_eq!(vectors[0].len(), 6);
    assert_eq!(script.calls_so_far().len(), 11);
}

#[tokio::test]
async fn a_document_waits_for_one_chunk_of_the_backlog_at_most() {
    let (queue, script) = scripted(1, true);
    let mut backlog = queue.embed_backlog(vec![long_text("w"), long_text("v")]);
    assert!(backlog.as_mut().now_or_never().is_none());
    script.next();
    let mut document = queue.embed_documents(texts(&["fresh"]));
    assert!(document.as_mut().now_or_never().is_none());
    script.allow(2);
    document.await.unwrap();
    assert_eq!(script.next(), ["fresh"]);
    script.allow(100);
    let vectors = backlog.await.unwrap();
    assert_eq!((vectors.len(), vectors[0].len()), (2, 6));
}

#[tokio::test]
async fn a_model_that_takes_several_texts_gets_chunks_of_several_callers_at_once() {
    let (queue, script) = scripted(4, true);
    let mut first = queue.embed_documents(texts(&["a"]));
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!(script.next(), ["a"]);
    let mut second = queue.embed_documents(texts(&["b", "c"]));
    let mut third = queue.embed_documents(vec![long_text("d"), "e".into()]);
    assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
    script.allow(100);
    first.await.unwrap();
    assert_eq!(second.await.unwrap().len(), 2);
    let third = third.await.unwrap();
    assert_eq!(third.iter().map(Vec::len).collect::<Vec<_>>(), [6, 1]);
    let sizes: Vec<_> = script.asked.try_iter().map(|call| call.len()).collect();
    assert_eq!(sizes, [4, 4, 1]);
}

#[tokio::test]
async fn answers_come_in_the_order_of_the_texts_and_carry_the_prefix() {
    let (queue, script) = scripted(3, false);
    let vectors = queue.embed_documents(texts(&["aaaa", "b", "cc", "d"])).await.unwrap();
    let ratios: Vec<f32> = vectors.iter().map(|chunks| chunks[0][0] / chunks[0][1]).collect();
    for (ratio, expected) in ratios.iter().zip([4.0, 1.0, 2.0, 1.0]) {
        assert!((ratio - expected).abs() < 1e-4, "{ratios:?}");
    }
    vectors.iter().flatten().for_each(super::assert_unit);
    assert_eq!(script.calls_so_far(), ["aaaa", "b", "cc", "d"]);
    assert_eq!(queue.embed_documents(Vec::new()).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_repeated_query_does_not_reach_the_model() {
    let (queue, script) = scripted(1, false);
    let first = queue.embed_query("green  tea\n".into()).await.unwrap();
    let again = queue.embed_query(" green tea".into()).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(script.calls_so_far(), ["q: green tea"]);
    for n in 0..QUERY_CACHE_MAX {
        queue.embed_query(n.to_string().into()).await.unwrap();
    }
    queue.embed_query("green tea".into()).await.unwrap();
    assert_eq!(script.calls_so_far().len(), QUERY_CACHE_MAX + 1);
}

#[tokio::test]
async fn a_failed_query_is_not_remembered() {
    let (queue, script) = scripted(1, false);
    for _ in 0..2 {
        let failure = queue.embed_query("error".into()).await;
        assert_eq!(failure, Err(EmbedError::Failed("as told".to_owned())));
    }
    assert_eq!(script.calls_so_far().len(), 2);
}

#[tokio::test]
async fn a_full_lane_refuses_and_leaves_the_other_lane_open() {
    let (queue, script) = scripted(1, true);
    let mut running = queue.embed_documents(texts(&["running"]));
    assert!(running.as_mut().now_or_never().is_none());
    script.next();
    let mut waiting = queue.embed_documents(vec!["waiting".into(); EMBED_QUEUE_MAX]);
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!(queue.report().n_waiting, EMBED_QUEUE_MAX);
    assert_eq!(queue.embed_documents(texts(&["more"])).await, Err(EmbedError::Busy));
    let mut query = queue.embed_query("query".into());
    assert!(query.as_mut().now_or_never().is_none());

    // Those who stopped waiting make room.
    drop(waiting);
    let mut more = queue.embed_documents(texts(&["more"]));
    assert!(more.as_mut().now_or_never().is_none());
    script.allow(3);
    more.await.unwrap();
    query.await.unwrap();
    running.await.unwrap();

    let too_many = queue.embed_documents(vec!["x".into(); EMBED_QUEUE_MAX + 1]).await;
    assert!(matches!(too_many, Err(EmbedError::Failed(_))), "{too_many:?}");
}

#[tokio::test]
async fn the_rest_of_a_call_that_nobody_awaits_is_skipped() {
    let (queue, script) = scripted(1, true);
    let mut dropped = queue.embed_documents(vec![long_text("w"), "x".into()]);
    assert!(dropped.as_mut().now_or_never().is_none());
    script.next();
    drop(dropped);
    script.allow(2);
    queue.embed_documents(texts(&["after"])).await.unwrap();
    assert_eq!(script.calls_so_far(), ["after"]);
}

#[tokio::test]
async fn a_panic_or_a_wrong_vector_fails_its_call_alone() {
    let (queue, _script) = scripted(1, false);
    for text in ["panic", "error", "infinite", "zero", "long"] {
        let failure = queue.embed_documents(texts(&[text])).await;
        assert!(matches!(failure, Err(EmbedError::Failed(_))), "{text}: {failure:?}");
        assert!(queue.report().detail.contains("failure"), "{}", queue.report().detail);
        queue.embed_documents(texts(&["fine"])).await.unwrap();
        assert_eq!(queue.report().detail, "scripted answers");
    }
}

#[tokio::test]
async fn one_bad_text_of_a_batch_does_not_fail_the_calls_of_others() {
    let (queue, script) = scripted(8, true);
    let mut blocker = queue.embed_query("blocker".into());
    assert!(blocker.as_mut().now_or_never().is_none());
    script.next();
    let mut good = queue.embed_documents(texts(&["good"]));
    let mut bad = queue.embed_documents(texts(&["fine", "error", "also fine"]));
    assert!(good.as_mut().now_or_never().is_none() && bad.as_mut().now_or_never().is_none());
    script.allow(10);
    good.await.unwrap();
    assert_eq!(bad.await, Err(EmbedError::Failed("as told".to_owned())));
}

#[tokio::test]
async fn calls_wait_while_the_model_loads() {
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let queue = Queue::start(identity(), 1, move || {
        gate.lock().unwrap().recv_timeout(PATIENCE).map_err(|error| error.to_string())?;
        let (asked, _) = channel();
        // Nobody listens here, so this model fails every text: enough to know that it was asked.
        Ok(Box::new(Scripted { asked, permit: None, batch_max: 1 }))
    });
    let mut query = queue.embed_query("early".into());
    assert!(query.as_mut().now_or_never().is_none());
    let report = queue.report();
    assert!(!report.ready && report.detail.contains("loading") && report.n_waiting == 1);
    go.send(()).unwrap();
    assert_eq!(query.await, Err(EmbedError::Failed("it panicked".to_owned())));
    assert!(queue.report().ready);
}

#[tokio::test]
async fn a_model_that_does_not_load_says_why_to_all_who_wait_and_come() {
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let queue = Queue::start(identity(), 2, move || {
        gate.lock().unwrap().recv_timeout(PATIENCE).map_err(|error| error.to_string())?;
        Err("no weights".to_owned())
    });
    let mut early = queue.embed_documents(texts(&["early"]));
    assert!(early.as_mut().now_or_never().is_none());
    go.send(()).unwrap();
    go.send(()).unwrap();
    let down = EmbedError::Unavailable("no weights".to_owned());
    assert_eq!(early.await, Err(down.clone()));
    assert_eq!(queue.embed_query("late".into()).await, Err(down));
    let report = queue.report();
    assert!(!report.ready && report.detail.contains("no weights"), "{report:?}");
}

#[tokio::test]
async fn closing_fails_those_who_wait_and_ends_the_threads() {
    let (queue, script) = scripted(1, true);
    let mut begun = queue.embed_documents(vec![long_text("w")]);
    assert!(begun.as_mut().now_or_never().is_none());
    script.next();
    let mut waiting = queue.embed_query("waiting".into());
    assert!(waiting.as_mut().now_or_never().is_none());
    let closing = tokio::task::spawn_blocking({
        let queue = Arc::clone(&queue);
        move || queue.close()
    });
    assert!(matches!(waiting.await, Err(EmbedError::Unavailable(_))));
    script.allow(1);
    closing.await.unwrap();
    assert!(matches!(begun.await, Err(EmbedError::Unavailable(_))));
    assert!(script.asked.recv().is_err(), "the model is gone");
    assert!(matches!(queue.embed_query("late".into()).await, Err(EmbedError::Unavailable(_))));
    assert!(!queue.report().ready);
    queue.close();
}

#[tokio::test]
async fn several_threads_share_one_queue() {
    let queue = Arc::new(super::start(Choice::Seeded, 3));
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..200 {
        let queue = Arc::clone(&queue);
        calls.spawn(async move {
            let text: Arc<str> = format!("number {n}").into();
            let document = queue.embed_documents(vec![Arc::clone(&text)]).await.unwrap();
            let query = queue.embed_query(text).await.unwrap();
            assert_eq!(document[0], [query]);
        });
    }
    while let Some(outcome) = calls.join_next().await {
        outcome.unwrap();
    }
}

#[tokio::test]
async fn a_model_that_is_down_is_not_asked_for_each_text_of_a_batch() {
    let (queue, script) = scripted(8, true);
    let mut blocker = queue.embed_query("blocker".into());
    assert!(blocker.as_mut().now_or_never().is_none());
    script.next();
    let mut documents = queue.embed_documents(texts(&["one", "down", "three"]));
    assert!(documents.as_mut().now_or_never().is_none());
    script.allow(2);
    assert_eq!(documents.await, Err(EmbedError::Unavailable("as told".to_owned())));
    assert_eq!(script.calls_so_far(), ["one", "down", "three"]);
    let report = queue.report();
    assert!(!report.ready && report.detail == "scripted is down: as told", "{report:?}");
    script.allow(1);
    queue.embed_query("and up again".into()).await.unwrap();
    assert!(queue.report().ready);
}

/// Waits for a permit with each text that says "stuck".
struct Sticky {
    permits: Arc<Mutex<Receiver<()>>>,
}

impl Model for Sticky {
    fn batch_max(&self) -> usize {
        1
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        if texts.iter().any(|text| text.contains("stuck")) {
            let waited = self.permits.lock().unwrap().recv_timeout(PATIENCE);
            waited.map_err(|error| ModelError::Text(error.to_string()))?;
        }
        Ok(vec![vec![1.0, 0.0]; texts.len()])
    }
}

#[tokio::test]
async fn a_thread_for_queries_serves_them_while_documents_are_stuck() {
    let (permit, permits) = channel();
    let permits = Arc::new(Mutex::new(permits));
    let plan = Plan { name: "two".to_owned(), identity: None, n_threads: 2, n_for_queries: 1 };
    let queue = Queue::run(plan, move |_| {
        let model = Sticky { permits: Arc::clone(&permits) };
        Ok(Loaded { identity: identity(), model: Box::new(model) })
    });
    let mut documents = queue.embed_documents(texts(&["stuck", "stuck too"]));
    assert!(documents.as_mut().now_or_never().is_none());
    queue.embed_query("query".into()).await.unwrap();
    assert!(documents.as_mut().now_or_never().is_none());
    permit.send(()).unwrap();
    permit.send(()).unwrap();
    assert_eq!(documents.await.unwrap().len(), 2);
    assert_eq!(queue.identity(), Some(identity()), "known once it is loaded");
}
