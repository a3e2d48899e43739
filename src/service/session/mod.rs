//! Working memory: agents add what is said, and read it again. What is worth remembering of it is
//! taken out later ([`extract`]); nobody who adds a turn waits for that.

pub mod extract;
pub mod report;
mod tell;

use jiff::{SignedDuration, Timestamp};

use super::redaction::Redactor;
use super::remember::{check_content, writable_namespace};
use super::{Service, ServiceError};
use crate::domain::change::RequestKey;
use crate::domain::identity::Caller;
use crate::domain::limits::{
    SESSION_BYTES_MAX, SESSION_TURNS_MAX, SESSIONS_MAX, TURN_AHEAD_MAX, TURNS_PER_CALL_MAX,
};
use crate::domain::namespace::{Namespace, NamespacePattern};
use crate::domain::scoring::Role;
use crate::domain::session::{
    Append, Appended, NewTurn, NotAppended, Session, SessionInfo, SessionKey,
};

/// A turn as a caller gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnDraft {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub content: String,
    /// When; `None`: now.
    pub at: Option<Timestamp>,
}

/// What is to be added to a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppendRequest {
    /// Its name.
    pub session: String,
    /// Where it lies; `None`: where the caller writes by default.
    pub namespace: Option<String>,
    /// What was said, in order.
    pub turns: Vec<TurnDraft>,
    /// Whether it is over with that.
    pub ends: bool,
    /// Whether it is looked at now for what is worth remembering, over or not.
    pub is_urgent: bool,
    /// Idempotency key.
    pub request: Option<RequestKey>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendAnswer {
    /// The session, by the name under which it is kept.
    pub session: String,
    /// Where it lies.
    pub namespace: Namespace,
    /// The numbers of its turns.
    pub appended: Appended,
    /// Names of the redaction rules that hit.
    pub redacted: Vec<&'static str>,
}

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionAnswer {
    /// It.
    pub session: Session,
    /// What is told of the turns before those that it still has.
    pub summary: Option<String>,
    /// When its working memory goes, unless turns come.
    pub expires_at: Timestamp,
}

impl Service {
    /// Adds turns to a session; durable at the answer.
    ///
    /// # Errors
    /// `Invalid` names the argument; `NotWritable`; `Store`.
    pub async fn session_append(
        &self,
        caller: &Caller,
        asked: AppendRequest,
    ) -> Result<AppendAnswer, ServiceError> {
        let now = self.clock.now();
        let namespace = writable_namespace(caller, asked.namespace.as_deref())?;
        check_name(&asked.session)?;
        if asked.turns.len() > TURNS_PER_CALL_MAX {
            let expected = format!("at most {TURNS_PER_CALL_MAX} turns");
            return Err(ServiceError::invalid("turns", expected, asked.turns.len()));
        }
        let mut redactor = Redactor::default();
        let name = redactor.text(&asked.session).to_string();
        let turns = asked
            .turns
            .iter()
            .map(|turn| accept(turn, now, &mut redactor))
            .collect::<Result<Vec<_>, _>>()?;
        let window = self.settings().sessions.window;
        let is_now = asked.ends || asked.is_urgent;
        let append = Append {
            namespace: namespace.clone(),
            name: name.clone(),
            agent: caller.agent().map(ToString::to_string),
            turns,
            ends: asked.ends,
            extract_at: if is_now { now } else { window.idle_at(now) },
            expires_at: window.expires_at(now),
            full: window.full(),
            request: asked.request,
            at: now,
        };
        match self.sessions.append(append).await? {
            Ok(appended) => {
                self.said.notify_one();
                let redacted = redactor.found();
                Ok(AppendAnswer { session: name, namespace, appended, redacted })
            }
            Err(why) => Err(refused(why, &name)),
        }
    }

