//! A daemon on trial: the real program in a directory of its own.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::session::{CliError, WAIT};
use crate::domain::limits::SOCKET_PATH_BYTES_MAX;
use crate::mcp::client::{Client, Hello};

/// Directories of a data directory that hold installed models and the library that runs them.
const INSTALLED: [&str; 2] = ["models", "ort"];
/// Time between two looks for a daemon that is starting.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Where a trial lives: data directory, socket, log.
pub(super) struct Trial {
    dir: PathBuf,
    socket: PathBuf,
    /// Holds the socket where the path of the trial is too long for one.
    _short: Option<TempDir>,
}

/// Where a directory is made whose path is short.
const SHORT_PLACE: &str = "/tmp";
/// Name of the socket.
const SOCKET: &str = "recalld.sock";

impl Trial {
    /// A trial in `dir`, which must exist, with this configuration file.
    ///
    /// # Errors
    /// If the file cannot be written, or there is no place for a socket.
    pub(super) fn new(dir: &Path, config: &str) -> Result<Self, CliError> {
        let mut socket = dir.join(SOCKET);
        let mut short = None;
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            let made = tempfile::Builder::new().prefix("recalld-").tempdir_in(SHORT_PLACE);
            let made = made.map_err(|error| {
                CliError::Data(format!(
                    "{} is too long for a socket (at most {SOCKET_PATH_BYTES_MAX} bytes; TMPDIR \
                     names another place), and in {SHORT_PLACE} none can be made: {error}",
                    socket.display()
                ))
            })?;
            socket = made.path().join(SOCKET);
            short = Some(made);
        }
        let trial = Self { dir: dir.to_owned(), socket, _short: short };
        std::fs::write(trial.config(), config)?;
        Ok(trial)
    }

    /// Lets the trial use what is installed in another data directory: models and ONNX Runtime.
    ///
    /// # Errors
    /// If a link cannot be made.
    pub(super) fn borrow_models(&self, data_dir: &Path) -> io::Result<()> {
        std::fs::create_dir_all(self.state_dir())?;
        for name in INSTALLED {
            let (from, to) =
                (std::path::absolute(data_dir.join(name))?, self.state_dir().join(name));
            if from.is_dir() && !to.exists() {
                std::os::unix::fs::symlink(from, to)?;
            }
        }
        Ok(())
    }

    /// The data directory.
    pub(super) fn state_dir(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// The socket.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    fn config(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    /// This program with arguments, pointed at the trial; settings of the person do not reach it.
    pub(super) fn command(&self, arguments: &[&str]) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RECALLD_") {
                command.env_remove(name);
            }
        }
        command
            .arg("--config")
            .arg(self.config())
            .arg("--state-dir")
            .arg(self.state_dir())
            .arg("--socket")
            .arg(self.socket())
            .args(arguments)
            .kill_on_drop(true);
        Ok(command)
    }

    /// Starts the daemon and waits until it answers.
    ///
    /// # Errors
    /// If it ends instead, with the end of its log.
    pub(super) async fn serve(&self) -> Result<(Child, Client), CliError> {
        let log = File::options().create(true).append(true).open(self.dir.join("daemon.log"))?;
        let mut child = self
            .command(&["serve"])?
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        loop {
            if let Ok(client) = Client::connect(self.socket(), &Hello::owner()).await {
                client.initialize(WAIT).await?;
                return Ok((child, client));
            }
            if let Some(status) = child.try_wait()? {
                let log = std::fs::read_to_string(self.dir.join("daemon.log")).unwrap_or_default();
                return Err(CliError::Data(format!("the daemon ended with {status}:\n{log}")));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Asks a daemon to stop and waits for it.
///
/// # Errors
/// If the signal or the wait fails.
pub(super) async fn stop(mut child: Child) -> io::Result<()> {
    if let Some(pid) = child.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()))
    {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    }
    child.wait().await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_has_a_short_path_wherever_the_trial_is() {
        let temporary = tempfile::tempdir().unwrap();
        let short = Trial::new(temporary.path(), "").unwrap();
        assert!(short.socket().starts_with(temporary.path()), "{:?}", short.socket());
        let dir = temporary.path().join("d".repeat(SOCKET_PATH_BYTES_MAX));
        std::fs::create_dir(&dir).unwrap();
        let long = Trial::new(&dir, "").unwrap();
        std::os::unix::net::UnixListener::bind(long.socket()).unwrap();
        let place = long.socket().parent().unwrap().to_owned();
        drop(long);
        assert!(!place.exists(), "it goes with the trial");
    }
}
