//! Sends texts to an endpoint: one connection pool a thread, bounded in time and bytes, repeated
//! when that can help, never redirected, never through a proxy, and only where the configuration
//! lets memories go.

use std::error::Error as _;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{AUTHORIZATION, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, redirect};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{ALLOW_PRIVATE, EndpointSettings, reply, secret};
use crate::domain::address::{Network, permit};
use crate::domain::limits::{
    ENDPOINT_CONNECT_WAIT, ENDPOINT_REPLY_BYTES_MAX, ENDPOINT_RETRIES_MAX, ENDPOINT_RETRY_WAIT,
};
use crate::embed::worker::ModelError;

/// A request that failed.
#[derive(Debug)]
pub(super) struct Fault {
    /// Why.
    pub(super) error: ModelError,
    /// How long the endpoint asks to be left alone.
    pub(super) retry_after: Option<Duration>,
    /// Whether the same request may go well soon.
    is_passing: bool,
}

impl Fault {
    fn down(reason: impl Into<String>) -> Self {
        Self { error: ModelError::Down(reason.into()), retry_after: None, is_passing: false }
    }

    fn passing(reason: impl Into<String>) -> Self {
        Self { is_passing: true, ..Self::down(reason) }
    }

    fn text(reason: impl Into<String>) -> Self {
        Self { error: ModelError::Text(reason.into()), retry_after: None, is_passing: false }
    }
}

/// The way to an endpoint, for one thread.
pub(super) struct Requests {
    pub(super) settings: Arc<EndpointSettings>,
    target: reqwest::Url,
    client: Client,
    runtime: Runtime,
    closing: CancellationToken,
}

