//! The layers that environment variables make: `RECALLD_STORE_CACHE_MB` for `store.cache_mb`.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::DeValue;

use super::example::{EXAMPLE, KNOWN};
use super::layer::Layer;
use super::paths::Environment;
use super::problem::{Fault, Origin, Place, Problem, nearest};

/// Start of the names of our environment variables.
const PREFIX: &str = "RECALLD_";
/// Short name of the variable for `log.level`.
const LOG_VARIABLE: &str = "RECALLD_LOG";
/// Variables that are no keys: read by other parts, or by tests.
const RESERVED: [&str; 10] = [
    "RECALLD_CONFIG",
    "RECALLD_SOCKET",
    "RECALLD_AGENT",
    "RECALLD_TOKEN",
    "RECALLD_EVALDATA",
    "RECALLD_ROUNDS",
    "RECALLD_NO_START",
    "RECALLD_TIMEOUT",
    "RECALLD_TEST_MODELS",
    LOG_VARIABLE,
];

/// Whether a variable is one that tests end the process with; only builds with debug assertions read
/// it.
fn is_hook(name: &str) -> bool {
    cfg!(debug_assertions) && name == "RECALLD_FAULT_POINT"
}

/// A key set by an environment variable.
pub(super) struct Variable {
    name: String,
    key: String,
    text: String,
}

impl Variable {
    /// The text is the string itself where the key is a string, else a TOML value; a list may go
    /// without its brackets.
    fn new(name: &str, key: &str, text: &str) -> Self {
        let is_list = default(key).is_some_and(DeValue::is_array);
        let text = text.trim();
        let text =
            if is_list && !text.starts_with('[') { format!("[{text}]") } else { text.into() };
        Self { name: name.to_owned(), key: key.to_owned(), text }
    }

    pub(super) fn layer(&self) -> Layer<'_> {
        let string = || Spanned::new(0..0, DeValue::String(Cow::Borrowed(&self.text)));
        let value = if default(&self.key).is_some_and(DeValue::is_str) {
            string()
        } else {
            // What is not TOML is a string, and as such not what the key asks for.
            DeValue::parse(&self.text).unwrap_or_else(|_| string())
        };
        Layer::single(Origin::Variable(self.name.clone()), &self.text, &self.key, value)
    }
}

fn default(key: &str) -> Option<&'static DeValue<'static>> {
    EXAMPLE.leaves.get(key).map(|leaf| leaf.value.get_ref())
}

/// The variable that sets a key.
fn variable_name(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// The keys that the environment sets, the weightiest last.
pub(super) fn variables(environment: &Environment, problems: &mut Vec<Problem>) -> Vec<Variable> {
    let names: Vec<(String, &str)> =
        KNOWN.keys.iter().map(|key| (variable_name(key), key.as_str())).collect();
    let mut variables = Vec::new();
    for (name, value) in environment.starting_with(PREFIX) {
        let key = match names.iter().find(|(known, _)| known == name) {
            Some((_, key)) => key,
            None if name == LOG_VARIABLE => "log.level",
            None if RESERVED.contains(&name) || is_hook(name) => continue,
            None => {
                problems.push(unknown_variable(name, &names));
                continue;
            }
        };
        if let Some(text) = value.to_str() {
            variables.push(Variable::new(name, key, text));
        } else {
            let place = Place::of(Origin::Variable(name.to_owned()));
            problems.push(Problem::value(place, key, "UTF-8 text", "other bytes"));
        }
    }
    variables.sort_by_key(|variable| variable.name == LOG_VARIABLE);
    variables
}

fn unknown_variable(name: &str, names: &[(String, &str)]) -> Problem {
    let known = names.iter().map(|(name, _)| name.as_str()).chain(RESERVED);
    let strip = |name: &str| name.strip_prefix(PREFIX).unwrap_or_default().to_owned();
    let similarity =
        |known: &str| strsim::normalized_damerau_levenshtein(&strip(name), &strip(known));
    let hint = match nearest(known, similarity) {
        Some(known) => format!("did you mean {known}?"),
        None => format!("a key is set by {PREFIX}, its section and its name: {PREFIX}LOG_LEVEL"),
    };
    let place = Place::of(Origin::Variable(name.to_owned()));
    Problem { place, key: None, fault: Fault::UnknownKey { hint } }
}
