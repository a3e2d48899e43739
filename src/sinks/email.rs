//! Mailboxes, by SMTP. Up to the end of the mail the server has taken nothing, so each step before
//! that can be tried again; only where the last answer does not come is it unknown what became of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message as Mail};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use reqwest::Url;

use super::files;
use super::judge::SENT;
use super::mask::Mask;
use super::text::{self, Style};
use super::webhook::with_reason;
use crate::domain::address::{Reach, reach};
use crate::domain::limits::{SINK_CONNECT_WAIT, SINK_TITLE_CHARS_MAX};
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Abilities, Message, SinkKind, SinkSettings};
use crate::http::{Limits, install_crypto, read_line};
use crate::ports::{Clock, Sink};

/// Time for the goodbye to a mail server that has confirmed a mail.
const GOODBYE_WAIT: Duration = Duration::from_millis(200);

/// Mailboxes.
pub(super) struct Email {
    settings: SinkSettings,
    clock: Arc<dyn Clock>,
}

/// The mail server of the configuration.
struct Server {
    host: String,
    port: u16,
    /// Encrypted from the first byte; else after `STARTTLS`.
    is_encrypted: bool,
}

impl Email {
    pub(super) fn new(settings: SinkSettings, clock: Arc<dyn Clock>) -> Self {
        Self { settings, clock }
    }

    async fn attempt(&self, message: &Message) -> Outcome {
        install_crypto();
        let prepared = self.server().and_then(|server| Ok((server, self.mail(message)?)));
        let (server, mail) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => return Outcome::Disabled(why),
        };
        let mut mask = Mask::default();
        let timeout = self.settings.timeout / 3;
        let opening = tokio::time::timeout(timeout * 2, self.opened(&server, &mail, &mut mask));
        let outcome = match opening.await {
            Ok(Ok(mut connection)) => {
                let bytes = mail.formatted();
                let sending = tokio::time::timeout(timeout, connection.message(&bytes));
                let outcome = match sending.await {
                    Ok(result) => step(result).map_or_else(Failure::after_mail, |_| SENT),
                    Err(_) => Outcome::Unknown("did not confirm the mail in time".to_owned()),
                };
                // The mail is there or not, whatever the server says to a goodbye.
                drop(tokio::time::timeout(GOODBYE_WAIT, connection.abort()).await);
                outcome
            }
            Ok(Err(outcome)) => outcome,
            Err(_) => later("did not answer in time"),
        };
        with_reason(outcome, |why| mask.apply(&format!("{} {why}", server.host)))
    }

    /// A connection that waits for the mail itself.
    async fn opened(
        &self,
        server: &Server,
        mail: &Mail,
        mask: &mut Mask,
    ) -> Result<AsyncSmtpConnection, Outcome> {
        let mut connection = self.connected(server).await?;
        if let (Some(name), Some(file)) = (&self.settings.username, &self.settings.token_file) {
            let password = read_line(file).map_err(Outcome::Disabled)?;
            mask.add(password.reveal());
            let credentials = Credentials::new(name.clone(), password.reveal().to_owned());
            let entered = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
            step(entered).map_err(|failure| {
                failure.before_mail(|why| Outcome::Disabled(format!("refuses the login: {why}")))
            })?;
        }
        let refused = |failure: Failure| failure.before_mail(Outcome::Refused);
        let envelope = mail.envelope();
        step(connection.command(MailFrom::new(envelope.from().cloned(), Vec::new())).await)
            .map_err(refused)?;
        for to in envelope.to() {
            step(connection.command(Rcpt::new(to.clone(), Vec::new())).await).map_err(refused)?;
        }
        step(connection.command(Data).await).map_err(refused)?;
        Ok(connection)
    }

    /// A connection to an address that was checked, encrypted unless the server is this machine or one
    /// that the configuration names.
    async fn connected(&self, server: &Server) -> Result<AsyncSmtpConnection, Outcome> {
        let limits = |is_encrypted| Limits {
            is_encrypted,
            allowed: Arc::from(self.settings.allow_private.as_slice()),
            key: Arc::from(self.settings.key("allow_private")),
        };
        let found = limits(true).resolve(&server.host, server.port).await;
        let addresses: Vec<SocketAddr> = found.map_err(|why| later(&why))?;
        let wait = SINK_CONNECT_WAIT.min(self.settings.timeout / 3);
        let hello = ClientId::default();
        let tls = || {
            TlsParameters::new(server.host.clone())
                .map_err(|error| later(&format!("cannot be asked by TLS: {}", kind(&error))))
        };
        let first = if server.is_encrypted { Some(tls()?) } else { None };
        let connecting =
            AsyncSmtpConnection::connect_tokio1(&*addresses, Some(wait), &hello, first, None);
        let connected = step(connecting.await);
        let mut connection = connected.map_err(|failure| failure.before_mail(Outcome::Disabled))?;
        let is_here = addresses.iter().all(|address| reach(address.ip()) == Reach::Loopback);
        if !server.is_encrypted && !is_here {
            if connection.can_starttls() {
                let upgraded = connection.starttls(tls()?, &hello).await;
                upgraded.map_err(|error| later(&format!("fails at TLS: {}", kind(&error))))?;
            } else {
                let plain = limits(false);
                let permitted = addresses.iter().try_for_each(|address| plain.permit(address.ip()));
                permitted.map_err(Outcome::Disabled)?;
            }
        }
        Ok(connection)
    }

    fn server(&self) -> Result<Server, String> {
        let key = self.settings.key("url");
        let expected = || format!("{key}: smtps://host or smtp://host is expected");
        let url = Url::parse(self.settings.url.as_deref().unwrap_or_default());
        let url = url.map_err(|_| expected())?;
        let (is_encrypted, port) = match url.scheme() {
            "smtps" => (true, 465),
            "smtp" => (false, 587),
            _ => return Err(expected()),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(expected)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Server { host, port: url.port().unwrap_or(port), is_encrypted })
    }

    /// The mail, whose id is made of the key of the message.
    fn mail(&self, message: &Message) -> Result<Mail, String> {
        let settings = &self.settings;
        let address = |text: &str, option: &str| -> Result<Mailbox, String> {
            text.parse().map_err(|_| format!("{}: `{text}` is no address", settings.key(option)))
        };
        let from = address(settings.from.as_deref().unwrap_or_default(), "from")?;
        let domain = from.email.domain().to_owned();
        let seconds = u64::try_from(self.clock.now().as_second()).unwrap_or_default();
        let subject = text::title(message, Style::PLAIN, SINK_TITLE_CHARS_MAX);
        let mut mail = Mail::builder()
            .from(from)
            .subject(subject)
            .date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .message_id(Some(format!("<{}@{domain}>", message.key)))
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .header(ContentType::TEXT_PLAIN);
        for to in &settings.to {
            mail = mail.to(address(to, "to")?);
        }
        let body = text::body(message, Style::PLAIN, &settings.abilities);
        mail.body(body).map_err(|error| format!("write the mail: {error}"))
    }
}

