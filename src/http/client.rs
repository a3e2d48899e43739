//! Posts JSON to a service: bounded in time and bytes, repeated when that can help, never
//! redirected, never through a proxy, and only where the configuration lets memories go.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use serde_json::Value;

use super::policy::{Limits, builder, causes, host, literal_address, redirected_to, retry_after};
use super::secret;
use crate::domain::address::Network;
use crate::domain::limits::{ENDPOINT_CONNECT_WAIT, ENDPOINT_RETRIES_MAX, ENDPOINT_RETRY_WAIT};
use crate::ports::Clock;

/// Where a service is and how it wants to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where requests are posted to.
    pub target: Url,
    /// File with the key, if the service wants one.
    pub key_file: Option<PathBuf>,
    /// Time for one request, its repetitions included.
    pub timeout: Duration,
    /// Addresses that are neither this machine nor public and may be used all the same.
    pub allow_private: Vec<Network>,
    /// Longest answer, bytes.
    pub reply_bytes_max: usize,
    /// The section of the configuration whose keys messages name, like `embed.endpoint`.
    pub section: &'static str,
    /// Fields of a request that some servers refuse with a 5xx: an answer that names one of them is
    /// a refusal, and the same request is not sent again.
    pub refusable: &'static [&'static str],
}

impl Place {
    /// `base` with one more step at the end of its path.
    #[must_use]
    pub fn below(base: &Url, step: &str) -> Url {
        let mut target = base.clone();
        target.set_path(&format!("{}/{step}", base.path().trim_end_matches('/')));
        target
    }

    /// Host and port, for messages; a path may hold a secret.
    pub fn host(&self) -> String {
        host(&self.target)
    }

    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.section)
    }
}

/// Whom a failure concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The service is busy or away: the same request may go well soon.
    Passing,
    /// The service does not take this request; another one may go well.
    Refused,
    /// The service, until somebody sees to it.
    Down,
}

/// A request that failed.
#[derive(Debug)]
pub struct Fault {
    /// Whom it concerns.
    pub kind: FaultKind,
    /// Why, without quoting what was sent.
    pub reason: String,
    /// How long the service asks to be left alone.
    pub retry_after: Option<Duration>,
    /// What the service says to a refused request, in lower case. It may quote what was sent: it is
    /// there to be searched, not to be shown.
    pub words: String,
}

impl Fault {
    fn new(kind: FaultKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), retry_after: None, words: String::new() }
    }

    /// Until somebody sees to it.
    pub fn down(reason: impl Into<String>) -> Self {
        Self::new(FaultKind::Down, reason)
    }
}

/// The way to one service.
pub struct Client {
    place: Place,
    requests: reqwest::Client,
    clock: Arc<dyn Clock>,
}

impl Client {
    /// Makes the client; sends nothing.
    ///
    /// # Errors
    /// If the address is not one that memories may go to, or TLS cannot be set up.
    pub fn open(place: Place, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let limits = Limits {
            is_encrypted: place.target.scheme() == "https",
            allowed: Arc::from(place.allow_private.as_slice()),
            key: Arc::from(place.key("allow_private")),
        };
        if let Some(address) = literal_address(&place.target) {
            limits.permit(address)?;
        }
        let requests = builder(limits, ENDPOINT_CONNECT_WAIT)
            .build()
            .map_err(|error| format!("prepare requests: {}", causes(error)))?;
        Ok(Self { place, requests, clock })
    }

    /// Where it leads.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The body of the answer to a request, which is sent again when that can help.
    ///
    /// # Errors
    /// Why there is none, or none within the time for one request.
    pub async fn post(&self, body: &Value) -> Result<Vec<u8>, Fault> {
        let timeout = self.place.timeout;
        tokio::time::timeout(timeout, self.repeated(body)).await.unwrap_or_else(|_| {
            let key = self.place.key("timeout_ms");
            Err(Fault::down(format!("no answer within {} ms ({key})", timeout.as_millis())))
        })
    }

    async fn repeated(&self, body: &Value) -> Result<Vec<u8>, Fault> {
        let mut wait = ENDPOINT_RETRY_WAIT;
        for _ in 0..ENDPOINT_RETRIES_MAX {
            match self.once(body).await {
                Err(fault) if fault.kind == FaultKind::Passing => {
                    let pause = fault.retry_after.unwrap_or_else(|| wait + up_to(wait));
                    if pause >= self.place.timeout {
                        return Err(fault);
                    }
                    tokio::time::sleep(pause).await;
                    wait *= 2;
                }
                outcome => return outcome,
            }
        }
        self.once(body).await
    }

