//! The model is changed under a store: it goes on serving, embeds everything anew in the background,
//! and never compares vectors of two models.
//!
//! Both models have the same dimension, so that nothing but the bookkeeping keeps them apart.

use std::fs;
use std::sync::Arc;

use jiff::Timestamp;
use recalld::clock::SystemClock;
use recalld::domain::embedding::{Space, cosine};
use recalld::embed::runtime::Places;
use recalld::embed::{self, Choice, Queue, Surroundings, bundled, seeded};
use recalld::ports::{Embedder as _, Store as _};
use recalld::store::{RedbStore, StoreSettings};
use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::endpoint_server::{Answer, Endpoint, vector};
use crate::models::{install, test_models};

/// Memories that are embedded anew: enough for several kills on the way.
const N_MEMORIES: usize = 300;
/// Memories between two whose vectors are made again to be compared.
const CHECK_STEP: usize = 6;
/// A real model that is installed.
const MINILM: &str = "all-minilm-l6-v2";
/// What the endpoint of the tests calls its model.
const ENDPOINT_MODEL: &str = "stand-in";
/// Coordinates of its vectors.
const ENDPOINT_DIMENSION: usize = 768;

fn home(model: &str) -> Home {
    let home = Home::with_config(&config(model)).expect_log("is for tests");
    assert!(!home.state().exists());
    home
}

fn config(model: &str) -> String {
    format!("[embed]\nmodel = \"{model}\"\nstore_wait_ms = 10000\n")
}

fn switch(home: &Home, model: &str) {
    fs::write(home.path("config.toml"), config(model)).unwrap();
}

async fn fill(agent: &Agent) {
    let texts: Vec<String> = (0..N_MEMORIES - 1)
        .map(|n| format!("Note {n}: the tide table of week {} hangs beside the door", n / 7))
        .chain(["The kitten takes its nap on the sofa".to_owned()])
        .collect();
    for batch in texts.chunks(100) {
        agent.must("memory_store", json!({ "memories": batch })).await;
    }
}

async fn status(agent: &Agent) -> Value {
    agent.must("memory_status", json!({})).await
}

async fn until_whole(agent: &Agent) {
    eventually("every part is well and nothing waits", async || {
        let status = status(agent).await;
        (status["ok"] == true && status["n_pending_vectors"] == 0).then_some(())
    })
    .await;
}

/// Waits until so many memories are embedded anew; gives how many there are by then.
async fn until_done(agent: &Agent, goal: u64) -> u64 {
    eventually("the pass goes on", async || {
        status(agent).await["reembedding"]["n_done"].as_u64().filter(|n| *n >= goal)
    })
    .await
}

