//! Turns memories into a summary that is true to them, whatever a language model does: its draft is
//! proven against what it cites, once sent back with its faults named, and otherwise replaced by
//! quotations.
//!
//! Nothing is stored here: who asks for a summary stores it together with what follows from it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::json;

use super::{Service, Settings};
use crate::domain::extractive::{self, Item};
use crate::domain::grounding::{self, Reason, Source, Summary};
use crate::domain::id::MemoryId;
use crate::domain::limits::{LLM_PASSAGES_MAX, PROFILE_LENGTHS};
use crate::domain::memory::{Memory, Metadata};
use crate::domain::summary::{Aim, Draft, Passage, Repair, SummaryRequest, Unusable};
use crate::ports::{Clock, Ids, LlmError, Summarizer};

/// Drafts that a model may hand in for one summary.
const DRAFTS_MAX: usize = 2;

/// What is to be summarised.
#[derive(Clone, Debug)]
pub struct SummaryOrder<'a> {
    /// What is to be written.
    pub aim: Aim,
    /// Of what, in any order. A model reads the last [`LLM_PASSAGES_MAX`] by event time.
    pub memories: &'a [Memory],
    /// How long, characters; a summary of little is shorter.
    pub chars: RangeInclusive<usize>,
    /// The zone in which its days are told.
    pub zone: &'a TimeZone,
}

/// A summary, fit to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSummary {
    /// The text.
    pub text: String,
    /// The memories that it draws from, by event time.
    pub sources: Vec<MemoryId>,
    /// Who wrote it.
    pub author: Author,
    /// Why drafts were refused before it, and how many for each reason.
    pub rejections: BTreeMap<&'static str, u64>,
}

/// Who wrote a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// A language model; every value stands in what it cites.
    Model {
        /// What its endpoint calls it.
        name: String,
        /// See [`Summarizer::prompt_version`].
        prompt_version: u32,
    },
    /// The memories themselves, quoted.
    Extract(Because),
}

/// Why no model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// None is configured.
    NoModel,
    /// It could not be asked, for this reason; it may be asked later.
    Away(String),
    /// Nothing it wrote could be kept.
    Refused,
}

impl WrittenSummary {
    /// Whether it is to be written again when the model is back.
    pub const fn is_to_redo(&self) -> bool {
        matches!(self.author, Author::Extract(Because::Away(_)))
    }

    /// What is stored beside it: `summary_kind` (`model` or `extractive`), `model` and
    /// `prompt_version`, `redo`, and `rejected` with the count of each reason.
    pub fn metadata(&self) -> Metadata {
        let mut fields = match &self.author {
            Author::Model { name, prompt_version } => vec![
                ("summary_kind", json!("model")),
                ("model", json!(name)),
                ("prompt_version", json!(prompt_version)),
            ],
            Author::Extract(_) => vec![("summary_kind", json!("extractive"))],
        };
        if self.is_to_redo() {
            fields.push(("redo", json!(true)));
        }
        if !self.rejections.is_empty() {
            fields.push(("rejected", json!(self.rejections)));
        }
        fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect()
    }
}

/// Writes summaries, by a model if there is one.
pub struct SummaryWriter {
    model: Option<Arc<dyn Summarizer>>,
    ids: Arc<dyn Ids>,
    clock: Arc<dyn Clock>,
    rejections: Mutex<BTreeMap<&'static str, u64>>,
}

impl SummaryWriter {
    /// A writer without a model quotes.
    pub fn new(
        model: Option<Arc<dyn Summarizer>>,
        ids: Arc<dyn Ids>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { model, ids, clock, rejections: Mutex::default() }
    }

    /// What a summary of given memories depends on besides them: model and prompt. The same sources
    /// under the same key need not be summarised again.
    pub fn key(&self) -> String {
        match &self.model {
            Some(model) => format!("{} {}", model.model(), model.prompt_version()),
            None => "extractive".to_owned(),
        }
    }

    /// Drafts refused since the start, by reason.
    pub fn rejections(&self) -> BTreeMap<&'static str, u64> {
        self.rejections.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The summary; `None` if the memories say nothing.
    pub async fn write(&self, order: SummaryOrder<'_>) -> Option<WrittenSummary> {
        let mut memories: Vec<&Memory> = order.memories.iter().collect();
        memories.sort_by_key(|memory| (memory.event_time(), memory.id));
        let mut rejections = BTreeMap::new();
        let written = match &self.model {
            Some(model) => self.by_model(model.as_ref(), &order, &memories, &mut rejections).await,
            None => Err(Because::NoModel),
        };
        self.count(&rejections);
        match written {
            Ok((draft, sources)) => {
                let model = self.model.as_ref()?;
                let (name, prompt_version) = (model.model().to_owned(), model.prompt_version());
                let author = Author::Model { name, prompt_version };
                Some(WrittenSummary { text: draft.text, sources, author, rejections })
            }
            Err(because) => {
                let quoted = quoted(&order, because)?;
                Some(WrittenSummary { rejections, ..quoted })
            }
        }
    }

