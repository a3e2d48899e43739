//! `[retention]`: rules by which memories are forgotten for good.

use toml::de::{DeTable, DeValue};

use super::reader::{Reader, integer};
use crate::domain::memory::{Kind, Status};
use crate::domain::namespace::NamespacePattern;
use crate::domain::retention::RetentionRule;

const KEY: &str = "retention.rules";
const FIELDS: [&str; 4] = ["namespace", "kinds", "statuses", "older_than_days"];
const EXPECTED: &str = "a list of tables, [[retention.rules]], each with a `namespace` pattern and \
                        `older_than_days`, perhaps with `kinds` and `statuses`";

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Vec<RetentionRule> {
    let rules = reader.read_or_why(KEY, EXPECTED, |value| {
        let entries = value.as_array().ok_or_else(String::new)?;
        let read = |(at, entry): (usize, &toml::Spanned<DeValue<'_>>)| {
            let table = entry.get_ref().as_table().ok_or("it is no table".to_owned());
            table.and_then(rule).map_err(|why| format!("in rule {at}, {why}"))
        };
        entries.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()
    });
    rules.unwrap_or_default()
}

/// One rule, or what is wrong with it.
fn rule(table: &DeTable<'_>) -> Result<RetentionRule, String> {
    for (name, _) in table {
        let name: &str = name.get_ref().as_ref();
        if !FIELDS.contains(&name) {
            return Err(format!("there is no field `{name}`"));
        }
    }
    let value = |name: &str| table.get(name).map(toml::Spanned::get_ref);
    let namespace: Option<NamespacePattern> =
        value("namespace").and_then(|value| value.as_str()?.parse().ok());
    let days = value("older_than_days").and_then(integer).and_then(|days| u32::try_from(days).ok());
    Ok(RetentionRule {
        namespace: namespace.ok_or("`namespace` is no pattern like \"shared/*\"")?,
        kinds: names(value("kinds"), Kind::parse).ok_or("`kinds` is no list of kinds")?,
        statuses: names(value("statuses"), Status::parse)
            .ok_or("`statuses` is no list of statuses")?,
        older_than_days: days
            .filter(|days| (1..=36_500).contains(days))
            .ok_or("`older_than_days` is no whole number from 1 to 36500")?,
    })
}

/// A list of named values; none if it is left out.
fn names<T>(value: Option<&DeValue<'_>>, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let Some(value) = value else { return Some(Vec::new()) };
    value.as_array()?.iter().map(|item| parse(item.get_ref().as_str()?)).collect()
}
