//! The desktop of the session, by the notification service on its bus
//! (<https://specifications.freedesktop.org/notification-spec/latest/>).
//!
//! Without somebody logged in there is no such service; the message waits until there is, or until its
//! time is over. A notification has a button, where the service shows buttons, by which a person says
//! that it was read; it is watched for a day or until it is closed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use zbus::message::Type;
use zbus::{Connection, MatchRule, MessageStream, Variant, connection};

use super::text::{self, Style};
use crate::domain::limits::{DESKTOP_WATCH, DESKTOP_WATCHED_MAX, SINK_TITLE_CHARS_MAX};
use crate::domain::reminder::{DeliveryKey, Outcome};
use crate::domain::sink::{Abilities, Message, SinkKind, SinkSettings};
use crate::ports::Sink;

/// Name and interface of the service.
const SERVICE: &str = "org.freedesktop.Notifications";
/// Path of its object.
const PATH: &str = "/org/freedesktop/Notifications";
/// Urgency of what is more than a notice: it stays until it is closed.
const CRITICAL: u8 = 2;
/// See [`CRITICAL`].
const NORMAL: u8 = 1;
/// It stays as long as the desktop finds right.
const EXPIRE_DEFAULT: i32 = -1;

/// Names of the button, and of a click on the notification itself.
const DONE: [&str; 2] = ["done", "default"];

/// The desktop.
pub(super) struct Desktop {
    settings: SinkSettings,
    /// Keys of the messages that were acknowledged.
    done: mpsc::Sender<DeliveryKey>,
    acknowledged: tokio::sync::Mutex<mpsc::Receiver<DeliveryKey>>,
    /// Those who watch notifications, oldest first.
    watchers: Mutex<VecDeque<AbortOnDropHandle<()>>>,
}

impl Desktop {
    pub(super) fn new(settings: SinkSettings) -> Self {
        let (done, acknowledged) = mpsc::channel(DESKTOP_WATCHED_MAX);
        let acknowledged = tokio::sync::Mutex::new(acknowledged);
        Self { settings, done, acknowledged, watchers: Mutex::default() }
    }

    async fn attempt(&self, message: &Message) -> Outcome {
        let timeout = self.settings.timeout;
        let connecting = tokio::time::timeout(timeout / 2, self.connect()).await;
        let connection = match connecting {
            Ok(Ok(connection)) => connection,
            Ok(Err(why)) => return later(format!("no bus of a session: {why}")),
            Err(_) => return later("the bus of the session does not answer".to_owned()),
        };
        let telling = tokio::time::timeout(timeout / 2, self.tell(&connection, message)).await;
        telling.unwrap_or_else(|_| {
            Outcome::Unknown(format!("no answer within {} ms", (timeout / 2).as_millis()))
        })
    }

    /// A connection for one message: the session, and its bus with it, may have been another before.
    async fn connect(&self) -> Result<Connection, String> {
        let address = self.settings.url.as_deref().ok_or("no address of it is known")?;
        let built = connection::Builder::address(address).build().await;
        built.map_err(|error| error.to_string())
    }

    async fn tell(&self, connection: &Connection, message: &Message) -> Outcome {
        let capabilities = connection
            .call_method(Some(SERVICE), PATH, Some(SERVICE), "GetCapabilities", &())
            .await
            .and_then(|reply| reply.body().deserialize::<Vec<String>>());
        let capabilities = match capabilities {
            Ok(capabilities) => capabilities,
            // Nothing was shown yet, whatever is wrong.
            Err(error) => return later(words(&error)),
        };
        let has = |wanted: &str| capabilities.iter().any(|capability| capability == wanted);
        // Whoever clicks is heard only by those who listened before.
        let signals = if has("actions") { signals(connection).await.ok() } else { None };
        let (title, body) = self.texts(message, has("body-markup"));
        let urgency = if message.is_urgent { CRITICAL } else { NORMAL };
        let hints = HashMap::from([
            ("urgency", Variant::from(urgency)),
            ("category", Variant::from("im.received")),
            ("desktop-entry", Variant::from("recalld")),
        ]);
        let [done, click] = DONE;
        let actions = if signals.is_some() { vec![done, "Done", click, "Done"] } else { vec![] };
        let call =
            ("recalld", 0_u32, "appointment-soon", title, body, actions, hints, EXPIRE_DEFAULT);
        let shown =
            connection.call_method(Some(SERVICE), PATH, Some(SERVICE), "Notify", &call).await;
        match shown.and_then(|reply| reply.body().deserialize::<u32>()) {
            Ok(id) => {
                if let Some(signals) = signals {
                    self.watch(signals, id, message.key);
                }
                Outcome::Sent { remote_id: Some(id.to_string()) }
            }
            Err(error) => classed(&error),
        }
    }

