//! A summary without a model: the sentences of the memories that say most while repeating least, in the
//! order of time, each with its source and its date.
//!
//! Sentences are chosen by maximal marginal relevance (Carbonell and Goldstein 1998). They are quoted, so
//! the summary is faithful by construction; only a sentence longer than all the room there is gets cut,
//! and then so that no value is broken and no negation lost.

mod cut;
mod likeness;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use jiff::civil::{Date, DateTime};

use super::embedding::Vector;
use super::grounding::clauses::content_words;
use super::grounding::values::{Value, read};
use super::limits::EXTRACT_SENTENCES_MAX;
use super::text::sentences::sentences;
use super::text::{is_unspaced, normalise};
use likeness::Matrix;

/// Names and identifiers that a header shows.
const ENTITIES_MAX: usize = 3;
/// Most characters of the names and identifiers of a header.
const ENTITY_CHARS_MAX: usize = 60;

/// A memory to be summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// How the summary names it.
    pub id: &'a str,
    /// What it says.
    pub text: &'a str,
    /// When that happened, in the zone of its user.
    pub event_time: DateTime,
}

/// A sentence of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// Which item, by its place among those given.
    pub item: usize,
    /// The sentence.
    pub text: &'a str,
}

/// How an extract is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Most sentences.
    pub sentences_max: usize,
    /// Most characters of the whole summary.
    pub chars_max: usize,
    /// Weight of relevance against novelty, 0.0..=1.0.
    pub lambda: f64,
}

impl Default for Policy {
    /// Three sentences in 300 characters; 0.7 for the weight is what the authors found to do well.
    fn default() -> Self {
        Self { sentences_max: 3, chars_max: 300, lambda: 0.7 }
    }
}

/// A sentence that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Id of its item.
    pub id: String,
    /// The day of its item.
    pub date: Date,
    /// The sentence, or what was kept of it.
    pub text: String,
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: {}", self.date, self.id, self.text)
    }
}

/// A summary made of quotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The names and identifiers that most items share, and the days of the first and the last.
    pub header: String,
    /// What was chosen, in the order of time.
    pub quotes: Vec<Quote>,
}

impl fmt::Display for Extract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.header)?;
        for quote in &self.quotes {
            write!(f, "\n{quote}")?;
        }
        Ok(())
    }
}

/// The sentences of the items, in order; the last [`EXTRACT_SENTENCES_MAX`] of them. Vectors for
/// [`extract`] are made of these.
pub fn sentences_of<'a>(items: &[Item<'a>]) -> Vec<Sentence<'a>> {
    let mut all: Vec<Sentence<'a>> = items
        .iter()
        .enumerate()
        .flat_map(|(item, source)| {
            sentences(source.text)
                .into_iter()
                .filter_map(move |range| Some(Sentence { item, text: source.text.get(range)? }))
        })
        .collect();
    all.drain(..all.len().saturating_sub(EXTRACT_SENTENCES_MAX));
    all
}

/// The summary of `items`; `vectors` are unit vectors of [`sentences_of`] them, in its order: if they are
/// not as many, sentences are compared by their words (TF-IDF). `None` if the items say nothing.
///
/// The newest item that says something is always quoted. The header speaks of all items, so all of them
/// are sources of the summary.
pub fn extract(items: &[Item<'_>], vectors: &[Vector], policy: &Policy) -> Option<Extract> {
    let sentences = sentences_of(items);
    let mut matrix = if vectors.len() == sentences.len() {
        Matrix::of_vectors(vectors)
    } else {
        Matrix::of_words(&sentences)
    };
    matrix.weigh(sentences.iter().map(|sentence| weight(sentence.text)));
    let header = header(items);
    let mut picker = Picker {
        items,
        sentences: &sentences,
        matrix: &matrix,
        room: policy.chars_max.saturating_sub(header.chars().count()),
        chosen: Vec::new(),
    };
    picker.take_newest();
    while picker.chosen.len() < policy.sentences_max && picker.take_next(policy.lambda) {}
    let mut chosen = picker.chosen;
    chosen.sort_by_key(|(at, _)| {
        let item = sentences.get(*at).map_or(0, |sentence| sentence.item);
        (items.get(item).map(|item| item.event_time), *at)
    });
    let quotes: Vec<Quote> = chosen.into_iter().map(|(_, quote)| quote).collect();
    (!quotes.is_empty()).then_some(Extract { header, quotes })
}

/// How much a sentence has to say, 0.0..=1.0: greetings and questions are near to everything and tell
/// nothing.
fn weight(sentence: &str) -> f64 {
    /// Content words and values of a sentence that says enough.
    const ENOUGH: f64 = 5.0;
    let reading = read(sentence);
    let n_words = content_words(&reading, &(0..reading.text.len())).len();
    // Two characters of Han are about a word.
    let n_words = if sentence.chars().any(is_unspaced) { n_words / 2 } else { n_words };
    let n_values =
        reading.values.iter().filter(|found| !matches!(found.value, Value::Name(_))).count();
    let fullness = ((n_words + n_values) as f64 / ENOUGH).min(1.0);
    let is_question = sentence.ends_with(['?', '？']);
    if is_question { fullness / 2.0 } else { fullness }
}

/// The choice so far.
struct Picker<'a> {
    items: &'a [Item<'a>],
    sentences: &'a [Sentence<'a>],
    matrix: &'a Matrix,
    /// Characters that are left.
    room: usize,
    /// Which sentence, and what is shown of it.
    chosen: Vec<(usize, Quote)>,
}

