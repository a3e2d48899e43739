//! Models behind an endpoint: the servers that speak its protocol, and everything that can go wrong
//! with one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use recalld::clock::SystemClock;
use recalld::domain::embedding::Scripts;
use recalld::domain::limits::ENDPOINT_FAILURES_MAX;
use recalld::embed::{self, Choice, EndpointSettings, Queue, Surroundings};
use recalld::ports::{EmbedError, Embedder};
use serde_json::json;

use crate::daemon::{Home, eventually};
use crate::endpoint_server::{Answer, Asked, Endpoint, vector};

const KEY: &str = "sk-test-4711";

fn settings(url: &str) -> EndpointSettings {
    EndpointSettings {
        url: url.parse().unwrap(),
        model: "stand-in".to_owned(),
        key_file: None,
        timeout: Duration::from_secs(20),
        dimensions: None,
        query_prefix: None,
        document_prefix: None,
        tokens_max: None,
        scripts: None,
        batch: 4,
        allow_private: Vec::new(),
    }
}

fn start(settings: EndpointSettings) -> Queue {
    let surroundings = Surroundings::bare(1, Arc::new(SystemClock::new()));
    embed::start(Choice::Endpoint(Box::new(settings)), surroundings)
}

async fn documents(queue: &Queue, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let found = queue.embed_documents(texts.iter().map(|text| Arc::from(*text)).collect()).await?;
    Ok(found.into_iter().map(|chunks| chunks[0].to_vec()).collect())
}

/// What the stand-in makes of a text, at length 1.
fn expected(text: &str, n_numbers: usize) -> Vec<f32> {
    let vector = vector(text, n_numbers);
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let distance: f32 = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).sum();
    assert!(distance < 1e-4, "{found:?} {expected:?}");
}

#[tokio::test]
async fn every_form_of_answer_gives_the_vectors_in_the_order_of_the_texts() {
    for answer in [Answer::Floats(8), Answer::Reversed(8), Answer::Base64(8)] {
        let endpoint = Endpoint::start(answer.clone());
        let queue = start(settings(&endpoint.url));
        let found = documents(&queue, &["one", "two", "three"]).await.unwrap();
        for (vector, text) in found.iter().zip(["one", "two", "three"]) {
            assert_near(vector, &expected(text, 8));
        }
        let identity = queue.identity().unwrap();
        assert_eq!((identity.name.as_str(), identity.dimension), ("stand-in", 8), "{answer:?}");
        assert_eq!((identity.tokens_max, identity.scripts), (512, Scripts::ALL));
        let asked = endpoint.asked();
        let last = asked.last().unwrap();
        assert_eq!(last.line, "POST /v1/embeddings HTTP/1.1");
        assert_eq!(last.body["model"], json!("stand-in"));
        assert_eq!(last.body["encoding_format"], json!("float"));
        assert_eq!(last.body.get("dimensions"), None);
        assert_eq!(last.header("authorization"), None);
    }
}

#[tokio::test]
async fn what_the_catalogue_knows_is_used_unless_the_configuration_says_otherwise() {
    let endpoint = Endpoint::start(Answer::Floats(8));
    let named =
        |model: &str| EndpointSettings { model: model.to_owned(), ..settings(&endpoint.url) };
    let queue = start(named("nomic-embed-text:v1.5"));
    queue.embed_query("tea".into()).await.unwrap();
    documents(&queue, &["tea"]).await.unwrap();
    let identity = queue.identity().unwrap();
    assert_eq!((identity.tokens_max, identity.scripts), (2_048, Scripts::LATIN));
    let texts: Vec<_> = endpoint.asked().iter().flat_map(Asked::texts).collect();
    assert!(texts.contains(&"search_query: tea".to_owned()), "{texts:?}");
    assert!(texts.contains(&"search_document: tea".to_owned()), "{texts:?}");

    let queue = start(EndpointSettings {
        query_prefix: Some(String::new()),
        document_prefix: Some("D: ".to_owned()),
        tokens_max: Some(64),
        scripts: Some(Scripts::ALL),
        dimensions: Some(8),
        ..named("nomic-embed-text")
    });
    queue.embed_query("tea".into()).await.unwrap();
    documents(&queue, &["tea"]).await.unwrap();
    let identity = queue.identity().unwrap();
    assert_eq!((identity.tokens_max, identity.scripts), (64, Scripts::ALL));
    let asked = endpoint.asked();
    assert!(asked.iter().all(|asked| asked.body["dimensions"] == json!(8)));
    let texts: Vec<_> = asked.iter().flat_map(Asked::texts).collect();
    assert!(texts.contains(&"tea".to_owned()) && texts.contains(&"D: tea".to_owned()), "{texts:?}");
}

