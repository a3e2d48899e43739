//! Where configuration, data and socket lie: pure functions of environment, arguments and file.
//!
//! systemd's directory variables win over XDG's (systemd.exec(5), `RuntimeDirectory=`; XDG Base
//! Directory Specification 0.8, which also says that relative paths in its variables are ignored).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::problem::{Origin, Place};

/// Where the kernel shows what runs; what is mounted below does not outlive it.
const OF_THE_KERNEL: [&str; 2] = ["/proc", "/sys"];

/// The environment of a process, as an argument. Empty variables count as not set.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    euid: u32,
}

impl Environment {
    /// These variables (`std::env::vars_os()`) of a process with this effective uid.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>, euid: u32) -> Self {
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { variables, euid }
    }

    /// A variable that is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Whether a variable is set and not empty.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Names and values of the variables whose name starts with `prefix`.
    pub(super) fn starting_with(&self, prefix: &str) -> impl Iterator<Item = (&str, &OsStr)> {
        self.variables
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())))
            .filter(move |(name, _)| name.starts_with(prefix))
    }

    /// The absolute path in a variable.
    fn directory(&self, name: &'static str) -> Option<(PathBuf, &'static str)> {
        let path = PathBuf::from(self.get(name)?);
        path.is_absolute().then_some((path, name))
    }

    /// The first absolute path of a list joined by colons, as systemd gives them.
    fn systemd_directory(&self, name: &'static str) -> Option<(PathBuf, &'static str)> {
        let first = self.get(name)?.as_bytes().split(|byte| *byte == b':').next()?;
        let path = PathBuf::from(OsStr::from_bytes(first));
        path.is_absolute().then_some((path, name))
    }

    /// The home directory.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.directory("HOME").map(|(path, _)| path)
    }

    /// Where systemd puts the credentials of the service (systemd.exec(5), `LoadCredential=`); outside
    /// of it nothing lies there.
    pub(super) fn credentials(&self) -> PathBuf {
        let given = self.directory("CREDENTIALS_DIRECTORY").map(|(path, _)| path);
        given.unwrap_or_else(|| PathBuf::from("/run/credentials/recalld.service"))
    }

    /// The address of the bus of the user's session.
    pub(super) fn session_bus(&self) -> String {
        let given = self.get("DBUS_SESSION_BUS_ADDRESS").and_then(OsStr::to_str);
        if let Some(address) = given.filter(|address| address.starts_with("unix:")) {
            return address.to_owned();
        }
        let runtime = self.directory("XDG_RUNTIME_DIR").map(|(path, _)| path);
        let runtime = runtime.unwrap_or_else(|| format!("/run/user/{}", self.euid).into());
        format!("unix:path={}", runtime.join("bus").display())
    }

    /// `$variable/below`, else `$HOME/beside/below`.
    fn xdg(&self, variable: &'static str, beside: &str, below: &str) -> Option<Chosen> {
        let (base, name) = self
            .directory(variable)
            .or_else(|| self.directory("HOME").map(|(home, name)| (home.join(beside), name)))?;
        Some(Chosen::variable(base.join(below), name))
    }
}

/// A path, and what chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The path.
    pub path: PathBuf,
    /// What chose it.
    pub place: Place,
}

impl Chosen {
    fn variable(path: PathBuf, name: &str) -> Self {
        Self { path, place: Place::of(Origin::Variable(name.to_owned())) }
    }

    fn flag(path: &Path, flag: &'static str) -> Self {
        Self { path: path.to_owned(), place: Place::of(Origin::Flag(flag)) }
    }

    fn default(path: PathBuf) -> Self {
        Self { path, place: Place::of(Origin::Default) }
    }
}

/// The configuration file, and whether somebody named it: then it has to exist.
pub fn config_file(flag: Option<&Path>, environment: &Environment) -> Option<(Chosen, bool)> {
    let named = flag.map(|path| Chosen::flag(path, "--config")).or_else(|| {
        let path = environment.get("RECALLD_CONFIG")?;
        Some(Chosen::variable(path.into(), "RECALLD_CONFIG"))
    });
    if let Some(named) = named {
        return Some((named, true));
    }
    environment
        .systemd_directory("CONFIGURATION_DIRECTORY")
        .map(|(path, name)| Chosen::variable(path.join("config.toml"), name))
        .or_else(|| environment.xdg("XDG_CONFIG_HOME", ".config", "recalld/config.toml"))
        .map(|chosen| (chosen, false))
}

