//! Forgetting: by id, or by a filter that is shown before it is carried out.

use jiff::{SignedDuration, Timestamp};

use super::scope::Scope;
use super::{Service, ServiceError};
use crate::domain::change::{Forget, Forgotten, RequestKey};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::identity::{Actor, Caller};
use crate::domain::limits::{FORGET_FILTER_MAX, FORGET_IDS_MAX_AGENT, SCAN_PAGE};
use crate::domain::memory::{Memory, Status};
use crate::domain::namespace::NamespacePattern;
use crate::domain::session::{SessionInfo, SessionKey};
use crate::domain::text::normalise;
use crate::ports::{Listing, Measured};

/// Memories shown of what a filter would forget.
const SAMPLE: usize = 5;

/// What to forget.
#[derive(Clone, Debug, PartialEq)]
pub enum ForgetRequest {
    /// These memories.
    Ids {
        /// Ids or handles; an agent may name at most 20.
        references: Vec<String>,
        /// Idempotency key.
        request: Option<RequestKey>,
    },
    /// Everything that matches.
    Matching {
        /// The filter.
        scope: Box<Scope>,
        /// Words that the text holds exactly (case and width folded).
        query: Option<String>,
        /// The token of a preview; `None`: preview only.
        confirm: Option<String>,
        /// Idempotency key.
        request: Option<RequestKey>,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum ForgetAnswer {
    /// Nothing was forgotten yet.
    Preview {
        /// How many match.
        n_matching: usize,
        /// Sessions whose working memory goes with them.
        n_sessions: usize,
        /// Give this as `confirm` to forget exactly these.
        confirm: String,
        /// The first few.
        sample: Vec<Memory>,
    },
    /// They are forgotten.
    Receipt {
        /// What and when.
        receipt: Forgotten,
        /// Turns of sessions that are gone for good.
        n_turns: u64,
        /// References that mean nothing the caller may read.
        missing: Vec<String>,
        /// Names of the backups that were made while one of them existed.
        backups: Vec<String>,
        /// Why the backups are not known, if they are not.
        backups_unknown: Option<String>,
    },
}

impl Service {
    /// Forgets memories: at the answer nothing can show them.
    ///
    /// # Errors
    /// `Invalid` (also for a `confirm` that is not the token of the present set), `NotFound` if not
    /// a single id means something, `Ambiguous`, `NotWritable`, `Store`.
    pub async fn forget(
        &self,
        caller: &Caller,
        request: ForgetRequest,
    ) -> Result<ForgetAnswer, ServiceError> {
        match request {
            ForgetRequest::Ids { references, request } => {
                self.forget_ids(caller, references, request).await
            }
            ForgetRequest::Matching { scope, query, confirm, request } => {
                self.forget_matching(caller, &scope, query.as_deref(), confirm, request).await
            }
        }
    }

    async fn forget_ids(
        &self,
        caller: &Caller,
        references: Vec<String>,
        request: Option<RequestKey>,
    ) -> Result<ForgetAnswer, ServiceError> {
        let most = if caller.is_owner() { FORGET_FILTER_MAX } else { FORGET_IDS_MAX_AGENT };
        if references.is_empty() || references.len() > most {
            return Err(ServiceError::invalid("ids", format!("1 to {most} ids"), references.len()));
        }
        let snapshot = self.store.snapshot().await?;
        let mut ids = Vec::with_capacity(references.len());
        let mut missing = Vec::new();
        for reference in references {
            match self.find_writable(caller, &snapshot, "ids", &reference).await {
                Ok(memory) => ids.push(memory.id),
                Err(ServiceError::NotFound { reference }) => match reference.parse() {
                    // The person may erase at once what an agent has forgotten; the store knows it.
                    Ok(IdReference::Whole(id)) if caller.is_owner() => ids.push(id),
                    _ => missing.push(reference),
                },
                Err(other) => return Err(other),
            }
        }
        // A call that is sent again after its answer was lost finds nothing any more; the store
        // knows its request key and gives the first receipt.
        if ids.is_empty()
            && request.is_none()
            && let Some(reference) = missing.pop()
        {
            return Err(ServiceError::NotFound { reference });
        }
        let receipt = self.carry_out(caller, ids, request).await?;
        let unknown = missing.first().cloned();
        match unknown.or_else(|| receipt.missing.first().map(ToString::to_string)) {
            Some(reference) if receipt.ids.is_empty() => Err(ServiceError::NotFound { reference }),
            _ => Ok(self.receipt(receipt, 0, missing).await),
        }
    }

    async fn forget_matching(
        &self,
        caller: &Caller,
        scope: &Scope,
        query: Option<&str>,
        confirm: Option<String>,
        request: Option<RequestKey>,
    ) -> Result<ForgetAnswer, ServiceError> {
        if *scope == Scope::default() && query.is_none() {
            return Err(ServiceError::invalid("ids", "ids, or at least one filter", "neither"));
        }
        let scope = &whole_life(scope);
        let matching = self.matching(caller, scope, query).await?;
        let sessions = self.sessions_meant(caller, scope, query).await?;
        let token = token(caller, &matching, &sessions);
        match confirm {
            None => Ok(ForgetAnswer::Preview {
                n_matching: matching.len(),
                n_sessions: sessions.len(),
                confirm: token,
                sample: matching.into_iter().take(SAMPLE).collect(),
            }),
            Some(confirm) if confirm.trim() == token => {
                // First what was said: nothing more can be taken out of it then.
                let keys: Vec<SessionKey> = sessions
                    .iter()
                    .map(|session| SessionKey::of(&session.namespace, &session.name))
                    .collect();
                let (n_turns, matching) = if keys.is_empty() {
                    (0, matching)
                } else {
                    let n_turns = self.sessions.erase_sessions(keys, self.clock.now()).await?;
                    (n_turns, self.matching(caller, scope, query).await?)
                };
                let ids = matching.iter().map(|memory| memory.id).collect();
                let receipt = self.carry_out(caller, ids, request).await?;
                Ok(self.receipt(receipt, n_turns, Vec::new()).await)
            }
            Some(confirm) => {
                // A call that is sent again after its answer was lost finds its set gone; the store
                // knows its request key and gives the first receipt.
                if request.is_some() {
                    let receipt = self.carry_out(caller, Vec::new(), request).await?;
                    if !receipt.ids.is_empty() {
                        return Ok(self.receipt(receipt, 0, Vec::new()).await);
                    }
                }
                Err(ServiceError::invalid(
                    "confirm",
                    format!(
                        "the token of exactly what matches now ({} memories); call again without it",
                        matching.len()
                    ),
                    format!("`{confirm}`"),
                ))
            }
        }
    }

    /// The receipt, with the backups that may still hold what is forgotten.
    async fn receipt(
        &self,
        receipt: Forgotten,
        n_turns: u64,
        missing: Vec<String>,
    ) -> ForgetAnswer {
        let (backups, backups_unknown) = match self.backups_holding(&receipt).await {
            Ok(backups) => (backups, None),
            // What is forgotten is forgotten; only this is not known.
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        ForgetAnswer::Receipt { receipt, n_turns, missing, backups, backups_unknown }
    }

    /// The sessions whose working memory is meant: those of the name that is asked for, unless only a
    /// part of their memories is.
    async fn sessions_meant(
        &self,
        caller: &Caller,
        scope: &Scope,
        query: Option<&str>,
    ) -> Result<Vec<SessionInfo>, ServiceError> {
        let Some(name) = scope.session.as_deref().filter(|_| query.is_none()) else {
            return Ok(Vec::new());
        };
        let whole = Scope {
            session: scope.session.clone(),
            namespaces: scope.namespaces.clone(),
            statuses: scope.statuses.clone(),
            ..Scope::default()
        };
        if *scope != whole {
            return Ok(Vec::new());
        }
        let patterns: Vec<NamespacePattern> =
            scope.namespaces.iter().filter_map(|text| text.parse().ok()).collect();
        self.sessions_named(caller, name, &patterns).await
    }

    /// Every writable memory that matches, oldest first.
    async fn matching(
        &self,
        caller: &Caller,
        scope: &Scope,
        query: Option<&str>,
    ) -> Result<Vec<Memory>, ServiceError> {
        let snapshot = self.store.snapshot().await?;
        let mut filter = self.filter(caller, &snapshot, scope).await?;
        filter.namespaces.retain(|namespace| caller.access.may_write(namespace));
        let words = query.map(|words| format!(" {} ", normalise(words)));
        let mut matching = Vec::new();
        let mut after = None;
        loop {
            let listing =
                Listing { filter: filter.clone(), newest_first: false, after, limit: SCAN_PAGE };
            let page = snapshot.list(listing).await?;
            let Some(last) = page.last() else { return Ok(matching) };
            after = Some((last.event_time(), last.id));
            matching.extend(page.into_iter().filter(|memory| {
                words.as_ref().is_none_or(|words| holds_words(&memory.content, words.trim()))
            }));
            if matching.len() > FORGET_FILTER_MAX {
                let expected = format!("a filter that at most {FORGET_FILTER_MAX} memories match");
                return Err(ServiceError::invalid("query", expected, "more"));
            }
        }
    }

    async fn carry_out(
        &self,
        caller: &Caller,
        ids: Vec<MemoryId>,
        request: Option<RequestKey>,
    ) -> Result<Forgotten, ServiceError> {
        let (actor, now) = (caller.actor.clone(), self.clock.now());
        self.forget_at(ids, actor, request, now).await
    }

    /// Forgets memories; what was not forgotten by the person can be restored for a while.
    pub(super) async fn forget_at(
        &self,
        ids: Vec<MemoryId>,
        actor: Actor,
        request: Option<RequestKey>,
        now: Timestamp,
    ) -> Result<Forgotten, ServiceError> {
        let settings = self.settings();
        let later = |wait: std::time::Duration| -> Timestamp {
            let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::ZERO);
            now.checked_add(wait).unwrap_or(Timestamp::MAX)
        };
        let restorable_until = (actor != Actor::Owner).then(|| later(settings.agent_grace));
        // Without a grace the content goes with this transaction.
        let erase_by =
            restorable_until.map_or(now, |until| until.max(later(settings.erase_within)));
        let receipt = self
            .store
            .forget(Forget { ids, restorable_until, erase_by, request, actor, at: now })
            .await?;
        // Those about them went along.
        self.reminders_are_other();
        self.meter.record(Measured::Forget { n_forgotten: receipt.ids.len() });
        Ok(receipt)
    }
}

/// What comes from a session goes whole, past memories too.
fn whole_life(scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    if scope.session.is_some() && scope.statuses.is_empty() {
        scope.statuses = Status::ALL.to_vec();
    }
    scope
}

/// Whether `words` (normalised) stand in `content` as whole words.
fn holds_words(content: &str, words: &str) -> bool {
    let content = normalise(content);
    let is_edge = |c: Option<char>| {
        c.is_none_or(|c| !c.is_alphanumeric() || crate::domain::text::is_unspaced(c))
    };
    !words.is_empty()
        && content.match_indices(words).any(|(at, found)| {
            let before = content.get(..at).and_then(|head| head.chars().next_back());
            let after = content.get(at + found.len()..).and_then(|tail| tail.chars().next());
            let starts_unspaced =
                found.chars().next().is_some_and(crate::domain::text::is_unspaced);
            let ends_unspaced =
                found.chars().next_back().is_some_and(crate::domain::text::is_unspaced);
            (starts_unspaced || is_edge(before)) && (ends_unspaced || is_edge(after))
        })
}

/// Names exactly this set in its present versions, for this caller.
fn token(caller: &Caller, matching: &[Memory], sessions: &[SessionInfo]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(caller.actor.to_string().as_bytes());
    for memory in matching {
        hasher.update(&memory.id.as_u128().to_be_bytes());
        hasher.update(&memory.version.to_be_bytes());
    }
    for session in sessions {
        hasher.update(&SessionKey::of(&session.namespace, &session.name).0);
        hasher.update(&session.last_turn.to_be_bytes());
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_words_are_whole_words() {
        for (content, words, expected) in [
            ("The router is 192.168.7.1.", "192.168.7.1", true),
            ("The router is 192.168.7.11.", "192.168.7.1", false),
            ("A Teapot", "tea", false),
            ("Likes green TEA", "green tea", true),
            ("我喜欢乌龙茶", "乌龙", true),
            ("anything", "", false),
        ] {
            assert_eq!(holds_words(content, &normalise(words)), expected, "{content} / {words}");
        }
    }
}
