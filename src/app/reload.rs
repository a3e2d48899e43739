//! Reloading: everything is read and checked before anything is changed, and either all of it comes
//! into force or nothing does.
//!
//! What the parts hold from their opening (files, sockets, threads, the model) stays as it was until
//! the next start; the keys of those are named, not ignored.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::engine::{outlets, service_settings};
use super::jobs;
use super::log_settings;
use super::notify::Notifier;
use super::places::{self, lines};
use super::serve::mcp_settings;
use crate::config::{BackupConfig, Config, Loaded, LogConfig, Source, Sources};
use crate::jobs::Scheduler;
use crate::mcp::{ConfigReport, McpSettings, Reloaded};
use crate::ports::Clock;
use crate::service::Service;
use crate::service::status::{PartState, PartStatus};
use crate::telemetry::Log;

/// Keys, or sections, whose change takes effect at a reload. [`in_force`] carries them over.
const LIVE: &[&str] = &[
    "store.log_keep_days",
    "embed.store_wait_ms",
    "recall.",
    "decay.",
    "contradiction.",
    "archive.",
    "retention.",
    "consolidate.eps",
    "consolidate.min_points",
    "consolidate.size_min",
    "consolidate.size_max",
    "consolidate.diameter",
    "session.",
    "extract.",
    "forget.",
    "backup.every_hours",
    "backup.keep",
    "jobs.",
    "sinks",
    "reminders.",
    "server.allow_uids",
    "server.connections_per_uid",
    "server.calls_in_flight",
    "access.",
    "log.level",
    "log.dir",
    "log.file_mb",
    "log.files_keep",
];

/// Longest time for reading the configuration and opening the log file.
const READ_WAIT: Duration = Duration::from_secs(10);

/// Where changed settings go.
pub(super) struct Reach {
    /// The use cases.
    pub(super) service: Arc<Service>,
    /// The jobs.
    pub(super) scheduler: Scheduler,
    /// The server's limits.
    pub(super) mcp: watch::Sender<McpSettings>,
    /// The whole configuration, for whoever reads it when it is needed.
    pub(super) config: watch::Sender<Arc<Config>>,
    /// The log.
    pub(super) log: Arc<Log>,
}

/// Carries out reloads, one at a time.
pub(super) struct Reloader {
    sources: Sources,
    reach: Reach,
    notifier: Arc<Notifier>,
    clock: Arc<dyn Clock>,
    /// What was read at the start: keys that need a restart are compared with it.
    started: Vec<Source>,
    state: Mutex<State>,
    turn: tokio::sync::Mutex<()>,
}

struct State {
    loaded: Loaded,
    generation: u64,
    loaded_at: Timestamp,
    needs_restart: Vec<String>,
    /// Since when the file is refused, and why the last time.
    refused: Option<(Timestamp, String)>,
}

impl Reloader {
    /// A reloader for a daemon that runs on `loaded`, which was read from `sources`.
    pub(super) fn new(
        sources: Sources,
        loaded: Loaded,
        reach: Reach,
        notifier: Arc<Notifier>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let started = loaded.sources.clone();
        let state = State {
            loaded,
            generation: 1,
            loaded_at: clock.now(),
            needs_restart: Vec::new(),
            refused: None,
        };
        let (state, turn) = (Mutex::new(state), tokio::sync::Mutex::default());
        Self { sources, reach, notifier, clock, started, state, turn }
    }

    /// Reads everything anew; puts it in force, or keeps what was and tells all that is wrong.
    pub(super) async fn reload(&self) -> Result<Reloaded, Vec<String>> {
        let _turn = self.turn.lock().await;
        self.notifier.reloading();
        let outcome = self.read_and_apply().await;
        match &outcome {
            Ok(reloaded) => tell(reloaded),
            Err(problems) => self.refuse(problems),
        }
        // Also after a failure: the daemon goes on as it was.
        self.notifier.ready();
        outcome
    }

