//! What is known of every memory that was written, and how the daemon compares with it.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::daemon::Agent;

/// Ids that are read in one call; with short texts their answer is far from its limit.
const IDS_PER_CALL: usize = 16;
/// Calls in flight at once.
const CALLS_AT_ONCE: usize = 8;

/// What is known about one memory.
#[derive(Clone, Debug)]
pub struct Known {
    /// Contents that it may have: the acknowledged one, and that of a change that was not answered.
    pub contents: Vec<String>,
    /// `false`: a forget was acknowledged, or it was seen to be gone.
    pub may_be_there: bool,
    /// `true`: a forget was sent.
    pub may_be_gone: bool,
}

impl Known {
    /// A memory whose store was acknowledged.
    pub fn stored(content: String) -> Self {
        Self { contents: vec![content], may_be_there: true, may_be_gone: false }
    }

    /// Whether every answer about it is foreseen.
    pub fn is_certain(&self) -> bool {
        self.contents.len() == 1 && self.may_be_there && !self.may_be_gone
    }
}

/// Everything that is known, by id.
pub type Ledger = BTreeMap<String, Known>;

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Memories compared.
    pub n_checked: u64,
    /// Acknowledged, and not there or not as acknowledged.
    pub lost: Vec<String>,
    /// Acknowledged as forgotten, and there.
    pub back: Vec<String>,
}

impl Findings {
    /// Whether all is as it must be.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.back.is_empty()
    }
}

/// Compares everything known with what the daemon says; what was uncertain is certain afterwards.
pub async fn compare(owner: &Agent, ledger: &mut Ledger) -> Findings {
    let ids: Vec<String> = ledger.keys().cloned().collect();
    let batches: Vec<Vec<String>> = ids.chunks(IDS_PER_CALL).map(<[String]>::to_vec).collect();
    let seen: Vec<BTreeMap<String, String>> = futures::stream::iter(batches)
        .map(|ids| contents(owner, ids))
        .buffer_unordered(CALLS_AT_ONCE)
        .collect()
        .await;
    let seen: BTreeMap<String, String> = seen.into_iter().flatten().collect();
    let mut findings = Findings { n_checked: ledger.len() as u64, ..Findings::default() };
    for (id, known) in ledger.iter_mut() {
        let content = seen.get(id);
        match content {
            Some(content) if !known.may_be_there => findings.back.push(format!("{id}: {content}")),
            Some(content) if !known.contents.contains(content) => {
                findings.lost.push(format!("{id} says {content}, not {:?}", known.contents));
            }
            None if !known.may_be_gone => findings.lost.push(format!("{id}: {:?}", known.contents)),
            Some(_) | None => {}
        }
        known.may_be_there = content.is_some();
        known.may_be_gone = content.is_none();
        if let Some(content) = content {
            known.contents = vec![content.clone()];
        }
    }
    findings
}

/// The contents of those of these memories that are there.
async fn contents(owner: &Agent, ids: Vec<String>) -> BTreeMap<String, String> {
    let reply = owner.call("memory_get", json!({ "ids": ids })).await;
    if reply.is_error {
        assert!(reply.text.contains("not found"), "memory_get: {}", reply.text);
        return BTreeMap::new();
    }
    let answer = reply.structured.unwrap();
    let text = |memory: &Value, name: &str| memory[name].as_str().unwrap().to_owned();
    let found = answer["memories"].as_array().unwrap();
    let n_missing = answer["missing"].as_array().map_or(0, Vec::len);
    assert_eq!(found.len() + n_missing, ids.len(), "an answer was cut: {answer}");
    found.iter().map(|memory| (text(memory, "id"), text(memory, "content"))).collect()
}
