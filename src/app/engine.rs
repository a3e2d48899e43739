//! The daemon without its socket: store, indexes, model and use cases, wired.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use super::llm::{self, StoreMarks};
use super::lost::LostStore;
use super::{embedder, told};
use crate::clock::{RandomIds, SystemClock};
use crate::config::Config;
use crate::domain::embedding::SpaceId;
use crate::domain::sink::{SinkKind, SinkSettings};
use crate::embed::Queue;
use crate::index::clusters::DensityClusterer;
use crate::index::{EmbeddedIndex, IndexSettings};
use crate::ports::{
    Candidates as _, Clock, EmbedError, Embedder, IndexError, Marks, Meter, ParityReport, Scorer,
    Store, Summarizer,
};
use crate::service::backup::BackupPolicy;
use crate::service::contradict::ContradictionSettings;
use crate::service::meaning::OpenSpaceError;
use crate::service::remind::{HOOK, Outlet};
use crate::service::{Ports, Service, Settings};
use crate::sinks;
use crate::store::{OpenError, RedbBackups, RedbStore, StoreSettings, newest_backup};

/// Directory of the derived indexes inside the data directory; may be deleted at any time.
pub(super) const INDEX_DIR: &str = "index";
/// Directory of the backups inside the data directory, unless the configuration names another.
const BACKUP_DIR: &str = "backups";

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The data directory.
    pub state_dir: PathBuf,
    /// The configuration.
    pub config: Config,
    /// Whether a new store is made even where there are traces of one that is missing.
    pub start_empty: bool,
}

/// Store, indexes, model and use cases of one data directory.
pub struct Engine {
    /// The use cases.
    pub service: Arc<Service>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    store: Arc<RedbStore>,
    index: Arc<EmbeddedIndex>,
    embedder: Option<Arc<Queue>>,
}

