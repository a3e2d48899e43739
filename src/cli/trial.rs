//! A daemon on trial: the real program in a directory of its own.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

use super::session::{CliError, WAIT};
use crate::mcp::client::{Client, Hello};

/// Time between two looks for a daemon that is starting.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Where a trial lives: data directory, socket, log.
pub(super) struct Trial {
    dir: PathBuf,
}

impl Trial {
    /// A trial in `dir`, which must exist, with this configuration file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn new(dir: &Path, config: &str) -> io::Result<Self> {
        let trial = Self { dir: dir.to_owned() };
        std::fs::write(trial.config(), config)?;
        Ok(trial)
    }

    /// The data directory.
    pub(super) fn state_dir(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// The socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.dir.join("recalld.sock")
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
            if let Ok(client) = Client::connect(&self.socket(), &Hello::owner()).await {
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
