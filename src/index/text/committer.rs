//! The thread that writes the tail to disk, and how others wake it and wait for it.

use std::path::PathBuf;
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
    RwLockWriteGuard,
};
use std::time::Duration;

use super::TextSettings;
use super::disk::{Disk, Found, Stamp, guarded};
use super::files::distrust;
use super::segments::Segments;
use super::state::State;
use crate::domain::limits::{TEXT_COMMIT_CHANGES, TEXT_RETRY, TEXT_TAIL_MAX, TEXT_TAIL_WAIT_MAX};
use crate::ports::IndexError;

/// What the index and its thread have in common. The two locks are never held together.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: RwLock<State>,
    signals: Mutex<Signals>,
    changed: Condvar,
    /// Set when what was found on the disk is open, or wiped.
    opened: OnceLock<()>,
}

#[derive(Debug, Default)]
struct Signals {
    /// Something is there to be committed.
    dirty: bool,
    /// Changes in the tail.
    n_tail: usize,
    /// The last commit failed.
    failing: bool,
    /// Somebody has waited in vain for the commit under way.
    stalled: bool,
    flushes_wanted: u64,
    flushes_done: u64,
    wipes_wanted: u64,
    wipes_done: u64,
    proofs_wanted: u64,
    proofs_done: u64,
    /// The store that is put after the last wipe.
    identity: u64,
    thread: Thread,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    Runs,
    /// It is to end after one more commit.
    Closes,
    /// There is none (any more).
    Ended,
}

impl Signals {
    fn is_ordered(&self) -> bool {
        self.proofs_wanted > self.proofs_done || self.wants_commit()
    }

    fn wants_commit(&self) -> bool {
        self.thread == Thread::Closes
            || self.flushes_wanted > self.flushes_done
            || self.wipes_wanted > self.wipes_done
    }
}

impl Shared {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, for [`TEXT_TAIL_WAIT_MAX`] at most, while commits lag so far behind that the tail is
    /// full. Nobody waits while commits fail, or again for one that stalls: the tail then holds
    /// whatever comes.
    pub(super) fn wait_for_room(&self) {
        let is_full = |s: &mut Signals| {
            let can_shrink = !s.failing && !s.stalled && s.thread == Thread::Runs;
            can_shrink && s.n_tail >= TEXT_TAIL_MAX
        };
        let (mut signals, wait) = self
            .changed
            .wait_timeout_while(self.signals(), TEXT_TAIL_WAIT_MAX, is_full)
            .unwrap_or_else(PoisonError::into_inner);
        signals.stalled |= wait.timed_out();
    }

    /// Tells the thread that there is something to commit.
    pub(super) fn changed(&self, n_tail: usize) {
        let mut signals = self.signals();
        // Everybody is woken only when somebody has a reason to look: at the first change, and when
        // there are enough for a commit.
        let wakes = !signals.dirty || n_tail >= TEXT_COMMIT_CHANGES;
        signals.dirty = true;
        signals.n_tail = n_tail;
        drop(signals);
        if wakes {
            self.changed.notify_all();
        }
    }

    /// Has everything committed that came so far, and waits for the attempt.
    pub(super) fn flush(&self) {
        let mut signals = self.signals();
        signals.flushes_wanted += 1;
        let mine = signals.flushes_wanted;
        self.wait_until(signals, |s| s.flushes_done >= mine);
    }

    /// Waits until what lies on the disk is open, or has turned out to be of no use.
    pub(super) fn wait_until_open(&self) {
        self.opened.wait();
    }

