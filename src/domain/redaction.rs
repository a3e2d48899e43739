//! Takes secrets out of texts before they are stored.

use std::borrow::Cow;

/// A text without its secrets, and the names of the rules that hit.
#[derive(Debug)]
pub struct Redacted<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Names of the rules, in order, without repeats.
    pub found: Vec<&'static str>,
}

/// Redacts a text.
pub fn redact(text: &str) -> Redacted<'_> {
    Redacted { text: Cow::Borrowed(text), found: Vec::new() }
}
