//! What can be wrong with a configuration, where it stands, and how that is told.

use std::fmt;
use std::path::PathBuf;

/// The layer that a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `config.toml.example`, compiled in, or a default location.
    Default,
    /// The configuration file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
    /// An argument of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// Where something stands: a layer and, in a file, line and column (both from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The layer.
    pub origin: Origin,
    /// Line and column in characters, where known.
    pub position: Option<(usize, usize)>,
}

impl Place {
    /// A place of which only the layer is known.
    pub const fn of(origin: Origin) -> Self {
        Self { origin, position: None }
    }

    /// The place of byte `offset` of `text`. Positions count in files only: elsewhere a text is one
    /// short value.
    pub(super) fn in_text(origin: &Origin, text: &str, offset: usize) -> Self {
        let position = matches!(origin, Origin::File(_)).then(|| {
            let before = text.get(..offset).unwrap_or(text);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let column = before.get(line_start..).unwrap_or("").chars().count() + 1;
            (before.matches('\n').count() + 1, column)
        });
        Self { origin: origin.clone(), position }
    }

    /// The line, where known.
    pub(super) fn line(&self) -> Option<usize> {
        self.position.map(|(line, _)| line)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.origin.fmt(f)?;
        match self.position {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// What is wrong with one part of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A value is not what its key asks for.
    #[error("expected {expected}\nfound {found}")]
    Value {
        /// Type, range or allowed values.
        expected: String,
        /// What stands there, shortened; a secret is only described.
        found: String,
    },
    /// There is no such key.
    #[error("unknown key\n{hint}")]
    UnknownKey {
        /// The nearest known key, or the keys there are.
        hint: String,
    },
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// The file cannot be read.
    #[error("cannot read the configuration file: {0}")]
    Unreadable(String),
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// Which key, if it is about one.
    pub key: Option<String>,
    /// What.
    pub fault: Fault,
}

impl Problem {
    /// A value that is not what its key asks for.
    pub fn value(
        place: Place,
        key: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let fault = Fault::Value { expected: expected.into(), found: found.into() };
        Self { place, key: Some(key.into()), fault }
    }

    /// A key that does not exist; `known` are those that could be meant.
    pub(super) fn unknown_key<'a>(
        place: Place,
        key: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let hint = hint(key, known);
        Self { place, key: Some(key.to_owned()), fault: Fault::UnknownKey { hint } }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)?;
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        for line in self.fault.to_string().lines() {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems, at least one, put in the order of layers and lines.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| {
            let layer = match problem.place.origin {
                Origin::Default => 0,
                Origin::File(_) => 1,
                Origin::Variable(_) => 2,
                Origin::Flag(_) => 3,
            };
            (layer, problem.place.position)
        });
        Self(problems)
    }

    /// The first problem and the number of the others.
    pub fn in_one_line(&self) -> String {
        let first = self.0.first().map(ToString::to_string).unwrap_or_default();
        let first = first.lines().map(str::trim).collect::<Vec<_>>().join(", ");
        match self.0.len() {
            0 | 1 => first,
            n => format!("{first}, and {} more", n - 1),
        }
    }

    /// The problems, in the order of layers and lines.
    pub fn list(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    /// One block a problem, then their number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.0 {
            writeln!(f, "{problem}")?;
        }
        match self.0.len() {
            1 => f.write_str("1 problem in the configuration"),
            n => write!(f, "{n} problems in the configuration"),
        }
    }
}

impl std::error::Error for Problems {}

/// Similarity from which a known name is suggested, 0.0..=1.0 (chosen on the typos of the tests).
const SIMILARITY_MIN: f64 = 0.6;
/// What a key of the same section is ahead of one of another.
const SAME_SECTION: f64 = 0.1;

/// "did you mean ...", or the keys there are. Names are compared without their section, since the
/// section is what two keys that have nothing to do with each other share.
fn hint<'a>(unknown: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let (section, name) = split(unknown);
    let nearest = nearest(known.clone(), |key| {
        let (key_section, key_name) = split(key);
        let bonus = if key_section == section { SAME_SECTION } else { 0.0 };
        strsim::normalized_damerau_levenshtein(name, key_name) + bonus
    });
    if let Some(key) = nearest {
        return format!("did you mean {key}?");
    }
    let siblings: Vec<&str> =
        known.clone().map(split).filter(|key| key.0 == section).map(|key| key.1).collect();
    if siblings.is_empty() || section.is_empty() {
        let of = |key| match split(key) {
            ("", table) => table,
            (section, _) => section,
        };
        let mut sections: Vec<&str> = known.map(of).collect();
        sections.dedup();
        format!("known sections: {}", sections.join(", "))
    } else {
        format!("known here: {}", siblings.join(", "))
    }
}

/// The first of the most similar names, if it is similar enough.
pub(super) fn nearest<'a>(
    known: impl Iterator<Item = &'a str>,
    similarity: impl Fn(&str) -> f64,
) -> Option<&'a str> {
    let mut best: Option<(&str, f64)> = None;
    for name in known {
        let similarity = similarity(name);
        if similarity >= SIMILARITY_MIN && best.is_none_or(|(_, most)| similarity > most) {
            best = Some((name, similarity));
        }
    }
    best.map(|(name, _)| name)
}

/// Section and name of a dotted key.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}