    /// Whether [`Self::wait_until_open`] would not wait.
    pub(super) fn is_open(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Has the checksums verified that are still to be, and waits for it.
    pub(super) fn prove(&self) {
        let mut signals = self.signals();
        signals.proofs_wanted += 1;
        let mine = signals.proofs_wanted;
        self.wait_until(signals, |s| s.proofs_done >= mine);
    }

    /// Has the files wiped and the state emptied for the store of this identity, and waits for it.
    pub(super) fn wipe(&self, identity: u64) {
        let mut signals = self.signals();
        signals.identity = identity;
        signals.wipes_wanted += 1;
        let mine = signals.wipes_wanted;
        self.wait_until(signals, |s| s.wipes_done >= mine);
    }

    /// Has the thread commit once more and end.
    pub(super) fn close(&self) {
        let mut signals = self.signals();
        if signals.thread == Thread::Runs {
            signals.thread = Thread::Closes;
        }
        drop(signals);
        self.changed.notify_all();
    }

    /// Says that there is no thread.
    pub(super) fn end(&self) {
        self.opened.get_or_init(|| ());
        self.signals().thread = Thread::Ended;
        self.changed.notify_all();
    }

    fn wait_until(&self, signals: MutexGuard<'_, Signals>, is_done: impl Fn(&Signals) -> bool) {
        self.changed.notify_all();
        drop(self.changed.wait_while(signals, |s| s.thread != Thread::Ended && !is_done(s)));
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a commit is due: `commit_every` after the first change (longer after a failure),
    /// or at once when many changes wait or somebody asks.
    fn wait_for_work(&self, commit_every: Duration) -> Work {
        let mut signals = self.signals();
        signals = self
            .changed
            .wait_while(signals, |s| !s.dirty && !s.is_ordered())
            .unwrap_or_else(PoisonError::into_inner);
        let pause = if signals.failing { commit_every.max(TEXT_RETRY) } else { commit_every };
        (signals, _) = self
            .changed
            .wait_timeout_while(signals, pause, |s| {
                !s.is_ordered() && (s.failing || s.n_tail < TEXT_COMMIT_CHANGES)
            })
            .unwrap_or_else(PoisonError::into_inner);
        let commits = std::mem::take(&mut signals.dirty) || signals.wants_commit();
        let work = Work {
            wipes: signals.wipes_wanted,
            wipe: (signals.wipes_wanted > signals.wipes_done).then_some(signals.identity),
            flushes: signals.flushes_wanted,
            proofs: signals.proofs_wanted,
            commits,
            closes: signals.thread == Thread::Closes,
        };
        drop(signals);
        work
    }

    /// Tells those who wait; whether a commit failed, if there was one.
    fn finished(&self, work: &Work, failed: Option<bool>) {
        let n_tail = self.read().tail.len();
        let mut signals = self.signals();
        signals.n_tail = n_tail;
        signals.failing = failed.unwrap_or(signals.failing);
        signals.stalled = false;
        signals.dirty |= failed.unwrap_or(false);
        signals.proofs_done = work.proofs;
        signals.wipes_done = work.wipes;
        signals.flushes_done = work.flushes;
        drop(signals);
        self.changed.notify_all();
    }
}

/// What the thread was woken for.
struct Work {
    wipes: u64,
    /// Wipe, for the store of this identity.
    wipe: Option<u64>,
    flushes: u64,
    proofs: u64,
    /// Commit.
    commits: bool,
    closes: bool,
}

/// The thread's own things.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) dir: PathBuf,
    pub(super) settings: TextSettings,
    /// `None`: to be opened again, after a failure.
    pub(super) disk: Option<Disk>,
}

impl Committer {
    /// Opens what is there, then commits until it is told to end.
    pub(super) fn run(mut self) {
        let _ended = Ended(Arc::clone(&self.shared));
        self.open();
        self.shared.opened.get_or_init(|| ());
        loop {
            let work = self.shared.wait_for_work(self.settings.commit_every);
            if let Some(identity) = work.wipe {
                self.wipe(identity);
            }
            // Before anything is written: a merge would give damage a checksum of its own.
            self.prove();
            let failed = work.commits.then(|| self.commit());
            self.shared.finished(&work, failed);
            if work.closes {
                self.release();
                return;
            }
        }
    }

    /// Takes over what is on the disk if it can be used, else makes an empty index there, or, if
    /// even that fails, has everything kept in RAM.
    fn open(&mut self) {
        let opened = Disk::open(&self.dir, self.settings.buffer_bytes).and_then(|found| {
            guarded(|| {
                let (disk, identity, watermark) = match found {
                    Found::Usable(disk, identity, watermark) => (*disk, identity, watermark),
                    Found::Unusable(reason) => return Ok(Err(reason)),
                };
                let segments = disk.segments(&Segments::default())?;
                let known = segments.known()?;
                let unproven = disk.is_unproven();
                let mut state = State::of(segments, known, identity, watermark);
                state.unproven = unproven;
                Ok(Ok((disk, state)))
            })
        });
        let reason = match opened {
            Ok(Ok((disk, state))) => {
                self.disk = Some(disk);
                *self.shared.write() = state;
                return;
            }
            Ok(Err(reason)) => {
                tracing::info!(reason, "text index is to be built");
                reason.to_owned()
            }
            Err(error) => {
                tracing::warn!(%error, "text index is to be rebuilt");
                error.to_string()
            }
        };
        self.create();
        self.shared.write().unusable = Some(reason);
    }

