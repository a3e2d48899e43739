//! Whether the socket can be found at its path, as the loop that accepts connections tells of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::mcp::SocketLook;
use crate::ports::Clock;
use crate::service::status::{PartState, PartStatus};

/// What is known of the file of the socket.
pub(super) struct SocketHealth {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Since when and why nobody new can connect.
    gone: Option<(Timestamp, String)>,
    n_made_again: u64,
    made_again_at: Timestamp,
}

impl SocketHealth {
    /// A socket that was just bound.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Takes what a look came to; what is new is logged.
    pub(super) fn note_look(&self, look: SocketLook) {
        let mut state = self.state();
        match look {
            SocketLook::InPlace => state.gone = None,
            SocketLook::MadeAgain => {
                tracing::warn!("socket file was gone and is made again");
                state.gone = None;
                state.n_made_again += 1;
                state.made_again_at = self.clock.now();
            }
            SocketLook::Gone(because) => {
                let since = state.gone.as_ref().map(|(since, _)| *since);
                if since.is_none() {
                    tracing::error!(error = because, "socket file is gone");
                }
                state.gone = Some((since.unwrap_or_else(|| self.clock.now()), because));
            }
        }
    }

    /// The part `socket`.
    pub(super) fn part(&self) -> PartStatus {
        let gone = self.state().gone.clone();
        let state =
            gone.map_or(PartState::Ok, |(since, because)| PartState::Down { since, because });
        PartStatus { name: "socket", state }
    }

    /// Something that removed it may do so again.
    pub(super) fn note(&self) -> Option<String> {
        let state = self.state();
        (state.n_made_again > 0).then(|| {
            format!(
                "something removed the file of the socket: it was made again {} times, the last time \
                 at {}",
                state.n_made_again,
                state.made_again_at.strftime("%Y-%m-%dT%H:%M:%SZ")
            )
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
