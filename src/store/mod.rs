//! The redb store: the one truth. Bytes on disk, keys, migrations, the writer thread.
//!
//! One file in one directory, held by one process. Writes go through one thread that commits in
//! groups (`writer`); reads run on snapshots that no writer holds up (`snapshot`). What one
//! request does to the tables is one file here, built of the steps of `batch`. The store reads no
//! clock and knows no policy: times, ids and limits of what may be stored come in with the request.

mod errors;
mod open;
mod refusal;
mod tables;

mod codec;
mod records;

mod indexes;

mod batch;
mod condition;
mod links;
mod presence;
mod requests;
mod reserve;
mod vectors;
mod writer;

mod apply;
mod forget;
mod log;
mod remember;
mod restore;
mod revise;
mod spaces;
mod staging;
mod usage;
mod withdraw;

mod ledger;
mod runs;
mod undo;

mod reminders;
mod sessions;

mod listing;
mod report;
mod snapshot;
mod verify;

mod migrations;

mod backup;
mod overlay;
mod transfer;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use jiff::Timestamp;
use redb::{Database, ReadableDatabase, StorageBackend};
use tokio::sync::watch;

use crate::domain::change::{
    Applied, ChangeSet, Forget, Forgotten, Remember, Remembered, Revise, Revised, UsageNote,
    VectorsFor,
};
use crate::domain::embedding::{ModelIdentity, Space, SpaceId, SpaceNote, Vector};
use crate::domain::id::MemoryId;
use crate::domain::identity::Actor;
use crate::domain::limits::SCAN_PAGE;
use crate::domain::transfer::{ExportPlace, Group, ImportOutcome};
use crate::ports::{
    CommitListener, ExportPage, Snapshot, Store, StoreError, StoreReport, StoreTrouble, Transfer,
};

pub use backup::{
    Forgets, RedbBackups, RestoreError, Restored, newest_backup, newest_kept, restore_backup,
    verify_backup,
};
pub use migrations::FORMAT_VERSION;
pub use open::{FILE_NAME, LOCK_NAME, ails};
pub use refusal::OpenError;
pub use verify::Verified;

use condition::Condition;
use errors::Result;
use presence::Presence;
use reserve::Reserve;
use snapshot::RedbSnapshot;
use writer::Writer;

/// What a store may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Page cache, bytes.
    pub cache_bytes: usize,
}

/// An open store. Closed by [`RedbStore::close`] or when dropped.
#[derive(Debug)]
pub struct RedbStore {
    location: open::Location,
    /// `None` once it is closed. Whoever begins to read holds the lock, so that closing waits.
    database: Arc<RwLock<Option<Arc<Database>>>>,
    writer: Writer,
    condition: Arc<Condition>,
}

impl RedbStore {
    /// Opens the store in `dir`, which is made if it is missing; only the owner can read it.
    ///
    /// # Errors
    /// [`OpenError`]: another process has it, it cannot be read or written, its bytes are damaged
    /// or of a newer format. A file that is refused is left as it is.
    pub fn open(
        dir: &Path,
        settings: StoreSettings,
        now: Timestamp,
    ) -> std::result::Result<Self, OpenError> {
        let (location, database) = open::open_dir(dir, settings, now)?;
        let presence = Presence::new(location.path())
            .map_err(|source| location.file_error("look at", source))?;
        Self::start(location, database, Some(presence))
    }

    /// Opens a store on `backend`, made if it is empty: for tests that make storage fail.
    ///
    /// # Errors
    /// [`OpenError`], as for [`RedbStore::open`].
    pub fn open_with_backend(
        backend: impl StorageBackend,
        settings: StoreSettings,
        now: Timestamp,
    ) -> std::result::Result<Self, OpenError> {
        let (location, database) = open::open_backend(backend, settings, now)?;
        Self::start(location, database, None)
    }

