//! `recalld model`: which models there are, fetching and importing them, choosing one.
//!
//! These commands work on the data directory beside the daemon, which reads a model only when it
//! starts. A choice is written into the configuration last, after the model has shown that it works.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::embedder::{models_dir, places};
use crate::cli::{self, Door, ImportArguments, ModelCommand, Usage};
use crate::config::{self, EmbedModel, Loaded, Sources};
use crate::domain::embedding::Scripts;
use crate::embed::catalogue::{self, Row};
use crate::embed::files::{self, FilesError, Import, Manifest};
use crate::embed::{bundled, runtime};

/// Carries out a command.
pub(super) fn run(
    command: &ModelCommand,
    loaded: &Loaded,
    sources: &Sources,
    door: &Door,
) -> anyhow::Result<ExitCode> {
    match command {
        ModelCommand::List => list(loaded, door),
        ModelCommand::Use { name } => choose(name, loaded, sources)?,
        ModelCommand::Import(what) => import(what, loaded)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of the list.
struct Entry {
    name: String,
    state: &'static str,
    dimension: usize,
    languages: String,
    scripts: Scripts,
    licence: String,
    download_mb: u64,
    memory_mb: Option<u32>,
}

/// Which models have a part to play.
struct Roles<'a> {
    /// The one that configuration names: the next start takes it.
    configured: &'a str,
    /// The one that the running daemon has loaded, if one runs and has one.
    in_use: Option<String>,
    has_daemon: bool,
}

impl<'a> Roles<'a> {
    fn find(loaded: &'a Loaded, door: &Door) -> Self {
        let running = cli::running_model(door);
        let has_daemon = running.is_some();
        let bundled = |name: &String| *name == bundled::identity().name;
        let in_use = running.flatten().map(|name| {
            if bundled(&name) { EmbedModel::Bundled.as_str().to_owned() } else { name }
        });
        Self { configured: loaded.config.embed.model.as_str(), in_use, has_daemon }
    }

    fn is_in_use(&self, name: &str) -> bool {
        self.in_use.as_deref() == Some(name)
    }

    /// What is said of a model beside its state.
    fn of(&self, name: &str) -> &'static str {
        match (name == self.configured, self.is_in_use(name)) {
            (true, true) => ", configured, in use",
            (true, false) => ", configured",
            (false, true) => ", in use",
            (false, false) => "",
        }
    }
}

fn list(loaded: &Loaded, door: &Door) {
    let json = door.json;
    let roles = Roles::find(loaded, door);
    let Roles { configured, in_use, has_daemon } = &roles;
    let entries = entries(&files::list(&models_dir(loaded.state_dir.path.as_path())));
    if json {
        let models: Vec<Value> = entries.iter().map(|entry| as_json(entry, &roles)).collect();
        let answer = json!({
            "models": models, "configured": configured, "in_use": in_use, "daemon": has_daemon,
        });
        cli::say(&format!("{answer:#}"));
        return;
    }
    let mut table =
        cli::table(&["model", "state", "languages", "dimension", "size", "memory", "licence"]);
    for entry in &entries {
        let memory = entry.memory_mb.map_or(String::new(), |mb| format!("{mb} MB"));
        table.add_row([
            entry.name.clone(),
            format!("{}{}", entry.state, roles.of(&entry.name)),
            entry.languages.clone(),
            entry.dimension.to_string(),
            format!("{} MB", entry.download_mb),
            memory,
            entry.licence.clone(),
        ]);
    }
    cli::say(&table.to_string());
    let in_use = match (has_daemon, in_use) {
        (false, _) => "none (no daemon answers)",
        (true, None) => "none (the daemon has loaded none)",
        (true, Some(name)) => name,
    };
    cli::say(&format!("configured: {configured}; in use: {in_use}"));
    cli::say("`recalld model use NAME` fetches a model and chooses it");
}

fn as_json(entry: &Entry, roles: &Roles<'_>) -> Value {
    let scripts: Vec<String> =
        entry.scripts.iter().map(|script| script.to_string().to_lowercase()).collect();
    json!({
        "name": entry.name,
        "state": entry.state,
        "configured": entry.name == roles.configured,
        "in_use": roles.is_in_use(&entry.name),
        "dimension": entry.dimension,
        "languages": entry.languages,
        "scripts": scripts,
        "licence": entry.licence,
        "size_mb": entry.download_mb,
        "memory_mb": entry.memory_mb,
    })
}