/// What the store holds while no daemon runs: its spaces. Every vector checked is one that the model
/// of its space makes of that text.
async fn unmixed_spaces(home: &Home) -> Vec<Space> {
    let settings = StoreSettings { cache_bytes: 16 << 20 };
    let store = RedbStore::open(&home.state(), settings, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    let spaces = store.spaces().await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    for space in &spaces {
        let model = match space.model.name.as_str() {
            "seeded" => Some(Queue::start(seeded::identity(0), 1, || Ok(seeded::model(0)))),
            ENDPOINT_MODEL => None,
            MINILM => Some(installed(home, MINILM)),
            _ => Some(Queue::start(bundled::identity(), 1, bundled::load)),
        };
        let stored = snapshot.scan_vectors(space.id, None, usize::MAX).await.unwrap();
        for (id, embedded) in stored.iter().step_by(CHECK_STEP) {
            let memory = snapshot.memories(vec![*id]).await.unwrap().remove(0).unwrap();
            let text = Arc::clone(&memory.content);
            let made = match &model {
                Some(model) => model.embed_documents(vec![text]).await.unwrap().remove(0),
                None => vec![vector(&text, ENDPOINT_DIMENSION).into()],
            };
            for (kept, made) in embedded.chunks.iter().zip(&made) {
                let cosine = cosine(kept, made);
                assert!(cosine > 0.999, "{}: {cosine} of {}", space.model.name, memory.content);
            }
        }
    }
    drop(snapshot);
    store.close();
    spaces
}

/// A model that is installed there, started here.
fn installed(home: &Home, name: &str) -> Queue {
    embed::start(
        Choice::Installed(name.to_owned()),
        Surroundings {
            models_dir: home.state().join("models"),
            places: Places { dirs: vec![home.state().join("ort")], ..Places::default() },
            n_threads: 1,
            clock: Arc::new(SystemClock::new()),
        },
    )
}

/// A question asked while the space is not whole is answered by words, and says so.
async fn expect_words_alone(agent: &Agent) {
    let answer = agent.must("memory_search", json!({ "query": "tide table note 17" })).await;
    assert!(answer["memories"][0]["content"].as_str().unwrap().starts_with("Note 17:"), "{answer}");
    let degraded = answer["degraded"].to_string();
    assert!(degraded.contains("re-embedding with"), "{answer}");
    assert!(!answer["memories"].to_string().contains("vector "), "{answer}");
    let status = status(agent).await;
    let vectors = status["parts"].as_array().unwrap().iter().find(|part| part["name"] == "vectors");
    let because = vectors.unwrap()["because"].as_str().unwrap_or_default();
    assert!(because.contains(" of 30") && because.contains(", since "), "{status}");
}

#[tokio::test]
async fn a_changed_model_embeds_everything_anew_across_kills() {
    let home = home("seeded");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    fill(&agent).await;
    until_whole(&agent).await;
    assert!(daemon.stop().await.success());

    switch(&home, "bundled");
    let mut n_done = 0;
    for (round, goal) in [20, 70, 130].into_iter().enumerate() {
        let daemon = home.serve().await;
        let agent = home.agent("a").await;
        let n_seen = until_done(&agent, goal).await;
        expect_words_alone(&agent).await;
        let said = home.run(&["status"]);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("\nre-embedding with ") && said.contains("[#"), "{said}");
        agent.store(&format!("Stored in round {round}, about a zeppelin")).await;
        daemon.kill();
        let spaces = unmixed_spaces(&home).await;
        let names: Vec<bool> = spaces.iter().map(|space| space.model.name == "seeded").collect();
        assert_eq!(names, [true, false], "the old space stays until the new one is whole");
        let [old, new] = spaces.as_slice() else { unreachable!() };
        assert_eq!(old.n_embedded, N_MEMORIES as u64, "no memory leaves it, none enters it");
        assert!(new.n_embedded >= n_seen.max(n_done), "nothing is done twice");
        assert_eq!(new.completed_at, None);
        n_done = new.n_embedded;
    }
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    until_whole(&agent).await;
    let question = json!({ "query": "where does the small cat sleep" });
    let answer = agent.must("memory_search", question).await;
    assert!(answer["degraded"].is_null(), "{answer}");
    assert!(answer["memories"][0]["content"].as_str().unwrap().contains("kitten"), "{answer}");
    eventually("the old space is removed", async || {
        home.log().contains("vectors of an old model removed").then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
    let spaces = unmixed_spaces(&home).await;
    assert_eq!((spaces.len(), spaces[0].n_pending), (1, 0));
    assert_eq!(spaces[0].n_embedded, N_MEMORIES as u64 + 3);
}

#[tokio::test]
async fn a_model_that_comes_back_half_way_finds_its_old_vectors() {
    let home = home("seeded");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    fill(&agent).await;
    until_whole(&agent).await;
    assert!(daemon.stop().await.success());

    switch(&home, "bundled");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    until_done(&agent, 20).await;
    let changed = agent.store("The zeppelin is moored at the north tower").await;
    agent.must("memory_update", json!({ "id": changed, "content": "The zeppelin has left" })).await;
    daemon.kill();

    switch(&home, "seeded");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    until_whole(&agent).await;
    assert!(status(&agent).await["reembedding"].is_null());
    let answer = agent.must("memory_search", json!({ "query": "zeppelin has left" })).await;
    assert!(answer["degraded"].is_null(), "{answer}");
    let reasons = answer["memories"][0]["reasons"].to_string();
    assert!(reasons.contains("vector +"), "what came meanwhile has its vector: {answer}");
    eventually("the other space is removed", async || {
        home.log().contains("vectors of an old model removed").then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
    let spaces = unmixed_spaces(&home).await;
    assert_eq!((spaces.len(), spaces[0].model.name.as_str()), (1, "seeded"));
    assert_eq!((spaces[0].n_embedded, spaces[0].n_pending), (N_MEMORIES as u64 + 1, 0));
}

/// From the bundled model to a real one that is installed and back, killed on the way both times.
#[tokio::test]
async fn a_store_moves_to_minilm_and_back_across_kills() {
    let Some(models) = test_models("a_store_moves_to_minilm_and_back_across_kills") else { return };
    let home = home("bundled");
    install(&home, &models, "minilm", MINILM);
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    fill(&agent).await;
    until_whole(&agent).await;
    assert!(daemon.stop().await.success());
    for model in [MINILM, "bundled"] {
        switch(&home, model);
        let daemon = home.serve().await;
        let agent = home.agent("a").await;
        let n_done = until_done(&agent, 20).await;
        expect_words_alone(&agent).await;
        daemon.kill();
        let spaces = unmixed_spaces(&home).await;
        assert_eq!(spaces.len(), 2);
        assert!(spaces[1].n_embedded >= n_done, "{spaces:?}");
        let daemon = home.serve().await;
        let agent = home.agent("a").await;
        until_whole(&agent).await;
        let question = json!({ "query": "where does the small cat sleep" });
        let answer = agent.must("memory_search", question).await;
        assert!(answer["degraded"].is_null(), "{answer}");
        assert!(answer["memories"][0]["content"].as_str().unwrap().contains("kitten"), "{answer}");
        eventually("the old space is removed", async || {
            status(&agent).await["reembedding"].is_null().then_some(())
        })
        .await;
        assert!(daemon.stop().await.success());
    }
    let spaces = unmixed_spaces(&home).await;
    let newest = spaces.last().unwrap();
    assert_eq!((newest.n_embedded, newest.n_pending), (N_MEMORIES as u64, 0));
}

/// The state of a part and the reason for it.
async fn part(agent: &Agent, name: &str) -> (String, String) {
    let status = status(agent).await;
    let part = status["parts"].as_array().unwrap().iter().find(|part| part["name"] == name);
    let text = |field: &str| part.unwrap()[field].as_str().unwrap_or_default().to_owned();
    (text("state"), text("because"))
}

/// Stores while the endpoint is away: acknowledged at once, found by words, and it is said why not by
/// meaning.
async fn expect_words_without_the_endpoint(agent: &Agent, word: &str) {
    let text = format!("The {word} was stored while the endpoint was away");
    let answer = agent.must("memory_store", json!({ "content": text })).await;
    assert_eq!(answer["memories"][0]["status"], "stored", "{answer}");
    assert_eq!(answer["memories"][0]["embedded"], false, "{answer}");
    let answer = agent.must("memory_search", json!({ "query": word })).await;
    assert_eq!(answer["memories"][0]["content"], json!(text), "{answer}");
    assert!(answer["degraded"].to_string().contains("vectors: "), "{answer}");
}

/// Scenario 26: an endpoint of 768 dimensions goes away; then a model of 384 takes its place.
#[tokio::test]
async fn a_lost_endpoint_delays_meaning_until_another_model_has_read_everything() {
    let endpoint = Endpoint::start(Answer::Floats(ENDPOINT_DIMENSION));
    let config = |wait_ms: u32| {
        format!(
            "[embed]\nmodel = \"endpoint\"\nstore_wait_ms = {wait_ms}\n[embed.endpoint]\n\
             url = \"{}\"\nmodel = \"{ENDPOINT_MODEL}\"\n",
            endpoint.url
        )
    };
    let home = Home::with_config(&config(10_000))
        .expect_log("search is by words alone")
        .expect_log("memories wait for their vectors");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    fill(&agent).await;
    until_whole(&agent).await;
    let answer = agent.must("memory_search", json!({ "query": "kitten sofa" })).await;
    assert!(answer["memories"][0]["reasons"].to_string().contains("vector +"), "{answer}");

    fs::write(home.path("config.toml"), config(500)).unwrap();
    endpoint.always(Answer::Raw(500, "", "{}".to_owned()));
    expect_words_without_the_endpoint(&agent, "zeppelin").await;
    daemon.kill();
    // A start without it serves as well, and says what is missing.
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    expect_words_without_the_endpoint(&agent, "gondola").await;
    let (state, because) = part(&agent, "vectors").await;
    assert_eq!(state, "degraded");
    assert!(!because.is_empty());
    daemon.kill();
    let spaces = unmixed_spaces(&home).await;
    assert_eq!((spaces.len(), spaces[0].model.dimension), (1, ENDPOINT_DIMENSION));
    assert_eq!((spaces[0].n_embedded, spaces[0].n_pending), (N_MEMORIES as u64, 2));

    switch(&home, "bundled");
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    until_done(&agent, 60).await;
    expect_words_alone(&agent).await;
    daemon.kill();
    let dimensions: Vec<usize> =
        unmixed_spaces(&home).await.iter().map(|space| space.model.dimension).collect();
    assert_eq!(dimensions, [ENDPOINT_DIMENSION, 384]);

    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    until_whole(&agent).await;
    let answer =
        agent.must("memory_search", json!({ "query": "the balloon called zeppelin" })).await;
    assert!(answer["degraded"].is_null(), "{answer}");
    eventually("the old space is removed", async || {
        home.log().contains("vectors of an old model removed").then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
    let spaces = unmixed_spaces(&home).await;
    assert_eq!((spaces.len(), spaces[0].model.dimension), (1, 384));
    assert_eq!((spaces[0].n_embedded, spaces[0].n_pending), (N_MEMORIES as u64 + 2, 0));
}
