//! Namespaces: paths that separate what one reader may see from what another may.
//!
//! `user` is common to all agents of the person, `agent/<name>` private to one, `shared/<team>`
//! shared. A pattern is a path, or a path ending in `/*` (everything below it), or `*`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::limits::{NAMESPACE_BYTES_MAX, NAMESPACE_SEGMENTS_MAX};

/// A validated namespace path: 1 to 8 segments of `a-z 0-9 . _ -`, joined by `/`, at most 128
/// bytes, no segment starting with a dot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Arc<str>);

/// Text that is not a namespace.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a namespace (1 to 8 segments of a-z 0-9 . _ - joined by `/`, at most 128 bytes, like `user` or `agent/claude-code`), got `{0}`"
)]
pub struct InvalidNamespace(String);

impl Namespace {
    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace that all agents of the person share.
    pub fn user() -> Self {
        Self(Arc::from("user"))
    }
}

impl FromStr for Namespace {
    type Err = InvalidNamespace;

    fn from_str(text: &str) -> Result<Self, InvalidNamespace> {
        let path = text.trim();
        let segment_is_valid = |segment: &str| {
            !segment.is_empty()
                && !segment.starts_with('.')
                && segment
                    .bytes()
                    .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
        };
        let is_valid = path.len() <= NAMESPACE_BYTES_MAX
            && path.split('/').count() <= NAMESPACE_SEGMENTS_MAX
            && path.split('/').all(segment_is_valid);
        if is_valid {
            Ok(Self(Arc::from(path)))
        } else {
            Err(InvalidNamespace(text.chars().take(NAMESPACE_BYTES_MAX).collect()))
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A namespace, or all namespaces below a path, or all there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NamespacePattern {
    /// Exactly this namespace.
    Exact(Namespace),
    /// Every namespace below this path (`shared/*`), not the path itself.
    Below(Namespace),
    /// Every namespace (`*`).
    All,
}

impl NamespacePattern {
    /// Whether `namespace` is meant by this pattern.
    pub fn matches(&self, namespace: &Namespace) -> bool {
        match self {
            Self::Exact(exact) => exact == namespace,
            Self::Below(parent) => namespace
                .as_str()
                .strip_prefix(parent.as_str())
                .is_some_and(|rest| rest.starts_with('/')),
            Self::All => true,
        }
    }
}

impl FromStr for NamespacePattern {
    type Err = InvalidNamespace;

    fn from_str(text: &str) -> Result<Self, InvalidNamespace> {
        match text.trim() {
            "*" => Ok(Self::All),
            path => match path.strip_suffix("/*") {
                Some(parent) => parent.parse().map(Self::Below),
                None => path.parse().map(Self::Exact),
            },
        }
    }
}

impl fmt::Display for NamespacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(namespace) => namespace.fmt(f),
            Self::Below(parent) => write!(f, "{parent}/*"),
            Self::All => f.write_str("*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_validated() {
        for good in ["user", "agent/claude-code", "shared/team.a/b_c", " customer/42 "] {
            assert!(good.parse::<Namespace>().is_ok(), "{good}");
        }
        let long = "a".repeat(NAMESPACE_BYTES_MAX + 1);
        let deep = ["a"; NAMESPACE_SEGMENTS_MAX + 1].join("/");
        for bad in [
            "", "/", "user/", "../etc", "User", "a b", "用户", "a//b", ".hidden", "*", &long, &deep,
        ] {
            assert!(bad.parse::<Namespace>().is_err(), "{bad}");
        }
        assert!("a".repeat(NAMESPACE_BYTES_MAX).parse::<Namespace>().is_ok());
    }

    #[test]
    fn a_pattern_means_what_lies_below_it_and_nothing_beside() {
        let pattern: NamespacePattern = "shared/*".parse().unwrap();
        for (path, expected) in
            [("shared/a", true), ("shared/a/b", true), ("shared", false), ("sharedx/a", false)]
        {
            assert_eq!(pattern.matches(&path.parse().unwrap()), expected, "{path}");
        }
        assert_eq!(pattern.to_string(), "shared/*");
    }
}
