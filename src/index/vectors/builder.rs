//! The one thread that builds graphs: niced, and only while nobody searches or writes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use super::VectorIndex;

/// Quiet time before a build starts or goes on.
const IDLE: Duration = Duration::from_secs(1);
/// How often the thread looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The lowest priority there is.
const NICE: i32 = 19;

/// Handle of the thread; dropping it ends the thread.
#[derive(Default)]
pub(super) struct Builder {
    running: Mutex<Option<(SyncSender<()>, JoinHandle<()>)>>,
}

impl Builder {
    /// Starts the thread. Without one (the system has no thread left) searches go on by scan.
    pub(super) fn start(&self, index: &Arc<VectorIndex>) {
        let (sender, stop) = sync_channel(1);
        let index = Arc::downgrade(index);
        let thread = std::thread::Builder::new()
            .name("vector-graphs".to_owned())
            .spawn(move || run(&index, &stop));
        match thread {
            Ok(thread) => *self.lock() = Some((sender, thread)),
            Err(error) => tracing::warn!(%error, "graphs will not be built: no thread"),
        }
    }

    /// Ends the thread, in the middle of a build if need be, and waits for it.
    pub(super) fn stop(&self) {
        let running = self.lock().take();
        if let Some((sender, thread)) = running {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("the thread that builds graphs had panicked");
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(SyncSender<()>, JoinHandle<()>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for due graphs until the sender of `stop` is gone.
fn run(index: &Weak<VectorIndex>, stop: &Receiver<()>) {
    // On Linux the priority is that of this thread alone.
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::warn!(%error, "graphs are built at normal priority");
    }
    while stop.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let Some(index) = index.upgrade() else { return };
        while index.is_idle_for(IDLE)
            && let Some(namespace) = index.due()
        {
            if !index.build(namespace, &|| waits_for_quiet(&index, stop)) {
                return;
            }
        }
    }
}

/// Returns true when nobody needs the processor, false when the thread must end.
fn waits_for_quiet(index: &VectorIndex, stop: &Receiver<()>) -> bool {
    if stop.try_recv() == Err(TryRecvError::Disconnected) {
        return false;
    }
    while !index.is_idle_for(IDLE) {
        if stop.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Disconnected) {
            return false;
        }
    }
    true
}
