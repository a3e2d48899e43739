//! `[embed.endpoint]`: a model behind an HTTP endpoint.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use super::problem::Problem;
use super::reader::Reader;
use crate::domain::address::{Network, permit};
use crate::domain::embedding::Scripts;
use crate::domain::limits::{EMBED_BATCH_MAX, EMBED_DIMENSION_MAX, EMBED_TOKENS_MAX};

/// A model behind an OpenAI-compatible endpoint. What is `None` is left to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Base of the API; there if the endpoint is used.
    pub url: Option<Url>,
    /// What the endpoint calls the model; not empty if it is used.
    pub model: String,
    /// File with the key.
    pub key_file: Option<PathBuf>,
    /// Time for one request with its repetitions.
    pub timeout: Duration,
    /// Coordinates to ask for.
    pub dimensions: Option<usize>,
    /// Put before a query.
    pub query_prefix: Option<String>,
    /// Put before a document.
    pub document_prefix: Option<String>,
    /// Window of the model, tokens.
    pub tokens_max: Option<usize>,
    /// What the model reads; `None`: what is known of it.
    pub scripts: Option<Scripts>,
    /// Texts in one request.
    pub batch: usize,
    /// Addresses of the network around that may be used.
    pub allow_private: Vec<Network>,
}

/// A prefix that is left to the model.
const AUTO: &str = "auto";

pub(super) fn read(reader: &mut Reader<'_, '_>, is_used: bool) -> EndpointConfig {
    let none_if_zero = |n: usize| Some(n).filter(|n| *n > 0);
    let prefix = |text: String| Some(text).filter(|text| text != AUTO);
    let config = EndpointConfig {
        url: url(reader, "embed.endpoint.url"),
        model: reader.text("embed.endpoint.model"),
        key_file: reader.path("embed.endpoint.key_file"),
        timeout: reader.duration(
            "embed.endpoint.timeout_ms",
            Duration::from_millis(1),
            &(100..=600_000),
        ),
        dimensions: none_if_zero(
            reader.count("embed.endpoint.dimensions", &(0..=EMBED_DIMENSION_MAX as u64)),
        ),
        query_prefix: prefix(reader.text("embed.endpoint.query_prefix")),
        document_prefix: prefix(reader.text("embed.endpoint.document_prefix")),
        tokens_max: none_if_zero(
            reader.count("embed.endpoint.max_tokens", &(0..=EMBED_TOKENS_MAX as u64)),
        ),
        scripts: reader
            .read("embed.endpoint.languages", LANGUAGES, |value| match value.as_str()? {
                AUTO => Some(None),
                words => words.parse().ok().map(Some),
            })
            .flatten(),
        batch: reader.count("embed.endpoint.batch", &(1..=EMBED_BATCH_MAX as u64)),
        allow_private: networks(reader, "embed.endpoint.allow_private"),
    };
    let section = "embed.endpoint";
    check_reach(reader, section, config.url.as_ref(), &config.allow_private);
    if is_used && config.url.is_none() {
        miss(reader, ASKED, "embed.endpoint.url", URL);
    }
    if is_used && config.model.is_empty() {
        miss(reader, ASKED, "embed.endpoint.model", MODEL);
    }
    config
}

const LANGUAGES: &str = "\"auto\", \"all\", or some of latin, han, kana, hangul, cyrillic, arabic, \
                         other, joined by commas";

/// What asks for an endpoint.
const ASKED: (&str, &str) = ("embed.model", "embed.model = \"endpoint\"");

/// What is expected of a model's name.
pub(super) const MODEL: &str = "the name of a model, like \"bge-m3\"";

/// The base of an API, or nothing.
pub(super) fn url(reader: &mut Reader<'_, '_>, key: &str) -> Option<Url> {
    let read = reader.read(key, URL, |value| match value.as_str()? {
        "" => Some(None),
        text => base(text).map(Some),
    });
    read.flatten()
}

/// Refuses a URL that names an address nothing may be sent to. What a name leads to is found out
/// when it is asked for.
pub(super) fn check_reach(
    reader: &mut Reader<'_, '_>,
    section: &str,
    url: Option<&Url>,
    allowed: &[Network],
) {
    let host = url.and_then(Url::host_str).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    let (Some(url), Ok(address)) = (url, address) else { return };
    let (key, allow) = (format!("{section}.url"), format!("{section}.allow_private"));
    if let Err(why) = permit(address, url.scheme() == "https", allowed, &allow)
        && let Some(place) = reader.place(&key)
    {
        let expected = format!("a place that memories may be sent to: {why}");
        reader.problems.push(Problem::value(place, &key, &expected, format!("{:?}", url.as_str())));
    }
}

/// Addresses of the network around.
pub(super) fn networks(reader: &mut Reader<'_, '_>, key: &str) -> Vec<Network> {
    let expected = "a list of addresses or networks, like [\"192.168.1.20\", \"10.0.0.0/8\"]";
    let read = reader.read(key, expected, |value| {
        value.as_array()?.iter().map(|item| item.get_ref().as_str()?.parse().ok()).collect()
    });
    read.unwrap_or_default()
}

const URL: &str = "the base of an API, like \"http://127.0.0.1:11434/v1\": http or https, a host, \
                   and neither user, password, query nor fragment";

/// A URL that holds no secret and has a host.
pub(super) fn base(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain.then_some(url)
}

/// Something asks for a key that is not there: a key, and what it says.
pub(super) fn miss(
    reader: &mut Reader<'_, '_>,
    (asking, said): (&str, &str),
    key: &str,
    expected: &str,
) {
    // A refused value is a problem already.
    let has_problem = reader.problems.iter().any(|problem| problem.key.as_deref() == Some(key));
    if let Some(place) = reader.place(asking).filter(|_| !has_problem) {
        let found = format!("nothing, and {said} needs it");
        reader.problems.push(Problem::value(place, key, expected, found));
    }
}