/// Why a step did not go well.
enum Failure {
    /// The server says: later.
    Later(String),
    /// The server says no.
    No(String),
    /// There is no answer.
    Broken(String),
}

impl Failure {
    /// What it means before the mail itself, when nothing was taken; `no` is what a no means.
    fn before_mail(self, no: fn(String) -> Outcome) -> Outcome {
        match self {
            Self::Later(why) | Self::Broken(why) => later(&why),
            Self::No(why) => no(why),
        }
    }

    /// What it means after the mail.
    fn after_mail(self) -> Outcome {
        match self {
            Self::Later(why) => later(&why),
            Self::No(why) => Outcome::Refused(why),
            Self::Broken(why) => Outcome::Unknown(why),
        }
    }
}

/// A step. The words of a server are not passed on: they may quote the mail.
fn step<T>(result: Result<T, Error>) -> Result<T, Failure> {
    result.map_err(|error| match error.status() {
        Some(code) if error.is_transient() => Failure::Later(format!("answers {code}")),
        Some(code) => Failure::No(format!("answers {code}")),
        None => Failure::Broken(kind(&error)),
    })
}

/// What sort of failure it is, without what was read.
fn kind(error: &Error) -> String {
    if error.is_timeout() {
        "did not answer in time".to_owned()
    } else if error.is_tls() {
        "does not prove who it is".to_owned()
    } else if error.is_response() {
        "does not speak SMTP".to_owned()
    } else if error.is_client() {
        "cannot do what is needed".to_owned()
    } else {
        "broke the connection off, or cannot be reached".to_owned()
    }
}

fn later(why: &str) -> Outcome {
    Outcome::Retry { after: None, why: why.to_owned() }
}

impl Sink for Email {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn kind(&self) -> SinkKind {
        self.settings.kind
    }

    fn place(&self) -> String {
        self.server().map_or_else(|why| why, |server| server.host)
    }

    fn check(&self) -> Result<(), String> {
        self.server()?;
        self.settings.token_file.as_deref().map_or(Ok(()), |file| read_line(file).map(drop))
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