impl Picker<'_> {
    /// Takes the most relevant sentence of the newest item, cut to the room if it is longer.
    fn take_newest(&mut self) {
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|at| {
            std::cmp::Reverse((self.items.get(*at).map(|item| item.event_time), *at))
        });
        for item in order {
            let mut own: Vec<usize> = (0..self.sentences.len())
                .filter(|at| self.sentences.get(*at).is_some_and(|sentence| sentence.item == item))
                .collect();
            own.sort_by(|left, right| {
                self.matrix.relevance(*right).total_cmp(&self.matrix.relevance(*left))
            });
            if own.iter().any(|at| self.take(*at)) || own.iter().any(|at| self.take_cut(*at)) {
                return;
            }
        }
    }

    /// Takes the sentence that is most relevant and least like those taken; whether one fitted.
    fn take_next(&mut self, lambda: f64) -> bool {
        let mut ranked: Vec<(f64, usize)> = (0..self.sentences.len())
            .filter(|at| !self.repeats(*at))
            .map(|at| {
                let nearest = self
                    .chosen
                    .iter()
                    .map(|(taken, _)| self.matrix.likeness(at, *taken))
                    .fold(0.0, f64::max);
                (lambda * self.matrix.relevance(at) - (1.0 - lambda) * nearest, at)
            })
            .collect();
        ranked.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        ranked.into_iter().any(|(_, at)| self.take(at))
    }

    /// Whether a sentence is taken, or says letter by letter what a taken one says.
    fn repeats(&self, at: usize) -> bool {
        let text = |at: usize| self.sentences.get(at).map(|sentence| normalise(sentence.text));
        self.chosen.iter().any(|(taken, _)| *taken == at || text(*taken) == text(at))
    }

    /// Takes a whole sentence if there is room for it.
    fn take(&mut self, at: usize) -> bool {
        self.sentences.get(at).is_some_and(|sentence| self.quote(at, sentence.text.to_owned()))
    }

    fn take_cut(&mut self, at: usize) -> bool {
        let Some(sentence) = self.sentences.get(at) else { return false };
        let Some(item) = self.items.get(sentence.item) else { return false };
        // A line end, the day, brackets, colon and blanks.
        let n_around = item.id.chars().count() + 16;
        cut::cut(sentence.text, self.room.saturating_sub(n_around))
            .is_some_and(|text| self.quote(at, text))
    }

    fn quote(&mut self, at: usize, text: String) -> bool {
        let item = self.sentences.get(at).and_then(|sentence| self.items.get(sentence.item));
        let Some(item) = item else { return false };
        let quote = Quote { id: item.id.to_owned(), date: item.event_time.date(), text };
        let n_chars = quote.to_string().chars().count() + 1;
        if n_chars > self.room {
            return false;
        }
        self.room -= n_chars;
        self.chosen.push((at, quote));
        true
    }
}

/// The names and identifiers that most items share, and the span of days.
fn header(items: &[Item<'_>]) -> String {
    let entities = entities(items).join(", ");
    let days = items.iter().map(|item| item.event_time.date());
    let span = match (days.clone().min(), days.max()) {
        (Some(first), Some(last)) if first < last => format!("{first} – {last}"),
        (Some(day), _) => day.to_string(),
        (None, _) => String::new(),
    };
    if entities.is_empty() { span } else { format!("{entities}; {span}") }
}

/// As the items write them, those of most items first, then those that come first.
fn entities(items: &[Item<'_>]) -> Vec<String> {
    // Value, then the items it stands in, and how it was written first.
    let mut seen: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    for item in items {
        let reading = read(item.text);
        let mut here: BTreeMap<String, Range<usize>> = BTreeMap::new();
        for found in &reading.values {
            if let Some(text) = found.value.anchor() {
                here.entry(text.to_owned()).or_insert_with(|| found.range.clone());
            }
        }
        for (text, range) in here {
            let n_seen = seen.len();
            let written = strip_possessive(reading.slice(&range)).to_owned();
            seen.entry(text).or_insert((0, n_seen, written)).0 += 1;
        }
    }
    let mut entities: Vec<(usize, usize, String)> = seen.into_values().collect();
    entities.sort_by_key(|(n_items, at, _)| (std::cmp::Reverse(*n_items), *at));
    let mut room = ENTITY_CHARS_MAX;
    entities
        .into_iter()
        .map(|(_, _, written)| written)
        .filter(|written| {
            let n_chars = written.chars().count();
            let fits = n_chars <= room;
            room -= if fits { n_chars } else { 0 };
            fits
        })
        .take(ENTITIES_MAX)
        .collect()
}

fn strip_possessive(word: &str) -> &str {
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

#[cfg(test)]
mod tests;
