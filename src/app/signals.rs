//! Signals: TERM and INT stop in order, a second one at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The two signals that stop the daemon.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    /// A file-size limit is then an error of the write instead of the end of the process.
    _file_size: Signal,
}

impl StopSignals {
    /// Starts listening; from now on neither signal ends the process by itself.
    ///
    /// # Errors
    /// If the operating system refuses the handler.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// The name of the next signal.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