impl Engine {
    /// Opens the data directory and starts the writer, the model's thread and the text committer.
    /// Returns as soon as the store is open: call [`Engine::load`] to fill the indexes.
    ///
    /// # Errors
    /// What the store or the model's configuration says, and a store that is missing where there was
    /// one; nothing is changed then.
    pub fn open(settings: &EngineSettings, meter: Arc<dyn Meter>) -> anyhow::Result<Self> {
        let EngineSettings { state_dir, config, start_empty } = settings;
        if let Some(lost) = LostStore::look(state_dir, config).filter(|_| !start_empty) {
            anyhow::bail!("{lost}; {}", lost.advice());
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let store_settings = StoreSettings { cache_bytes: config.store.cache_bytes };
        let store = RedbStore::open(state_dir, store_settings, clock.now())
            .map_err(|error| advised(error, &backup_dir(state_dir, config)))
            .with_context(|| format!("open the store in {}", state_dir.display()))?;
        store.keep_ballast(config.store.ballast_bytes);
        let store = Arc::new(store);
        let index = open_index(state_dir, config, Arc::clone(&clock));
        store.subscribe(index.clone());
        let embedder = embedder::start(&config.embed, state_dir, Arc::clone(&clock));
        let marks = StoreMarks { store: store.clone(), clock: Arc::clone(&clock) };
        let marks: Arc<dyn Marks> = Arc::new(marks);
        let model = |config| llm::open(config, Arc::clone(&marks), Arc::clone(&clock));
        let (summarizer, scorer) = (model(&config.llm.summary), model(&config.llm.scoring));
        let service = Service::new(
            Ports {
                store: store.clone(),
                ledger: store.clone(),
                sessions: store.clone(),
                reminders: store.clone(),
                backups: Arc::new(RedbBackups::new(
                    Arc::clone(&store),
                    backup_dir(state_dir, config),
                )),
                transfer: store.clone(),
                candidates: index.clone(),
                embedder: embedder.clone().map(|queue| queue as Arc<dyn Embedder>),
                summarizer: summarizer.map(|model| model as Arc<dyn Summarizer>),
                clusterer: Arc::new(DensityClusterer { exact_max: config.consolidate.exact_max }),
                scorer: scorer.map(|model| model as Arc<dyn Scorer>),
                clock: Arc::clone(&clock),
                ids: Arc::<RandomIds>::default(),
                meter,
            },
            service_settings(config),
        );
        service.use_sinks(outlets(config, &clock));
        Ok(Self { service: Arc::new(service), clock, store, index, embedder })
    }

    /// [`Self::load_words`] and [`Self::load_meaning`] side by side.
    ///
    /// # Errors
    /// Those of either.
    pub async fn load(&self) -> anyhow::Result<Option<SpaceId>> {
        let (words, meaning) = tokio::join!(self.load_words(), self.load_meaning());
        words.context("load the text index")?;
        meaning.context("open the embedding space")
    }

    /// Fills the text index from the store, whatever the model does.
    ///
    /// # Errors
    /// Whatever the store says.
    pub async fn load_words(&self) -> Result<(), IndexError> {
        self.index.load_words(self.store.clone()).await
    }

    /// Opens the space of the model, which may take as long as the model does, and reads its vectors.
    /// `None`: meaning is switched off. May be called again, best after the model was away.
    ///
    /// # Errors
    /// Whatever the model or the store says.
    pub async fn load_meaning(&self) -> Result<Option<SpaceId>, OpenSpaceError> {
        let Some(space) = self.service.open_space().await? else { return Ok(None) };
        match self.index.load_vectors(self.store.clone(), space).await {
            Ok(()) => Ok(Some(space)),
            Err(IndexError::Store(error)) => Err(error.into()),
            Err(error) => Err(EmbedError::Failed(error.to_string()).into()),
        }
    }

    /// Tells of the first fault after which the store takes no more writes.
    pub fn watch_fatal(&self) -> tokio::sync::watch::Receiver<Option<String>> {
        self.store.watch_fatal()
    }

    /// Compares the indexes with the store and repairs what differs; `status` tells of it.
    ///
    /// # Errors
    /// Whatever the store or the index says.
    pub async fn compare_indexes(&self) -> anyhow::Result<ParityReport> {
        let compare = async {
            let snapshot = self.store.snapshot().await.context("read the store")?;
            self.index.check(&snapshot).await.context("compare the indexes with the store")
        };
        let found = compare.await;
        let told = found.as_ref().map(Clone::clone).map_err(told);
        self.service.note_comparison(told);
        found
    }

    /// Whether the text index was lost and waits to be made anew by a comparison.
    pub fn has_lost_text(&self) -> bool {
        self.index.has_lost_text()
    }

    /// Waits until a search finds that the text index is lost.
    pub async fn text_lost(&self) {
        self.index.text_lost().await;
    }

    /// Sequence number up to which every index is on disk.
    pub fn index_watermark(&self) -> u64 {
        self.index.report().text.watermark
    }

    /// The store, for upkeep.
    pub fn store(&self) -> &RedbStore {
        &self.store
    }

    /// Stops every thread in order: model, index, writer. Blocks; call it when no call is in flight.
    pub fn close(&self) {
        if let Some(embedder) = &self.embedder {
            embedder.close();
        }
        self.index.close();
        self.store.close();
    }
}

/// What cannot be opened because it is damaged, with the way out.
pub(super) fn advised(error: OpenError, backups: &Path) -> anyhow::Error {
    if !matches!(error, OpenError::Damaged { .. }) {
        return error.into();
    }
    let newest = newest_backup(backups).map_or_else(
        || format!("there is no backup in {}", backups.display()),
        |backup| format!("the newest is {} of {}", backup.path.display(), backup.created_at),
    );
    anyhow::anyhow!(
        "{error}; it was left as it is. Put a backup in its place with `recalld restore FILE`: {newest} \
         (`recalld verify FILE` proves one)"
    )
}

/// The usual place of backups.
pub(super) fn backup_dir(state_dir: &Path, config: &Config) -> PathBuf {
    config.backup.dir.clone().unwrap_or_else(|| state_dir.join(BACKUP_DIR))
}

fn open_index(state_dir: &Path, config: &Config, clock: Arc<dyn Clock>) -> Arc<EmbeddedIndex> {
    let settings = IndexSettings {
        graph_from: config.index.graph_from,
        text_commit: config.index.text_commit,
        text_buffer_bytes: config.index.text_buffer_bytes,
    };
    EmbeddedIndex::open(&state_dir.join(INDEX_DIR), settings, clock)
}

/// The sinks, as configured. None is asked anything yet.
pub(super) fn outlets(config: &Config, clock: &Arc<dyn Clock>) -> Vec<Outlet> {
    let mut all = config.sinks.clone();
    if !config.reminders.on_due.is_empty() {
        let mut hook = SinkSettings::new(HOOK, SinkKind::Exec);
        hook.command.clone_from(&config.reminders.on_due);
        all.push(hook);
    }
    all.into_iter()
        .map(|settings| Outlet {
            quiet: settings.quiet,
            zone: settings.zone.clone(),
            timeout: settings.timeout,
            sink: sinks::open(settings, Arc::clone(clock)),
        })
        .collect()
}

/// Policies and waits of the use cases, as configured.
pub(super) fn service_settings(config: &Config) -> Settings {
    Settings {
        store_wait: config.embed.store_wait,
        recall_deadline: config.recall.deadline,
        recall_limit: config.recall.limit,
        recall_tokens_max: config.recall.max_tokens,
        ranking: config.recall.ranking.clone(),
        decay: config.decay.clone(),
        archive: config.archive,
        retention: config.retention.clone(),
        contradiction: ContradictionSettings {
            is_automatic: config.contradiction.is_automatic,
            policy: config.contradiction.policy,
        },
        agent_grace: config.forget.agent_grace,
        erase_within: config.forget.erase_within,
        grouping: config.consolidate.grouping,
        sessions: config.sessions.clone(),
        summary_chars: config.llm.summary_chars * 2 / 3..=config.llm.summary_chars,
        backup: BackupPolicy { every: config.backup.every, keep: config.backup.keep },
        reminders: config.reminders.clone(),
        zone: jiff::tz::TimeZone::system(),
    }
}

/// Time until the notes of what was returned are written.
pub(super) const USAGE_FLUSH_EVERY: Duration = Duration::from_secs(5);