    async fn once(&self, body: &Value) -> Result<Vec<u8>, Fault> {
        let mut request = self.requests.post(self.place.target.clone()).json(body);
        if let Some(path) = &self.place.key_file {
            let key = secret::read_token(path).map_err(Fault::down)?;
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
                .map_err(|_| Fault::down("the key cannot be sent in a header"))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let response = request.send().await.map_err(|error| {
            let kind = if error.is_connect() { FaultKind::Passing } else { FaultKind::Down };
            Fault::new(kind, format!("{}: {}", self.place.host(), causes(error)))
        })?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status, response).await);
        }
        self.whole(response).await
    }

    async fn refused(&self, status: StatusCode, response: Response) -> Fault {
        let place = self.place.host();
        let retry_after = retry_after(response.headers(), self.clock.now());
        match status.as_u16() {
            // What a service says to a request may quote it, so it is shown nowhere.
            400 | 413 | 422 => self.refusal(status, &self.words(response).await),
            401 | 403 => Fault::down(format!(
                "{place} refuses the key ({status}): put a valid one into the file that {} names",
                self.place.key("key_file")
            )),
            404 => {
                let body = self.whole(response).await.unwrap_or_default();
                let words = complaint(&body).unwrap_or_default();
                Fault::down(format!(
                    "{place} knows no such model or path ({status}): check {} and {}; it says: \
                     {words}",
                    self.place.key("model"),
                    self.place.key("url")
                ))
            }
            429 | 500..=599 => {
                let words = self.words(response).await;
                if self.place.refusable.iter().any(|field| words.contains(field)) {
                    return self.refusal(status, &words);
                }
                let reason = format!("{place} answers {status}");
                Fault { retry_after, ..Fault::new(FaultKind::Passing, reason) }
            }
            300..=399 => {
                let host = redirected_to(&self.place.target, response.headers());
                Fault::down(format!(
                    "{place} redirects to {}, which is not followed: set {} to the final address",
                    host.as_deref().unwrap_or("another place"),
                    self.place.key("url")
                ))
            }
            _ => Fault::down(format!("{place} answers {status}")),
        }
    }

    fn refusal(&self, status: StatusCode, words: &str) -> Fault {
        let reason = format!("{} refuses the request ({status})", self.place.host());
        Fault { words: words.to_owned(), ..Fault::new(FaultKind::Refused, reason) }
    }

    /// What the service says to a request that it does not take, in lower case.
    async fn words(&self, response: Response) -> String {
        let body = self.whole(response).await.unwrap_or_default();
        String::from_utf8_lossy(&body).to_lowercase()
    }

    /// The body of an answer, up to the limit.
    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, Fault> {
        let limit = self.place.reply_bytes_max;
        let broken = |error| Fault::new(FaultKind::Passing, causes(error));
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            if body.len() + piece.len() > limit {
                return Err(Fault::down(format!("its answer is longer than {} MiB", limit >> 20)));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

/// The words in which a service refuses, from `{"error": {"message": ...}}`, `{"error": ...}` or
/// `{"message": ...}`, at most 200 characters without control characters.
pub fn complaint(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let words = ["/error/message", "/error", "/message", "/detail"]
        .into_iter()
        .find_map(|place| value.pointer(place)?.as_str())?;
    Some(words.chars().filter(|c| !c.is_control()).take(200).collect())
}

/// A random time from zero to `most`, so that those who wait do not come back together.
fn up_to(most: Duration) -> Duration {
    let random = std::hash::RandomState::new().build_hasher().finish();
    most.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_found_in_the_forms_that_servers_use() {
        for (body, expected) in [
            (r#"{"error":{"message":"model \"x\" not found"}}"#, Some("model \"x\" not found")),
            (r#"{"error":"no such\nmodel"}"#, Some("no suchmodel")),
            (r#"{"object":"error","message":"gone"}"#, Some("gone")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            ("not json", None),
            ("[]", None),
        ] {
            assert_eq!(complaint(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn a_step_is_put_below_the_base_and_the_path_is_not_shown() {
        for base in ["http://127.0.0.1:8080/v1/hush", "http://127.0.0.1:8080/v1/hush/"] {
            let target = Place::below(&base.parse().unwrap(), "chat/completions");
            assert_eq!(target.as_str(), "http://127.0.0.1:8080/v1/hush/chat/completions");
            let place = Place {
                target,
                key_file: None,
                timeout: Duration::from_secs(1),
                allow_private: Vec::new(),
                reply_bytes_max: 1,
                section: "some.section",
                refusable: &[],
            };
            assert_eq!(place.host(), "127.0.0.1:8080");
        }
    }
}