    async fn read_and_apply(&self) -> Result<Reloaded, Vec<String>> {
        let sources = self.sources.clone();
        let old = self.state().loaded.config.clone();
        let reading = tokio::task::spawn_blocking(move || read(&sources, &old));
        let not_read = |reason: &str| vec![format!("the configuration was not read: {reason}")];
        let (loaded, config) = tokio::time::timeout(READ_WAIT, reading)
            .await
            .map_err(|_| not_read("the disk does not answer"))?
            .map_err(|error| not_read(&error.to_string()))??;
        self.reach.log.apply(&log_settings(&config)).map_err(|error| vec![error.to_string()])?;
        self.reach.service.reconfigure(service_settings(&config));
        self.reach.service.use_sinks(outlets(&config, &self.clock));
        // The loop of the reminders looks at what is due in any case.
        if let Err(error) = self.reach.service.see_to_reminders(self.clock.now()).await {
            tracing::warn!(%error, "reminders wait for the store");
        }
        self.reach.scheduler.reconfigure(jobs::settings(&config));
        self.reach.mcp.send_replace(mcp_settings(&config));
        self.reach.config.send_replace(Arc::new(config.clone()));
        let mut reloaded = self.note(loaded, config);
        // A configuration that is sound may name files that are not there.
        match self.reach.service.sink_troubles().await {
            Ok(troubles) => reloaded.warnings.extend(troubles),
            Err(error) => tracing::warn!(%error, "reminders wait for the store"),
        }
        Ok(reloaded)
    }

    /// Notes what is in force now.
    fn note(&self, loaded: Loaded, config: Config) -> Reloaded {
        let now = self.clock.now();
        let mut state = self.state();
        let mut changed = differing(&state.loaded.sources, &loaded.sources);
        // Secrets are not among what can be shown, so they are compared apart.
        if state.loaded.config.access != config.access
            && !changed.iter().any(|key| key == "access.agents")
        {
            changed.push("access.agents".to_owned());
        }
        changed.retain(|key| is_live(key));
        let mut needs_restart = differing(&self.started, &loaded.sources);
        needs_restart.retain(|key| !is_live(key));
        let warnings = loaded.warnings.clone();
        state.generation += 1;
        state.loaded_at = now;
        state.needs_restart.clone_from(&needs_restart);
        state.refused = None;
        state.loaded = Loaded { config, ..loaded };
        Reloaded { generation: state.generation, changed, needs_restart, warnings }
    }

    fn refuse(&self, problems: &[String]) {
        for problem in problems {
            tracing::error!(error = problem, "configuration refused");
        }
        let first = problems.first().cloned().unwrap_or_default();
        let more = match problems.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let reason = format!("reload failed: {first}{more}");
        self.notifier.status(&reason);
        let mut state = self.state();
        let since = state.refused.as_ref().map_or_else(|| self.clock.now(), |(since, _)| *since);
        state.refused = Some((since, reason));
    }

    /// The configuration in force.
    pub(super) fn report(&self) -> ConfigReport {
        let state = self.state();
        ConfigReport {
            generation: state.generation,
            loaded_at: state.loaded_at,
            file: state.loaded.file.as_ref().map(|path| path.display().to_string()),
            needs_restart: state.needs_restart.clone(),
        }
    }