    fn start(
        location: open::Location,
        database: Database,
        presence: Option<Presence>,
    ) -> std::result::Result<Self, OpenError> {
        let database = Arc::new(database);
        let condition = Arc::new(Condition::new(presence));
        let writer = Writer::start(Arc::clone(&database), Arc::clone(&condition))
            .map_err(|source| location.file_error("start the writer thread of", source))?;
        Ok(Self { location, database: Arc::new(RwLock::new(Some(database))), writer, condition })
    }

    /// Keeps a file of so many bytes beside the store (0: none; never more than an eighth of the
    /// disk), which is given up when the disk is full. Where there is no room for it, nothing that
    /// grows is stored until there is; [`Store::trouble`] says so. Blocks.
    pub fn keep_ballast(&self, bytes: u64) {
        self.condition.keep(Reserve::new(self.location.dir(), self.location.path(), bytes));
    }

    /// Looks whether there is room on the disk (again).
    pub async fn look_for_room(&self) {
        let condition = Arc::clone(&self.condition);
        let room = snapshot::blocking(move || Ok(condition.room())).await;
        tracing::trace!(?room, "looked for room on the disk");
    }

    /// Whether the file still is at its place and as it was left; the writer looks at each commit,
    /// too. Writes nothing.
    ///
    /// # Errors
    /// [`StoreError::Gone`].
    pub async fn look_for_file(&self) -> Result<()> {
        let condition = Arc::clone(&self.condition);
        snapshot::blocking(move || condition.present()).await?;
        // Only the thread that writes can tell its own writes from those of others. While it is busy
        // it looks anyhow, and nobody has to wait for it.
        let looked = match self.writer.n_waiting() {
            0 => self.writer.write(|_| Ok(())).await,
            _ => Ok(()),
        };
        match looked {
            Err(error @ StoreError::Gone(_)) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Who learns of every commit. Only the first call counts; it comes before the first write.
    pub fn subscribe(&self, listener: Arc<dyn CommitListener>) {
        self.writer.subscribe(listener);
    }

    /// Why the store takes no more writes, once its file has failed (in a write or in a read): the
    /// process should end in order and start again.
    pub fn fatal(&self) -> Option<String> {
        self.condition.fatal()
    }

    /// Changes once, from `None` to what [`RedbStore::fatal`] gives.
    pub fn watch_fatal(&self) -> watch::Receiver<Option<String>> {
        self.condition.watch_fatal()
    }

    /// Commits since it was opened.
    pub fn n_commits(&self) -> u64 {
        self.writer.n_commits()
    }

    /// Carries out what waits, ends the writer, closes the file and lets the directory go. Blocks
    /// until then. Later calls answer [`StoreError::Closed`], those on snapshots too.
    pub fn close(&self) {
        self.writer.close();
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        // redb panics on some files that something else has altered; what it could not write when
        // it closed is what it repairs when it opens.
        let _closed_well = catch_unwind(AssertUnwindSafe(|| drop(database))).is_ok();
        self.location.unlock();
    }

    /// Proves that the tables agree with each other; for tests and maintenance.
    ///
    /// # Errors
    /// [`StoreError`] if a row cannot be read at all.
    pub async fn verify(&self) -> Result<Verified> {
        self.begin_read().await?.read(verify::verify).await
    }

    /// A snapshot of what is committed, made off the caller's thread: it may read the disk.
    async fn begin_read(&self) -> Result<RedbSnapshot> {
        let (database, condition) = (Arc::clone(&self.database), Arc::clone(&self.condition));
        let snapshot = snapshot::blocking(move || {
            let open = database.read().unwrap_or_else(PoisonError::into_inner);
            let transaction = open.as_ref().ok_or(StoreError::Closed)?.begin_read()?;
            drop(open);
            RedbSnapshot::new(transaction, condition)
        })
        .await;
        self.condition.note(&snapshot);
        snapshot
    }

    /// Repeats a step of bounded size until it finds nothing more to do, and adds up.
    async fn in_pages<F>(&self, step: F) -> Result<u64>
    where
        F: FnMut(&mut batch::Batch<'_>) -> Result<u64> + Clone + Send + 'static,
    {
        let mut total = 0;
        loop {
            let n_done = self.writer.write(step.clone()).await?;
            total += n_done;
            if n_done < SCAN_PAGE as u64 {
                return Ok(total);
            }
        }
    }
}

impl Transfer for RedbStore {
    fn export(&self, after: ExportPlace, bytes_max: usize) -> BoxFuture<'_, Result<ExportPage>> {
        Box::pin(async move {
            let snapshot = self.begin_read().await?;
            snapshot.read(move |rows| transfer::export(rows, after, bytes_max)).await
        })
    }

    fn import(
        &self,
        groups: Vec<Group>,
        actor: Actor,
        now: Timestamp,
        is_dry: bool,
    ) -> BoxFuture<'_, Result<Vec<ImportOutcome>>> {
        Box::pin(self.writer.write(move |batch| {
            let by = batch::By::new(&actor, now);
            transfer::import(batch, &groups, by, is_dry)
        }))
    }
}

impl Drop for RedbStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for RedbStore {
    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Snapshot>>> {
        Box::pin(async move { Ok(Arc::new(self.begin_read().await?) as Arc<dyn Snapshot>) })
    }

