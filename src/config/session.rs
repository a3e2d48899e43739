//! `[session]` and `[extract]`: working memory, and what is worth remembering of it.

use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::problem::Problem;
use super::reader::{Reader, number};
use crate::domain::namespace::NamespacePattern;
use crate::domain::scoring::Policy;
use crate::domain::session::{SessionPolicy, WindowPolicy};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

const WEIGHTS: [&str; 3] = ["density_weight", "timeliness_weight", "reusability_weight"];
const MEAN_MIN: &str = "mean_min";
const KEY: &str = "extract.namespaces";
const EXPECTED: &str = "a list of tables, [[extract.namespaces]], each with a `namespace` pattern \
                        and what is to be otherwise there: `mean_min` (1 to 5), `density_weight`, \
                        `timeliness_weight`, `reusability_weight` (0 to 10)";

pub(super) fn read(reader: &mut Reader<'_, '_>) -> SessionPolicy {
    let window = WindowPolicy {
        turns: reader.count("session.turns", &(1..=1_000)),
        ttl: reader.duration("session.ttl_hours", HOUR, &(1..=8_760)),
        idle: reader.duration("session.idle_minutes", MINUTE, &(1..=1_440)),
    };
    if window.idle > window.ttl
        && let Some(place) = reader.place("session.idle_minutes")
    {
        reader.problems.push(Problem::value(
            place,
            "session.idle_minutes",
            "at most session.ttl_hours: what is gone is not looked at",
            format!("{} and {}", window.idle.as_secs() / 60, window.ttl.as_secs() / 3_600),
        ));
    }
    let weights = WEIGHTS.map(|name| reader.number(&format!("extract.{name}"), &(0.0..=10.0)));
    if weights.iter().all(|weight| *weight <= 0.0)
        && let Some(place) = reader.place("extract.reusability_weight")
    {
        reader.problems.push(Problem::value(
            place,
            "extract.reusability_weight",
            "at least one of the three weights above 0",
            "none".to_owned(),
        ));
    }
    let scoring = Policy { weights, mean_min: reader.number("extract.mean_min", &(1.0..=5.0)) };
    let by_namespace = reader.read_or_why(KEY, EXPECTED, |value| {
        let entries = value.as_array().ok_or_else(String::new)?;
        let read = |(at, entry): (usize, &toml::Spanned<DeValue<'_>>)| {
            let table = entry.get_ref().as_table().ok_or("it is no table".to_owned());
            table
                .and_then(|table| own(table, scoring))
                .map_err(|why| format!("in entry {at}, {why}"))
        };
        entries.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()
    });
    SessionPolicy { window, scoring, scoring_by_namespace: by_namespace.unwrap_or_default() }
}

/// What one entry says, or what is wrong with it.
fn own(table: &DeTable<'_>, usual: Policy) -> Result<(NamespacePattern, Policy), String> {
    for (name, _) in table {
        let name: &str = name.get_ref().as_ref();
        if name != "namespace" && name != MEAN_MIN && !WEIGHTS.contains(&name) {
            return Err(format!("there is no field `{name}`"));
        }
    }
    let value = |name: &str| table.get(name).map(toml::Spanned::get_ref);
    let within = |name: &str, least: f64, most: f64, usual: f64| match value(name) {
        None => Ok(usual),
        Some(value) => number(value)
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("`{name}` is no number from {least} to {most}")),
    };
    let pattern = value("namespace").and_then(|value| value.as_str()?.parse().ok());
    let pattern = pattern.ok_or("`namespace` is no pattern like \"shared/*\"")?;
    let mut weights = usual.weights;
    for (weight, name) in weights.iter_mut().zip(WEIGHTS) {
        *weight = within(name, 0.0, 10.0, *weight)?;
    }
    if weights.iter().all(|weight| *weight <= 0.0) {
        return Err("none of the three weights is above 0".to_owned());
    }
    let mean_min = within(MEAN_MIN, 1.0, 5.0, usual.mean_min)?;
    Ok((pattern, Policy { weights, mean_min }))
}
