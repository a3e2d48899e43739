//! What the server asks of the process around it: a reload, its state, and a sign of life for it.

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::ports::LogReport;
use crate::service::status::PartStatus;

/// The process that the server runs in.
pub trait Control: Send + Sync {
    /// Reads the whole configuration anew and puts it in force, or keeps what is in force and tells
    /// everything that is wrong.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, Vec<String>>>;

    /// How the process is.
    fn report(&self) -> ProcessReport;

    /// Takes what a look at the socket came to.
    fn note_socket(&self, look: SocketLook);

    /// Waits until the watchdog asks whether connections are still accepted, and answers it: only
    /// the loop that accepts them may wait here.
    fn asked_for_life(&self) -> BoxFuture<'_, ()>;
}

/// What a look at the file of the socket came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketLook {
    /// It is where it should be.
    InPlace,
    /// It was gone and was made again.
    MadeAgain,
    /// It is gone, and this is why it could not be made again: nobody new can connect.
    Gone(String),
}

/// What a reload did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Number of the configuration in force: 1 at the start, one more with each reload.
    pub generation: u64,
    /// Keys whose value has changed and is in force now.
    pub changed: Vec<String>,
    /// Keys whose value differs from the one in force, which only a restart changes.
    pub needs_restart: Vec<String>,
    /// What is allowed but hardly meant.
    pub warnings: Vec<String>,
}

/// How the process is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessReport {
    /// The parts `socket`, `config` and `log`.
    pub parts: Vec<PartStatus>,
    /// What a reader should know beside the parts.
    pub notes: Vec<String>,
    /// The configuration in force.
    pub config: ConfigReport,
    /// The log.
    pub log: LogReport,
    /// The watchdog, if systemd has one for this process.
    pub watchdog: Option<WatchdogReport>,
}

/// The configuration in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigReport {
    /// See [`Reloaded::generation`].
    pub generation: u64,
    /// When it was put in force.
    pub loaded_at: Timestamp,
    /// The file, if there is one.
    pub file: Option<String>,
    /// See [`Reloaded::needs_restart`].
    pub needs_restart: Vec<String>,
}

/// How the watchdog sees the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchdogReport {
    /// Time without a sign of life after which systemd ends the process, ms.
    pub limit_ms: u64,
    /// Last sign of life.
    pub last_at: Option<Timestamp>,
    /// Loops that owe one.
    pub stuck: Vec<&'static str>,
}
