//! A sink that is asked by HTTP: reads its secrets, makes the request of its kind, sends it once, and
//! has its kind judge the answer.
//!
//! Secrets are read for each message, so that a new one counts at once, and kept no longer.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use reqwest::Url;

use super::files;
use super::mask::Mask;
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Abilities, Message, SinkKind, SinkSettings};
use crate::http::{self, Answer, Courier, NoAnswer, Request, Secret, read_line, read_token};
use crate::ports::{Clock, Sink};

/// What one kind of sink knows: how to ask, and what the answer means.
#[derive(Clone, Copy)]
pub(super) struct Service {
    /// The request that tells a message.
    pub(super) request: fn(&Draft<'_>) -> Result<Request, String>,
    /// What an answer means.
    pub(super) judge: fn(&Answer) -> Outcome,
}

/// What a request is made of.
pub(super) struct Draft<'a> {
    /// What is told.
    pub(super) message: &'a Message,
    /// What the sink can do.
    pub(super) abilities: &'a Abilities,
    /// Whether addresses are broken where a preview cannot be switched off.
    pub(super) breaks_links: bool,
    /// The address that the configuration gives.
    pub(super) url: Url,
    /// Token, key or password; empty if there is none.
    pub(super) token: &'a str,
    /// What messages are signed with.
    pub(super) secret: Option<&'a str>,
    /// Whom it is for; empty if the address says it.
    pub(super) to: &'a str,
    /// When it is sent.
    pub(super) now: Timestamp,
}

impl Draft<'_> {
    /// The address with more steps at the end of its path, each encoded as one.
    ///
    /// # Errors
    /// If the address has no path.
    pub(super) fn below(&self, steps: &[&str]) -> Result<Url, String> {
        let mut url = self.url.clone();
        url.path_segments_mut()
            .map_err(|()| "the address has no path".to_owned())?
            .pop_if_empty()
            .extend(steps);
        Ok(url)
    }
}

/// A sink behind HTTP.
pub(super) struct Webhook {
    settings: SinkSettings,
    service: Service,
    courier: Courier,
    clock: Arc<dyn Clock>,
}

/// What the files of a sink hold.
struct Secrets {
    url: Url,
    token: Option<Secret>,
    secret: Option<Secret>,
    to: String,
    mask: Mask,
}

impl Webhook {
    /// Reads and sends nothing yet.
    pub(super) fn new(settings: SinkSettings, service: Service, clock: Arc<dyn Clock>) -> Self {
        let key = settings.key("allow_private");
        let courier =
            Courier::new(&settings.allow_private, &key, settings.timeout, Arc::clone(&clock));
        Self { settings, service, courier, clock }
    }

    async fn attempt(&self, message: &Message) -> Outcome {
        let secrets = match self.secrets() {
            Ok(secrets) => secrets,
            Err(why) => return Outcome::Disabled(why),
        };
        let draft = Draft {
            message,
            abilities: &self.settings.abilities,
            breaks_links: !self.settings.links,
            url: secrets.url.clone(),
            token: secrets.token.as_ref().map_or("", Secret::reveal),
            secret: secrets.secret.as_ref().map(Secret::reveal),
            to: &secrets.to,
            now: self.clock.now(),
        };
        let outcome = match (self.service.request)(&draft) {
            Err(why) => Outcome::Disabled(why),
            Ok(request) => match self.courier.carry(request).await {
                Ok(answer) => (self.service.judge)(&answer),
                Err(NoAnswer::Forbidden(why)) => Outcome::Disabled(why),
                Err(NoAnswer::NotSent(why)) => Outcome::Retry { after: None, why },
                Err(NoAnswer::Unknown(why)) => Outcome::Unknown(why),
            },
        };
        let (place, mask) = (http::host(&secrets.url), &secrets.mask);
        if let Outcome::Sent { remote_id } = outcome {
            return Outcome::Sent { remote_id: remote_id.filter(|id| mask.apply(id) == *id) };
        }
        with_reason(outcome, |why| mask.apply(&format!("{place} {why}")))
    }

    /// What is read anew for each message.
    fn secrets(&self) -> Result<Secrets, String> {
        let settings = &self.settings;
        let read = |file: &Option<_>| file.as_deref().map(read_token).transpose();
        let (token, secret) = (read(&settings.token_file)?, read(&settings.secret_file)?);
        let mut mask = Mask::default();
        for secret in [&token, &secret].into_iter().flatten() {
            mask.add(secret.reveal());
        }
        let to = match &settings.to_file {
            Some(file) => {
                let to = read_line(file)?;
                mask.add(to.reveal());
                to.reveal().to_owned()
            }
            None => settings.to.first().cloned().unwrap_or_default(),
        };
        let url = self.address()?;
        if settings.url_file.is_some() {
            mask.add_url(&url);
        }
        Ok(Secrets { url, token, secret, to, mask })
    }

    /// Where it is asked.
    fn address(&self) -> Result<Url, String> {
        let settings = &self.settings;
        match (&settings.url_file, &settings.url) {
            (Some(file), _) => parsed(read_token(file)?.reveal())
                .map_err(|why| format!("{} holds no address: {why}", file.display())),
            (None, Some(url)) => {
                parsed(url).map_err(|why| format!("{}: {why}", settings.key("url")))
            }
            (None, None) => Err(format!("{} is not set", settings.key("url"))),
        }
    }
}

/// An address by which something can be sent. What it says of another never quotes it.
fn parsed(text: &str) -> Result<Url, String> {
    let expected = || "https://, a host and a path are expected".to_owned();
    let url = Url::parse(text).map_err(|_| expected())?;
    let is_fit = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none();
    if is_fit { Ok(url) } else { Err(expected()) }
}

/// The outcome with another reason.
pub(super) fn with_reason(outcome: Outcome, change: impl FnOnce(&str) -> String) -> Outcome {
    match outcome {
        Outcome::Sent { .. } | Outcome::Accepted => outcome,
        Outcome::Retry { after, why } => Outcome::Retry { after, why: change(&why) },
        Outcome::Refused(why) => Outcome::Refused(change(&why)),
        Outcome::Disabled(why) => Outcome::Disabled(change(&why)),
        Outcome::Unknown(why) => Outcome::Unknown(change(&why)),
    }
}

impl Sink for Webhook {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn kind(&self) -> SinkKind {
        self.settings.kind
    }

    fn place(&self) -> String {
        let unknown = |_| "an address that cannot be read".to_owned();
        self.address().map_or_else(unknown, |url| http::host(&url))
    }

    fn check(&self) -> Result<(), String> {
        self.secrets().map(drop)
    }

    fn mark(&self) -> Option<u64> {
        files::mark(&self.settings)
    }

    fn abilities(&self) -> Abilities {
        self.settings.abilities
    }

    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome> {
        self.attempt(message).boxed()
    }
}