#[tokio::test]
async fn many_texts_go_in_batches() {
    let endpoint = Endpoint::start(Answer::Floats(8));
    let queue = start(settings(&endpoint.url));
    queue.embed_query("warm".into()).await.unwrap();
    endpoint.asked();
    let texts: Vec<String> = (0..10).map(|n| format!("text {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = documents(&queue, &texts).await.unwrap();
    for (vector, text) in found.iter().zip(&texts) {
        assert_near(vector, &expected(text, 8));
    }
    let sizes: Vec<usize> = endpoint.asked().iter().map(|asked| asked.texts().len()).collect();
    assert_eq!(sizes, [4, 4, 2]);
}

/// Lets the queue learn what the model is, then gives the next answers and tries one document.
async fn after_contact(
    endpoint: &Endpoint,
    queue: &Queue,
    answers: Vec<Answer>,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    queue.embed_query("contact".into()).await.unwrap();
    endpoint.asked();
    endpoint.next(answers);
    documents(queue, &["text"]).await
}

fn raw(status: u16, headers: &'static str, body: &str) -> Answer {
    Answer::Raw(status, headers, body.to_owned())
}

#[tokio::test]
async fn a_busy_or_broken_endpoint_is_asked_again_and_answers() {
    for (answers, n_asked) in [
        (vec![raw(429, "retry-after: 0\r\n", "{}")], 2),
        (vec![raw(500, "", "oops"), raw(503, "", "")], 3),
        (vec![raw(502, "retry-after: 0\r\n", ""), raw(429, "", "")], 3),
    ] {
        let endpoint = Endpoint::start(Answer::Floats(8));
        let queue = start(settings(&endpoint.url));
        let found = after_contact(&endpoint, &queue, answers.clone()).await.unwrap();
        assert_near(&found[0], &expected("text", 8));
        assert_eq!(endpoint.asked().len(), n_asked, "{answers:?}");
    }
}

#[tokio::test]
async fn what_cannot_help_is_not_repeated_and_says_what_to_do() {
    let wrong_length = json!({ "data": [{ "embedding": [1.0, 2.0, 3.0] }] }).to_string();
    let table = [
        (
            raw(401, "", r#"{"error":{"message":"bad key sk-test-4711"}}"#),
            "embed.endpoint.key_file",
        ),
        (raw(403, "", ""), "embed.endpoint.key_file"),
        (
            raw(404, "", r#"{"error":{"message":"model \"stand-in\" not found, try pulling it"}}"#),
            "try pulling it",
        ),
        (
            raw(301, "location: https://elsewhere.example/v1/embeddings\r\n", ""),
            "elsewhere.example",
        ),
        (raw(307, "", ""), "redirects"),
        (raw(204, "", ""), "no list of embeddings"),
        (raw(200, "", "<html>text sk-test-4711</html>"), "no list of embeddings"),
        (raw(200, "", r#"{"data":[]}"#), "0 embeddings for 1 texts"),
        (raw(200, "", &wrong_length), "vectors of 3 numbers now instead of 8"),
        (raw(418, "", ""), "418"),
        (Answer::Endless, "longer than 16 MiB"),
        (raw(429, "retry-after: 3600\r\n", ""), "429"),
    ];
    for (answer, said) in table {
        let endpoint = Endpoint::start(Answer::Floats(8));
        let dir = tempfile::tempdir().unwrap();
        let key_file = dir.path().join("key");
        fs::write(&key_file, KEY).unwrap();
        fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
        let queue = start(EndpointSettings { key_file: Some(key_file), ..settings(&endpoint.url) });
        let failure = after_contact(&endpoint, &queue, vec![answer.clone()]).await.unwrap_err();
        assert!(matches!(failure, EmbedError::Unavailable(_)), "{answer:?}: {failure:?}");
        let shown = format!("{failure} {:?} {:?}", queue.report(), queue.identity());
        assert!(shown.contains(said), "{answer:?}: {shown}");
        assert!(!shown.contains(KEY), "{answer:?}: {shown}");
        assert!(!queue.report().ready);
        let asked = endpoint.asked();
        assert_eq!(asked.len(), 1, "{answer:?}");
        assert_eq!(asked[0].header("authorization"), Some("Bearer sk-test-4711"));
    }
}

#[tokio::test]
async fn a_refused_text_fails_alone_and_is_not_quoted() {
    let endpoint = Endpoint::start(Answer::Floats(8));
    let queue = start(settings(&endpoint.url));
    let refusal = raw(400, "", r#"{"error":{"message":"cannot embed: text"}}"#);
    let failure = after_contact(&endpoint, &queue, vec![refusal]).await.unwrap_err();
    let EmbedError::Failed(reason) = &failure else { panic!("{failure:?}") };
    assert!(reason.contains("refuses the request") && !reason.contains("cannot embed"), "{reason}");
    assert!(documents(&queue, &["another"]).await.is_ok());
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_is_given_up_in_time_and_left_alone() {
    let endpoint = Endpoint::start(Answer::Floats(8));
    let timeout = Duration::from_millis(300);
    let queue = start(EndpointSettings { timeout, ..settings(&endpoint.url) });
    queue.embed_query("contact".into()).await.unwrap();
    endpoint.always(Answer::Silence);
    endpoint.asked();
    for _ in 0..ENDPOINT_FAILURES_MAX {
        let failure = documents(&queue, &["text"]).await.unwrap_err();
        assert!(failure.to_string().contains("no answer within 300 ms"), "{failure}");
    }
    let n_asked = endpoint.asked().len();
    assert_eq!(n_asked, ENDPOINT_FAILURES_MAX as usize);
    let failure = documents(&queue, &["text"]).await.unwrap_err();
    assert!(failure.to_string().contains("asked again in"), "{failure}");
    assert_eq!(endpoint.asked().len(), 0, "it is left alone");
}

#[tokio::test]
async fn a_query_does_not_wait_behind_stuck_documents_and_closing_waits_for_neither() {
    let endpoint = Endpoint::start(Answer::Floats(8));
    let timeout = Duration::from_mins(10);
    let queue = Arc::new(start(EndpointSettings { timeout, ..settings(&endpoint.url) }));
    queue.embed_query("contact".into()).await.unwrap();
    documents(&queue, &["contact"]).await.unwrap();
    endpoint.asked();
    endpoint.next([Answer::Silence]);
    let stuck = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { documents(&queue, &["stuck"]).await }
    });
    eventually("the document is on its way", async || (!endpoint.asked().is_empty()).then_some(()))
        .await;
    queue.embed_query("quick".into()).await.unwrap();
    assert!(!stuck.is_finished());
    let closing = Arc::clone(&queue);
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
    assert!(matches!(stuck.await.unwrap(), Err(EmbedError::Unavailable(_))));
}

#[tokio::test]
async fn memories_go_only_where_the_configuration_lets_them() {
    // The addresses of TEST-NET-1 and TEST-NET-2 (RFC 5737) belong to nobody.
    for (url, said) in [
        ("http://192.0.2.1/v1", "embed.endpoint.allow_private"),
        ("https://10.255.255.1/v1", "add \"10.255.255.1\" to embed.endpoint.allow_private"),
        ("http://[fe80::1]/v1", "embed.endpoint.allow_private"),
        ("http://169.254.169.254/v1", "embed.endpoint.allow_private"),
        ("http://8.8.8.8/v1", "https only"),
    ] {
        let queue = start(settings(url));
        let failure = queue.embed_query("x".into()).await.unwrap_err();
        assert!(failure.to_string().contains(said), "{url}: {failure}");
        assert_eq!(queue.identity(), None);
    }
    // A name is checked by what it resolves to.
    let endpoint = Endpoint::start(Answer::Floats(8));
    let queue = start(settings(&endpoint.url.replace("127.0.0.1", "localhost")));
    queue.embed_query("x".into()).await.unwrap();
}

#[tokio::test]
async fn a_key_that_others_can_read_is_not_sent() {
    let endpoint = Endpoint::start(Answer::Floats(8));
    let dir = tempfile::tempdir().unwrap();
    let key_file = dir.path().join("key");
    fs::write(&key_file, KEY).unwrap();
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o644)).unwrap();
    let queue = start(EndpointSettings { key_file: Some(key_file), ..settings(&endpoint.url) });
    let failure = queue.embed_query("x".into()).await.unwrap_err();
    assert!(failure.to_string().contains("chmod 600"), "{failure}");
    assert!(endpoint.asked().is_empty());
}
#[tokio::test]
async fn a_daemon_finds_by_the_meaning_that_an_endpoint_gives() {
    let endpoint = Endpoint::start(Answer::Floats(24));
    let config = format!(
        "[embed]\nmodel = \"endpoint\"\nstore_wait_ms = 10000\n[embed.endpoint]\nurl = \"{}\"\n\
         model = \"stand-in\"\n",
        endpoint.url
    );
    let home = Home::with_config(&config);
    let daemon = home.serve().await;
    let agent = home.agent("tester").await;
    eventually("the model is known", async || {
        let status = agent.must("memory_status", json!({})).await;
        let parts = status["parts"].as_array().unwrap();
        parts.iter().all(|part| part["state"] != "degraded").then_some(())
    })
    .await;
    let stored = agent.must("memory_store", json!({ "content": "The kettle is green." })).await;
    assert_eq!(stored["memories"][0]["embedded"], json!(true), "{stored}");
    let found = agent.must("memory_search", json!({ "query": "green kettle" })).await;
    let reasons = found["memories"][0]["reasons"].to_string();
    assert!(reasons.contains("vector"), "{found}");
    assert!(daemon.stop().await.success());
}
