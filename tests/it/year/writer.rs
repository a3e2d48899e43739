//! A stand-in for the language model that writes summaries: for weeks well, then away or wrong.

use std::sync::Arc;
use std::sync::Mutex;

use futures::future::BoxFuture;
use recalld::domain::summary::{Draft, SummaryRequest, Unusable};
use recalld::ports::{LanguageModel, LlmError, LlmReport, Summarizer};

/// How the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Puts together what its sources say, word by word.
    Well,
    /// Says what no source says.
    Invents,
    /// Answers with something that is no draft.
    Rambles,
    /// Does not answer.
    Away,
}

/// The stand-in.
pub struct Writer(Mutex<Manner>);

impl Writer {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Manner::Well)))
    }

    pub fn set(&self, manner: Manner) {
        *self.0.lock().unwrap() = manner;
    }
}

impl LanguageModel for Writer {
    fn model(&self) -> &'static str {
        "stand-in"
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
        let manner = *self.0.lock().unwrap();
        Box::pin(std::future::ready(match manner {
            Manner::Well => Ok(well(&request)),
            Manner::Invents => Ok(Draft {
                text: "Everything was settled in Ouagadougou on 1999-12-31 for 7,777 EUR."
                    .to_owned(),
                citations: request.passages.iter().map(|one| one.label.clone()).collect(),
            }),
            Manner::Rambles => Err(LlmError::Unusable(Unusable::NotJson)),
            Manner::Away => Err(LlmError::Away("it answered 500".to_owned())),
        }))
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
