//! Whether what was stored says only what its sources say: asked of the stored texts, whatever the
//! daemon found when it stored them.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recalld::domain::grounding::{Policy, Source, Summary, check};
use recalld::domain::scoring::Role;
use serde_json::Value;

/// A text that something stored draws from.
#[derive(Clone)]
pub struct Cited {
    /// How it is cited.
    pub id: String,
    /// Its own words.
    pub text: String,
    /// The day on which that happened.
    pub day: Option<Date>,
}

impl Cited {
    /// A memory, as a tool shows it whole; quotations cite it by its handle.
    pub fn memory(memory: &Value) -> Self {
        let id = memory["handle"].as_str().unwrap();
        let when = memory["occurred_at"].as_str().or(memory["created_at"].as_str());
        Self {
            id: id.to_owned(),
            text: memory["content"].as_str().unwrap().to_owned(),
            day: when.map(day),
        }
    }

    /// A turn of a conversation, and what a statement may call its speaker.
    pub fn turn(number: usize, role: Role, content: &str, at: Timestamp) -> [Self; 2] {
        let id = number.to_string();
        let speaker = Self {
            id: format!("speaker of {id}"),
            text: format!("{role} {}", if role == Role::User { "用户" } else { "助手" }),
            day: None,
        };
        let day = TimeZone::UTC.to_datetime(at).date();
        [Self { id, text: content.to_owned(), day: Some(day) }, speaker]
    }
}

fn day(time: &str) -> Date {
    TimeZone::UTC.to_datetime(time.parse::<Timestamp>().unwrap()).date()
}

/// What a stored text says beyond its sources; empty if it is faithful. How long it is and in which
/// language is another question.
pub fn faults(text: &str, cited: &[Cited]) -> Vec<String> {
    let ids: Vec<&str> = cited.iter().map(|one| one.id.as_str()).collect();
    let sources: Vec<Source<'_>> = cited
        .iter()
        .map(|one| Source { id: &one.id, text: &one.text, event_date: one.day })
        .collect();
    let summary = Summary { text, citations: &ids };
    let violations = check(&summary, &sources, &Policy::for_extracts());
    violations.iter().map(ToString::to_string).collect()
}
