//! Starts the daemon for a bridge that finds none: by its systemd unit where there is one, else by
//! itself, and once however many bridges want it.
//!
//! `recalld serve --detach` is how a bridge runs the daemon: the flag makes the new process call
//! [`detach`] before anything else, so that it outlives the terminal and the process group of the
//! agent that happened to need it first. (A child cannot be given its own session from outside
//! without `unsafe`; and it must not lead a process group already, or the call fails.)

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::domain::limits::{DIAL_WAIT_MIN, LAST_WORDS_BYTES_MAX, START_WAIT, SYSTEMCTL_WAIT};

/// How to start the daemon. All paths absolute: it is started in `/`.
#[derive(Clone, Debug)]
pub struct StartSettings {
    /// The user unit to prefer; `None` where the caller named a socket, a configuration or a state
    /// directory of its own, which the unit would not know.
    pub unit: Option<UnitSettings>,
    /// The daemon's program.
    pub program: PathBuf,
    /// Its arguments: `serve --detach` and the same paths as the bridge was given.
    pub args: Vec<OsString>,
    /// Where its stderr goes, appended: `daemon.log` in the state directory.
    pub log: PathBuf,
}

/// A systemd user unit.
#[derive(Clone, Debug)]
pub struct UnitSettings {
    /// The program `systemctl`.
    pub systemctl: PathBuf,
    /// Name of the unit.
    pub name: String,
}

/// Why the daemon was not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// A file or directory could not be made or opened.
    #[error("open {path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// A program did not start.
    #[error("run {program}: {source}")]
    Run { program: PathBuf, source: io::Error },
    /// systemd could not start the unit.
    #[error(
        "`systemctl --user start {unit}` failed ({status}); see `systemctl --user status {unit}`"
    )]
    Unit { unit: String, status: String },
    /// The daemon ended at once.
    #[error("the daemon ended at once ({status}), its last words: {last_words} (see {log})")]
    Exited { status: ExitStatus, last_words: String, log: PathBuf },
    /// The daemon runs but does not answer.
    #[error("the daemon was started but did not open its socket in {} s", START_WAIT.as_secs())]
    Silent,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Started {
    /// It answers now.
    Now,
    /// Another bridge is starting it.
    ByAnother,
}

/// Puts this process into a session of its own. What `recalld serve --detach` does first.
///
/// # Errors
/// If the process leads a process group already.
pub fn detach() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Starts the daemon and waits until something listens at `socket`. A lock beside the socket lets
/// one bridge at a time do so.
pub(super) async fn start(settings: StartSettings, socket: PathBuf) -> Result<Started, StartError> {
    let path = socket.with_extension("start-lock");
    let file_error = |source| StartError::File { path: path.clone(), source };
    make_parent(&path).map_err(file_error)?;
    let lock = open_private(&path).map_err(file_error)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Started::ByAnother),
        Err(TryLockError::Error(source)) => return Err(file_error(source)),
    }
    // Held to the end: a bridge that gets it next finds the daemon there.
    let result = start_locked(&settings, &socket).await;
    drop(lock);
    result
}

async fn start_locked(settings: &StartSettings, socket: &Path) -> Result<Started, StartError> {
    if listens(socket).await {
        return Ok(Started::Now);
    }
    if let Some(unit) = &settings.unit
        && systemctl(unit, "cat", SYSTEMCTL_WAIT).await.is_ok_and(|status| status.success())
    {
        let failed = |status| StartError::Unit { unit: unit.name.clone(), status };
        match systemctl(unit, "start", START_WAIT).await {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(failed(status.to_string())),
            Err(error) => return Err(failed(error.to_string())),
        }
        return timeout(START_WAIT, until_listening(socket))
            .await
            .map_or(Err(StartError::Silent), |()| Ok(Started::Now));
    }
    let mut daemon = spawn(settings)?;
    tokio::select! {
        () = until_listening(socket) => Ok(Started::Now),
        status = daemon.wait() => Err(match status {
            Ok(status) => {
                let log = settings.log.clone();
                let last_words = last_line(&log).unwrap_or_else(|_| "nothing".to_owned());
                StartError::Exited { status, last_words, log }
            }
            Err(source) => StartError::Run { program: settings.program.clone(), source },
        }),
        () = sleep(START_WAIT) => Err(StartError::Silent),
    }
}

async fn systemctl(unit: &UnitSettings, verb: &str, wait: Duration) -> io::Result<ExitStatus> {
    let mut command = Command::new(&unit.systemctl);
    command.args(["--user", verb, &unit.name]).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // MCP clients start their servers with a filtered environment, in which systemctl would not
    // find the user's manager.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        let uid = rustix::process::geteuid().as_raw();
        command.env("XDG_RUNTIME_DIR", format!("/run/user/{uid}"));
    }
    timeout(wait, command.status()).await?
}

/// Heaps of the C library, as in the systemd units: it would make one for nearly every thread and
/// keep what each once held.
const MALLOC_ARENAS: &str = "2";

/// The last line of a log, of which at most [`LAST_WORDS_BYTES_MAX`] are read.
fn last_line(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let start = file.metadata()?.len().saturating_sub(LAST_WORDS_BYTES_MAX);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LAST_WORDS_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Ok(last.unwrap_or("nothing").to_owned())
}

fn spawn(settings: &StartSettings) -> Result<Child, StartError> {
    let file_error = |source| StartError::File { path: settings.log.clone(), source };
    make_parent(&settings.log).map_err(file_error)?;
    let log = open_private(&settings.log).map_err(file_error)?;
    Command::new(&settings.program)
        .args(&settings.args)
        .current_dir("/")
        // These are the agent's, not the daemon's.
        .env_remove("RECALLD_AGENT")
        .env_remove("RECALLD_TOKEN")
        .env_remove("NOTIFY_SOCKET")
        .env("MALLOC_ARENA_MAX", MALLOC_ARENAS)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|source| StartError::Run { program: settings.program.clone(), source })
}

fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => DirBuilder::new().recursive(true).mode(0o700).create(parent),
        None => Ok(()),
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

async fn listens(socket: &Path) -> bool {
    // A full backlog is a daemon too.
    UnixStream::connect(socket).await.map_or_else(|error| !is_absent(&error), |_| true)
}

async fn until_listening(socket: &Path) {
    while !listens(socket).await {
        sleep(DIAL_WAIT_MIN).await;
    }
}

/// Whether a failed connect means that no daemon runs there (and not that it is slow, or that we
/// may not reach it).
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
