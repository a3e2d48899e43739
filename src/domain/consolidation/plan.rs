//! From items, labels and live summaries to tasks.
//!
//! The plan is stable: what is left loose at the end fits no draft, and no two drafts are one; both are
//! looked for until nothing changes. Only the topics among what is left depend on what else there is:
//! a caller that finds exactly what the last plan has left ([`Plan::left`]) gives no labels, and then
//! nothing is planned.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::draft::{Draft, by_time, statements};
use super::linkage::Hierarchy;
use super::{Item, Maker, Plan, Policy, Summary, Task, Why, fingerprint, is_source, sizes};
use crate::domain::id::MemoryId;
use crate::domain::limits::LINKAGE_POINTS_MAX;
use crate::domain::memory::Kind;
use crate::domain::namespace::Namespace;

/// Plans the summaries over `items`, which have none yet, with the density labels of each
/// ([`None`]: noise, and so are those beyond the last label), beside the live `summaries`. `policy` is
/// on the scale of the vectors. The order of what is given does not matter. Items of kinds that are
/// not summarised are left out.
pub fn plan(
    items: &[Item],
    labels: &[Option<usize>],
    summaries: &[Summary],
    policy: &Policy,
    maker: Maker<'_>,
) -> Plan {
    let mut parts: BTreeMap<(&Namespace, Kind), Given<'_>> = BTreeMap::new();
    for (item, label) in items.iter().zip(labels.iter().copied().chain(std::iter::repeat(None))) {
        if is_source(item.kind) {
            let part = parts.entry((&item.namespace, item.kind)).or_default();
            part.items.insert(by_time(item), (item, label));
        }
    }
    for summary in summaries {
        let part = parts.entry((&summary.namespace, summary.kind)).or_default();
        part.summaries.insert(summary.id, summary);
    }
    let mut plan = Plan::default();
    for ((namespace, kind), given) in parts {
        Part::new(namespace, kind, given, policy, &mut plan).run(maker, &mut plan);
    }
    plan.noise.sort_unstable();
    plan.withdrawn.sort_unstable();
    let is_left = |item: &&Item| plan.noise.binary_search(&item.id).is_ok();
    plan.left = fingerprint(items.iter().filter(is_left));
    plan
}

/// What is given of one namespace and kind.
#[derive(Default)]
struct Given<'a> {
    items: BTreeMap<(jiff::Timestamp, MemoryId), (&'a Item, Option<usize>)>,
    summaries: BTreeMap<MemoryId, &'a Summary>,
}

/// The work on one namespace and kind.
struct Part<'a> {
    namespace: &'a Namespace,
    kind: Kind,
    policy: &'a Policy,
    drafts: Vec<Draft<'a>>,
    /// Items without a draft, in order of time.
    loose: Vec<&'a Item>,
    labels: BTreeMap<MemoryId, usize>,
}

impl<'a> Part<'a> {
    fn new(
        namespace: &'a Namespace,
        kind: Kind,
        given: Given<'a>,
        policy: &'a Policy,
        plan: &mut Plan,
    ) -> Self {
        let mut drafts: Vec<Option<Draft<'a>>> = Vec::new();
        // The place of the draft that each source is in.
        let mut places: HashMap<MemoryId, usize> = HashMap::new();
        for summary in given.summaries.into_values() {
            // A source whose kind was changed since belongs with others now.
            let is_own = |item: &&Item| item.kind == kind && item.namespace == *namespace;
            let sources: Vec<&Item> = summary.sources.iter().filter(is_own).collect();
            if sources.is_empty() {
                plan.withdrawn.push(summary.id);
                continue;
            }
            let mut draft = Draft::new(vec![summary], sources);
            // One live summary for the same sources: those that share one are put together.
            let place = |item: &&Item| places.get(&item.id).copied();
            let sharing: BTreeSet<usize> = draft.items.iter().filter_map(place).collect();
            for place in sharing {
                if let Some(other) = drafts.get_mut(place).and_then(Option::take) {
                    draft.absorb(other);
                }
            }
            places.extend(draft.items.iter().map(|item| (item.id, drafts.len())));
            drafts.push(Some(draft));
        }
        let mut drafts: Vec<Draft<'a>> = drafts.into_iter().flatten().collect();
        drafts.sort_by_key(|draft| draft.replaces.first().map(|summary| summary.id));
        let summarised: BTreeSet<MemoryId> =
            drafts.iter().flat_map(|draft| &draft.items).map(|item| item.id).collect();
        let fresh = given.items.into_values().filter(|(item, _)| !summarised.contains(&item.id));
        let (mut loose, mut labels) = (Vec::new(), BTreeMap::new());
        for (item, label) in fresh {
            loose.push(item);
            labels.extend(label.map(|label| (item.id, label)));
        }
        plan.counts.n_items += loose.len();
        plan.counts.n_clusters += labels.values().collect::<BTreeSet<_>>().len();
        Self { namespace, kind, policy, drafts, loose, labels }
    }

    fn run(mut self, maker: Maker<'_>, plan: &mut Plan) {
        while self.join() {}
        let mut has_joined = false;
        loop {
            let has_formed = self.form();
            // What fits no draft fits none that two of them make together either.
            has_joined = (has_formed || has_joined) && self.join();
            if !(self.merge() || has_formed || has_joined) {
                break;
            }
        }
        plan.noise.extend(self.loose.iter().map(|item| item.id));
        self.drafts.sort_by_key(|draft| draft.items.first().map(|item| by_time(item)));
        for draft in &self.drafts {
            match why(draft, maker) {
                Some(why) => {
                    let task = self.task(draft, why);
                    if !draft.replaces.is_empty() {
                        plan.counts.n_joined += task.new_sources.len();
                    }
                    plan.tasks.push(task);
                }
                None => plan.counts.n_settled += 1,
            }
        }
    }

