//! What an agent should know before it begins: the user's standing orders, who the user is, and what
//! bears on its question. Everything is gathered here, in the order of its weight; how much of it is told
//! is decided by a budget ([`crate::domain::context::shared`]).

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::list::ListRequest;
use super::recall::RecallRequest;
use super::remind::{ListReminders, ReminderView};
use super::scope::Scope;
use super::{Service, ServiceError};
use crate::domain::context::Part;
use crate::domain::id::MemoryId;
use crate::domain::identity::Caller;
use crate::domain::limits::{
    CONTEXT_ITEMS_MAX, HIT_CHARS_MAX, LIST_LIMIT_MAX, PENDING_AHEAD, PENDING_SHOWN_MAX,
    RECALL_TOKENS_MAX, SEARCH_LIMIT_MAX,
};
use crate::domain::memory::{Kind, Memory, Origin};
use crate::domain::reminder::{Standing, View};

/// What happens within this time counts as new already.
const NEARLY_NOW: SignedDuration = SignedDuration::from_hours(24);

/// Most reminders that wait for a decision and are told with others.
const PROPOSALS_TOLD_MAX: usize = 3;

/// What is to be known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextRequest {
    /// What the conversation is about; `None`: not known yet.
    pub query: Option<String>,
    /// The parts that are wanted; none: all.
    pub parts: Vec<Part>,
}

/// Everything there is to tell, each part in the order of its weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextAnswer {
    /// Standing orders, then preferences that no profile here tells.
    pub orders: Vec<Told>,
    /// Reminders: those that are due, those that wait for a decision, and the next.
    pub reminders: Vec<ReminderView>,
    /// Who the user is.
    pub profiles: Vec<Told>,
    /// What answers the question, best first; without one, what is newest.
    pub memories: Vec<Told>,
    /// Which arm of the search is missing, and why.
    pub degraded: Vec<String>,
    /// What was changed about the question.
    pub warnings: Vec<String>,
}

/// A memory that is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The memory.
    pub memory: Memory,
    /// The part of its text that matters.
    pub content: String,
    /// Current memories that say otherwise.
    pub contradicts: Vec<Memory>,
}

impl Told {
    fn of(memory: Memory) -> Self {
        let content = memory.content.chars().take(HIT_CHARS_MAX).collect();
        Self { memory, content, contradicts: Vec::new() }
    }
}

/// Reminders that somebody should know of now: what is due, as far as it is asked for, and at most
/// [`PENDING_SHOWN_MAX`] of each other sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Told and not acknowledged.
    pub due: Vec<ReminderView>,
    /// Waiting for somebody to accept or decline them.
    pub proposed: Vec<ReminderView>,
    /// Told within [`PENDING_AHEAD`], the next first.
    pub upcoming: Vec<ReminderView>,
}

impl Service {
    /// The reminders that the caller should know of now, the first `n_due` of those that are due.
    ///
    /// # Errors
    /// `Store`.
    pub async fn pending_reminders(
        &self,
        caller: &Caller,
        n_due: usize,
    ) -> Result<Pending, ServiceError> {
        let of = async |view| {
            let asked = ListReminders {
                view,
                namespaces: Vec::new(),
                limit: Some(PENDING_SHOWN_MAX),
                cursor: None,
            };
            Ok::<_, ServiceError>(self.reminders(caller, asked).await?.reminders)
        };
        let until = self.clock.now().checked_add(PENDING_AHEAD).unwrap_or(Timestamp::MAX);
        let mut upcoming = of(View::Upcoming).await?;
        upcoming.retain(|view| {
            let is_next = view.next.first().is_some_and(|next| next.told_at <= until);
            is_next && matches!(view.standing, Standing::Upcoming | Standing::Snoozed)
        });
        let (due, proposed) = (self.due(caller, n_due).await?, of(View::Proposed).await?);
        Ok(Pending { due, proposed, upcoming })
    }

    /// The first `n_max` of what is due.
    async fn due(&self, caller: &Caller, n_max: usize) -> Result<Vec<ReminderView>, ServiceError> {
        let limit = Some(n_max.min(LIST_LIMIT_MAX));
        let (mut due, mut cursor) = (Vec::new(), None);
        loop {
            let asked = ListReminders { view: View::Due, namespaces: Vec::new(), limit, cursor };
            let page = self.reminders(caller, asked).await?;
            due.extend(page.reminders);
            cursor = page.next_cursor;
            if cursor.is_none() || due.len() >= n_max {
                due.truncate(n_max);
                return Ok(due);
            }
        }
    }

