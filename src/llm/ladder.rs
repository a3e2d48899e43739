//! What an endpoint can do, learned by asking: the form of its answers (a schema, any object, or
//! words alone), and which of the usual fields it does not take.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::limits::LLM_LEARNED_AGE_MAX;
use crate::domain::summary::Unusable;

/// How an answer is asked to have its form, the strictest first. The prompt describes it always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// `response_format` with a JSON schema.
    #[default]
    JsonSchema,
    /// `response_format` that asks for an object.
    JsonObject,
    /// The words of the prompt alone.
    Text,
}

impl Form {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::JsonObject => "json_object",
            Self::Text => "text",
        }
    }

    const fn looser(self) -> Option<Self> {
        match self {
            Self::JsonSchema => Some(Self::JsonObject),
            Self::JsonObject => Some(Self::Text),
            Self::Text => None,
        }
    }
}

/// How an endpoint is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Way {
    pub(super) form: Form,
    /// The limit of an answer is called `max_completion_tokens` instead of `max_tokens`.
    pub(super) is_limit_renamed: bool,
    /// `temperature` is left out.
    pub(super) is_temperature_left_out: bool,
    /// The model thinks before it answers and needs room for it.
    pub(super) thinks: bool,
    /// Tokens that the endpoint was seen to read of a longer prompt.
    pub(super) window: Option<usize>,
}

/// Fields whose mention in an error tells that the endpoint does not take them.
pub(super) const REFUSABLE: &[&str] =
    &["response_format", "json_schema", "json_object", "max_tokens", "max_completion_tokens"];

/// Words of servers whose model cannot read so much.
const TOO_LONG: &[&str] =
    &["context length", "context_length", "maximum context", "context window", "n_ctx", "too long"];

impl Way {
    /// How to ask after the endpoint refused a request of about `n_tokens` in these words (lower
    /// case); `None`: there is no other way.
    pub(super) fn after_refusal(self, words: &str, n_tokens: usize) -> Option<Self> {
        let names_limit = words.contains("max_completion_tokens")
            || words.contains("max_tokens") && words.contains("support");
        if names_limit && !self.is_limit_renamed {
            return Some(Self { is_limit_renamed: true, ..self });
        }
        if words.contains("temperature") && !self.is_temperature_left_out {
            return Some(Self { is_temperature_left_out: true, ..self });
        }
        let names_form = words.contains("response_format") || words.contains("json_");
        if !names_form && TOO_LONG.iter().any(|word| words.contains(word)) {
            return Some(Self { window: Some(n_tokens * 2 / 3), ..self });
        }
        // Whatever it is, fewer demands may be met.
        self.form.looser().map(|form| Self { form, ..self })
    }

    /// How to ask after an answer was useless; `None`: there is no other way.
    pub(super) fn after_useless(self, why: Unusable, has_thought: bool) -> Option<Self> {
        match why {
            Unusable::Cut | Unusable::Empty if has_thought && !self.thinks => {
                Some(Self { thinks: true, ..self })
            }
            Unusable::NotJson | Unusable::Empty | Unusable::Form => {
                self.form.looser().map(|form| Self { form, ..self })
            }
            Unusable::Cut
            | Unusable::Declined
            | Unusable::Refused
            | Unusable::PromptCut
            | Unusable::TooLong => None,
        }
    }
}

/// What worked, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Learned {
    pub(super) way: Way,
    at_ms: i64,
}

impl Learned {
    /// What was kept, if it can be read.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// As it is kept.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        serde_json::to_vec(&self).unwrap_or_default()
    }

    /// The way to begin with at `now`: what worked lately, or the strictest.
    pub(super) fn begin(known: Option<&Self>, now: Timestamp) -> Way {
        known.filter(|learned| learned.is_fresh(now)).map_or_else(Way::default, |known| known.way)
    }

    /// What is to be kept after `way` worked at `now`; `None` if that is known.
    pub(super) fn after(known: Option<&Self>, way: Way, now: Timestamp) -> Option<Self> {
        let is_known = known.is_some_and(|known| known.way == way && known.is_fresh(now));
        (!is_known).then_some(Self { way, at_ms: now.as_millisecond() })
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        let age_ms = now.as_millisecond().saturating_sub(self.at_ms);
        u128::try_from(age_ms).unwrap_or(0) <= LLM_LEARNED_AGE_MAX.as_millis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_leads_to_what_it_names_and_else_one_rung_down() {
        let way = Way::default();
        let object = Way { form: Form::JsonObject, ..way };
        for (words, expected) in [
            (
                "loc: ('body', 'response_format', 'type'), input should be 'text' or 'json_object'",
                object,
            ),
            ("", object),
            ("json_schema is too long a name", object),
            (
                "unsupported parameter: 'max_tokens'; use 'max_completion_tokens' instead",
                Way { is_limit_renamed: true, ..way },
            ),
            (
                "'temperature' does not support 0.2 with this model",
                Way { is_temperature_left_out: true, ..way },
            ),
            (
                "this model's maximum context length is 2048 tokens",
                Way { window: Some(2_000), ..way },
            ),
        ] {
            assert_eq!(way.after_refusal(words, 3_000), Some(expected), "{words}");
        }
        let last = Way { form: Form::Text, ..way };
        assert_eq!(object.after_refusal("response_format", 0), Some(last));
        assert_eq!(last.after_refusal("response_format", 0), None);
    }

    #[test]
    fn a_useless_answer_leads_down_and_thoughts_get_room() {
        let way = Way::default();
        let object = Way { form: Form::JsonObject, ..way };
        assert_eq!(way.after_useless(Unusable::NotJson, false), Some(object));
        assert_eq!(way.after_useless(Unusable::Empty, false), Some(object));
        assert_eq!(way.after_useless(Unusable::Cut, false), None);
        let thinking = Way { thinks: true, ..way };
        assert_eq!(way.after_useless(Unusable::Cut, true), Some(thinking));
        assert_eq!(thinking.after_useless(Unusable::Cut, true), None);
        assert_eq!(way.after_useless(Unusable::Declined, false), None);
    }

    #[test]
    fn what_was_learned_holds_for_a_while_and_survives() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let later = now + LLM_LEARNED_AGE_MAX;
        let way = Way { form: Form::Text, window: Some(2_048), ..Way::default() };
        let learned = Learned::after(None, way, now).unwrap();
        assert_eq!(Learned::from_bytes(&learned.to_bytes()), Some(learned));
        assert_eq!(Learned::begin(Some(&learned), later), way);
        assert_eq!(Learned::after(Some(&learned), way, later), None);
        let too_late = later + std::time::Duration::from_secs(1);
        assert_eq!(Learned::begin(Some(&learned), too_late), Way::default());
        assert!(Learned::after(Some(&learned), way, too_late).is_some());
        assert!(Learned::after(Some(&learned), Way::default(), later).is_some());
        assert_eq!(Learned::begin(None, now), Way::default());
        assert_eq!(Learned::from_bytes(b"{\"way\":{\"form\":\"yaml\"}}"), None);
    }
}
