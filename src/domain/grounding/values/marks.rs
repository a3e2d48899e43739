//! Values that their form alone tells: addresses of all sorts, paths, versions, identifiers.

use std::net::{Ipv4Addr, Ipv6Addr};

use regex::Captures;

use super::patterns::Rule;
use super::{Amount, Value};

/// Web, mail and network addresses and paths: they may hold dates and numbers, so they go first.
pub(super) static ADDRESSED: &[Rule] = &[
    Rule {
        pattern: r#"(?i)(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>"'`\p{Han}。！？、；「」“”（）()]*[a-z0-9/_=&#%~+-]"#,
        read: |captures, _, _| {
            Some(vec![Value::Url(whole(captures).to_lowercase().trim_end_matches('/').to_owned())])
        },
    },
    Rule {
        pattern: r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
        read: |captures, _, _| Some(vec![Value::Email(whole(captures).to_lowercase())]),
    },
    Rule { pattern: r"[A-Za-z]:\\[A-Za-z0-9_.\\-]*[A-Za-z0-9_]", read: read_path },
    Rule {
        pattern: r"(?:~|\.{1,2})?(?:/[A-Za-z0-9._@+-]*[A-Za-z0-9_@+-])+/?",
        read: |captures, before, after| {
            let is_free = before.chars().next_back().is_none_or(|c| {
                !c.is_ascii_alphanumeric() && !matches!(c, '/' | ':' | '<' | '_' | '.' | '~' | '%')
            });
            let has_letter = whole(captures).chars().any(char::is_alphabetic);
            (is_free && has_letter).then(|| read_path(captures, before, after)).flatten()
        },
    },
    Rule {
        pattern: r"[A-Za-z0-9_.-]*[A-Za-z0-9_-](?:/[A-Za-z0-9._-]*[A-Za-z0-9_-])+",
        read: |captures, before, after| {
            let path = whole(captures);
            let has_letter = path.chars().any(char::is_alphabetic);
            let has_ending = path.rsplit('/').next().is_some_and(|name| {
                name.rsplit_once('.').is_some_and(|(stem, ending)| {
                    !stem.is_empty() && ending.starts_with(|c: char| c.is_ascii_alphabetic())
                })
            });
            let is_path = has_letter && (has_ending || path.matches('/').count() >= 2);
            is_path.then(|| read_path(captures, before, after)).flatten()
        },
    },
    Rule {
        pattern: concat!(
            r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.(?:rs|toml|jsonl?|ya?ml|md|txt|py|js|tsx?|jsx|go|cpp|",
            r"java|sh|sql|csv|log|conf|cfg|ini|lock|html?|css|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|zip|tar|t?gz|",
            r"bak|db|redb|env|service|timer|xml|gguf|onnx|mp[34]|wav)(?-u:\b)",
        ),
        read: read_path,
    },
    Rule {
        pattern: r"(\d{1,3}(?:\.\d{1,3}){3})(/\d{1,2})?(?::(\d{1,5}))?",
        read: |captures, _, _| {
            let (ip, net) = (captures.get(1)?.as_str(), captures.get(2).map_or("", |m| m.as_str()));
            let ip: Ipv4Addr = ip.parse().ok()?;
            let mut values = vec![Value::Address(format!("{ip}{net}"))];
            if let Some(port) = captures.get(3) {
                let amount = Amount::parse(port.as_str())?;
                values.push(Value::Number { amount, counted: String::new() });
            }
            Some(values)
        },
    },
    Rule {
        pattern: r"(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}",
        read: |captures, _, _| {
            let text = whole(captures).to_lowercase();
            let is_mac =
                text.split(':').count() == 6 && text.split(':').all(|pair| pair.len() == 2);
            let is_one = is_mac || text.len() > 2 && text.parse::<Ipv6Addr>().is_ok();
            is_one.then(|| vec![Value::Address(text)])
        },
    },
];

/// Versions: three or more numbers, or a `v` before them.
pub(super) static VERSIONS: &[Rule] = &[
    Rule {
        pattern: r"[vV]?\d+\.\d+\.\d+(?:\.\d+)*(?:[-+][0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?",
        read: read_version,
    },
    Rule { pattern: r"[vV]\d+(?:\.\d+)*", read: read_version },
];

/// What mixes letters and digits or is joined by underscores or double colons.
pub(super) static IDENTIFIERS: &[Rule] = &[Rule {
    pattern: r"[#@]?[A-Za-z0-9]+(?:(?:[-.+#]|_+|::)[A-Za-z0-9]+)*",
    read: |captures, _, _| {
        let text = whole(captures);
        let has_digit = text.bytes().any(|b| b.is_ascii_digit());
        let has_letter = text.bytes().any(|b| b.is_ascii_alphabetic());
        let is_joined = text.contains(['_', ':']) || is_dotted(text);
        let is_one = has_letter && (has_digit || is_joined || text.starts_with('@'))
            || has_digit && text.starts_with('#');
        is_one.then(|| vec![Value::Identifier(text.trim_start_matches(['#', '@']).to_lowercase())])
    },
}];

/// `example.org`, `foo.bar_baz`; not "e.g" and not a full stop without a blank after it.
fn is_dotted(text: &str) -> bool {
    text.contains('.')
        && text.split('.').all(|part| {
            part.len() >= 2
                && part.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_'))
        })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a rule's reader")]
fn read_path(captures: &Captures<'_>, _: &str, _: &str) -> Option<Vec<Value>> {
    Some(vec![Value::Path(whole(captures).to_lowercase().trim_end_matches('/').to_owned())])
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a rule's reader")]
fn read_version(captures: &Captures<'_>, _: &str, _: &str) -> Option<Vec<Value>> {
    let lower = whole(captures).to_lowercase();
    Some(vec![Value::Version(lower.trim_start_matches('v').to_owned())])
}

fn whole<'t>(captures: &Captures<'t>) -> &'t str {
    captures.get(0).map_or("", |found| found.as_str())
}
