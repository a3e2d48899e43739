//! A model behind an OpenAI-compatible `/v1/embeddings` endpoint: Ollama, vLLM, TEI or `OpenAI`.
//!
//! Each thread of the queue has a connection of its own and waits in it, so that bounds, order and
//! batches are those of every other model; one of the threads takes queries only, and none waits
//! behind a slow batch of documents. What the model is (its dimension) is learned at the first
//! contact and never changes afterwards.

mod reply;
mod request;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Url;
use tokio_util::sync::CancellationToken;

use self::request::Requests;
use super::catalogue;
use super::lanes::lock;
use super::queue::{Plan, Queue};
use super::worker::{Loaded, Model, ModelError};
use crate::domain::address::Network;
use crate::domain::embedding::{ModelIdentity, Scripts};
use crate::domain::limits::{EMBED_BATCH_MAX, ENDPOINT_PAUSE};
use crate::http::{Breaker, Fault, FaultKind};
use crate::ports::Clock;

/// Where the endpoint is and how it wants to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Base, like `http://127.0.0.1:11434/v1`.
    pub url: Url,
    /// What the endpoint calls the model.
    pub model: String,
    /// File with the API key, if it wants one.
    pub key_file: Option<PathBuf>,
    /// Time for one request, its repetitions included.
    pub timeout: Duration,
    /// Coordinates to ask for; `None`: the model's own.
    pub dimensions: Option<usize>,
    /// Put before a query; `None`: what the catalogue says.
    pub query_prefix: Option<String>,
    /// Put before a document; `None`: what the catalogue says.
    pub document_prefix: Option<String>,
    /// The window that texts are cut for, tokens; `None`: what the catalogue says.
    pub tokens_max: Option<usize>,
    /// What the model reads; `None`: what the catalogue says, else everything.
    pub scripts: Option<Scripts>,
    /// Most texts of one request.
    pub batch: usize,
    /// Addresses that are neither this machine nor public and may be used all the same.
    pub allow_private: Vec<Network>,
}

/// Window for a model that the catalogue does not know, tokens: what nearly every model can read.
const TOKENS_UNKNOWN: usize = 512;

impl EndpointSettings {
    /// What vectors of so many coordinates can be compared with. The address does not count: the
    /// model moves to another machine and its vectors stay what they are.
    fn identity(&self, dimension: usize) -> ModelIdentity {
        let row = catalogue::alike(&self.model);
        let prefix = |configured: &Option<String>, known: Option<&str>| {
            configured.clone().unwrap_or_else(|| known.unwrap_or_default().to_owned())
        };
        ModelIdentity {
            name: self.model.clone(),
            dimension,
            tokens_max: self
                .tokens_max
                .unwrap_or_else(|| row.map_or(TOKENS_UNKNOWN, |row| row.tokens_max)),
            pooling: "by the endpoint; L2 normalized".to_owned(),
            normalised: true,
            query_prefix: prefix(&self.query_prefix, row.map(|row| row.query_prefix)),
            document_prefix: prefix(&self.document_prefix, row.map(|row| row.document_prefix)),
            weights_hash: "by the endpoint".to_owned(),
            tokenizer_hash: "by the endpoint".to_owned(),
            text_template: super::text_template(),
            scripts: self.scripts.unwrap_or_else(|| row.map_or(Scripts::ALL, |row| row.scripts)),
        }
    }
}

/// Starts the queue of an endpoint: `n_threads` requests at a time for documents, and one for
/// queries besides.
pub(super) fn start(settings: EndpointSettings, n_threads: usize, clock: Arc<dyn Clock>) -> Queue {
    let plan = Plan {
        name: settings.model.clone(),
        identity: None,
        n_threads: n_threads.saturating_add(1),
        n_for_queries: 1,
    };
    let settings = Arc::new(settings);
    let breaker = Arc::new(Mutex::new(Breaker::new(ENDPOINT_PAUSE)));
    let known = Mutex::new(None);
    Queue::run(plan, move |closing: &CancellationToken| {
        let requests = Requests::open(Arc::clone(&settings), Arc::clone(&clock), closing.clone())?;
        let dimension = learn(&requests, &known)?;
        let model = Endpoint {
            requests,
            dimension,
            breaker: Arc::clone(&breaker),
            clock: Arc::clone(&clock),
        };
        Ok(Loaded { identity: settings.identity(dimension), model: Box::new(model) })
    })
}

/// Learns the dimension at the first contact; the other threads wait for it.
fn learn(requests: &Requests, known: &Mutex<Option<usize>>) -> Result<usize, String> {
    let mut known = lock(known);
    if let Some(dimension) = *known {
        return Ok(dimension);
    }
    let first = requests.embed(&[FIRST_TEXT]).map_err(|fault| fault.reason)?;
    let dimension = first.first().map_or(0, Vec::len);
    *known = Some(dimension);
    drop(known);
    Ok(dimension)
}

/// What is embedded at the first contact.
const FIRST_TEXT: &str = "hello";

struct Endpoint {
    requests: Requests,
    dimension: usize,
    breaker: Arc<Mutex<Breaker>>,
    clock: Arc<dyn Clock>,
}

impl Model for Endpoint {
    fn batch_max(&self) -> usize {
        self.requests.settings.batch.clamp(1, EMBED_BATCH_MAX)
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        lock(&self.breaker).admit(self.clock.monotonic()).map_err(ModelError::Down)?;
        match self.requests.embed(texts) {
            Ok(vectors) => {
                lock(&self.breaker).succeeded();
                match vectors.iter().find(|vector| vector.len() != self.dimension) {
                    Some(other) => Err(ModelError::Down(format!(
                        "the endpoint gives vectors of {} numbers now instead of {}: another model \
                         answers there; restart the daemon to use it",
                        other.len(),
                        self.dimension
                    ))),
                    None => Ok(vectors),
                }
            }
            Err(Fault { kind: FaultKind::Refused, reason, .. }) => {
                // An answer about a text shows that the endpoint is there.
                lock(&self.breaker).succeeded();
                Err(ModelError::Text(reason))
            }
            Err(Fault { reason, retry_after, .. }) => {
                lock(&self.breaker).failed(self.clock.monotonic(), &reason, retry_after);
                Err(ModelError::Down(reason))
            }
        }
    }
}