    /// The part `config`: unwell from a failed reload to the next good one.
    pub(super) fn part(&self) -> PartStatus {
        let refused = self.state().refused.clone();
        let state = refused
            .map_or(PartState::Ok, |(since, because)| PartState::Degraded { since, because });
        PartStatus { name: "config", state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the sources say now, and what of it takes effect. Changes nothing.
fn read(sources: &Sources, old: &Config) -> Result<(Loaded, Config), Vec<String>> {
    let loaded = Config::load(sources).map_err(|problems| lines(&problems))?;
    places::check(&loaded).map_err(|problems| lines(&problems))?;
    let config = in_force(old, &loaded.config);
    Ok((loaded, config))
}

/// The new configuration as far as it takes effect without a restart, the old one for the rest.
fn in_force(old: &Config, new: &Config) -> Config {
    let mut config = old.clone();
    config.store.log_keep = new.store.log_keep;
    config.embed.store_wait = new.embed.store_wait;
    config.recall = new.recall.clone();
    config.decay = new.decay.clone();
    config.contradiction = new.contradiction;
    config.archive = new.archive;
    config.retention.clone_from(&new.retention);
    config.forget = new.forget.clone();
    config.backup = BackupConfig { dir: old.backup.dir.clone(), ..new.backup.clone() };
    config.consolidate.grouping = new.consolidate.grouping;
    config.sessions = new.sessions.clone();
    config.jobs = new.jobs.clone();
    config.sinks.clone_from(&new.sinks);
    config.reminders = new.reminders.clone();
    config.server.allow_uids.clone_from(&new.server.allow_uids);
    config.server.connections_per_uid = new.server.connections_per_uid;
    config.server.calls_in_flight = new.server.calls_in_flight;
    config.access.clone_from(&new.access);
    config.log = LogConfig { json: old.log.json, ..new.log.clone() };
    config
}

fn is_live(key: &str) -> bool {
    LIVE.iter().any(|live| if live.ends_with('.') { key.starts_with(live) } else { key == *live })
}

/// Keys whose values differ.
fn differing(old: &[Source], new: &[Source]) -> Vec<String> {
    let changed = old.iter().zip(new).filter(|(old, new)| old.value != new.value);
    changed.map(|(_, new)| new.key.clone()).collect()
}

fn tell(reloaded: &Reloaded) {
    for warning in &reloaded.warnings {
        tracing::warn!(warning, "configuration");
    }
    tracing::info!(
        generation = reloaded.generation,
        changed = reloaded.changed.join(", "),
        "configuration reloaded"
    );
    if !reloaded.needs_restart.is_empty() {
        tracing::warn!(keys = reloaded.needs_restart.join(", "), "keys need a restart");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Environment, KeyDoc, keys};

    fn load(dir: &Path, text: &str) -> Option<Config> {
        let file = dir.join("config.toml");
        std::fs::write(&file, text).unwrap();
        let environment = Environment::new([("HOME".into(), dir.into())], 1000);
        let sources = Sources { environment, config: Some(file), ..Sources::default() };
        Config::load(&sources).ok().map(|loaded| loaded.config)
    }

    /// Values that a key may have beside its default; the first that is valid is taken.
    fn others(default: &str) -> Vec<String> {
        let mut others = Vec::new();
        if let Ok(number) = default.parse::<i64>() {
            others.extend([number + 1, number - 1].map(|number| number.to_string()));
        } else if let Ok(number) = default.parse::<f64>() {
            others.push(format!("{:?}", number / 2.0));
        }
        let texts =
            ["/other", "none", "json", "debug", "http://127.0.0.1:9/v1", "0 5 * * *", "full"];
        others.extend(texts.map(|text| format!("{text:?}")));
        others.extend(
            ["true", "false", "[7]", "[{ name = \"*\", read = [], write = [] }]"]
                .map(str::to_owned),
        );
        others
    }

    #[test]
    fn a_live_key_comes_into_force_whole_and_another_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let old = load(dir.path(), "").unwrap();
        let (mut n_live, mut n_keys) = (0, 0);
        for KeyDoc { key, default, .. } in keys() {
            let changed = others(&default).into_iter().find_map(|value| {
                let changed = load(dir.path(), &format!("{key} = {value}\n"))?;
                (changed != old).then_some(changed)
            });
            // Some keys say nothing unless another one is set too.
            let Some(changed) = changed else { continue };
            let expected = if is_live(&key) { &changed } else { &old };
            assert!(in_force(&old, &changed) == *expected, "{key}");
            n_live += usize::from(is_live(&key));
            n_keys += 1;
        }
        assert!(n_live > 30 && n_keys > 40, "{n_live} of {n_keys}");
    }
}