    /// A proven draft and what it cites.
    async fn by_model(
        &self,
        model: &dyn Summarizer,
        order: &SummaryOrder<'_>,
        memories: &[&Memory],
        rejections: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(Draft, Vec<MemoryId>), Because> {
        let latest = memories.get(memories.len().saturating_sub(LLM_PASSAGES_MAX)..);
        let latest = latest.unwrap_or(memories);
        let passages = self.passages(latest, order.zone);
        let (draft, cited) =
            self.drafted(model, order.aim, &passages, &order.chars, 0, rejections).await?;
        let sources = latest.iter().zip(&cited).filter(|(_, is_cited)| **is_cited);
        Ok((draft, sources.map(|(memory, _)| memory.id).collect()))
    }

    /// A proven draft of a summary of passages, `n_kept` characters of which are a summary already.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn draft(
        &self,
        aim: Aim,
        passages: Vec<Passage>,
        chars: RangeInclusive<usize>,
        n_kept: usize,
    ) -> Result<Draft, Because> {
        let Some(model) = &self.model else { return Err(Because::NoModel) };
        let mut rejections = BTreeMap::new();
        let drafted =
            self.drafted(model.as_ref(), aim, &passages, &chars, n_kept, &mut rejections).await;
        self.count(&rejections);
        drafted.map(|(draft, _)| draft)
    }

    /// A proven draft, and which passages it cites.
    async fn drafted(
        &self,
        model: &dyn Summarizer,
        aim: Aim,
        passages: &[Passage],
        chars: &RangeInclusive<usize>,
        n_kept: usize,
        rejections: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(Draft, Vec<bool>), Because> {
        let (chars, policy) = length(chars, passages, n_kept);
        let mut repair = None;
        for _ in 0..DRAFTS_MAX {
            let request = SummaryRequest {
                aim,
                passages: passages.to_vec(),
                chars: chars.clone(),
                repair: repair.take(),
            };
            let draft = match model.summarise(request).await {
                Ok(draft) => draft,
                Err(LlmError::Away(reason)) => return Err(Because::Away(reason)),
                Err(LlmError::Unusable(why)) => {
                    *rejections.entry(why.as_str()).or_default() += 1;
                    let Some(advice) = why.advice() else { return Err(because(why)) };
                    repair = Some(Repair { draft: None, faults: vec![advice.to_owned()] });
                    continue;
                }
            };
            match prove(&draft, passages, &policy) {
                Ok(cited) => return Ok((draft, cited)),
                Err((reasons, faults)) => {
                    for reason in reasons {
                        *rejections.entry(reason.as_str()).or_default() += 1;
                    }
                    repair = Some(Repair { draft: Some(draft), faults });
                }
            }
        }
        Err(Because::Refused)
    }

    /// What labels begin with that nobody can foresee, so that no text can name another.
    pub(super) fn salt(&self) -> String {
        const SALT_CHARS: usize = 3;
        self.ids.next_id(self.clock.now()).tail_text().chars().take(SALT_CHARS).collect()
    }

    /// The texts under labels of this call alone.
    fn passages(&self, memories: &[&Memory], zone: &TimeZone) -> Vec<Passage> {
        let salt = self.salt();
        let numbered = memories.iter().zip(1..);
        numbered
            .map(|(memory, n)| Passage {
                label: format!("{salt}-{n}"),
                text: memory.content.to_string(),
                event_date: Some(event_date(memory, zone)),
            })
            .collect()
    }

    fn count(&self, rejections: &BTreeMap<&'static str, u64>) {
        let mut all = self.rejections.lock().unwrap_or_else(PoisonError::into_inner);
        for (reason, n) in rejections {
            *all.entry(reason).or_default() += n;
        }
    }
}

impl Service {
    /// A summary of memories, of the configured length; `None` if they say nothing. It may take as
    /// long as the model does, and stores nothing.
    pub async fn write_summary(&self, aim: Aim, memories: &[Memory]) -> Option<WrittenSummary> {
        let settings = self.settings();
        self.summaries.write(order(aim, memories, &settings)).await
    }

    /// The same without asking a model, for this reason.
    pub fn quote_summary(
        &self,
        aim: Aim,
        memories: &[Memory],
        because: Because,
    ) -> Option<WrittenSummary> {
        quoted(&order(aim, memories, &self.settings()), because)
    }

