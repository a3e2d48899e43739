//! What may be sent where, for everything that leaves this machine: never redirected, never through a
//! proxy, only to addresses that the configuration allows, and nothing told of a URL.

use std::error::Error as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{ClientBuilder, Url, redirect};

use crate::domain::address::{Network, permit};

/// Which addresses may be used.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Whether what is sent there is encrypted.
    pub is_encrypted: bool,
    /// Addresses that are neither this machine nor public and may be used all the same.
    pub allowed: Arc<[Network]>,
    /// The key of the configuration that allows them.
    pub key: Arc<str>,
}

impl Limits {
    /// Whether one address may be used.
    ///
    /// # Errors
    /// Why not.
    pub fn permit(&self, address: IpAddr) -> Result<(), String> {
        permit(address, self.is_encrypted, &self.allowed, &self.key)
    }

    /// The addresses of a host, if each may be used: whoever connects to these and no others
    /// connects to what was checked.
    ///
    /// # Errors
    /// Why not, or why there are none.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let found = tokio::net::lookup_host((host, port)).await;
        let found: Vec<SocketAddr> =
            found.map_err(|error| format!("find {host}: {error}"))?.collect();
        for address in &found {
            self.permit(address.ip())?;
        }
        Ok(found)
    }
}

/// A client that keeps to the limits; literal addresses in a URL have to be checked by
/// [`literal_address`], since nobody resolves them.
pub(super) fn builder(limits: Limits, connect_wait: Duration) -> ClientBuilder {
    install_crypto();
    reqwest::Client::builder()
        .connect_timeout(connect_wait)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .dns_resolver(Permitted(limits))
        .user_agent(concat!("recalld/", env!("CARGO_PKG_VERSION")))
}

/// TLS needs one implementation of its ciphers a process.
pub fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // It fails only where another one is installed, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

/// The address in a URL that has no name.
pub(super) fn literal_address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Host and port of a URL, for messages; a path may hold a secret.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The host that an answer redirects to.
pub(super) fn redirected_to(target: &Url, headers: &HeaderMap) -> Option<String> {
    let location = headers.get(LOCATION)?.to_str().ok()?;
    target.join(location).ok()?.host_str().map(str::to_owned)
}

/// How long a service asks to be left alone: seconds, or a date (RFC 9110, section 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// An error with its causes and without the URL, which may hold a secret.
pub(super) fn causes(error: reqwest::Error) -> String {
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

/// Resolves names and refuses them when any of their addresses is not permitted, so that the
/// address that was checked is the one that is connected to.
struct Permitted(Limits);

impl Resolve for Permitted {
    fn resolve(&self, name: Name) -> Resolving {
        let limits = self.0.clone();
        Box::pin(async move {
            let found = limits.resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