    /// Gathers what an agent should know.
    ///
    /// # Errors
    /// `Store`. A missing arm of the search is no error.
    pub async fn context(
        &self,
        caller: &Caller,
        request: ContextRequest,
    ) -> Result<ContextAnswer, ServiceError> {
        let wants = |part| request.parts.is_empty() || request.parts.contains(&part);
        let mut answer = ContextAnswer::default();
        let profiles = self.profiles(caller).await?;
        let mut known: HashSet<MemoryId> = profiles.iter().map(|profile| profile.id).collect();
        if wants(Part::Orders) {
            answer.orders = self.orders(caller, &profiles).await?;
            known.extend(answer.orders.iter().map(|told| told.memory.id));
        }
        if wants(Part::Reminders) {
            let Pending { due, mut proposed, upcoming } =
                self.pending_reminders(caller, PENDING_SHOWN_MAX).await?;
            proposed.truncate(PROPOSALS_TOLD_MAX);
            answer.reminders = [due, proposed, upcoming].into_iter().flatten().collect();
        }
        if wants(Part::Profile) {
            let whole = |memory: Memory| {
                let content = memory.content.to_string();
                Told { memory, content, contradicts: Vec::new() }
            };
            answer.profiles = profiles.into_iter().map(whole).collect();
        }
        if wants(Part::Memories) {
            match request.query.filter(|query| !query.trim().is_empty()) {
                Some(query) => self.answer(caller, query, &mut answer).await?,
                None => answer.memories = self.newest(caller).await?,
            }
            answer.memories.retain(|told| !known.contains(&told.memory.id));
            answer.memories.truncate(CONTEXT_ITEMS_MAX);
        }
        Ok(answer)
    }

    /// The user's standing orders, and the preferences that none of `profiles` is made of: those whose
    /// word is the user's own first, then the more important, then the newer.
    async fn orders(
        &self,
        caller: &Caller,
        profiles: &[Memory],
    ) -> Result<Vec<Told>, ServiceError> {
        let mut orders = self.newest_of(caller, vec![Kind::Instruction], LIST_LIMIT_MAX).await?;
        let is_told = |memory: &Memory| {
            let sources = || profiles.iter().flat_map(|profile| &profile.derived_from);
            let ids = [Some(memory.id), memory.consolidated_into];
            ids.into_iter().flatten().any(|id| sources().any(|source| *source == id))
        };
        let preferences = self.newest_of(caller, vec![Kind::Preference], LIST_LIMIT_MAX).await?;
        orders.extend(preferences.into_iter().filter(|memory| !is_told(memory)));
        orders.sort_by(|left, right| {
            let rank = |memory: &Memory| {
                let is_users = memory.origin == Origin::Stated && memory.agent.is_none();
                (memory.kind == Kind::Instruction, is_users)
            };
            let newer = (right.event_time(), right.id).cmp(&(left.event_time(), left.id));
            rank(right)
                .cmp(&rank(left))
                .then(right.importance.total_cmp(&left.importance))
                .then(newer)
        });
        orders.truncate(CONTEXT_ITEMS_MAX);
        Ok(orders.into_iter().map(Told::of).collect())
    }

    /// What answers the question.
    async fn answer(
        &self,
        caller: &Caller,
        query: String,
        answer: &mut ContextAnswer,
    ) -> Result<(), ServiceError> {
        let request = RecallRequest {
            query,
            limit: Some(SEARCH_LIMIT_MAX),
            max_tokens: Some(RECALL_TOKENS_MAX),
            ..RecallRequest::default()
        };
        let found = self.recall(caller, request).await?;
        answer.degraded = found.degraded;
        answer.warnings = found.warnings;
        let told = found.hits.into_iter().map(|hit| Told {
            memory: hit.memory,
            content: hit.excerpt,
            contradicts: hit.contradicts,
        });
        answer.memories = told.collect();
        Ok(())
    }

    /// What is newest of what happened and was learned.
    async fn newest(&self, caller: &Caller) -> Result<Vec<Told>, ServiceError> {
        let is_said = |kind: &Kind| !matches!(kind, Kind::Summary | Kind::Profile);
        let kinds = Kind::ALL.iter().copied().filter(is_said).collect();
        let newest = self.newest_of(caller, kinds, LIST_LIMIT_MAX).await?;
        Ok(newest.into_iter().map(Told::of).collect())
    }

    async fn newest_of(
        &self,
        caller: &Caller,
        kinds: Vec<Kind>,
        limit: usize,
    ) -> Result<Vec<Memory>, ServiceError> {
        let before: Option<Timestamp> = self.clock.now().checked_add(NEARLY_NOW).ok();
        let scope = Scope { kinds, before, ..Scope::default() };
        let request = ListRequest { scope, limit: Some(limit), ..ListRequest::default() };
        Ok(self.list(caller, request).await?.memories)
    }
}
