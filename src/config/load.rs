//! Puts the layers together: defaults, file, environment, arguments.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Access as Mode;

use super::example::{EXAMPLE, KNOWN};
use super::layer::{Layer, show};
use super::paths::{self, Chosen, Environment};
use super::problem::{Fault, Origin, Place, Problem, Problems};
use super::reader::Reader;
use super::settings::Config;
use super::variables::{Variable, variables};
use crate::domain::limits::{CONFIG_BYTES_MAX, SOCKET_PATH_BYTES_MAX};

/// What a configuration is made of, besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The environment.
    pub environment: Environment,
    /// `--config`: has to exist.
    pub config: Option<PathBuf>,
    /// `--socket`.
    pub socket: Option<PathBuf>,
    /// `--state-dir`.
    pub state_dir: Option<PathBuf>,
}

/// A valid configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// The configuration file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// The data directory.
    pub state_dir: Chosen,
    /// Where the daemon listens.
    pub socket: Chosen,
    /// Where a client looks for the daemon, in order.
    pub socket_candidates: Vec<PathBuf>,
    /// What is allowed but hardly meant.
    pub warnings: Vec<String>,
    /// Each key in the order of the example, its value and where that stands.
    pub sources: Vec<Source>,
}

/// The value in force of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Dotted key.
    pub key: String,
    /// Value as TOML on one line, secrets left out.
    pub value: String,
    /// Where it stands.
    pub place: Place,
}

impl Loaded {
    /// Where the value of a key stands.
    pub fn place(&self, key: &str) -> Place {
        let source = self.sources.iter().find(|source| source.key == key);
        source.map_or_else(|| Place::of(Origin::Default), |source| source.place.clone())
    }

    /// The data directory, if the caller named it (`--state-dir`, `RECALLD_STORE_DIR`): then no other
    /// one is meant.
    pub fn named_state_dir(&self) -> Option<&Path> {
        let is_named = match &self.state_dir.place.origin {
            Origin::Flag(_) => true,
            Origin::Variable(name) => name == "RECALLD_STORE_DIR",
            Origin::Default | Origin::File(_) => false,
        };
        is_named.then_some(self.state_dir.path.as_path())
    }
}

impl Config {
    /// Loads and validates everything; opens nothing but the configuration file.
    ///
    /// # Errors
    /// All problems there are, not only the first.
    pub fn load(sources: &Sources) -> Result<Loaded, Problems> {
        match Self::salvage(sources) {
            (Some(loaded), None) => Ok(loaded),
            (_, problems) => Err(problems.unwrap_or_else(|| Problems::new(Vec::new()))),
        }
    }

    /// What a client needs: where the daemon is. Problems elsewhere do not keep it from that and are
    /// given beside.
    ///
    /// # Errors
    /// All problems, if one of them hides where the daemon is.
    pub fn load_for_client(sources: &Sources) -> Result<(Loaded, Option<Problems>), Problems> {
        match Self::salvage(sources) {
            (Some(loaded), None) => Ok((loaded, None)),
            (Some(loaded), Some(problems)) if !hides_socket(&problems, &loaded, sources) => {
                Ok((loaded, Some(problems)))
            }
            (_, problems) => Err(problems.unwrap_or_else(|| Problems::new(Vec::new()))),
        }
    }

    /// What can be read, and what is wrong. A value that is refused counts as not given. Nothing is
    /// returned only where there is no place for the data.
    pub fn salvage(sources: &Sources) -> (Option<Loaded>, Option<Problems>) {
        let mut problems = Vec::new();
        let environment = &sources.environment;
        let file = read_file(sources, &mut problems);
        let variables = variables(environment, &mut problems);

        let mut layers = vec![EXAMPLE.clone()];
        if let Some((path, text)) = &file {
            let origin = Origin::File(path.clone());
            layers.push(Layer::parse(origin, text, &KNOWN, &mut problems));
        }
        layers.extend(variables.iter().map(Variable::layer));

        let mut reader = Reader { layers: &layers, problems, environment };
        let mut warnings = Vec::new();
        let config = Self::read(&mut reader, &mut warnings);
        let configured = |key: &str, path: &Option<PathBuf>| {
            let (path, place) = (path.clone()?, reader.place(key)?);
            Some(Chosen { path, place })
        };
        let configured = Configured {
            dir: configured("store.dir", &config.store.dir),
            socket: configured("server.socket", &config.server.socket),
        };
        let mut problems = reader.problems;
        let paths = resolve(sources, configured, &mut problems);
        let loaded = paths.map(|paths| Loaded {
            config,
            state_dir: paths.state_dir,
            socket: paths.socket,
            socket_candidates: paths.socket_candidates,
            warnings,
            sources: in_force(&layers),
            file: file.as_ref().map(|(path, _)| path.clone()),
        });
        let problems = (!problems.is_empty()).then(|| Problems::new(problems));
        (loaded, problems)
    }
}