fn entries(installed: &[Manifest]) -> Vec<Entry> {
    let mut entries = vec![Entry {
        name: "bundled".to_owned(),
        state: "part of recalld",
        dimension: bundled::identity().dimension,
        languages: "English".to_owned(),
        scripts: bundled::identity().scripts,
        licence: "Apache-2.0".to_owned(),
        download_mb: 0,
        memory_mb: None,
    }];
    entries.extend(catalogue::rows().iter().filter_map(|row| {
        let hub = row.hub.as_ref()?;
        let there = installed.iter().find(|manifest| manifest.name == row.name);
        Some(Entry {
            name: row.name.to_owned(),
            state: if there.is_some() { "installed" } else { "to be fetched" },
            dimension: row.dimension,
            languages: row.languages_shown.to_owned(),
            scripts: there.map_or(row.scripts, |manifest| manifest.scripts),
            licence: row.licence.to_owned(),
            download_mb: there.map_or(u64::from(hub.download_mb), megabytes),
            memory_mb: Some(hub.memory_mb),
        })
    }));
    let others = installed.iter().filter(|manifest| catalogue::named(&manifest.name).is_none());
    entries.extend(others.map(|manifest| Entry {
        name: manifest.name.clone(),
        state: "installed",
        dimension: manifest.dimension,
        languages: manifest.scripts.to_string(),
        scripts: manifest.scripts,
        licence: String::new(),
        download_mb: megabytes(manifest),
        memory_mb: None,
    }));
    entries
}

fn megabytes(manifest: &Manifest) -> u64 {
    manifest.n_bytes().div_ceil(1_000_000)
}

/// Installs the model if need be, sees that it works, and names it in the configuration.
fn choose(name: &str, loaded: &Loaded, sources: &Sources) -> anyhow::Result<()> {
    let place = config::config_file(sources.config.as_deref(), &sources.environment);
    let (place, _) = place.context("no place for a configuration file: set HOME or --config")?;
    let file = place.path;
    if sources.environment.is_set("RECALLD_EMBED_MODEL") {
        bail!(
            "RECALLD_EMBED_MODEL is set and would win over the configuration file: unset it first"
        );
    }
    match name {
        "bundled" | "none" => {}
        "endpoint" => {
            let endpoint = &loaded.config.embed.endpoint;
            if endpoint.url.is_none() || endpoint.model.is_empty() {
                bail!("set `url` and `model` in [embed.endpoint] of {} first", file.display());
            }
        }
        _ => install(name, loaded)?,
    }
    config::set_text(&file, "embed", "model", name)?;
    cli::say(&format!("{} says now: embed.model = \"{name}\"", file.display()));
    cli::say(
        "Restart the daemon to use it (`systemctl --user restart recalld`). It then embeds what it \
         holds anew, in the background; meanwhile memories are found by their words, and `recalld \
         status` shows how far it is.",
    );
    Ok(())
}

/// Opens an installed model, or fetches it.
fn install(name: &str, loaded: &Loaded) -> anyhow::Result<()> {
    let dir = models_dir(&loaded.state_dir.path);
    let (places, n_threads) = (places(loaded), loaded.config.embed.threads);
    let installed = if files::is_installed(&dir, name) {
        files::check(&dir, name, &places, n_threads)?
    } else {
        let Some(row) = catalogue::named(name) else { bail!(Usage(unknown(name))) };
        // Before a long download: what it would be good for is there.
        runtime::open(&places)?;
        announce(row, &dir);
        files::fetch(&dir, row, &places, n_threads)?
    };
    cli::say(&format!("{name} is installed and works ({} numbers)", installed.dimension));
    Ok(())
}

/// Whose fault it is that a model cannot be installed.
fn told(error: FilesError) -> anyhow::Error {
    if matches!(error, FilesError::Name(_) | FilesError::Argument(_)) {
        return Usage(error.to_string()).into();
    }
    error.into()
}

fn announce(row: &Row, dir: &Path) {
    let Some(hub) = &row.hub else { return };
    let how = if std::io::stderr().is_terminal() { "" } else { ", which may take a while" };
    cli::say(&format!(
        "fetching {} ({} MB, {}) into {}{how}",
        row.name,
        hub.download_mb,
        row.licence,
        dir.display()
    ));
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> =
        catalogue::rows().iter().filter(|row| row.hub.is_some()).map(|row| row.name).collect();
    format!(
        "no model is called `{name}` (known: bundled, none, endpoint, {}; your own: `recalld model \
         import DIR --name {name}`)",
        known.join(", ")
    )
}

fn import(what: &ImportArguments, loaded: &Loaded) -> anyhow::Result<()> {
    let import = Import {
        dir: what.dir.clone(),
        name: what.name.clone(),
        query_prefix: what.query_prefix.clone(),
        document_prefix: what.document_prefix.clone(),
        pooling: what.pooling.clone(),
        tokens_max: what.max_tokens,
        languages: what.languages.clone(),
    };
    let dir = models_dir(&loaded.state_dir.path);
    let installed =
        files::import(&dir, &import, &places(loaded), loaded.config.embed.threads).map_err(told)?;
    let Manifest { name, dimension, tokens_max, query_prefix, document_prefix, .. } = &installed;
    cli::say(&format!(
        "{name} is installed and works: {dimension} numbers, {tokens_max} tokens, {} pooling, before \
         a query {query_prefix:?}, before a document {document_prefix:?}, reads {}\nchoose it with \
         `recalld model use {name}`",
        installed.pooling.as_str(),
        installed.scripts
    ));
    Ok(())
}
