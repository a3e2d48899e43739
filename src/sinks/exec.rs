//! A program that is started for each message and reads it as JSON from its standard input: never
//! through a shell, and with no word of a message among its arguments. Its exit code is the outcome
//! (those of `sysexits.h`: 75 to try again, 77 and 78 to see to it).

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use super::{files, json};
use crate::domain::reminder::Outcome;
use crate::domain::sink::{Abilities, Message, SinkKind, SinkSettings};
use crate::ports::Sink;

/// Variables of the daemon that are no business of a program it starts.
const OWN_VARIABLES: [&str; 9] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "CREDENTIALS_DIRECTORY",
    "RECALLD_TOKEN",
    "RECALLD_AGENT",
];
/// `EX_TEMPFAIL`.
const TRY_AGAIN: i32 = 75;
/// `EX_NOPERM` and `EX_CONFIG`, and what shells say of a program that is not there.
const SEE_TO_IT: [i32; 4] = [77, 78, 126, 127];

/// A program.
pub(super) struct Exec(pub(super) SinkSettings);

impl Exec {
    async fn attempt(&self, message: &Message) -> Outcome {
        let mut child = match self.start() {
            Ok(child) => child,
            Err(why) => return Outcome::Disabled(why),
        };
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let body = json::payload(message, &self.0.abilities).to_string();
        let ended = tokio::time::timeout(self.0.timeout, fed(&mut child, body.as_bytes())).await;
        match ended {
            Ok(Ok(status)) => outcome(status),
            Ok(Err(error)) => Outcome::Unknown(format!("wait for the program: {error}")),
            Err(_) => {
                if let Some(Err(error)) = group.map(|group| kill_process_group(group, Signal::KILL))
                {
                    tracing::debug!(%error, "a program and its children were gone already");
                }
                let ms = self.0.timeout.as_millis();
                Outcome::Unknown(format!("the program did not end within {ms} ms"))
            }
        }
    }

    fn start(&self) -> Result<Child, String> {
        let (program, arguments) =
            self.0.command.split_first().ok_or_else(|| self.0.key("command") + " is empty")?;
        let mut command = Command::new(program);
        for variable in OWN_VARIABLES {
            command.env_remove(variable);
        }
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().map_err(|error| format!("start {program}: {error}"))
    }
}

/// The end of a program that was given its input; whether it reads that is its own affair.
async fn fed(child: &mut Child, input: &[u8]) -> std::io::Result<ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        let feeding = async {
            // A program that closes its input early has what it wants.
            drop(stdin.write_all(input).await);
            drop(stdin);
        };
        return futures::future::join(feeding, child.wait()).await.1;
    }
    child.wait().await
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Sent { remote_id: None },
        (Some(TRY_AGAIN), _) => Outcome::Retry {
            after: None,
            why: format!("the program ended with {TRY_AGAIN}: try again"),
        },
        (Some(code), _) if SEE_TO_IT.contains(&code) => {
            Outcome::Disabled(format!("the program ended with {code}"))
        }
        (Some(code), _) => Outcome::Refused(format!("the program ended with {code}")),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            Outcome::Unknown(format!("the program was ended by signal {signal}"))
        }
    }
}

impl Sink for Exec {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn kind(&self) -> SinkKind {
        self.0.kind
    }

    fn place(&self) -> String {
        self.0.command.first().cloned().unwrap_or_default()
    }

    fn check(&self) -> Result<(), String> {
        let program = self.0.command.first().ok_or_else(|| self.0.key("command") + " is empty")?;
        let found = std::fs::metadata(program);
        found.map(drop).map_err(|error| format!("start {program}: {error}"))
    }

    fn mark(&self) -> Option<u64> {
        files::mark(&self.0)
    }

    fn abilities(&self) -> Abilities {
        self.0.abilities
    }

    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome> {
        self.attempt(message).boxed()
    }
}