/// Whether one of the problems keeps a client from knowing the socket that is meant.
fn hides_socket(problems: &Problems, loaded: &Loaded, sources: &Sources) -> bool {
    let chosen = &loaded.socket.place.origin;
    let is_named = match chosen {
        Origin::Flag(_) => true,
        Origin::Variable(name) => name == "RECALLD_SOCKET",
        Origin::Default | Origin::File(_) => false,
    };
    let names_file = sources.config.is_some() || sources.environment.is_set("RECALLD_CONFIG");
    problems.list().iter().any(|problem| {
        let is_socket = problem.key.as_deref() == Some("server.socket");
        let is_file = names_file && matches!(problem.fault, Fault::Unreadable(_));
        (is_socket && problem.place.origin == *chosen) || ((is_socket || is_file) && !is_named)
    })
}

/// The text of the configuration file, if there is one.
fn read_file(sources: &Sources, problems: &mut Vec<Problem>) -> Option<(PathBuf, String)> {
    let (chosen, is_named) = paths::config_file(sources.config.as_deref(), &sources.environment)?;
    let place = Place::of(Origin::File(chosen.path.clone()));
    match read_text(&chosen.path) {
        Ok(text) => return Some((chosen.path, text)),
        Err(ReadError::Io(error)) if error.kind() == ErrorKind::NotFound && !is_named => {}
        Err(ReadError::Io(error)) => {
            let named_by =
                if is_named { format!(" (named by {})", chosen.place) } else { String::new() };
            let fault = Fault::Unreadable(format!("{error}{named_by}"));
            problems.push(Problem { place, key: None, fault });
        }
        Err(ReadError::TooLong) => {
            let fault = Fault::Unreadable(format!("it is longer than {CONFIG_BYTES_MAX} bytes"));
            problems.push(Problem { place, key: None, fault });
        }
        Err(ReadError::NotText(before)) => {
            let place = Place::in_text(&place.origin, &before, before.len());
            let fault = Fault::Syntax("the text is not UTF-8".to_owned());
            problems.push(Problem { place, key: None, fault });
        }
    }
    None
}

enum ReadError {
    Io(std::io::Error),
    TooLong,
    /// The text up to the first byte that is not UTF-8.
    NotText(String),
}

fn read_text(path: &Path) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    // To open a pipe waits for ever.
    if path.metadata().map_err(ReadError::Io)?.file_type().is_fifo() {
        return Err(ReadError::Io(std::io::Error::other("it is a pipe and no file")));
    }
    let file = File::open(path).map_err(ReadError::Io)?;
    file.take(CONFIG_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() > CONFIG_BYTES_MAX {
        return Err(ReadError::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to());
        ReadError::NotText(String::from_utf8_lossy(valid.unwrap_or_default()).into_owned())
    })
}

/// Paths that the layers give.
struct Configured {
    dir: Option<Chosen>,
    socket: Option<Chosen>,
}

/// Paths in force.
struct Paths {
    state_dir: Chosen,
    socket: Chosen,
    socket_candidates: Vec<PathBuf>,
}

fn resolve(
    sources: &Sources,
    configured: Configured,
    problems: &mut Vec<Problem>,
) -> Option<Paths> {
    let Sources { environment, socket, state_dir, .. } = sources;
    let Some(state_dir) = paths::state_dir(state_dir.as_deref(), environment, configured.dir)
    else {
        problems.push(Problem::value(
            Place::of(Origin::Default),
            "store.dir",
            "a data directory: set store.dir, HOME, XDG_STATE_HOME or --state-dir",
            "none of them",
        ));
        return None;
    };
    if let Some(kernel) = paths::of_the_kernel(&state_dir.path) {
        problems.push(Problem::value(
            state_dir.place.clone(),
            "store.dir",
            "a data directory on a disk",
            format!("{}, below {kernel}, where nothing can be kept", state_dir.path.display()),
        ));
    }
    let socket_candidates = paths::socket_candidates(
        socket.as_deref(),
        environment,
        configured.socket.clone(),
        Some(&state_dir.path),
    );
    let socket = paths::server_socket(
        socket.as_deref(),
        environment,
        configured.socket,
        &state_dir.path,
        &|directory| {
            directory.is_dir()
                && rustix::fs::access(directory, Mode::WRITE_OK | Mode::EXEC_OK).is_ok()
        },
    );
    let n_bytes = socket.path.as_os_str().len();
    if n_bytes > SOCKET_PATH_BYTES_MAX {
        problems.push(Problem::value(
            socket.place.clone(),
            "server.socket",
            format!("a path of at most {SOCKET_PATH_BYTES_MAX} bytes, the limit for Unix sockets"),
            format!("{} ({n_bytes} bytes)", socket.path.display()),
        ));
    }
    Some(Paths { state_dir, socket, socket_candidates })
}

/// The value of each key that is in force.
fn in_force(layers: &[Layer<'_>]) -> Vec<Source> {
    let highest = |key: &str| {
        let mut layers = layers.iter().rev();
        layers.find_map(|layer| Some((layer, layer.leaves.get(key)?)))
    };
    let sources = KNOWN.keys.iter().filter_map(|key| Some((key, highest(key)?)));
    sources
        .map(|(key, (layer, leaf))| Source {
            key: key.clone(),
            value: show(leaf.value.get_ref()),
            place: layer.place(leaf.key.start),
        })
        .collect()
}
