//! Reads the entries of `access.agents` into rules, telling of every mistake in them.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::access::{AccessRule, Agents, TokenHash, is_valid};
use super::layer::{Layer, SECRET_FIELD};
use super::problem::Problem;
use super::reader::{Reader, found, number};
use crate::domain::namespace::{Namespace, NamespacePattern};

const KEY: &str = "access.agents";
const FIELDS: [&str; 5] = ["name", "read", "write", "write_default", SECRET_FIELD];
const GRANT_FIELDS: [&str; 2] = ["pattern", "weight"];
const PATTERN: &str = "a namespace pattern (`user`, `shared/*`, `agent/{agent}` or `*`)";

/// The rules in the order in which they are tried: those of the highest layer, then the default
/// rule unless they have one for everybody. The last one is for everybody unless there are problems.
pub(super) fn read(reader: &mut Reader<'_, '_>, warnings: &mut Vec<String>) -> Vec<AccessRule> {
    let mut default: Option<AccessRule> = None;
    let mut rules = Vec::new();
    for (layer, leaf) in reader.given(KEY) {
        let mut entries = Entries { layer, problems: &mut reader.problems };
        rules = entries.rules(&leaf.value, default.as_ref());
        if default.is_none() {
            default = rules.last().cloned();
        }
    }
    warn_of_unreachable(&rules, warnings);
    if rules.iter().all(|rule| rule.agents != Agents::All) {
        rules.extend(default);
    }
    rules
}

fn warn_of_unreachable(rules: &[AccessRule], warnings: &mut Vec<String>) {
    for (at, rule) in rules.iter().enumerate() {
        let mut earlier = rules.iter().take(at);
        if earlier.any(|earlier| earlier.agents == Agents::All || earlier.agents == rule.agents) {
            let name = rule.agents.as_str();
            warnings.push(format!(
                "{KEY}[{at}] (name {name:?}) is never used: an earlier entry fits the same agents"
            ));
        }
    }
}

/// Reads the entries of one layer.
struct Entries<'a, 'i> {
    layer: &'a Layer<'i>,
    problems: &'a mut Vec<Problem>,
}