    /// The working memory of a session.
    ///
    /// # Errors
    /// `Invalid` if there is none of this name; `NotReadable`; `Store`.
    pub async fn session_get(
        &self,
        caller: &Caller,
        session: &str,
        namespace: Option<&str>,
    ) -> Result<SessionAnswer, ServiceError> {
        let namespace = readable_namespace(caller, namespace)?;
        check_name(session)?;
        let name = Redactor::default().text(session).to_string();
        let key = SessionKey::of(&namespace, &name);
        let settings = self.settings();
        let (window, now) = (settings.sessions.window, self.clock.now());
        let found = self.sessions.session(key).await?;
        let is_kept = |session: &Session| window.expires_at(session.last_at) > now;
        let Some(session) = found.filter(is_kept) else {
            let expected = format!("a session in `{namespace}` with a turn of the last days");
            return Err(ServiceError::invalid("session", expected, format!("`{name}`")));
        };
        let summary = session.summary.as_ref().map(|summary| summary.text(&settings.zone));
        let expires_at = window.expires_at(session.last_at);
        Ok(SessionAnswer { summary: summary.filter(|text| !text.is_empty()), session, expires_at })
    }

    /// The sessions of this name that the caller may write, in one of these namespaces if any are
    /// given.
    pub(super) async fn sessions_named(
        &self,
        caller: &Caller,
        name: &str,
        patterns: &[NamespacePattern],
    ) -> Result<Vec<SessionInfo>, ServiceError> {
        let name = Redactor::default().text(name).to_string();
        let mut found = self.sessions.sessions().await?;
        found.retain(|session| {
            session.name == name
                && caller.access.may_write(&session.namespace)
                && (patterns.is_empty()
                    || patterns.iter().any(|pattern| pattern.matches(&session.namespace)))
        });
        found.sort_by(|left, right| left.namespace.cmp(&right.namespace));
        Ok(found)
    }

    /// When a session is to be looked at next; `None`: there is none.
    ///
    /// # Errors
    /// `Store`.
    pub async fn next_session_look(&self) -> Result<Option<Timestamp>, ServiceError> {
        Ok(self.sessions.next_session_look().await?)
    }

    /// Waits until somebody adds to a session.
    pub async fn something_said(&self) {
        self.said.notified().await;
    }
}

fn check_name(session: &str) -> Result<(), ServiceError> {
    let expected = || format!("the name of a session, 1 to {SESSION_BYTES_MAX} bytes");
    if session.trim().is_empty() {
        return Err(ServiceError::invalid("session", expected(), "nothing"));
    }
    if session.len() > SESSION_BYTES_MAX {
        let found = format!("{} bytes", session.len());
        return Err(ServiceError::invalid("session", expected(), found));
    }
    Ok(())
}

fn accept(
    turn: &TurnDraft,
    now: Timestamp,
    redactor: &mut Redactor,
) -> Result<NewTurn, ServiceError> {
    check_content(&turn.content)?;
    let ahead = SignedDuration::try_from(TURN_AHEAD_MAX).unwrap_or(SignedDuration::ZERO);
    let at = turn.at.unwrap_or(now);
    if now.checked_add(ahead).is_ok_and(|latest| at > latest) {
        return Err(ServiceError::invalid("at", "a time that is not ahead", at));
    }
    Ok(NewTurn { role: turn.role, text: redactor.text(&turn.content), at })
}

fn refused(why: NotAppended, name: &str) -> ServiceError {
    let (argument, expected) = match why {
        NotAppended::Missing => ("session", "a session that was begun".to_owned()),
        NotAppended::Full => {
            let expected = format!(
                "a session in which at most {SESSION_TURNS_MAX} turns wait to be looked at; \
                 memory_status says why they wait"
            );
            ("session", expected)
        }
        NotAppended::TooMany => {
            ("session", format!("one of the {SESSIONS_MAX} sessions that are kept at most"))
        }
    };
    ServiceError::invalid(argument, expected, format!("`{name}`"))
}

fn readable_namespace(caller: &Caller, asked: Option<&str>) -> Result<Namespace, ServiceError> {
    let Some(text) = asked else { return Ok(caller.access.write_default.clone()) };
    let namespace: Namespace = text.parse().map_err(|_| {
        ServiceError::invalid("namespace", "a namespace like `user`", format!("`{text}`"))
    })?;
    match caller.access.weight(&namespace) {
        Some(_) => Ok(namespace),
        None => Err(ServiceError::NotReadable { namespace: namespace.to_string() }),
    }
}