/// The data directory; `None` if nothing says where (no home directory).
pub fn state_dir(
    flag: Option<&Path>,
    environment: &Environment,
    configured: Option<Chosen>,
) -> Option<Chosen> {
    flag.map(|path| Chosen::flag(path, "--state-dir"))
        .or_else(|| {
            let (path, name) = environment.systemd_directory("STATE_DIRECTORY")?;
            Some(Chosen::variable(path, name))
        })
        .or(configured)
        .or_else(|| environment.xdg("XDG_STATE_HOME", ".local/state", "recalld"))
}

/// The directory of the kernel's own that `path` lies below, by whatever name, if it does.
pub(super) fn of_the_kernel(path: &Path) -> Option<&'static str> {
    let there = path.ancestors().find_map(|path| path.canonicalize().ok())?;
    OF_THE_KERNEL.into_iter().find(|kernel| there.starts_with(kernel))
}

/// A place for the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    chosen: Chosen,
    /// A directory that the daemon does not make itself: the candidate counts only if it is there.
    needs: Option<PathBuf>,
}

/// Where the daemon listens: the first place that can be used. `is_usable` tells whether a
/// directory exists and can be written to.
pub fn server_socket(
    flag: Option<&Path>,
    environment: &Environment,
    configured: Option<Chosen>,
    state_dir: &Path,
    is_usable: &dyn Fn(&Path) -> bool,
) -> Chosen {
    candidates(flag, environment, configured, Some(state_dir))
        .into_iter()
        .find(|candidate| candidate.needs.as_deref().is_none_or(is_usable))
        .map_or_else(|| in_state_dir(state_dir), |candidate| candidate.chosen)
}

/// Where a client looks for the daemon, in order; the first socket that exists is the one. What
/// somebody named (argument, `RECALLD_SOCKET`, configuration) is the only place.
pub fn socket_candidates(
    flag: Option<&Path>,
    environment: &Environment,
    configured: Option<Chosen>,
    state_dir: Option<&Path>,
) -> Vec<PathBuf> {
    candidates(flag, environment, configured, state_dir)
        .into_iter()
        .map(|candidate| candidate.chosen.path)
        .collect()
}

fn candidates(
    flag: Option<&Path>,
    environment: &Environment,
    configured: Option<Chosen>,
    state_dir: Option<&Path>,
) -> Vec<Candidate> {
    let named = flag
        .map(|path| Chosen::flag(path, "--socket"))
        .or_else(|| {
            let path = environment.get("RECALLD_SOCKET")?;
            Some(Chosen::variable(path.into(), "RECALLD_SOCKET"))
        })
        .or(configured);
    if let Some(chosen) = named {
        return vec![Candidate { chosen, needs: None }];
    }
    let free = |chosen| Candidate { chosen, needs: None };
    let mut candidates = Vec::new();
    if let Some((path, name)) = environment.systemd_directory("RUNTIME_DIRECTORY") {
        candidates.push(free(Chosen::variable(path.join("recalld.sock"), name)));
    }
    if let Some((path, name)) = environment.directory("XDG_RUNTIME_DIR") {
        candidates.push(free(Chosen::variable(path.join("recalld/recalld.sock"), name)));
    }
    let of_user = PathBuf::from(format!("/run/user/{}", environment.euid));
    candidates.push(Candidate {
        chosen: Chosen::default(of_user.join("recalld/recalld.sock")),
        needs: Some(of_user),
    });
    candidates.push(Candidate {
        chosen: Chosen::default(PathBuf::from("/run/recalld/recalld.sock")),
        needs: Some(PathBuf::from("/run/recalld")),
    });
    candidates.extend(state_dir.map(|path| free(in_state_dir(path))));
    let mut seen = BTreeSet::new();
    candidates.retain(|candidate| seen.insert(candidate.chosen.path.clone()));
    candidates
}

fn in_state_dir(state_dir: &Path) -> Chosen {
    Chosen::default(state_dir.join("run/recalld.sock"))
}