    /// Waits in the background for somebody to acknowledge a notification.
    fn watch(&self, signals: MessageStream, id: u32, key: DeliveryKey) {
        let done = self.done.clone();
        let watcher = tokio::spawn(async move {
            let told = tokio::time::timeout(DESKTOP_WATCH, is_done(signals, id)).await;
            if told == Ok(true) && done.send(key).await.is_err() {
                tracing::debug!("acknowledged when its sink was gone already");
            }
        });
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| !watcher.is_finished());
        if watchers.len() >= DESKTOP_WATCHED_MAX {
            watchers.pop_front();
        }
        watchers.push_back(AbortOnDropHandle::new(watcher));
    }

    /// Title, which is never markup, and text.
    fn texts(&self, message: &Message, reads_markup: bool) -> (String, String) {
        let escape = if reads_markup { escape_markup } else { text::plain };
        let style = Style { escape, breaks_links: false };
        let title = text::title(message, Style::PLAIN, SINK_TITLE_CHARS_MAX);
        (title, text::body(message, style, &self.settings.abilities))
    }
}

/// What the service says of its notifications.
async fn signals(connection: &Connection) -> zbus::Result<MessageStream> {
    let rule = MatchRule::builder().msg_type(Type::Signal).interface(SERVICE).path(PATH).build()?;
    MessageStream::for_match_rule(rule, connection, None).await
}

/// Whether a notification was acknowledged before it was closed.
async fn is_done(mut signals: MessageStream, id: u32) -> bool {
    while let Some(Ok(signal)) = signals.next().await {
        let body = signal.body();
        let header = signal.header();
        match header.member().map(zbus::names::MemberName::as_str) {
            Some("ActionInvoked") => match body.deserialize::<(u32, String)>() {
                Ok((which, action)) if which == id => return DONE.contains(&action.as_str()),
                Ok(_) | Err(_) => {}
            },
            Some("NotificationClosed") => match body.deserialize::<(u32, u32)>() {
                Ok((which, _)) if which == id => return false,
                Ok(_) | Err(_) => {}
            },
            Some(_) | None => {}
        }
    }
    false
}

/// The markup of notifications is a small HTML.
fn escape_markup(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        _ => out.push(c),
    }
}

fn later(why: String) -> Outcome {
    Outcome::Retry { after: None, why }
}

/// What a failed call means: an answer is a no, anything else leaves it open.
fn classed(error: &zbus::Error) -> Outcome {
    let is_answer = name(error).is_some_and(|name| !NO_ANSWER.contains(&name.as_str()));
    if is_answer { later(words(error)) } else { Outcome::Unknown(words(error)) }
}

/// Errors that the bus gives in place of an answer.
const NO_ANSWER: [&str; 3] = [
    "org.freedesktop.DBus.Error.NoReply",
    "org.freedesktop.DBus.Error.Timeout",
    "org.freedesktop.DBus.Error.TimedOut",
];
/// Errors that say that there is no service.
const NO_SERVICE: [&str; 2] =
    ["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"];

/// The name of an error; its text may quote what was to be shown.
fn words(error: &zbus::Error) -> String {
    match name(error) {
        Some(name) if NO_SERVICE.contains(&name.as_str()) => {
            "nobody shows notifications on the bus of the session".to_owned()
        }
        Some(name) => format!("the notification service says {name}"),
        None => "the bus of the session failed".to_owned(),
    }
}

/// The name of an error that came over the bus.
fn name(error: &zbus::Error) -> Option<String> {
    if let zbus::Error::FDO(fault) = error {
        return Some(zbus::DBusError::name(fault.as_ref()).to_string());
    }
    if let zbus::Error::MethodError(name, ..) = error { Some(name.to_string()) } else { None }
}

impl Sink for Desktop {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn kind(&self) -> SinkKind {
        self.settings.kind
    }

    fn place(&self) -> String {
        "the desktop".to_owned()
    }

    fn abilities(&self) -> Abilities {
        self.settings.abilities
    }

    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome> {
        self.attempt(message).boxed()
    }

    fn acknowledged(&self) -> BoxFuture<'_, DeliveryKey> {
        async {
            match self.acknowledged.lock().await.recv().await {
                Some(key) => key,
                // A sender is kept as long as the sink, so that this is never reached.
                None => futures::future::pending().await,
            }
        }
        .boxed()
    }
}