impl Requests {
    /// Makes the client; sends nothing.
    ///
    /// # Errors
    /// If the address is not one that memories may go to, or TLS cannot be set up.
    pub(super) fn open(
        settings: Arc<EndpointSettings>,
        closing: CancellationToken,
    ) -> Result<Self, String> {
        let is_encrypted = settings.url.scheme() == "https";
        if let Some(address) = settings.address() {
            permit(address, is_encrypted, &settings.allow_private, ALLOW_PRIVATE)?;
        }
        install_crypto();
        let resolver =
            Permitted { is_encrypted, allowed: Arc::from(settings.allow_private.as_slice()) };
        let client = Client::builder()
            .connect_timeout(ENDPOINT_CONNECT_WAIT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(resolver)
            .user_agent(concat!("recalld/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("prepare requests: {}", causes(error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("prepare requests: {error}"))?;
        let mut target = settings.url.clone();
        let path = format!("{}/embeddings", target.path().trim_end_matches('/'));
        target.set_path(&path);
        Ok(Self { settings, target, client, runtime, closing })
    }

    /// The vectors of the texts, in order, all of one length.
    pub(super) fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Fault> {
        let timeout = self.settings.timeout;
        self.runtime.block_on(async {
            tokio::select! {
                () = self.closing.cancelled() => Err(Fault::down("it is stopped")),
                outcome = tokio::time::timeout(timeout, self.repeated(texts)) => {
                    outcome.unwrap_or_else(|_| {
                        let waited = timeout.as_millis();
                        Err(Fault::down(format!(
                            "no answer within {waited} ms (embed.endpoint.timeout_ms)"
                        )))
                    })
                }
            }
        })
    }

    async fn repeated(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Fault> {
        let mut wait = ENDPOINT_RETRY_WAIT;
        for _ in 0..ENDPOINT_RETRIES_MAX {
            match self.once(texts).await {
                Err(fault) if fault.is_passing => {
                    let pause = fault.retry_after.unwrap_or_else(|| wait + up_to(wait));
                    if pause >= self.settings.timeout {
                        return Err(fault);
                    }
                    tokio::time::sleep(pause).await;
                    wait *= 2;
                }
                outcome => return outcome,
            }
        }
        self.once(texts).await
    }

    async fn once(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Fault> {
        let settings = &self.settings;
        let mut body =
            json!({ "model": settings.model, "input": texts, "encoding_format": "float" });
        if let (Some(dimensions), Some(fields)) = (settings.dimensions, body.as_object_mut()) {
            fields.insert("dimensions".to_owned(), dimensions.into());
        }
        let mut request = self.client.post(self.target.clone()).json(&body);
        if let Some(path) = &settings.key_file {
            let key = secret::read(path).map_err(Fault::down)?;
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
                .map_err(|_| Fault::down("the key cannot be sent in a header"))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let response = request.send().await.map_err(|error| self.unsent(error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status, response).await);
        }
        let body = whole(response).await?;
        let vectors = reply::vectors(&body, texts.len())
            .map_err(|reason| Fault::down(format!("{}: {reason}", self.place())))?;
        match (settings.dimensions, vectors.first().map(Vec::len)) {
            (Some(asked), Some(got)) if asked != got => Err(Fault::down(format!(
                "{}: it gives vectors of {got} numbers where embed.endpoint.dimensions asks for \
                 {asked}: this model cannot shorten its vectors, set it to 0",
                self.place()
            ))),
            _ => Ok(vectors),
        }
    }

    /// Host and port, for messages; a path may hold a secret.
    fn place(&self) -> String {
        let host = self.target.host_str().unwrap_or_default();
        match self.target.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    fn unsent(&self, error: reqwest::Error) -> Fault {
        let is_passing = error.is_connect();
        let reason = format!("{}: {}", self.place(), causes(error));
        if is_passing { Fault::passing(reason) } else { Fault::down(reason) }
    }

    async fn refused(&self, status: StatusCode, response: Response) -> Fault {
        let place = self.place();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        match status.as_u16() {
            // What an endpoint says to a text may quote it, so it goes nowhere.
            400 | 413 | 422 => Fault::text(format!("{place} refuses the text ({status})")),
            401 | 403 => Fault::down(format!(
                "{place} refuses the key ({status}): put a valid one into the file that \
                 embed.endpoint.key_file names"
            )),
            404 => {
                let body = whole(response).await.unwrap_or_default();
                let words = reply::complaint(&body).unwrap_or_default();
                Fault::down(format!(
                    "{place} knows no such model or path ({status}): check embed.endpoint.model and \
                     embed.endpoint.url; it says: {words}"
                ))
            }
            429 | 500..=599 => {
                let reason = format!("{place} answers {status}");
                Fault { retry_after, ..Fault::passing(reason) }
            }
            300..=399 => {
                let location = response.headers().get(LOCATION);
                let host = location
                    .and_then(|value| self.target.join(value.to_str().ok()?).ok())
                    .and_then(|url| url.host_str().map(str::to_owned));
                Fault::down(format!(
                    "{place} redirects to {}, which is not followed: set embed.endpoint.url to the \
                     final address",
                    host.as_deref().unwrap_or("another place")
                ))
            }
            _ => Fault::down(format!("{place} answers {status}")),
        }
    }
}

/// The body of an answer, up to a limit.
async fn whole(mut response: Response) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| Fault::passing(causes(error)))? {
        if body.len() + piece.len() > ENDPOINT_REPLY_BYTES_MAX {
            let limit = ENDPOINT_REPLY_BYTES_MAX >> 20;
            return Err(Fault::down(format!("its answer is longer than {limit} MiB")));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// An error with its causes and without the URL, which may hold a secret.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words.push_str(": ");
        words.push_str(&inner.to_string());
        cause = inner.source();
    }
    words
}

/// A random time from zero to `most`, so that those who wait do not come back together.
fn up_to(most: Duration) -> Duration {
    let random = std::hash::RandomState::new().build_hasher().finish();
    most.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

/// TLS needs one implementation of its ciphers a process.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // It fails only where another one is installed, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

/// Resolves names and refuses them when any of their addresses is not permitted, so that the
/// address that was checked is the one that is connected to.
struct Permitted {
    is_encrypted: bool,
    allowed: Arc<[Network]>,
}

impl Resolve for Permitted {
    fn resolve(&self, name: Name) -> Resolving {
        let (is_encrypted, allowed) = (self.is_encrypted, Arc::clone(&self.allowed));
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in &found {
                permit(address.ip(), is_encrypted, &allowed, ALLOW_PRIVATE)?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
