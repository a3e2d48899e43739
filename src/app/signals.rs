//! Signals, and what each of them asks for.
//!
//! HUP: reload. USR1: tell the state. USR2: run maintenance. TERM, INT: stop in order, a second one
//! at once. QUIT: stop at once. They coalesce and carry no answer, so each has its command too.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Read the configuration anew.
    Reload,
    /// Write the state to the log and to `status.json`.
    Report,
    /// Run maintenance.
    Maintain,
    /// Stop.
    Stop(Stop),
}

/// A signal that stops the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// Its name.
    pub(super) signal: &'static str,
    /// Whether calls in flight are answered first.
    pub(super) in_order: bool,
}

/// The signals of the daemon. None ends the process by itself any more; those that come before they
/// are asked for wait.
pub(super) struct Signals {
    hangup: Signal,
    user_1: Signal,
    user_2: Signal,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    /// A file-size limit is then an error of the write instead of the end of the process.
    _file_size: Signal,
}

impl Signals {
    /// Starts listening. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the operating system refuses a handler.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// The next request; one to stop goes before the others.
    pub(super) async fn next(&mut self) -> Request {
        tokio::select! {
            biased;
            _ = self.quit.recv() => Request::Stop(Stop { signal: "SIGQUIT", in_order: false }),
            _ = self.terminate.recv() => Request::Stop(Stop { signal: "SIGTERM", in_order: true }),
            _ = self.interrupt.recv() => Request::Stop(Stop { signal: "SIGINT", in_order: true }),
            _ = self.hangup.recv() => Request::Reload,
            _ = self.user_1.recv() => Request::Report,
            _ = self.user_2.recv() => Request::Maintain,
        }
    }

    /// The next request to stop; the others go on waiting.
    pub(super) async fn stop(&mut self) -> Stop {
        tokio::select! {
            biased;
            _ = self.quit.recv() => Stop { signal: "SIGQUIT", in_order: false },
            _ = self.terminate.recv() => Stop { signal: "SIGTERM", in_order: true },
            _ = self.interrupt.recv() => Stop { signal: "SIGINT", in_order: true },
        }
    }
}
