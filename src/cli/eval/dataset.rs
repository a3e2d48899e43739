//! A dialogue set on disk: `NAME.memories.jsonl` and `NAME.queries.jsonl`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::session::CliError;
use crate::domain::limits::CONTENT_BYTES_MAX;

/// A set.
pub(super) struct Dataset {
    /// Its name, the last part of its path.
    pub(super) name: String,
    /// What is stored.
    pub(super) memories: Vec<Memory>,
    /// What is asked.
    pub(super) questions: Vec<Question>,
    /// Texts that were cut at the limit of a memory.
    pub(super) n_cut: usize,
}

/// One memory.
pub(super) struct Memory {
    /// The conversation as a namespace.
    pub(super) namespace: String,
    /// Its id in the set.
    pub(super) id: String,
    /// When it happened.
    pub(super) time: Option<String>,
    /// The text.
    pub(super) text: String,
}

impl Memory {
    /// A name that is unique in the set: ids are so only in their conversation.
    pub(super) fn key(&self) -> String {
        key(&self.namespace, &self.id)
    }
}

/// One question.
pub(super) struct Question {
    /// The conversation it is about.
    pub(super) namespace: String,
    /// Sort of question.
    pub(super) category: String,
    /// The question.
    pub(super) query: String,
    /// Keys of the memories that answer it.
    pub(super) evidence: Vec<String>,
}

#[derive(Deserialize)]
struct MemoryLine {
    conv: String,
    id: String,
    time: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct QuestionLine {
    conv: String,
    category: String,
    query: String,
    evidence_ids: Vec<String>,
}

impl Dataset {
    /// Reads `path.memories.jsonl` and `path.queries.jsonl`.
    ///
    /// # Errors
    /// Names the file and the line.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .ok_or_else(|| CliError::Data(format!("no set is named by {}", path.display())))?;
        let memories: Vec<MemoryLine> = lines(&beside(path, &name, "memories"))?;
        let questions: Vec<QuestionLine> = lines(&beside(path, &name, "queries"))?;
        let is_too_long = |line: &&MemoryLine| line.text.len() > CONTENT_BYTES_MAX;
        Ok(Self {
            n_cut: memories.iter().filter(is_too_long).count(),
            memories: memories
                .into_iter()
                .map(|line| Memory {
                    namespace: namespace(&line.conv),
                    id: line.id,
                    time: line.time,
                    text: cut(line.text),
                })
                .collect(),
            questions: questions
                .into_iter()
                .map(|line| {
                    let namespace = namespace(&line.conv);
                    Question {
                        evidence: line.evidence_ids.iter().map(|id| key(&namespace, id)).collect(),
                        namespace,
                        category: line.category,
                        query: line.query,
                    }
                })
                .collect(),
            name,
        })
    }
}

/// A memory holds [`CONTENT_BYTES_MAX`] bytes; what a set has beyond is left out, and counted.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(CONTENT_BYTES_MAX));
    text
}

fn beside(path: &Path, name: &str, part: &str) -> PathBuf {
    path.with_file_name(format!("{name}.{part}.jsonl"))
}

fn key(namespace: &str, id: &str) -> String {
    format!("{namespace} {id}")
}

/// A conversation's name in the alphabet of namespaces.
fn namespace(conversation: &str) -> String {
    let path: String = conversation
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .collect();
    format!("eval/{}", path.trim_start_matches('.'))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, CliError> {
    let text = fs::read_to_string(path)
        .map_err(|error| CliError::Data(format!("read {}: {error}", path.display())))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| {
                CliError::Data(format!("{}, line {}: {error}", path.display(), at + 1))
            })
        })
        .collect()
}
