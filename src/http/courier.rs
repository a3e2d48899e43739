//! Carries one request to a sink and brings one answer back, whatever it is.
//!
//! Unlike [`super::Client`] it never tries again: whether a message may be sent twice is for those to
//! decide who keep account of it. So it says how far a request without an answer came, and uses each
//! connection once: on one that was kept open nobody knows whether the other side had closed it first.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};

use super::policy::{self, Limits};
use crate::domain::address::Network;
use crate::domain::limits::{SINK_CONNECT_WAIT, SINK_REPLY_BYTES_MAX};
use crate::ports::Clock;

/// What is sent. Nothing of it is ever shown.
pub struct Request {
    /// How.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// With which headers besides the type of the body; all are taken for secrets.
    pub headers: Vec<(HeaderName, String)>,
    /// JSON.
    pub body: Vec<u8>,
}

impl Request {
    /// Posts JSON.
    pub fn post(url: Url, body: &serde_json::Value) -> Self {
        let body = body.to_string().into_bytes();
        Self { method: Method::POST, url, headers: Vec::new(), body }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// How long the other side asks to be left alone.
    pub retry_after: Option<Duration>,
    /// The host that it redirects to.
    pub redirected_to: Option<String>,
    /// As much of the body as came, within the limit.
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The configuration does not let it be sent there, or it is no request.
    #[error("{0}")]
    Forbidden(String),
    /// It was not sent.
    #[error("{0}")]
    NotSent(String),
    /// It may have arrived.
    #[error("{0}")]
    Unknown(String),
}

/// The way to one sink.
pub struct Courier {
    allow_private: Arc<[Network]>,
    key: Arc<str>,
    timeout: Duration,
    clock: Arc<dyn Clock>,
    /// By http and by https: what may be sent where differs, and most sinks need one of them. Made
    /// when first used, since reading the certificates of the system takes a while.
    clients: [OnceLock<Result<reqwest::Client, String>>; 2],
}

impl Courier {
    /// Sends nothing yet. `key` is the key of the configuration that gave `allow_private`, `timeout`
    /// the time for a request and its answer.
    pub fn new(
        allow_private: &[Network],
        key: &str,
        timeout: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (allow_private, key) = (Arc::from(allow_private), Arc::from(key));
        let clients = [OnceLock::new(), OnceLock::new()];
        Self { allow_private, key, timeout, clock, clients }
    }

    /// Sends a request once.
    ///
    /// # Errors
    /// Why there is no answer, and whether it may have arrived all the same.
    pub async fn carry(&self, request: Request) -> Result<Answer, NoAnswer> {
        let is_encrypted = request.url.scheme() == "https";
        let limits = self.limits(is_encrypted);
        if let Some(address) = policy::literal_address(&request.url) {
            limits.permit(address).map_err(NoAnswer::Forbidden)?;
        }
        let client = self.client(limits)?;
        let target = request.url.clone();
        // Connecting has its own, shorter time, after which nothing was sent.
        let timeout = self.body_wait() * 2;
        let response = tokio::time::timeout(timeout, Self::sent(client, request));
        let response = response.await.unwrap_or_else(|_| {
            Err(NoAnswer::Unknown(format!("no answer within {} ms", timeout.as_millis())))
        })?;
        let headers = response.headers();
        let answer = Answer {
            status: response.status().as_u16(),
            retry_after: policy::retry_after(headers, self.clock.now()),
            redirected_to: policy::redirected_to(&target, headers),
            body: Vec::new(),
            is_whole: true,
        };
        Ok(self.with_body(answer, response).await)
    }

    async fn sent(client: &reqwest::Client, request: Request) -> Result<Response, NoAnswer> {
        let mut asked = client
            .request(request.method, request.url)
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(request.body);
        for (name, value) in request.headers {
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                NoAnswer::Forbidden(format!("what is sent as {name} cannot be in a header"))
            })?;
            value.set_sensitive(true);
            asked = asked.header(name, value);
        }
        asked.send().await.map_err(|error| {
            let is_sent = !error.is_connect() && !error.is_builder();
            let words = policy::causes(error);
            if is_sent { NoAnswer::Unknown(words) } else { NoAnswer::NotSent(words) }
        })
    }

    /// What happens to the body is no reason to forget the status.
    async fn with_body(&self, mut answer: Answer, mut response: Response) -> Answer {
        let reading = async {
            loop {
                match response.chunk().await {
                    Ok(Some(piece)) if answer.body.len() + piece.len() <= SINK_REPLY_BYTES_MAX => {
                        answer.body.extend_from_slice(&piece);
                    }
                    Ok(None) => return true,
                    Ok(Some(_)) | Err(_) => return false,
                }
            }
        };
        answer.is_whole = tokio::time::timeout(self.body_wait(), reading).await.unwrap_or(false);
        answer
    }

    /// The part of the time that is kept for the body of the answer.
    fn body_wait(&self) -> Duration {
        self.timeout / 3
    }

    fn limits(&self, is_encrypted: bool) -> Limits {
        let (allowed, key) = (Arc::clone(&self.allow_private), Arc::clone(&self.key));
        Limits { is_encrypted, allowed, key }
    }

    fn client(&self, limits: Limits) -> Result<&reqwest::Client, NoAnswer> {
        let [plain, encrypted] = &self.clients;
        let place = if limits.is_encrypted { encrypted } else { plain };
        let connect_wait = SINK_CONNECT_WAIT.min(self.body_wait());
        let client = place.get_or_init(|| {
            policy::builder(limits, connect_wait)
                .http1_only()
                .pool_max_idle_per_host(0)
                .retry(reqwest::retry::never())
                .build()
                .map_err(|error| format!("prepare requests: {}", policy::causes(error)))
        });
        client.as_ref().map_err(|why| NoAnswer::NotSent(why.clone()))
    }
}
