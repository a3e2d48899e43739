//! `[llm.summary]` and `[llm.scoring]`: language models behind HTTP endpoints.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use super::endpoint::{MODEL, check_reach, miss, networks, url};
use super::reader::Reader;
use crate::domain::address::Network;

/// Language models, each for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmConfig {
    /// Writes summaries.
    pub summary: LlmEndpointConfig,
    /// Chooses what is worth remembering.
    pub scoring: LlmEndpointConfig,
    /// Longest summary, characters.
    pub summary_chars: usize,
}

/// A language model behind an OpenAI-compatible endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmEndpointConfig {
    /// The section of the configuration that this is.
    pub section: &'static str,
    /// Base of the API; `None`: there is no model for this task.
    pub url: Option<Url>,
    /// What the endpoint calls the model; not empty where there is a URL.
    pub model: String,
    /// File with the key.
    pub key_file: Option<PathBuf>,
    /// Time for one request with its repetitions.
    pub timeout: Duration,
    /// Window of the model, tokens.
    pub context_tokens: usize,
    /// Requests a day.
    pub calls_per_day: u64,
    /// Tokens a day.
    pub tokens_per_day: u64,
    /// Addresses of the network around that may be used.
    pub allow_private: Vec<Network>,
}

pub(super) fn read(reader: &mut Reader<'_, '_>) -> LlmConfig {
    LlmConfig {
        summary: endpoint(reader, "llm.summary"),
        scoring: endpoint(reader, "llm.scoring"),
        summary_chars: reader.count("llm.summary.chars", &(60..=4_000)),
    }
}

fn endpoint(reader: &mut Reader<'_, '_>, section: &'static str) -> LlmEndpointConfig {
    let key = |name: &str| format!("{section}.{name}");
    let config = LlmEndpointConfig {
        section,
        url: url(reader, &key("url")),
        model: reader.text(&key("model")),
        key_file: reader.path(&key("key_file")),
        timeout: reader.duration(&key("timeout_ms"), Duration::from_millis(1), &(100..=600_000)),
        context_tokens: reader.count(&key("context_tokens"), &(1_024..=1_000_000)),
        calls_per_day: reader.integer(&key("calls_per_day"), &(1..=1_000_000)),
        tokens_per_day: reader.integer(&key("tokens_per_day"), &(1_000..=1_000_000_000)),
        allow_private: networks(reader, &key("allow_private")),
    };
    check_reach(reader, section, config.url.as_ref(), &config.allow_private);
    if config.url.is_some() && config.model.is_empty() {
        miss(reader, (&key("url"), &key("url")), &key("model"), MODEL);
    }
    config
}
