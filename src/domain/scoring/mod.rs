//! What of a conversation is worth remembering, by rules: each statement of a turn is scored for density,
//! timeliness and reusability, and what passes becomes one memory a fact.
//!
//! This is what works without a model. Small talk, acknowledgements, questions and texts without content
//! words never pass, whatever the thresholds.

mod cues;
mod moment;
mod split;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::decay::initial_importance;
use super::grounding::values::{Period, Reading, Value, read};
use super::memory::{Kind, named_values};

named_values! {
    /// Who speaks.
    Role {
        /// The person.
        User = "user",
        /// The agent: what it says is mostly common knowledge.
        Assistant = "assistant",
    }
}

/// One turn of a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: &'a str,
    /// When it is said.
    pub at: Timestamp,
}

/// What a statement is worth, each 1.0..=5.0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// How much it says.
    pub density: f64,
    /// How long that will matter.
    pub timeliness: f64,
    /// How useful it will be in other conversations.
    pub reusability: f64,
}

/// When a statement is worth remembering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Weights of density, timeliness and reusability, each at least 0.0, not all 0.0.
    pub weights: [f64; 3],
    /// Least weighted mean, 1.0..=5.0.
    pub mean_min: f64,
}

impl Default for Policy {
    /// Chosen; reusability weighs as much as the others together.
    fn default() -> Self {
        Self { weights: [0.3, 0.2, 0.5], mean_min: 3.5 }
    }
}

impl Policy {
    /// The weighted mean of scores, 1.0..=5.0.
    pub fn mean(&self, scores: &Scores) -> f64 {
        let [density, timeliness, reusability] = self.weights;
        let sum = density * scores.density
            + timeliness * scores.timeliness
            + reusability * scores.reusability;
        sum / (density + timeliness + reusability).max(f64::MIN_POSITIVE)
    }
}

/// One fact, ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The statement.
    pub text: String,
    /// What sort it is.
    pub kind: Kind,
    /// 0.0..=1.0.
    pub importance: f64,
    /// When it happened or is due; `None` if the text does not say and it is no event.
    pub event_time: Option<Timestamp>,
    /// What it is worth.
    pub scores: Scores,
}

/// The statements of a turn that are worth remembering, in order; dates are read in `zone`.
pub fn candidates(turn: &Turn<'_>, zone: &TimeZone, policy: &Policy) -> Vec<Candidate> {
    split::statements(turn.text)
        .into_iter()
        .filter_map(|text| {
            let scores = score(&text, turn.role)?;
            (policy.mean(&scores) >= policy.mean_min)
                .then(|| candidate(text, scores, turn.at, zone))
        })
        .collect()
}

fn candidate(text: String, scores: Scores, at: Timestamp, zone: &TimeZone) -> Candidate {
    let kind = kind(&text);
    let said = named_time(&text, kind, at, zone);
    let event_time = said.or_else(|| (kind == Kind::Event).then_some(at));
    let importance = initial_importance(kind, &text);
    Candidate { text, kind, importance, event_time, scores }
}

/// The moment that a statement of this sort names, if it was made at `at`: "yesterday" and the like are
/// meant from there.
pub fn named_time(text: &str, kind: Kind, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let named = moment::named(&read(text), kind, zone.to_datetime(at))?;
    zone.to_timestamp(named).ok()
}

/// Whether a text says anything: more than greetings, thanks, assent and stop words.
pub fn has_content(text: &str) -> bool {
    let reading = read(text);
    let (n_words, n_values) = n_telling(text, &reading);
    n_words > 0 || n_values > 0 || cues::has(&cues::IDENTITY, text)
}

/// Whether a text ends as a question.
pub fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？', '吗', '呢'])
}

