//! Zones by their names.

use jiff::tz::TimeZone;

use super::RuleError;

/// Least likeness (Jaro-Winkler, 0.0..=1.0) at which a name is offered for one that is not known;
/// chosen.
const LIKENESS_MIN: f64 = 0.8;
/// Names that people write for a zone, none of them near to its own.
const KNOWN_AS: [(&str, &str); 4] = [
    ("Asia/Beijing", "Asia/Shanghai"),
    ("China Standard Time", "Asia/Shanghai"),
    ("W. Europe Standard Time", "Europe/Berlin"),
    ("Eastern Standard Time", "America/New_York"),
];

/// The zone of an IANA name, whatever its case.
///
/// # Errors
/// [`RuleError::Zone`], with the name that was probably meant.
pub fn zone_named(name: &str) -> Result<TimeZone, RuleError> {
    let name = name.trim();
    TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some()).ok_or_else(|| {
        let nearest = nearest(name).map_or_else(
            || " like Europe/Berlin".to_owned(),
            |nearest| format!("; did you mean {nearest}?"),
        );
        RuleError::Zone { name: name.chars().take(64).collect(), nearest }
    })
}

fn nearest(name: &str) -> Option<String> {
    let lowered = name.to_lowercase();
    let known = KNOWN_AS.iter().find(|(known, _)| known.to_lowercase() == lowered);
    if let Some((_, zone)) = known {
        return Some((*zone).to_owned());
    }
    jiff::tz::db()
        .available()
        .map(|zone| (strsim::jaro_winkler(&zone.as_str().to_lowercase(), &lowered), zone))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, zone)| zone.to_string())
}
