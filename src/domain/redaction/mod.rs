//! Takes secrets out of a text before anything is written: provider tokens, private keys, passwords
//! in addresses, and what is plainly called a password.
//!
//! Each kind of secret is one line of the table in `rules`. Every pattern is a regular expression
//! without look-around, so the time is linear in the length of the text.

mod rules;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::limits::REDACTION_PASSES_MAX;
use rules::{RULES, Rule};

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; each secret is replaced by `[redacted:<rule>]`, everything else is untouched.
    pub text: Cow<'a, str>,
    /// Names of the rules that hit, in the order of the table (those laid bare by a
    /// replacement last), each once.
    pub found: Vec<&'static str>,
}

/// What a replacement begins with.
const MARK: &str = "[redacted:";

static COMPILED: LazyLock<Vec<(&Rule, Regex)>> = LazyLock::new(|| {
    // A test proves that none is lost here.
    RULES.iter().filter_map(|rule| Some((rule, Regex::new(&rule.regex()).ok()?))).collect()
});

/// Replaces every secret in `text`. Redacting twice changes nothing more.
pub fn redact(text: &str) -> Redacted<'_> {
    let mut redacted = Redacted { text: Cow::Borrowed(text), found: Vec::new() };
    // A replacement ends the word before it, which may lay bare a secret that was glued to it.
    for _ in 0..REDACTION_PASSES_MAX {
        if !pass(&mut redacted) {
            break;
        }
    }
    redacted
}

/// Applies every rule once; whether one hit.
fn pass(redacted: &mut Redacted<'_>) -> bool {
    let mut has_hit = false;
    for (rule, regex) in COMPILED.iter() {
        if let Some(text) = apply(rule, regex, &redacted.text) {
            redacted.text = Cow::Owned(text);
            if !redacted.found.contains(&rule.name) {
                redacted.found.push(rule.name);
            }
            has_hit = true;
        }
    }
    has_hit
}

/// The text without what `rule` finds; `None` if it finds nothing.
fn apply(rule: &Rule, regex: &Regex, text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    for captures in regex.captures_iter(text) {
        // The innermost group is the secret; a pattern without groups is all secret.
        let Some(secret) = captures.iter().flatten().last() else { continue };
        if secret.as_str().contains(MARK) || !(rule.is_secret)(secret.as_str()) {
            continue;
        }
        clean.push_str(text.get(copied..secret.start()).unwrap_or(""));
        clean.push_str(MARK);
        clean.push_str(rule.name);
        clean.push(']');
        copied = secret.end();
    }
    if copied == 0 {
        return None;
    }
    clean.push_str(text.get(copied..).unwrap_or(""));
    Some(clean)
}

#[cfg(test)]
mod tests;