/// Telling words, and values.
fn n_telling(text: &str, reading: &Reading) -> (usize, usize) {
    let is_name = |word: &str| {
        reading.values.iter().any(|found| matches!(&found.value, Value::Name(name) if name == word))
    };
    let n_words = cues::n_telling(text, is_name);
    (n_words, reading.values.iter().filter(|found| is_telling(&found.value)).count())
}

/// What one statement is worth; `None` for small talk, questions, requests, source code and texts without
/// content.
pub fn score(text: &str, role: Role) -> Option<Scores> {
    let reading = read(text);
    let (n_words, n_values) = n_telling(text, &reading);
    let is_identity = cues::has(&cues::IDENTITY, text);
    let is_asked =
        is_question(text) || cues::has(&cues::REQUEST, text) && kind(text) != Kind::Instruction;
    let is_code = cues::has(&cues::CODE, text);
    if is_asked || is_code || n_words == 0 && n_values == 0 && !is_identity {
        return None;
    }
    let n_names =
        reading.values.iter().filter(|found| matches!(found.value, Value::Name(_))).count();
    let said = n_words as f64 + 1.5 * (n_values + n_names) as f64;
    let density = 1.0 + 4.0 * (said / 5.0).min(1.0);
    let (timeliness, reusability) = worth(text, &reading, is_identity);
    let discount = if role == Role::Assistant { 1.5 } else { 0.0 };
    Some(Scores { density, timeliness, reusability: (reusability - discount).max(1.0) })
}

/// Timeliness and reusability by what sort of statement it is.
fn worth(text: &str, reading: &Reading, is_identity: bool) -> (f64, f64) {
    let kind = kind(text);
    let is_momentary = cues::has(&cues::MOMENTARY, text);
    let is_dated = reading.values.iter().any(|found| {
        matches!(
            found.value,
            Value::Date(_) | Value::Weekday { .. } | Value::Relative { .. } | Value::Time(_)
        )
    });
    let has_value = reading.values.iter().any(|found| is_telling(&found.value));
    let has_name = !reading.values.is_empty();
    match kind {
        Kind::Instruction | Kind::Preference => (5.0, 5.0),
        _ if is_identity => (4.0, 5.0),
        Kind::Procedure => (4.0, 4.5),
        _ if is_momentary => (1.0, 1.5),
        _ if cues::has(&cues::ADDRESSED, text) => (2.0, 2.0),
        Kind::Task if is_dated => (5.0, 4.0),
        Kind::Task => (3.0, if has_value { 4.0 } else { 3.0 }),
        Kind::Event if is_dated && has_value => (4.0, 3.5),
        Kind::Event => (2.0, if has_name { 3.5 } else { 2.5 }),
        Kind::Fact | Kind::Reflection | Kind::Summary | Kind::Profile => {
            let lasts = has_value || cues::has(&cues::ATTRIBUTE, text);
            match (cues::has(&cues::DECISION, text), lasts, has_name) {
                (true, ..) => (4.0, 4.5),
                (_, true, _) => (4.0, 4.0),
                (_, _, true) => (3.0, 3.0),
                (false, false, false) => (3.0, 2.5),
            }
        }
    }
}

/// Whether a value tells more than whom or that it is today.
const fn is_telling(value: &Value) -> bool {
    !matches!(value, Value::Name(_) | Value::Relative { period: Period::Day, shift: 0 })
}

/// What sort of statement a text is, by its words.
pub fn kind(text: &str) -> Kind {
    let has = |cue| cues::has(cue, text);
    if has(&cues::INSTRUCTION) {
        Kind::Instruction
    } else if has(&cues::PREFERENCE) && !has(&cues::POLITE) {
        Kind::Preference
    } else if has(&cues::TASK) && !has(&cues::NO_TASK) {
        Kind::Task
    } else if has(&cues::PROCEDURE) {
        Kind::Procedure
    } else if has(&cues::EVENT) && !has(&cues::IDENTITY) {
        Kind::Event
    } else {
        Kind::Fact
    }
}

#[cfg(test)]
mod tests;
