//! A stand-in for the language model that writes summaries: well, badly, or not at all. The tests of
//! `tests/it` include it too, so it names the library from outside.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use recalld::domain::summary::{Draft, SummaryRequest, Unusable};
use recalld::ports::{LanguageModel, LlmError, LlmReport, Summarizer};

/// What the model does when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Puts together what its sources say, word by word.
    Well,
    /// Says what no source says.
    Invents,
    /// Its answer is of no use, for this reason.
    Useless(Unusable),
    /// It answers with a server error.
    Away,
    /// It answers well when it is let go.
    Waits,
}

/// The stand-in.
pub(super) struct Writer {
    /// What it does in turn, again and again.
    manners: Mutex<VecDeque<Manner>>,
    n_calls: AtomicUsize,
    /// Lets one waiting answer go.
    pub(super) gate: Semaphore,
}

impl Writer {
    /// Does these in turn, again and again.
    pub(super) fn new(manners: &[Manner]) -> Arc<Self> {
        let manners = Mutex::new(manners.iter().copied().collect());
        Arc::new(Self { manners, n_calls: AtomicUsize::new(0), gate: Semaphore::new(0) })
    }

    /// From now on it does these.
    pub(super) fn set(&self, manners: &[Manner]) {
        *self.manners.lock().unwrap() = manners.iter().copied().collect();
    }

    /// How often it was asked.
    pub(super) fn n_calls(&self) -> usize {
        self.n_calls.load(Ordering::SeqCst)
    }

    fn next(&self) -> Manner {
        let mut manners = self.manners.lock().unwrap();
        let next = manners.pop_front().unwrap();
        manners.push_back(next);
        next
    }
}

impl LanguageModel for Writer {
    fn model(&self) -> &'static str {
        r#"models\"small""#
    }

    fn recall(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn report(&self) -> LlmReport {
        LlmReport {
            model: self.model().to_owned(),
            place: "here".to_owned(),
            form: "json_schema",
            trouble: None,
            calls: (0, 1),
            tokens: (0, 1),
        }
    }
}

impl Summarizer for Writer {
    fn prompt_version(&self) -> u32 {
        1
    }

    fn summarise(&self, request: SummaryRequest) -> BoxFuture<'_, Result<Draft, LlmError>> {
        self.n_calls.fetch_add(1, Ordering::SeqCst);
        let manner = self.next();
        Box::pin(async move {
            match manner {
                Manner::Well => Ok(well(&request)),
                Manner::Invents => Ok(Draft {
                    text: "Everything was settled in Ouagadougou on 1999-12-31 for 7,777 EUR."
                        .to_owned(),
                    citations: request.passages.iter().map(|one| one.label.clone()).collect(),
                }),
                Manner::Useless(why) => Err(LlmError::Unusable(why)),
                Manner::Away => Err(LlmError::Away("it answered 500".to_owned())),
                Manner::Waits => {
                    self.gate.acquire().await.unwrap().forget();
                    Ok(well(&request))
                }
            }
        })
    }
}

/// As many of the sources as there is room for, the newest first.
fn well(request: &SummaryRequest) -> Draft {
    let (mut texts, mut citations) = (Vec::new(), Vec::new());
    let mut room = *request.chars.end();
    for passage in request.passages.iter().rev() {
        let n_chars = passage.text.chars().count() + 2;
        if n_chars <= room {
            room -= n_chars;
            texts.push(passage.text.trim_end_matches(['.', '。']));
            citations.push(passage.label.clone());
        }
    }
    Draft { text: format!("{}.", texts.join(". ")), citations }
}
