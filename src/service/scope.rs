//! What searches, listings and filtered forgetting select by.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Service, ServiceError};
use crate::domain::filter::{Filter, TagMatch};
use crate::domain::identity::Caller;
use crate::domain::limits::NAMESPACES_PER_CALL_MAX;
use crate::domain::memory::{Kind, Layer, Status};
use crate::domain::namespace::NamespacePattern;
use crate::ports::Snapshot;

/// The step of stored times.
const MICROSECOND: SignedDuration = SignedDuration::from_micros(1);

/// Conditions as a caller gives them; all of them must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Namespaces or patterns; empty: all that the caller may read.
    pub namespaces: Vec<String>,
    /// Kinds; empty: all.
    pub kinds: Vec<Kind>,
    /// Layer.
    pub layer: Option<Layer>,
    /// Tags.
    pub tags: Vec<String>,
    /// How `tags` are meant.
    pub tag_match: TagMatch,
    /// Top-level metadata keys, each with the JSON text its value must equal.
    pub metadata: Vec<(String, String)>,
    /// Session.
    pub session: Option<String>,
    /// Agent.
    pub agent: Option<String>,
    /// Statuses; empty: active, and what the two `include` fields add.
    pub statuses: Vec<Status>,
    /// Event time at or after.
    pub after: Option<Timestamp>,
    /// Event time before.
    pub before: Option<Timestamp>,
    /// Importance at least, 0.0..=1.0.
    pub importance_min: Option<f64>,
    /// A moment: what was true then instead of what is true now.
    pub as_of: Option<Timestamp>,
    /// Archived memories too.
    pub include_archived: bool,
    /// Superseded and invalidated memories too.
    pub include_superseded: bool,
}

impl Service {
    /// The filter of a scope, limited to what the caller may read.
    pub(super) async fn filter(
        &self,
        caller: &Caller,
        snapshot: &Arc<dyn Snapshot>,
        scope: &Scope,
    ) -> Result<Filter, ServiceError> {
        let patterns = read_patterns(caller, &scope.namespaces)?;
        let mut namespaces = snapshot.namespaces().await?;
        namespaces.retain(|namespace| {
            caller.access.weight(namespace).is_some()
                && (patterns.is_empty()
                    || patterns.iter().any(|pattern| pattern.matches(namespace)))
        });
        if let (Some(after), Some(before)) = (scope.after, scope.before)
            && after >= before
        {
            return Err(ServiceError::invalid(
                "before",
                format!("a time later than `after` ({after})"),
                before,
            ));
        }
        if let Some(least) = scope.importance_min
            && !(0.0..=1.0).contains(&least)
        {
            return Err(ServiceError::invalid("min_importance", "a number 0 to 1", least));
        }
        let statuses = statuses(scope);
        let includes_ended = statuses.contains(&Status::Invalidated);
        // With the superseded asked for as well, everything said up to then counts.
        let said_by = scope.as_of.filter(|_| scope.include_superseded);
        let said_by = said_by.and_then(|moment| moment.checked_add(MICROSECOND).ok());
        let before = [scope.before, said_by].into_iter().flatten().min();
        Ok(Filter {
            namespaces,
            kinds: kinds(scope)?,
            tags: scope.tags.clone(),
            tag_match: scope.tag_match,
            metadata: scope.metadata.clone(),
            session: scope.session.clone(),
            agent: scope.agent.clone(),
            statuses,
            origins: Vec::new(),
            after: scope.after,
            before,
            importance_min: scope.importance_min,
            valid_at: (!includes_ended).then(|| self.clock.now()),
            as_of: scope.as_of.filter(|_| !scope.include_superseded),
        })
    }
}

/// The namespaces asked for. One that is named outright and not readable is an error; a pattern
/// means what the caller may read of it.
pub(super) fn read_patterns(
    caller: &Caller,
    namespaces: &[String],
) -> Result<Vec<NamespacePattern>, ServiceError> {
    if namespaces.len() > NAMESPACES_PER_CALL_MAX {
        return Err(ServiceError::invalid(
            "namespace",
            format!("at most {NAMESPACES_PER_CALL_MAX} namespaces"),
            namespaces.len(),
        ));
    }
    namespaces
        .iter()
        .map(|text| {
            let pattern: NamespacePattern = text.parse().map_err(|_| {
                ServiceError::invalid(
                    "namespace",
                    "a namespace like `user` or `shared/team`, or a pattern like `shared/*`",
                    format!("`{text}`"),
                )
            })?;
            match &pattern {
                NamespacePattern::Exact(namespace) if caller.access.weight(namespace).is_none() => {
                    Err(ServiceError::NotReadable { namespace: namespace.to_string() })
                }
                NamespacePattern::Exact(_) | NamespacePattern::Below(_) | NamespacePattern::All => {
                    Ok(pattern)
                }
            }
        })
        .collect()
}

/// Kinds of the filter: those of the layer, if one is given.
fn kinds(scope: &Scope) -> Result<Vec<Kind>, ServiceError> {
    let Some(layer) = scope.layer else { return Ok(scope.kinds.clone()) };
    let kinds: Vec<Kind> = Kind::ALL
        .iter()
        .copied()
        .filter(|kind| kind.layer() == layer)
        .filter(|kind| scope.kinds.is_empty() || scope.kinds.contains(kind))
        .collect();
    if kinds.is_empty() {
        return Err(ServiceError::invalid("layer", "a layer that holds one of `kinds`", layer));
    }
    Ok(kinds)
}

fn statuses(scope: &Scope) -> Vec<Status> {
    let mut statuses =
        if scope.statuses.is_empty() { vec![Status::Active] } else { scope.statuses.clone() };
    if scope.include_archived {
        statuses.push(Status::Archived);
    }
    let sees_the_past = scope.as_of.is_some() && scope.statuses.is_empty();
    if scope.include_superseded || sees_the_past {
        statuses.extend([Status::Superseded, Status::Invalidated]);
    }
    statuses
}
