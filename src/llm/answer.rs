//! What a model answers, as values of ours: right in form, however wrong in content.

use jiff::civil::Date;
use serde_json::{Map, Value};

use crate::domain::limits::LLM_FACTS_MAX;
use crate::domain::memory::Kind;
use crate::domain::scoring::Scores;
use crate::domain::summary::{Draft, ScoredFact, ScoredTurn, Unusable, visible};

/// Kinds that are taken from a conversation.
pub(super) const KINDS: [Kind; 6] =
    [Kind::Fact, Kind::Preference, Kind::Instruction, Kind::Event, Kind::Procedure, Kind::Task];

/// A draft of a summary.
pub(super) fn draft(fields: &Map<String, Value>) -> Result<Draft, Unusable> {
    let text = fields.get("summary").and_then(Value::as_str).ok_or(Unusable::Form)?;
    let text = line(text);
    if text.is_empty() {
        return Err(Unusable::Empty);
    }
    let citations = match fields.get("sources") {
        Some(Value::String(one)) => vec![one.trim().to_owned()],
        Some(Value::Array(many)) => many
            .iter()
            .map(|one| one.as_str().map(|label| label.trim().to_owned()).ok_or(Unusable::Form))
            .collect::<Result<_, _>>()?,
        // That it cites nothing is for the check to say.
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => return Err(Unusable::Form),
    };
    Ok(Draft { text, citations })
}

/// What is worth remembering of `turns`. One statement that is not of the form spoils them all: the
/// turns can be asked about again, and what is left out cannot.
pub(super) fn facts(
    fields: &Map<String, Value>,
    turns: &[ScoredTurn],
) -> Result<Vec<ScoredFact>, Unusable> {
    let list = fields.get("facts").and_then(Value::as_array).ok_or(Unusable::Form)?;
    if list.len() > LLM_FACTS_MAX {
        return Err(Unusable::Form);
    }
    list.iter().map(|item| fact(item, turns).ok_or(Unusable::Form)).collect()
}

fn fact(item: &Value, turns: &[ScoredTurn]) -> Option<ScoredFact> {
    let text_of = |name: &str| item.get(name).and_then(Value::as_str).map(line);
    let text = text_of("text").filter(|text| !text.is_empty())?;
    let label = text_of("source")?;
    turns.iter().find(|turn| turn.passage.label == label)?;
    let kind = text_of("kind").and_then(|name| Kind::parse(&name));
    Some(ScoredFact {
        text,
        label,
        kind: kind.filter(|kind| KINDS.contains(kind)).unwrap_or(Kind::Fact),
        scores: Scores {
            density: score(item.get("density")?)?,
            timeliness: score(item.get("timeliness")?)?,
            reusability: score(item.get("reusability")?)?,
        },
        event_date: text_of("event_date").and_then(|text| text.parse::<Date>().ok()),
    })
}

/// A number from 1 to 5, or a text that is one.
fn score(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (1.0..=5.0).contains(&number).then_some(number)
}

/// A text as one line without what cannot be seen.
fn line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::scoring::Role;
    use crate::domain::summary::Passage;

    fn fields(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_draft_is_a_line_with_its_citations() {
        let given = |value| draft(&fields(&value));
        let of = |text: &str, citations: &[&str]| {
            let citations = citations.iter().map(|label| (*label).to_owned()).collect();
            Ok(Draft { text: text.to_owned(), citations })
        };
        let told =
            json!({ "summary": " Two\nlines\u{200b}. ", "sources": ["k1", " k2 "], "more": 1 });
        assert_eq!(given(told), of("Two lines.", &["k1", "k2"]));
        assert_eq!(
            given(json!({ "summary": "备份失败", "sources": "k1" })),
            of("备份失败", &["k1"])
        );
        assert_eq!(given(json!({ "summary": "x" })), of("x", &[]));
        assert_eq!(given(json!({ "summary": "x", "sources": null })), of("x", &[]));
        for (value, expected) in [
            (json!({ "summary": " \n", "sources": ["k1"] }), Unusable::Empty),
            (json!({ "summary": ["x"], "sources": ["k1"] }), Unusable::Form),
            (json!({ "summary": "x", "sources": [1] }), Unusable::Form),
            (json!({ "summary": "x", "sources": { "k1": true } }), Unusable::Form),
        ] {
            assert_eq!(given(value.clone()), Err(expected), "{value}");
        }
    }

    #[test]
    fn facts_name_a_turn_and_have_scores_in_their_range() {
        let passage = Passage { label: "t1".to_owned(), text: String::new(), event_date: None };
        let turns = [ScoredTurn { role: Role::User, passage }];
        let good = json!({ "text": "I moved to Bergen.", "source": "t1", "kind": "event",
            "density": 4, "timeliness": "5", "reusability": 3.5, "event_date": "2026-11-20" });
        let changed = |name: &str, value: Value| {
            let mut item = fields(&good);
            item.insert(name.to_owned(), value);
            json!({ "facts": [good.clone(), item] })
        };
        let read = |value: Value| facts(&fields(&value), &turns);
        let found = read(changed("event_date", json!("soon"))).unwrap();
        assert_eq!(found[0].event_date, Some(jiff::civil::date(2026, 11, 20)));
        assert_eq!((found[0].kind, found[1].event_date), (Kind::Event, None));
        assert!((found[0].scores.reusability - 3.5).abs() < 1e-9);
        let odd = read(changed("kind", json!("profile"))).unwrap();
        assert_eq!(odd[1].kind, Kind::Fact);
        assert_eq!(read(json!({ "facts": [] })), Ok(Vec::new()));
        for spoilt in [
            changed("source", json!("t2")),
            changed("density", json!(6)),
            changed("timeliness", json!(null)),
            changed("reusability", json!("high")),
            changed("text", json!(" ")),
            json!({ "facts": "none" }),
            json!({ "facts": vec![good.clone(); LLM_FACTS_MAX + 1] }),
        ] {
            assert_eq!(read(spoilt.clone()), Err(Unusable::Form), "{spoilt}");
        }
    }
}