    /// Verifies the checksums that are still to be. If one is wrong nothing of the files is believed.
    fn prove(&mut self) {
        let Some(disk) = self.disk.as_mut().filter(|disk| disk.is_unproven()) else { return };
        let proven = guarded(|| disk.prove());
        if let Err(error) = &proven {
            tracing::warn!(%error, "text index is to be rebuilt");
            distrust(&self.dir);
        }
        let mut state = self.shared.write();
        state.unproven = false;
        if let Err(error) = proven {
            state.damage.get_or_insert(error.to_string());
        }
        drop(state);
    }

    fn wipe(&mut self, identity: u64) {
        self.release();
        // What came meanwhile is older than the state of the store that the rebuild will read.
        *self.shared.write() = State::empty(identity);
        self.create();
    }

    /// Lets go of the files: a merge that still ran would change them under whoever opens them next.
    fn release(&mut self) {
        if let Some(disk) = self.disk.take() {
            disk.release();
        }
    }

    fn create(&mut self) {
        match Disk::create(&self.dir, self.settings.buffer_bytes) {
            Ok(disk) => self.disk = Some(disk),
            Err(error) => {
                tracing::warn!(%error, "text index cannot be made");
                self.shared.write().failure = Some(error.to_string());
            }
        }
    }

    /// Writes the tail; the state is touched only when the changes are on disk and can be searched
    /// there. Tells whether it failed.
    fn commit(&mut self) -> bool {
        let state = self.shared.read();
        if state.damage.is_some() || state.is_lost {
            return false;
        }
        let until = state.n_changes();
        let watermark = state.complete.then_some(state.sequence);
        let stamp = Stamp { identity: state.identity, watermark };
        let writes = state.writes();
        let previous = Arc::clone(&state.segments);
        drop(state);
        let written = self.disk(&previous, stamp.identity).and_then(|mut disk| {
            let segments = guarded(|| {
                disk.commit(&writes, stamp)?;
                disk.segments(&previous)
            });
            match segments {
                Ok(segments) => Ok((disk, segments)),
                Err(error) => {
                    disk.release();
                    Err(error)
                }
            }
        });
        let mut state = self.shared.write();
        match written {
            Ok((disk, segments)) => {
                self.disk = Some(disk);
                state.committed(Arc::new(segments), until, watermark.unwrap_or_default());
                false
            }
            Err(error) => {
                tracing::warn!(%error, "text index commit failed");
                state.failure = Some(error.to_string());
                true
            }
        }
    }

    /// The open files, opened again if the last commit failed.
    fn disk(&mut self, searched: &Segments, wanted: u64) -> Result<Disk, IndexError> {
        if let Some(disk) = self.disk.take() {
            return Ok(disk);
        }
        // With nothing committed the tail holds every memory, and a new index loses none.
        if searched.is_empty() {
            return Disk::create(&self.dir, self.settings.buffer_bytes);
        }
        let opened = Disk::open(&self.dir, self.settings.buffer_bytes).and_then(|found| {
            guarded(|| match found {
                Found::Usable(mut disk, identity, _) if identity == wanted => {
                    disk.prove()?;
                    Ok(Some(*disk))
                }
                Found::Usable(..) | Found::Unusable(_) => Ok(None),
            })
        });
        let reason = match opened {
            Ok(Some(disk)) => return Ok(disk),
            Ok(None) => "its files are gone".to_owned(),
            Err(error) => error.to_string(),
        };
        self.shared.write().is_lost = true;
        Err(IndexError::Failed { arm: super::ARM, reason })
    }
}

/// Tells those who wait that the thread has ended, however it did.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}
