//! `recalld doctor`: what only the composition root knows, before the look from outside.

use std::path::Path;
use std::process::ExitCode;

use super::embedder::{RUNTIME_DIR, models_dir, places as runtime_places};
use super::engine::{INDEX_DIR, advised, backup_dir};
use super::lost::LostStore;
use super::places::{check as check_places, lines};
use crate::cli::doctor::{DataPlaces, Finding, MODEL_SETTING, Premises, ShippedUnit};
use crate::cli::{self, Arguments};
use crate::config::{self, Config, EmbedModel, Loaded, Origin, Problems, Sources};
use crate::embed::files::{self, FilesError};
use crate::embed::{catalogue, runtime};
use crate::store::{self, StoreSettings};

/// The units that belong to this version.
const UNITS: &[ShippedUnit] = &[
    ShippedUnit {
        for_user: true,
        name: "recalld.service",
        text: include_str!("../../systemd/user/recalld.service"),
    },
    ShippedUnit {
        for_user: false,
        name: "recalld.service",
        text: include_str!("../../systemd/system/recalld.service"),
    },
    ShippedUnit {
        for_user: true,
        name: "recalld.socket",
        text: include_str!("../../systemd/user/recalld.socket"),
    },
    ShippedUnit {
        for_user: false,
        name: "recalld.socket",
        text: include_str!("../../systemd/system/recalld.socket"),
    },
];

/// Looks at everything; a configuration that cannot be read is one of the findings.
pub(super) fn doctor(arguments: &Arguments, sources: &Sources) -> ExitCode {
    let (loaded, problems) = Config::salvage(sources);
    let mut premises = match &loaded {
        Some(loaded) => premises(loaded, problems.as_ref()),
        None => premises_without(sources, problems.as_ref()),
    };
    premises.timeout = arguments.timeout;
    cli::examine(&premises, arguments.json)
}

fn premises(loaded: &Loaded, problems: Option<&Problems>) -> Premises {
    let (mut findings, weights_hash) = if let Some(problems) = problems {
        (vec![refused(problems)], None)
    } else {
        let (model, weights_hash) = model(loaded);
        (vec![configuration(loaded), model], weights_hash)
    };
    findings.extend(lost(&loaded.state_dir.path, &loaded.config));
    findings.extend(ailing(&loaded.state_dir.path, &loaded.config));
    Premises {
        timeout: None,
        findings,
        data: Some(places(&loaded.state_dir.path, &loaded.config)),
        sockets: loaded.socket_candidates.clone(),
        units: UNITS.to_vec(),
        memory_bytes: memory_bytes(loaded),
        weights_hash,
    }
}

fn refused(problems: &Problems) -> Finding {
    let advice =
        "correct it; until then no daemon starts with it, and one that runs keeps what it has";
    Finding::down("configuration", problems.to_string(), advice)
}

/// Without a place for the data.
fn premises_without(sources: &Sources, problems: Option<&Problems>) -> Premises {
    let Sources { environment, socket, .. } = sources;
    Premises {
        timeout: None,
        findings: problems.map(refused).into_iter().collect(),
        data: None,
        sockets: config::socket_candidates(socket.as_deref(), environment, None, None),
        units: UNITS.to_vec(),
        ..Premises::default()
    }
}

/// A store that is missing where there was one.
fn lost(state_dir: &Path, config: &Config) -> Option<Finding> {
    let lost = LostStore::look(state_dir, config)?;
    Some(Finding::down("lost store", lost.to_string(), lost.advice()))
}

/// A store that no daemon has open, and that none would open.
fn ailing(state_dir: &Path, config: &Config) -> Option<Finding> {
    let settings = StoreSettings { cache_bytes: config.store.cache_bytes };
    let error = advised(store::ails(state_dir, settings)?, &backup_dir(state_dir, config));
    let advice = "do what it says; `recalld serve` would refuse to start";
    Some(Finding::down("store", error.to_string(), advice))
}

fn places(dir: &Path, config: &Config) -> DataPlaces {
    DataPlaces {
        dir: dir.to_owned(),
        store: dir.join(store::FILE_NAME),
        lock: dir.join(store::LOCK_NAME),
        beside: vec![("index", dir.join(INDEX_DIR)), ("backups", backup_dir(dir, config))],
    }
}

fn configuration(loaded: &Loaded) -> Finding {
    let part = "configuration";
    let file = match &loaded.file {
        Some(path) => path.display().to_string(),
        None => "no file".to_owned(),
    };
    let is_set = |source: &&config::Source| source.place.origin != Origin::Default;
    let n_set = loaded.sources.iter().filter(is_set).count();
    let detail = format!("{file}, {n_set} of {} keys set", loaded.sources.len());
    let mut remarks = loaded.warnings.clone();
    if let Err(problems) = check_places(loaded) {
        remarks.extend(lines(&problems));
    }
    if remarks.is_empty() {
        return Finding::ok(part, detail);
    }
    let detail = format!("{detail}\n{}", remarks.join("\n"));
    Finding::degraded(part, detail, "`recalld check-config` shows what is in force and why")
}

/// The configured model, and the hash of its weights if it has files.
fn model(loaded: &Loaded) -> (Finding, Option<String>) {
    let part = MODEL_SETTING;
    let finding = match &loaded.config.embed.model {
        EmbedModel::None => Finding::off(part, "`embed.model` is none: search is by words alone"),
        EmbedModel::Bundled => {
            Finding::ok(part, "bundled: it is part of this program and needs no download")
        }
        EmbedModel::Endpoint => Finding::ok(
            part,
            "endpoint: whether it answers is shown by the part `model` of `recalld status`",
        ),
        EmbedModel::Installed(name) => return installed(part, name, loaded),
        EmbedModel::Seeded => {
            Finding::off(part, "seeded: vectors without meaning, for tests of scale")
        }
    };
    (finding, None)
}

/// Memory that the daemon needs with an installed model we know, bytes; the units are sized for the
/// bundled one.
fn memory_bytes(loaded: &Loaded) -> Option<u64> {
    let EmbedModel::Installed(name) = &loaded.config.embed.model else { return None };
    let hub = catalogue::named(name)?.hub.as_ref()?;
    Some((MEMORY_MB + u64::from(hub.memory_mb)) << 20)
}

/// What the daemon itself needs at 100,000 memories, MB: the aim that its other parts are held to.
const MEMORY_MB: u64 = 400;

/// An installed model: its files, and the library that runs them.
fn installed(part: &'static str, name: &str, loaded: &Loaded) -> (Finding, Option<String>) {
    let manifest = match files::glance(&models_dir(&loaded.state_dir.path), name) {
        Ok(model) => model.manifest,
        Err(error) => {
            let advice = if let FilesError::Damaged { remedy, .. } = &error {
                format!("{remedy}, then start the daemon again")
            } else {
                format!("run `recalld model use {name}`")
            };
            return (Finding::down(part, error.to_string(), advice), None);
        }
    };
    let finding = match runtime::open(&runtime_places(loaded)) {
        Ok(runtime) => {
            let (version, path) = (runtime.version(), runtime.path.display());
            let mb = manifest.n_bytes() / 1_000_000;
            Finding::ok(part, format!("{name}, {mb} MB, on ONNX Runtime {version} ({path})"))
        }
        Err(error) => {
            let dir = loaded.state_dir.path.join(RUNTIME_DIR);
            Finding::down(part, error.to_string(), runtime::how_to_get(Some(&dir)))
        }
    };
    (finding, Some(manifest.weights_hash))
}
