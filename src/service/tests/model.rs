//! A stand-in for the model: it knows a few synonyms, and fails when it is told to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::domain::embedding::{ModelIdentity, Scripts, Vector};
use crate::ports::{EmbedError, Embedder, EmbedderReport};

/// Words that mean the same, a direction each.
const MEANINGS: &[&[&str]] = &[
    &["dog", "puppy", "hound"],
    &["car", "automobile", "vehicle"],
    &["tea", "oolong", "brew"],
    &["house", "home", "dwelling"],
    &["vegetarian", "meat"],
];
/// Directions of all other words.
const OTHERS: usize = 28;
const DIMENSION: usize = MEANINGS.len() + OTHERS;

/// A text that the model refuses contains this word.
pub(super) const REFUSED: &str = "unembeddable";

/// How the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// It answers.
    Well,
    /// It does not answer until its mood changes, then as it is by then.
    Slow,
    /// It is down.
    Dead,
    /// Too much waits.
    Busy,
}

/// The stand-in.
pub(super) struct StandIn {
    mood: watch::Sender<Mood>,
    scripts: Scripts,
    /// Turns every vector round, as other weights would.
    is_swapped: AtomicBool,
    n_documents: AtomicUsize,
    queries: Mutex<Vec<String>>,
}

impl StandIn {
    pub(super) fn new(scripts: Scripts) -> Self {
        Self {
            mood: watch::Sender::new(Mood::Well),
            scripts,
            is_swapped: AtomicBool::new(false),
            n_documents: AtomicUsize::new(0),
            queries: Mutex::default(),
        }
    }

    pub(super) fn set(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    /// Becomes another model that says it is the same.
    pub(super) fn swap_weights(&self) {
        self.is_swapped.store(true, Ordering::SeqCst);
    }

    fn vector(&self, text: &str) -> Result<Vector, EmbedError> {
        let vector = vector(text)?;
        let is_swapped = self.is_swapped.load(Ordering::SeqCst);
        Ok(if is_swapped { vector.iter().rev().copied().collect() } else { vector })
    }

    /// Documents it was asked for.
    pub(super) fn n_documents(&self) -> usize {
        self.n_documents.load(Ordering::SeqCst)
    }

    /// Queries it was asked for.
    pub(super) fn queries(&self) -> Vec<String> {
        self.queries.lock().unwrap().clone()
    }

    async fn answer(&self) -> Result<(), EmbedError> {
        let mut mood = self.mood.subscribe();
        let mood = *mood.wait_for(|mood| *mood != Mood::Slow).await.unwrap();
        match mood {
            Mood::Dead => Err(EmbedError::Unavailable("it burnt down".to_owned())),
            Mood::Busy => Err(EmbedError::Busy),
            Mood::Well | Mood::Slow => Ok(()),
        }
    }
}

impl Embedder for StandIn {
    fn identity(&self) -> Option<ModelIdentity> {
        Some(ModelIdentity {
            name: "stand-in".to_owned(),
            dimension: DIMENSION,
            tokens_max: 128,
            pooling: "sum".to_owned(),
            normalised: true,
            query_prefix: String::new(),
            document_prefix: String::new(),
            weights_hash: "1".to_owned(),
            tokenizer_hash: "1".to_owned(),
            text_template: "1".to_owned(),
            scripts: self.scripts,
        })
    }

    fn embed_documents(
        &self,
        texts: Vec<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Vec<Vector>>, EmbedError>> {
        self.n_documents.fetch_add(texts.len(), Ordering::SeqCst);
        Box::pin(async move {
            self.answer().await?;
            texts.iter().map(|text| Ok(vec![self.vector(text)?])).collect()
        })
    }

    fn embed_query(&self, text: Arc<str>) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        self.queries.lock().unwrap().push(text.to_string());
        Box::pin(async move {
            self.answer().await?;
            self.vector(&text)
        })
    }

    fn report(&self) -> EmbedderReport {
        let mood = *self.mood.borrow();
        let detail = format!("{mood:?}").to_lowercase();
        EmbedderReport { ready: mood != Mood::Dead, detail, n_waiting: 0 }
    }
}

/// Each word adds 3 to the direction of its meaning, or 1 to one that its letters choose.
fn vector(text: &str) -> Result<Vector, EmbedError> {
    let text = text.to_lowercase();
    let mut sum = vec![0.0_f32; DIMENSION];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word == REFUSED {
            return Err(EmbedError::Failed("a word it cannot read".to_owned()));
        }
        if let Some(meaning) = MEANINGS.iter().position(|words| words.contains(&word)) {
            sum[meaning] += 3.0;
        } else {
            let letters: usize = word.bytes().map(usize::from).sum();
            sum[MEANINGS.len() + letters % OTHERS] += 1.0;
        }
    }
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    Ok(sum.into_iter().map(|x| x / length).collect())
}
