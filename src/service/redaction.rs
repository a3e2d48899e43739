//! Redaction of everything a caller sends that is kept: text, tags, session, metadata.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::memory::Metadata;
use crate::domain::redaction::redact;

/// Collects the names of the rules that hit while texts pass through it.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    found: Vec<&'static str>,
}

impl Redactor {
    /// The text without its secrets.
    pub(crate) fn text(&mut self, text: &str) -> Arc<str> {
        let redacted = redact(text);
        for rule in redacted.found {
            if !self.found.contains(&rule) {
                self.found.push(rule);
            }
        }
        Arc::from(redacted.text.as_ref())
    }

    /// Each text without its secrets, sorted, without repeats.
    pub(crate) fn tags(&mut self, tags: &[String]) -> Vec<String> {
        let mut tags: Vec<String> = tags.iter().map(|tag| self.text(tag).to_string()).collect();
        tags.sort();
        tags.dedup();
        tags
    }

    /// Metadata with every key and string in it redacted. A value that is no JSON is kept as a string.
    pub(crate) fn metadata(&mut self, metadata: &Metadata) -> Metadata {
        metadata
            .iter()
            .map(|(key, value)| {
                let parsed = serde_json::from_str(value);
                let value = self.json(parsed.unwrap_or_else(|_| Value::String(value.clone())));
                (self.text(key).to_string(), value.to_string())
            })
            .collect()
    }

    /// Whether no rule has hit yet.
    pub(crate) const fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes over what `other` has found.
    pub(crate) fn merge(&mut self, other: Self) {
        let is_new = |rule: &&'static str| !self.found.contains(rule);
        let new: Vec<&'static str> = other.found.into_iter().filter(is_new).collect();
        self.found.extend(new);
    }

    /// Names of the rules that hit so far.
    pub(crate) fn found(self) -> Vec<&'static str> {
        self.found
    }

    fn json(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text).to_string()),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(key, value)| (self.text(&key).to_string(), self.json(value)))
                .collect(),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }
}