    fn remember(&self, request: Remember) -> BoxFuture<'_, Result<Vec<Remembered>>> {
        Box::pin(self.writer.write(move |batch| remember::remember(batch, &request)))
    }

    fn revise(&self, request: Revise) -> BoxFuture<'_, Result<Revised>> {
        Box::pin(self.writer.write(move |batch| revise::revise(batch, &request)))
    }

    fn apply(&self, set: ChangeSet) -> BoxFuture<'_, Result<Applied>> {
        Box::pin(self.writer.write(move |batch| apply::apply(batch, &set)))
    }

    fn forget(&self, request: Forget) -> BoxFuture<'_, Result<Forgotten>> {
        Box::pin(self.writer.write(move |batch| forget::forget(batch, &request)))
    }

    fn restore(&self, id: MemoryId, actor: Actor, now: Timestamp) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.writer.write(move |batch| restore::restore(batch, id, &actor, now)))
    }

    fn erase_due(&self, now: Timestamp) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.in_pages(move |batch| forget::erase_due(batch, now)))
    }

    fn note_usage(&self, notes: Vec<UsageNote>) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.write(move |batch| usage::note(batch, &notes)))
    }

    fn note_strengths(&self, strengths: Vec<(MemoryId, f64)>) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.write(move |batch| usage::note_strengths(batch, &strengths)))
    }

    fn attach_vectors(
        &self,
        vectors: Vec<VectorsFor>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.write(move |batch| vectors::attach_late(batch, &vectors, now)))
    }

    fn space(
        &self,
        model: ModelIdentity,
        probes: Vec<Vector>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<SpaceId>> {
        let find =
            move |batch: &mut batch::Batch<'_>| spaces::find_or_make(batch, &model, &probes, now);
        Box::pin(self.writer.write(find))
    }

    fn spaces(&self) -> BoxFuture<'_, Result<Vec<Space>>> {
        Box::pin(async move { self.begin_read().await?.read(spaces::list).await })
    }

    fn note_space(&self, id: SpaceId, note: SpaceNote) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.write(move |batch| spaces::note(batch, id, note)))
    }

    fn drop_space(&self, id: SpaceId) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.in_pages(move |batch| spaces::drop_page(batch, id)))
    }

    fn trim_log(&self, sequence: u64, before: Timestamp) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.in_pages(move |batch| log::trim(batch, sequence, before)))
    }

    fn report(&self) -> BoxFuture<'_, Result<StoreReport>> {
        Box::pin(async move {
            let mut report = self.begin_read().await?.read(report::report).await?;
            report.location = self.location.to_string();
            report.file_bytes = self.location.file_bytes();
            report.n_waiting = self.writer.n_waiting();
            Ok(report)
        })
    }

    fn trouble(&self) -> Option<StoreTrouble> {
        self.condition.trouble()
    }
}