impl<'i> Entries<'_, 'i> {
    fn rules(
        &mut self,
        value: &Spanned<DeValue<'i>>,
        default: Option<&AccessRule>,
    ) -> Vec<AccessRule> {
        let Some(entries) = value.get_ref().as_array() else {
            self.refuse_entry(value, KEY);
            return Vec::new();
        };
        let mut rules = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let path = format!("{KEY}[{at}]");
            match entry.get_ref().as_table() {
                Some(table) => rules.extend(self.rule(&path, entry, table, default)),
                None => self.refuse_entry(entry, &path),
            }
        }
        rules
    }

    /// Tells of something that is no entry by its type alone, since it may hold a secret.
    fn refuse_entry(&mut self, value: &Spanned<DeValue<'i>>, path: &str) {
        let place = self.layer.place(value.span().start);
        let expected = "a list of tables, [[access.agents]]";
        let found = format!("a value of type {}", value.get_ref().type_str());
        self.problems.push(Problem::value(place, path, expected, found));
    }

    fn rule(
        &mut self,
        path: &str,
        entry: &Spanned<DeValue<'i>>,
        table: &DeTable<'i>,
        default: Option<&AccessRule>,
    ) -> Option<AccessRule> {
        self.check_fields(path, table, &FIELDS);
        let agents = self.agents(path, entry, table);
        let token_hash = self.token_hash(path, table);
        let read = match table.get("read") {
            Some(value) => Some(self.list(value, &format!("{path}.read"), Self::grant)),
            None => default.map(|rule| rule.read.clone()),
        };
        let write = match table.get("write") {
            Some(value) => Some(self.list(value, &format!("{path}.write"), Self::pattern)),
            None => default.map(|rule| rule.write.clone()),
        };
        let write_default = match table.get("write_default") {
            Some(value) => self.namespace(value, &format!("{path}.write_default")),
            None => default.map(|rule| rule.write_default.clone()),
        };
        let rule = AccessRule {
            agents: agents?,
            read: read?,
            write: write?,
            write_default: write_default?,
            token_hash,
        };
        self.check_write_default(path, entry, table, &rule);
        Some(rule)
    }

    /// A memory that names no namespace must not be refused, unless nothing may be written at all.
    fn check_write_default(
        &mut self,
        path: &str,
        entry: &Spanned<DeValue<'i>>,
        table: &DeTable<'i>,
        rule: &AccessRule,
    ) {
        let agent = match &rule.agents {
            Agents::All => "any".parse(),
            Agents::Named(name) => Ok(name.clone()),
        };
        let Ok(agent) = agent else { return };
        let access = rule.access(&agent);
        if access.write.is_empty() || access.may_write(&access.write_default) {
            return;
        }
        let at = table.get("write_default").unwrap_or(entry).span().start;
        self.problems.push(Problem::value(
            self.layer.place(at),
            format!("{path}.write_default"),
            format!("a namespace that {path}.write allows"),
            format!("{:?}", rule.write_default),
        ));
    }

    fn agents(
        &mut self,
        path: &str,
        entry: &Spanned<DeValue<'i>>,
        table: &DeTable<'i>,
    ) -> Option<Agents> {
        let key = format!("{path}.name");
        let expected = "an agent's name (1 to 64 characters of a-z 0-9 . _ -) or \"*\"";
        let Some(value) = table.get("name") else {
            let place = self.layer.place(entry.span().start);
            self.problems.push(Problem::value(place, key, expected, "nothing"));
            return None;
        };
        match value.get_ref().as_str() {
            Some("*") => return Some(Agents::All),
            Some(text) => {
                if let Ok(name) = text.parse() {
                    return Some(Agents::Named(name));
                }
            }
            None => {}
        }
        self.refuse(value, &key, expected);
        None
    }

    fn token_hash(&mut self, path: &str, table: &DeTable<'i>) -> Option<TokenHash> {
        let value = table.get(SECRET_FIELD)?;
        let text = value.get_ref().as_str();
        let hash = text.and_then(TokenHash::parse);
        if hash.is_none() {
            // Somebody may have written the secret itself here.
            let n_chars = text.unwrap_or_default().chars().count();
            self.problems.push(Problem::value(
                self.layer.place(value.span().start),
                format!("{path}.{SECRET_FIELD}"),
                "the BLAKE3 hash of a secret, 64 hexadecimal digits",
                format!("something else, {n_chars} characters long"),
            ));
        }
        hash
    }

    fn list<T>(
        &mut self,
        value: &Spanned<DeValue<'i>>,
        path: &str,
        read: impl Fn(&mut Self, &Spanned<DeValue<'i>>, &str) -> Option<T>,
    ) -> Vec<T> {
        let Some(items) = value.get_ref().as_array() else {
            self.refuse(value, path, "a list");
            return Vec::new();
        };
        let items = items.iter().enumerate();
        items.filter_map(|(at, item)| read(self, item, &format!("{path}[{at}]"))).collect()
    }

    /// A pattern with its weight; a bare pattern has weight 1.0.
    fn grant(&mut self, value: &Spanned<DeValue<'i>>, path: &str) -> Option<(String, f64)> {
        let table = match value.get_ref() {
            DeValue::Table(table) => table,
            DeValue::String(_) => return self.pattern(value, path).map(|pattern| (pattern, 1.0)),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => {
                self.refuse(value, path, "{ pattern = \"...\", weight = 0 to 1 }");
                return None;
            }
        };
        self.check_fields(path, table, &GRANT_FIELDS);
        let weight = match table.get("weight") {
            None => Some(1.0),
            Some(value) => {
                let weight = number(value.get_ref()).filter(|weight| (0.0..=1.0).contains(weight));
                if weight.is_none() {
                    self.refuse(value, &format!("{path}.weight"), "a number from 0 to 1");
                }
                weight
            }
        };
        let key = format!("{path}.pattern");
        let Some(pattern) = table.get("pattern") else {
            let place = self.layer.place(value.span().start);
            self.problems.push(Problem::value(place, key, PATTERN, "nothing"));
            return None;
        };
        Some((self.pattern(pattern, &key)?, weight?))
    }

    fn pattern(&mut self, value: &Spanned<DeValue<'i>>, path: &str) -> Option<String> {
        self.checked(value, path, PATTERN, is_valid::<NamespacePattern>)
    }

    fn namespace(&mut self, value: &Spanned<DeValue<'i>>, path: &str) -> Option<String> {
        let expected = "a namespace (`user`, `agent/{agent}`)";
        self.checked(value, path, expected, is_valid::<Namespace>)
    }

    fn checked(
        &mut self,
        value: &Spanned<DeValue<'i>>,
        path: &str,
        expected: &str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let text = value.get_ref().as_str().filter(|text| is_valid(text));
        if text.is_none() {
            self.refuse(value, path, expected);
        }
        text.map(str::to_owned)
    }

    fn check_fields(&mut self, path: &str, table: &DeTable<'i>, fields: &[&str]) {
        for (name, _) in table {
            if !fields.contains(&name.get_ref().as_ref()) {
                let place = self.layer.place(name.span().start);
                let known: Vec<String> =
                    fields.iter().map(|field| format!("{path}.{field}")).collect();
                let known = known.iter().map(String::as_str);
                let key = format!("{path}.{}", name.get_ref());
                self.problems.push(Problem::unknown_key(place, &key, known));
            }
        }
    }

    fn refuse(&mut self, value: &Spanned<DeValue<'i>>, path: &str, expected: &str) {
        let place = self.layer.place(value.span().start);
        self.problems.push(Problem::value(place, path, expected, found(value.get_ref())));
    }
}
