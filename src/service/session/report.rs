//! What a look at the sessions did, or would do: counts, ids and reasons, never content.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::domain::id::MemoryId;
use crate::domain::job::Outcome;
use crate::domain::limits::REPORT_TASKS_MAX;

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractReport {
    /// Sessions that were looked at.
    pub n_sessions: u64,
    /// Turns that were looked at for what is worth remembering.
    pub n_turns: u64,
    /// Turns that say nothing.
    pub n_small_talk: u64,
    /// Statements that passed, by who chose them: `model` or `rules`.
    pub n_facts: BTreeMap<&'static str, u64>,
    /// Statements that did not, by the reason.
    pub rejections: BTreeMap<&'static str, u64>,
    /// Answers of the model that were of no use, by the reason.
    pub unusable: BTreeMap<&'static str, u64>,
    /// Memories that are new.
    pub n_stored: u64,
    /// Statements that a memory says already.
    pub n_known: u64,
    /// The new memories, the first [`REPORT_TASKS_MAX`].
    pub stored: Vec<MemoryId>,
    /// Turns that wait for another look.
    pub n_later: u64,
    /// Summaries of sessions, by who wrote them: `model` or `quotes`.
    pub n_told: BTreeMap<&'static str, u64>,
    /// Sessions whose time was over.
    pub n_expired: u64,
    /// Turns that changed meanwhile.
    pub n_conflicts: u64,
    /// Why the model could not be asked, if it could not.
    pub away: Option<String>,
    /// Whether it was told to end.
    pub is_stopped: bool,
}

impl ExtractReport {
    pub(super) fn count(counts: &mut BTreeMap<&'static str, u64>, name: &'static str) {
        *counts.entry(name).or_default() += 1;
    }

    pub(super) fn keep(&mut self, id: MemoryId) {
        self.n_stored += 1;
        if self.stored.len() < REPORT_TASKS_MAX {
            self.stored.push(id);
        }
    }

    /// How it ended: partial as long as something waits for a later run.
    pub fn outcome(&self) -> Outcome {
        let mut why = Vec::new();
        if self.is_stopped {
            why.push("it was told to end".to_owned());
        }
        if let Some(reason) = &self.away {
            why.push(format!("turns wait until the language model is back ({reason})"));
        }
        if self.n_later > 0 {
            let n = self.n_later;
            why.push(format!("{n} turns wait, since nothing of the model's answer could be kept"));
        }
        if self.n_conflicts > 0 {
            let n = self.n_conflicts;
            why.push(format!("{n} wait for the next run, since they changed meanwhile"));
        }
        if why.is_empty() { Outcome::Done } else { Outcome::Partial(why.join("; ")) }
    }

    /// The report as a JSON object.
    pub fn facts(&self) -> Value {
        json!({
            "n_sessions": self.n_sessions,
            "n_turns": self.n_turns,
            "n_small_talk": self.n_small_talk,
            "n_facts": self.n_facts,
            "rejections": self.rejections,
            "unusable": self.unusable,
            "n_stored": self.n_stored,
            "n_known": self.n_known,
            "stored": self.stored.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "n_later": self.n_later,
            "n_told": self.n_told,
            "n_expired": self.n_expired,
            "n_conflicts": self.n_conflicts,
            "model_away": self.away,
        })
    }
}
