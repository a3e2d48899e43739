//! One layer of the configuration: a TOML text as a flat map from dotted keys to located values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Fault, Origin, Place, Problem};

/// The keys there are, in the order of the example file.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Dotted keys.
    pub(super) keys: Vec<String>,
}

impl Known {
    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.keys.iter().map(String::as_str)
    }

    /// Every table that holds a key, outermost first.
    fn sections(&self) -> Vec<&str> {
        let mut sections: Vec<&str> = Vec::new();
        for key in self.names() {
            if key == WHOLE_TABLE {
                sections.push(key);
            }
            for (at, _) in key.match_indices('.') {
                if let Some(section) = key.get(..at).filter(|section| !sections.contains(section)) {
                    sections.push(section);
                }
            }
        }
        sections
    }
}

/// A value and where its key stands, in bytes of the layer's text.
#[derive(Clone, Debug)]
pub(super) struct Leaf<'i> {
    /// Bytes of the key.
    pub(super) key: Range<usize>,
    /// The value.
    pub(super) value: Spanned<DeValue<'i>>,
}

/// The values of one origin.
#[derive(Clone, Debug)]
pub(super) struct Layer<'i> {
    /// Where it comes from.
    pub(super) origin: Origin,
    /// Its text, for positions.
    pub(super) text: &'i str,
    /// Values by dotted key.
    pub(super) leaves: BTreeMap<String, Leaf<'i>>,
}

impl<'i> Layer<'i> {
    /// Reads a TOML text. Of a text with syntax errors the rest is still read, so that one run
    /// tells of everything.
    pub(super) fn parse(
        origin: Origin,
        text: &'i str,
        known: &Known,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut layer = Self { origin, text, leaves: BTreeMap::new() };
        let mut found = Vec::new();
        layer.flatten("", table.get_ref(), Some(known), &mut found);

        let syntax: Vec<Problem> = errors
            .iter()
            .map(|error| Problem {
                place: layer.place(error.span().map_or(0, |span| span.start)),
                key: None,
                fault: Fault::Syntax(error.message().to_owned()),
            })
            .collect();
        // What the parser made of a line that it could not read says nothing about that line.
        let broken: BTreeSet<_> = syntax.iter().map(|problem| problem.place.line()).collect();
        found.retain(|problem| !broken.contains(&problem.place.line()));
        let whole = |leaf: &Leaf<'_>| !broken.contains(&layer.place(leaf.key.start).line());
        let leaves = layer.leaves.iter().filter(|(_, leaf)| whole(leaf));
        let leaves = leaves.map(|(key, leaf)| (key.clone(), leaf.clone())).collect();
        layer.leaves = leaves;

        problems.extend(syntax);
        problems.append(&mut found);
        layer
    }

    /// The example: every value in it makes a known key.
    pub(super) fn example(text: &'i str) -> Self {
        let (table, _) = DeTable::parse_recoverable(text);
        let mut layer = Self { origin: Origin::Default, text, leaves: BTreeMap::new() };
        layer.flatten("", table.get_ref(), None, &mut Vec::new());
        layer
    }

    /// A layer of one value.
    pub(super) fn single(
        origin: Origin,
        text: &'i str,
        key: &str,
        value: Spanned<DeValue<'i>>,
    ) -> Self {
        let leaves = BTreeMap::from([(key.to_owned(), Leaf { key: 0..0, value })]);
        Self { origin, text, leaves }
    }

    /// The place of a byte of this layer.
    pub(super) fn place(&self, offset: usize) -> Place {
        Place::in_text(&self.origin, self.text, offset)
    }

    /// Keys in the order in which they stand.
    pub(super) fn known(&self) -> Known {
        let mut keys: Vec<(usize, &String)> =
            self.leaves.iter().map(|(key, leaf)| (leaf.key.start, key)).collect();
        keys.sort();
        Known { keys: keys.into_iter().map(|(_, key)| key.clone()).collect() }
    }

    fn flatten(
        &mut self,
        prefix: &str,
        table: &DeTable<'i>,
        known: Option<&Known>,
        problems: &mut Vec<Problem>,
    ) {
        for (name, value) in table {
            let path = if prefix.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{prefix}.{}", name.get_ref())
            };
            let place = self.place(name.span().start);
            // A quoted name with a dot in it would otherwise pass for a section and a key.
            let is_plain = !name.get_ref().contains('.');
            let is_whole = path == WHOLE_TABLE || !value.get_ref().is_table();
            let is_key = known.map_or(is_whole, |known| known.has(&path));
            let is_section = known.is_none_or(|known| known.sections().contains(&path.as_str()));
            match value.get_ref() {
                _ if is_plain && is_key => {
                    self.leaves.insert(path, Leaf { key: name.span(), value: value.clone() });
                }
                DeValue::Table(inner) if is_plain && is_section => {
                    self.flatten(&path, inner, known, problems);
                }
                other if is_plain && is_section => {
                    let expected = format!("a table, [{path}]");
                    problems.push(Problem::value(place, path, expected, show(other)));
                }
                DeValue::Table(_) => {
                    let sections = known.map(Known::sections).unwrap_or_default();
                    problems.push(Problem::unknown_key(place, &path, sections.into_iter()));
                }
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_) => {
                    let names = known.iter().flat_map(|known| known.names());
                    problems.push(Problem::unknown_key(place, &path, names));
                }
            }
        }
    }
}

/// A table whose keys are names that somebody gave: it is one value.
const WHOLE_TABLE: &str = "sinks";
/// Field of a table whose value is never shown.
pub(super) const SECRET_FIELD: &str = "token_hash";
/// Field of a table of which the path is not shown: it may hold a secret.
const URL_FIELD: &str = "url";

/// A value as TOML on one line; secrets only hinted at.
pub(super) fn show(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| show(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let mut fields: Vec<_> = table.iter().collect();
            fields.sort_by_key(|(name, _)| name.span().start);
            let fields: Vec<String> = fields
                .into_iter()
                .map(|(name, value)| match name.get_ref().as_ref() {
                    SECRET_FIELD => format!("{SECRET_FIELD} = \"...\""),
                    URL_FIELD => format!("{URL_FIELD} = {:?}", without_path(value.get_ref())),
                    name => format!("{name} = {}", show(value.get_ref())),
                })
                .collect();
            if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
    }
}

/// An address up to its host.
fn without_path(value: &DeValue<'_>) -> String {
    let text = value.as_str().unwrap_or_default();
    let after_scheme = text.find("://").map_or(0, |at| at + 3);
    let (start, rest) = text.split_at_checked(after_scheme).unwrap_or_default();
    match rest.split_once(['/', '?', '#']) {
        Some((host, "")) => format!("{start}{host}"),
        Some((host, _)) => format!("{start}{host}/..."),
        None => text.to_owned(),
    }
}