    /// Lets every loose item join the draft that admits it and is nearest; whether one did.
    fn join(&mut self) -> bool {
        let n_before = self.loose.len();
        for item in std::mem::take(&mut self.loose) {
            let nearest = self
                .drafts
                .iter_mut()
                .filter_map(|draft| Some((draft.admits(item, self.policy)?, draft)))
                .min_by(|left, right| left.0.total_cmp(&right.0));
            match nearest {
                Some((_, draft)) => draft.extend([item]),
                None => self.loose.push(item),
            }
        }
        self.loose.len() < n_before
    }

    /// Puts drafts together that are one; whether there were some.
    fn merge(&mut self) -> bool {
        let n_before = self.drafts.len();
        let mut kept: Vec<Draft<'a>> = Vec::new();
        for draft in std::mem::take(&mut self.drafts) {
            match kept.iter_mut().find(|other| other.is_one_with(&draft, self.policy)) {
                Some(other) => other.absorb(draft),
                None => kept.push(draft),
            }
        }
        self.drafts = kept;
        self.drafts.len() < n_before
    }

    fn task(&self, draft: &Draft<'_>, why: Why) -> Task {
        Task {
            namespace: self.namespace.clone(),
            kind: self.kind,
            why,
            replaces: draft.replaces.iter().map(|summary| summary.id).collect(),
            statements: statements(&draft.items, self.policy)
                .into_iter()
                .map(|statement| statement.into_iter().map(|item| item.id).collect())
                .collect(),
            new_sources: new_sources(draft),
            fingerprint: fingerprint(draft.items.iter().copied()),
        }
    }

    /// Makes drafts out of the clusters of loose items; whether there were some.
    fn form(&mut self) -> bool {
        let mut clusters: BTreeMap<usize, Vec<&'a Item>> = BTreeMap::new();
        let mut loose = Vec::new();
        for item in std::mem::take(&mut self.loose) {
            match self.labels.get(&item.id) {
                Some(label) => clusters.entry(*label).or_default().push(item),
                None => loose.push(item),
            }
        }
        let mut formed = Vec::new();
        for cluster in clusters.into_values() {
            for topic in topics(&cluster, self.policy) {
                if topic.len() < self.policy.size_min {
                    loose.extend(topic);
                } else {
                    let parts = sizes::split(topic, self.policy);
                    formed.extend(parts.into_iter().map(|items| Draft::new(Vec::new(), items)));
                }
            }
        }
        formed.sort_by_key(|draft| draft.items.first().map(|item| by_time(item)));
        loose.sort_unstable_by_key(|item| by_time(item));
        let has_formed = !formed.is_empty();
        self.drafts.append(&mut formed);
        self.loose = loose;
        has_formed
    }
}

/// The topics of a cluster, none wider than the diameter, each in order of time. A cluster too large
/// for a hierarchy is taken in windows of time; an item joins the topic of an earlier window if it
/// fits.
fn topics<'a>(cluster: &[&'a Item], policy: &Policy) -> Vec<Vec<&'a Item>> {
    let mut topics: Vec<Draft<'a>> = Vec::new();
    // Here only the diameter counts: sizes come after, and every item has its neighbours.
    let any = Policy { eps: policy.diameter, size_max: usize::MAX, ..*policy };
    for window in cluster.chunks(LINKAGE_POINTS_MAX) {
        let mut rest = Vec::new();
        for item in window {
            let nearest = topics
                .iter_mut()
                .filter_map(|topic| Some((topic.admits(item, &any)?, topic)))
                .min_by(|left, right| left.0.total_cmp(&right.0));
            match nearest {
                Some((_, topic)) => topic.extend([*item]),
                None => rest.push(*item),
            }
        }
        let distance = |left: usize, right: usize| match (rest.get(left), rest.get(right)) {
            (Some(left), Some(right)) => left.distance(right),
            _ => f64::INFINITY,
        };
        for members in Hierarchy::new(rest.len(), &distance).cut(policy.diameter) {
            let items = members.iter().filter_map(|member| rest.get(*member)).copied().collect();
            topics.push(Draft::new(Vec::new(), items));
        }
    }
    topics.into_iter().map(|topic| topic.items).collect()
}

/// Why the summary of a draft is to be written, if it is.
fn why(draft: &Draft<'_>, maker: Maker<'_>) -> Option<Why> {
    let [summary] = draft.replaces.as_slice() else {
        return Some(if draft.replaces.is_empty() { Why::New } else { Why::Merged });
    };
    if !new_sources(draft).is_empty() {
        Some(Why::Extended)
    } else if summary.fingerprint.as_ref() != Some(&fingerprint(draft.items.iter().copied())) {
        Some(Why::Changed)
    } else if maker.is_model && summary.made_by.as_deref() != Some(maker.name) {
        Some(Why::Redone)
    } else {
        None
    }
}

fn new_sources(draft: &Draft<'_>) -> Vec<MemoryId> {
    let known: BTreeSet<MemoryId> = draft
        .replaces
        .iter()
        .flat_map(|summary| &summary.sources)
        .map(|source| source.id)
        .collect();
    let mut new: Vec<MemoryId> =
        draft.items.iter().map(|item| item.id).filter(|id| !known.contains(id)).collect();
    new.sort_unstable();
    new
}
