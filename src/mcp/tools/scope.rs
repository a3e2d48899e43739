//! The arguments that searches, listings and filtered forgetting share.

use jiff::tz::TimeZone;

use super::super::args::{Arguments, InvalidArgument};
use super::super::schema::{self, Property};
use super::expected_kind;
use crate::domain::filter::TagMatch;
use crate::domain::memory::{Kind, Layer, Status};
use crate::service::scope::Scope;

pub(super) fn namespace_property() -> Property {
    schema::list("namespace", "like user or shared/* (all you may read)")
}

pub(super) fn kinds_property() -> Property {
    schema::list("kinds", "as in memory_store, or profile")
}

pub(super) fn status_property() -> Property {
    schema::list("status", "active (if left out), superseded, invalidated, archived")
}

pub(super) fn after_property() -> Property {
    schema::text("after", "ISO 8601 time or date")
}

pub(super) fn before_property() -> Property {
    schema::text("before", "")
}

/// Every name under which [`read`] takes a list.
pub(super) const LISTS: &[&str] = &["namespace", "namespaces", "kinds", "kind", "tags", "tag"];

/// Reads what `memory_list` and `memory_forget` select by; `zone` is for times that name none.
pub(super) fn read(arguments: &mut Arguments, zone: &TimeZone) -> Result<Scope, InvalidArgument> {
    Ok(Scope {
        namespaces: arguments.list(&["namespace", "namespaces"])?.unwrap_or_default(),
        kinds: arguments.choices(&["kinds", "kind"], Kind::parse, &expected_kind())?,
        tags: arguments.list(&["tags", "tag"])?.unwrap_or_default(),
        after: arguments.time(&["after"], zone)?,
        before: arguments.time(&["before"], zone)?,
        ..Scope::default()
    })
}

/// Reads statuses.
pub(super) fn read_statuses(arguments: &mut Arguments) -> Result<Vec<Status>, InvalidArgument> {
    let expected = "one of active, superseded, invalidated, archived";
    arguments.choices(&["status"], Status::parse, expected)
}

/// Reads the finer conditions of a search.
pub(super) fn read_fine(
    arguments: &mut Arguments,
    zone: &TimeZone,
) -> Result<Scope, InvalidArgument> {
    let tag_match = |text: &str| match text.to_ascii_lowercase().as_str() {
        "any" => Some(TagMatch::Any),
        "all" => Some(TagMatch::All),
        _ => None,
    };
    Ok(Scope {
        layer: arguments.choice(&["layer"], Layer::parse, "episodic or semantic")?,
        tag_match: arguments.choice(&["tag_match"], tag_match, "any or all")?.unwrap_or_default(),
        metadata: arguments.metadata(&["metadata"])?.unwrap_or_default().into_iter().collect(),
        session: arguments.word(&["session"])?,
        agent: arguments.word(&["agent"])?,
        statuses: read_statuses(arguments)?,
        importance_min: arguments.number(&["min_importance"], 0.0, 1.0)?,
        as_of: arguments.time_at_end(&["as_of"], zone)?,
        include_archived: arguments.flag(&["include_archived"])?.unwrap_or_default(),
        include_superseded: arguments.flag(&["include_superseded"])?.unwrap_or_default(),
        ..read(arguments, zone)?
    })
}