    /// Has the language models read what they kept, for the reports.
    pub async fn recall_models(&self) {
        if let Some(model) = &self.summarizer {
            model.recall().await;
        }
        if let Some(model) = &self.scorer {
            model.recall().await;
        }
    }

    /// See [`SummaryWriter::key`].
    pub fn summary_key(&self) -> String {
        self.summaries.key()
    }
}

/// What is asked for by configuration: a profile is longer than a summary.
fn order<'a>(aim: Aim, memories: &'a [Memory], settings: &'a Settings) -> SummaryOrder<'a> {
    let n = match aim {
        Aim::Summary => 1,
        Aim::Profile => PROFILE_LENGTHS,
    };
    let chars = settings.summary_chars.start() * n..=settings.summary_chars.end() * n;
    SummaryOrder { aim, memories, chars, zone: &settings.zone }
}

/// Why no model writes a summary after an answer that no advice to it can mend.
fn because(why: Unusable) -> Because {
    match why {
        // It is the endpoint that must be seen to; then the same sources may be asked about again.
        Unusable::Refused | Unusable::PromptCut | Unusable::TooLong => {
            Because::Away(why.to_string())
        }
        Unusable::NotJson
        | Unusable::Empty
        | Unusable::Cut
        | Unusable::Form
        | Unusable::Declined => Because::Refused,
    }
}

fn event_date(memory: &Memory, zone: &TimeZone) -> Date {
    zone.to_datetime(memory.event_time()).date()
}

/// How long a summary of these texts is to be, and what is asked of one: the model may miss the lower
/// bound by half, since a short summary that is true is better than none. What is short already, `n_kept`
/// characters of them, need not become shorter.
fn length(
    chars: &RangeInclusive<usize>,
    passages: &[Passage],
    n_kept: usize,
) -> (RangeInclusive<usize>, grounding::Policy) {
    let usual = grounding::Policy::default();
    let n_chars: usize = passages.iter().map(|passage| passage.text.chars().count()).sum();
    let n_long = n_chars.saturating_sub(n_kept);
    let share_max = (n_kept as f64 + usual.share_max * n_long as f64) / n_chars.max(1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive share of a count"
    )]
    let share = (n_chars as f64 * share_max) as usize;
    let most = (*chars.end()).min(share).max(usual.chars_min);
    let least = (*chars.start()).min(most * 2 / 3);
    let chars_min = usual.chars_min.min(least / 2);
    (least..=most, grounding::Policy { chars_min, chars_max: most, share_max, ..usual })
}

/// Which passages a draft cites, if it may be kept; else the reasons, each once, and its faults.
fn prove(
    draft: &Draft,
    passages: &[Passage],
    policy: &grounding::Policy,
) -> Result<Vec<bool>, (Vec<Reason>, Vec<String>)> {
    let sources: Vec<Source<'_>> = passages
        .iter()
        .map(|passage| Source {
            id: &passage.label,
            text: &passage.text,
            event_date: passage.event_date,
        })
        .collect();
    let citations: Vec<&str> = draft.citations.iter().map(String::as_str).collect();
    let summary = Summary { text: &draft.text, citations: &citations };
    let violations = grounding::check(&summary, &sources, policy);
    if violations.is_empty() {
        return Ok(passages
            .iter()
            .map(|passage| draft.citations.contains(&passage.label))
            .collect());
    }
    let mut reasons: Vec<Reason> = violations.iter().map(|violation| violation.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    Err((reasons, violations.into_iter().map(|violation| violation.text).collect()))
}

/// The memories' own words, each with its handle and day.
fn quoted(order: &SummaryOrder<'_>, because: Because) -> Option<WrittenSummary> {
    let mut memories: Vec<&Memory> = order.memories.iter().collect();
    memories.sort_by_key(|memory| (memory.event_time(), memory.id));
    let handles: Vec<String> = memories.iter().map(|memory| memory.id.handle()).collect();
    let items: Vec<Item<'_>> = memories
        .iter()
        .zip(&handles)
        .map(|(memory, id)| Item {
            id,
            text: &memory.content,
            event_time: order.zone.to_datetime(memory.event_time()),
        })
        .collect();
    let usual = extractive::Policy::default();
    let chars_max = *order.chars.end();
    let sentences_max = usual.sentences_max.max(chars_max * usual.sentences_max / usual.chars_max);
    let policy = extractive::Policy { sentences_max, chars_max, ..usual };
    let text = extractive::extract(&items, &[], &policy)?.to_string();
    Some(WrittenSummary {
        text,
        sources: memories.iter().map(|memory| memory.id).collect(),
        author: Author::Extract(because),
        rejections: BTreeMap::new(),
    })
}
