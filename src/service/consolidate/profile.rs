//! The profile of a namespace: who its user is, from preferences, standing orders and ways of doing
//! things.
//!
//! It is kept as a summary is, written anew when one of its sources changes and gone when one is
//! forgotten; but its sources are not ranked lower for it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::super::{Service, ServiceError};
use super::Consolidation;
use super::enact::OF_KEY;
use super::report::Report;
use crate::domain::consolidation::{FINGERPRINT_KEY, Item, MAKER_KEY, Task, Why, fingerprint};
use crate::domain::filter::Filter;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{
    PROFILE_SOURCES_MAX, PROFILE_SOURCES_MIN, PROFILES_SHOWN_MAX, SCAN_PAGE,
};
use crate::domain::memory::{Kind, Memory, Metadata, Origin, Status};
use crate::domain::namespace::Namespace;
use crate::domain::summary::Aim;
use crate::ports::{Listing, Snapshot, StoreError};
use crate::service::scope::Scope;

/// Kinds that say who somebody is.
const SOURCES: [Kind; 3] = [Kind::Preference, Kind::Instruction, Kind::Procedure];

impl Service {
    /// The profiles of the namespaces that the caller may read, newest first.
    ///
    /// # Errors
    /// `Store`.
    pub async fn profiles(&self, caller: &Caller) -> Result<Vec<Memory>, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let scope = Scope { kinds: vec![Kind::Profile], ..Scope::default() };
        let mut filter = self.filter(caller, &snapshot, &scope).await?;
        // Nobody says who the user is in the name of all that was said.
        filter.origins = vec![Origin::Consolidated];
        let listing =
            Listing { filter, newest_first: true, after: None, limit: PROFILES_SHOWN_MAX };
        Ok(snapshot.list(listing).await?)
    }

    /// Writes the profile of a namespace anew if what it says is not what its sources say now.
    pub(super) async fn renew_profile(
        &self,
        order: &Consolidation,
        namespace: &Namespace,
        report: &mut Report,
    ) -> Result<(), ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let live = live(snapshot.as_ref(), namespace, order).await?;
        let sources = sources(snapshot.as_ref(), namespace, order).await?;
        drop(snapshot);
        if sources.len() < PROFILE_SOURCES_MIN {
            for profile in live {
                self.end(order, profile.id, report).await?;
            }
            return Ok(());
        }
        let items: Vec<Item> =
            sources.iter().map(|source| Item::of(source, Arc::from([]))).collect();
        let fingerprint = fingerprint(&items);
        let Some(why) = self.why(&live, &fingerprint) else { return Ok(()) };
        let is_new = |id: &MemoryId| !live.iter().any(|profile| profile.derived_from.contains(id));
        let ids: Vec<MemoryId> = sources.iter().map(|source| source.id).collect();
        let task = Task {
            namespace: namespace.clone(),
            kind: Kind::Profile,
            why,
            replaces: live.iter().map(|profile| profile.id).collect(),
            new_sources: ids.iter().copied().filter(is_new).collect(),
            statements: ids.into_iter().map(|id| vec![id]).collect(),
            fingerprint,
        };
        let versions: HashMap<MemoryId, u64> =
            sources.iter().map(|source| (source.id, source.version)).collect();
        self.produce(order, Aim::Profile, &task, &versions, report).await
    }

    /// Why the profile is to be written, if it is.
    fn why(&self, live: &[Memory], fingerprint: &str) -> Option<Why> {
        let [profile] = live else {
            return Some(if live.is_empty() { Why::New } else { Why::Merged });
        };
        let made_by = field(&profile.metadata, MAKER_KEY);
        if field(&profile.metadata, FINGERPRINT_KEY).as_deref() != Some(fingerprint) {
            Some(Why::Changed)
        } else if self.summarizer.is_some() && made_by != Some(self.summary_key()) {
            Some(Why::Redone)
        } else {
            None
        }
    }
}

/// The profiles of the namespace that were made here.
async fn live(
    snapshot: &dyn Snapshot,
    namespace: &Namespace,
    order: &Consolidation,
) -> Result<Vec<Memory>, StoreError> {
    let is_made = |memory: &Memory| {
        !memory.derived_from.is_empty() && memory.metadata.contains_key(FINGERPRINT_KEY)
    };
    let mut listing = listing(namespace, vec![Kind::Profile], order);
    listing.filter.origins = vec![Origin::Consolidated];
    let mut live: Vec<Memory> = snapshot.list(listing).await?.into_iter().filter(is_made).collect();
    live.sort_by_key(|memory| memory.id);
    Ok(live)
}

/// The most important memories that say who the user is, then the newest; where several are summarised,
/// their summary. In order of time.
async fn sources(
    snapshot: &dyn Snapshot,
    namespace: &Namespace,
    order: &Consolidation,
) -> Result<Vec<Memory>, StoreError> {
    let mut kinds = SOURCES.to_vec();
    kinds.push(Kind::Summary);
    let mut listing = listing(namespace, kinds, order);
    let mut chosen: Vec<Memory> = Vec::new();
    loop {
        let page = snapshot.list(listing.clone()).await?;
        let Some(last) = page.last() else { break };
        listing.after = Some((last.event_time(), last.id));
        chosen.extend(page.into_iter().filter(says_who));
        chosen.sort_by(|left, right| {
            let newest = (right.event_time(), right.id).cmp(&(left.event_time(), left.id));
            right.importance.total_cmp(&left.importance).then(newest)
        });
        chosen.truncate(PROFILE_SOURCES_MAX);
    }
    chosen.sort_by_key(|memory| (memory.event_time(), memory.id));
    Ok(chosen)
}

fn says_who(memory: &Memory) -> bool {
    if memory.kind != Kind::Summary {
        return memory.consolidated_into.is_none();
    }
    let of = field(&memory.metadata, OF_KEY).and_then(|kind| Kind::parse(&kind));
    memory.origin == Origin::Consolidated && of.is_some_and(|kind| SOURCES.contains(&kind))
}

/// The text of a metadata field.
fn field(metadata: &Metadata, key: &str) -> Option<String> {
    match serde_json::from_str(metadata.get(key)?) {
        Ok(Value::String(text)) => Some(text),
        Ok(_) | Err(_) => None,
    }
}

fn listing(namespace: &Namespace, kinds: Vec<Kind>, order: &Consolidation) -> Listing {
    let filter = Filter {
        namespaces: vec![namespace.clone()],
        kinds,
        statuses: vec![Status::Active],
        valid_at: Some(order.now),
        ..Filter::default()
    };
    Listing { filter, newest_first: true, after: None, limit: SCAN_PAGE }
}
