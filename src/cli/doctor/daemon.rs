//! What the daemon says of itself, if there is one.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{DataPlaces, Finding, Premises};
use crate::cli::session::call_on;
use crate::cli::show::text;
use crate::clock::SystemClock;
use crate::mcp::client::{Client, ClientError, Hello};
use crate::ports::Clock as _;

/// Longest wait for an answer; a sound daemon needs some milliseconds.
const WAIT: Duration = Duration::from_secs(5);

/// How the attempt to reach the daemon went.
#[derive(Debug)]
pub(super) enum Contact {
    /// It answers.
    Answers {
        /// Where.
        socket: PathBuf,
        /// Time from the first byte to the end of its answer.
        elapsed: Duration,
        /// What it says of itself.
        status: Value,
    },
    /// There is something at this place that does not answer.
    Dead {
        /// Where.
        socket: PathBuf,
        /// Why not.
        because: String,
        /// What to do.
        advice: String,
    },
    /// There is nothing.
    Absent {
        /// Where it was looked for.
        sockets: Vec<PathBuf>,
    },
}

/// Asks at the first socket that is there, and waits so long, else for [`WAIT`].
pub(super) async fn reach(sockets: &[PathBuf], wait: Option<Duration>) -> Contact {
    let wait = wait.unwrap_or(WAIT);
    let mut dead = None;
    for socket in sockets.iter().filter(|path| fs::symlink_metadata(path).is_ok()) {
        match ask(socket, wait).await {
            Ok(answers) => return answers,
            Err((because, advice)) => {
                dead.get_or_insert(Contact::Dead { socket: socket.clone(), because, advice });
            }
        }
    }
    dead.unwrap_or_else(|| Contact::Absent { sockets: sockets.to_vec() })
}

async fn ask(socket: &Path, wait: Duration) -> Result<Contact, (String, String)> {
    let clock = SystemClock::new();
    let connected = Client::connect(socket, &Hello::owner()).await;
    let client = connected.map_err(|error| why(&error, socket))?;
    let asked = async {
        client.initialize(wait).await?;
        call_on(&client, "memory_status", json!({})).await
    };
    let hangs = "it hangs or is overloaded: look at its log, and start it again if it stays so";
    match tokio::time::timeout(wait, asked).await {
        Ok(Ok(status)) => {
            let elapsed = clock.monotonic();
            Ok(Contact::Answers { socket: socket.to_owned(), elapsed, status })
        }
        Ok(Err(error)) => Err((error.to_string(), hangs.to_owned())),
        Err(_) => Err((format!("no answer in {} s", wait.as_secs_f64()), hangs.to_owned())),
    }
}

/// Why nobody answers at a socket that is there, and what to do.
fn why(error: &ClientError, socket: &Path) -> (String, String) {
    let ClientError::Connect { source, .. } = error else {
        return (error.to_string(), START.to_owned());
    };
    let is_socket = |metadata: fs::Metadata| metadata.file_type().is_socket();
    // The rest of the kinds are told as the system tells them.
    if fs::metadata(socket).is_ok_and(|metadata| !is_socket(metadata)) {
        let advice = "a daemon leaves it alone and does not start: remove it, or choose another \
                      `server.socket`";
        ("that is no socket".to_owned(), advice.to_owned())
    } else if source.kind() == ErrorKind::ConnectionRefused {
        let because = "nobody listens there: it was left by a daemon that was killed";
        (because.to_owned(), format!("{START}; a start replaces it"))
    } else if source.kind() == ErrorKind::PermissionDenied {
        let advice = "run this as the user whose daemon it is, or ask for a place in `allow_uids`";
        ("you may not connect".to_owned(), advice.to_owned())
    } else {
        (source.to_string(), START.to_owned())
    }
}

/// How a daemon is started.
const START: &str = "start it: `systemctl --user start recalld`, or `recalld serve`";

impl Contact {
    /// Everything that follows from the attempt.
    pub(super) fn findings(&self, premises: &Premises) -> Vec<Finding> {
        match self {
            Self::Answers { socket, elapsed, status } => {
                let took = elapsed.as_secs_f64() * 1e3;
                let answers = format!("answers at {} in {took:.1} ms", socket.display());
                let mut findings = vec![Finding::ok("daemon", answers), version(status)];
                findings.extend(place(status, premises.data.as_ref()));
                findings.extend(parts(status, premises.model_remedy()));
                findings.extend(weights(status, premises.weights_hash.as_deref()));
                findings.push(parity(status));
                findings.extend(backups(status));
                findings.extend(needs_restart(status));
                findings.extend(remarks(status));
                findings
            }
            Self::Dead { socket, because, advice } => {
                let detail = format!("{}: {because}", socket.display());
                vec![Finding::down("daemon", detail, advice.as_str())]
            }
            Self::Absent { sockets } => {
                let places: Vec<String> =
                    sockets.iter().map(|path| path.display().to_string()).collect();
                let detail = format!("none runs: no socket at {}", places.join(", "));
                vec![Finding::down("daemon", detail, START)]
            }
        }
    }
}

fn version(status: &Value) -> Finding {
    let (theirs, ours) = (text(&status["version"]), env!("CARGO_PKG_VERSION"));
    if theirs == ours {
        return Finding::ok("version", format!("{ours}, the daemon's and this program's"));
    }
    let detail = format!("the daemon is {theirs}, this program {ours}");
    let advice = "start the daemon again, or use the program that belongs to it";
    Finding::degraded("version", detail, advice)
}

/// The daemon may keep another store than the one this configuration names.
fn place(status: &Value, data: Option<&DataPlaces>) -> Option<Finding> {
    let theirs = status.pointer("/store/location")?.as_str()?;
    let ours = &data?.store;
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    (real(Path::new(theirs)) != real(ours)).then(|| {
        let detail = format!("the daemon has {theirs}, this configuration says {}", ours.display());
        let advice = "start the daemon again, or give both the same configuration and environment";
        Finding::degraded("store place", detail, advice)
    })
}

/// The parts of the daemon, in its own words.
fn parts(status: &Value, model_remedy: Option<&str>) -> Vec<Finding> {
    let parts = status["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let has_model = !parts
        .iter()
        .any(|part| part["name"] == json!("model") && part["state"] == json!("degraded"));
    let known = |part: &Value| {
        let name = NAMES.iter().find(|(name, ..)| part["name"] == *name);
        let (name, shown, remedy) = name.unwrap_or(&("", "part of the daemon", "look at its log"));
        // Without a model there is nothing to wait for in the index either.
        let remedy = match *name {
            "model" | "vectors" if !has_model => model_remedy.unwrap_or(NO_MODEL),
            _ => remedy,
        };
        one_part(part, shown, remedy)
    };
    parts.iter().filter_map(known).collect()
}

/// What helps against a model that does not work, where the doctor finds nothing wrong with it.
const NO_MODEL: &str = "see `embed.model` in the configuration and the log; search by words works \
                        meanwhile";

fn one_part(part: &Value, name: &'static str, remedy: &str) -> Option<Finding> {
    let because = text(&part["because"]);
    Some(match part["state"].as_str()? {
        "ok" => Finding::ok(name, "well"),
        "off" => Finding::off(name, because),
        "down" => Finding::down(name, format!("since {}: {because}", text(&part["since"])), remedy),
        _ => Finding::degraded(name, format!("since {}: {because}", text(&part["since"])), remedy),
    })
}

/// Parts by their name in `memory_status`: how they are called here, and what helps.
const NAMES: &[(&str, &str, &str)] = &[
    (
        "store",
        "store",
        "do what it says; free some space if the disk is full; a damaged file is replaced from a \
         backup (`recalld restore`)",
    ),
    (
        "backup",
        "backup",
        "make room or mend the directory of the backups (`backup.dir`), then `recalld backup`",
    ),
    ("jobs", "jobs", "see `recalld jobs list`, and `recalld jobs report` of the run that failed"),
    ("text", "index of words", "wait until it is loaded or built anew; everything stored is kept"),
    ("vectors", "index of meaning", "wait until it is loaded; search by words works meanwhile"),
    ("backup", "backup", "free some space, or see to `backup.dir`; `recalld backup` tries at once"),
    ("socket", "socket", "see why above; connections that are open go on"),
    ("config", "reload", "correct the file; `recalld reload` then tells what is still wrong"),
    (
        "log",
        "log",
        "see `last_error` and the file in `recalld status`: a full disk, or a directory gone",
    ),
    ("model", "model", NO_MODEL),
    ("llm", "language model", "see `llm` in the configuration; summaries quote meanwhile"),
    (
        "reminders",
        "reminders",
        "do what stands in brackets; each sink: `recalld sinks list`; what did not get through: \
         `recalld remind dead`, to be sent again or dropped",
    ),
];

/// Whether the daemon works with the weights that are installed now.
fn weights(status: &Value, installed: Option<&str>) -> Option<Finding> {
    let loaded = status["weights_hash"].as_str()?;
    installed.filter(|installed| *installed != loaded).map(|_| {
        let detail = format!(
            "the daemon has loaded {}, and other weights are configured or installed by now",
            text(&status["model"])
        );
        Finding::degraded("model weights", detail, RESTART)
    })
}

/// How a daemon takes what it reads only at its start.
const RESTART: &str = "`systemctl --user restart recalld`";

/// Whether the indexes hold what the store holds.
fn parity(status: &Value) -> Finding {
    let part = "index parity";
    let parity = &status["parity"];
    let at = text(&parity["compared_at"]);
    if let Some(error) = parity["error"].as_str() {
        let detail = format!("not compared at {at}: {error}");
        return Finding::degraded(part, detail, "it is tried again; see the parts above");
    }
    let n = |name: &str| parity[name].as_u64().unwrap_or_default();
    match parity["agrees"].as_bool() {
        None => Finding::off(part, "not compared yet since the start"),
        Some(true) => Finding::ok(part, format!("{} memories agreed at {at}", n("n_compared"))),
        Some(false) => Finding::ok(
            part,
            format!("{} of {} memories were repaired at {at}", n("n_repaired"), n("n_compared")),
        ),
    }
}

/// The last backup and the next.
fn backups(status: &Value) -> Option<Finding> {
    let part = "last backup";
    let backup = status["backup"].as_object()?;
    let fact = |name: &str| backup.get(name).map(text);
    let next = fact("next").map_or_else(|| "none is due".to_owned(), |at| format!("next {at}"));
    Some(match fact("last") {
        Some(last) => {
            let n_backups = fact("n_backups").unwrap_or_default();
            Finding::ok(part, format!("{last}, {next}, {n_backups} kept"))
        }
        None if backup.contains_key("next") => Finding::off(part, format!("none yet, {next}")),
        None => {
            let detail = "there is none, and none is due (`backup.every_hours`)";
            Finding::degraded(part, detail, "`recalld backup` makes one")
        }
    })
}

/// Whether the daemon runs with an older configuration than the one it has read.
fn needs_restart(status: &Value) -> Option<Finding> {
    let keys = status.pointer("/config/needs_restart")?.as_array()?;
    let keys: Vec<String> = keys.iter().map(text).collect();
    (!keys.is_empty()).then(|| {
        let detail = format!("changed, and not in force before a restart: {}", keys.join(", "));
        Finding::degraded("restart", detail, RESTART)
    })
}

/// What a reader should know beside the parts.
fn remarks(status: &Value) -> Vec<Finding> {
    let notes = status["notes"].as_array().map_or(&[][..], Vec::as_slice);
    notes.iter().map(|note| Finding::ok("note", text(note))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn states(status: Value) -> Vec<(&'static str, State)> {
        let socket = PathBuf::from("/run/recalld.sock");
        let contact = Contact::Answers { socket, elapsed: Duration::ZERO, status };
        contact
            .findings(&Premises::default())
            .iter()
            .map(|finding| (finding.part, finding.state))
            .collect()
    }

    #[test]
    fn what_the_daemon_says_of_itself_is_told_part_by_part() {
        let status = json!({
            "version": "0.0.1",
            "parts": [
                { "name": "store", "state": "ok" },
                { "name": "text", "state": "degraded", "since": "2026-01-01T00:00:00Z", "because": "x" },
                { "name": "model", "state": "off", "because": "switched off" },
            ],
            "parity": { "compared_at": "2026-01-01T00:00:00Z", "agrees": true, "n_compared": 7 },
            "config": { "needs_restart": ["store.dir"] },
            "notes": ["English only"],
        });
        assert_eq!(
            states(status),
            [
                ("daemon", State::Ok),
                ("version", State::Degraded),
                ("store", State::Ok),
                ("index of words", State::Degraded),
                ("model", State::Off),
                ("index parity", State::Ok),
                ("restart", State::Degraded),
                ("note", State::Ok),
            ]
        );
    }

    #[test]
    fn a_model_that_does_not_work_is_told_with_what_helps_and_not_to_wait() {
        let part = |name: &str, state: &str| json!({ "name": name, "state": state });
        let advice = |status: &Value, premises: &Premises| -> Vec<String> {
            let contact = Contact::Answers {
                socket: PathBuf::new(),
                elapsed: Duration::ZERO,
                status: status.clone(),
            };
            let findings = contact.findings(premises);
            let is_meant = |finding: &&Finding| finding.state == State::Degraded;
            findings.iter().filter(is_meant).filter_map(|finding| finding.advice.clone()).collect()
        };
        let version = env!("CARGO_PKG_VERSION");
        let both = [part("vectors", "degraded"), part("model", "degraded")];
        let dead = json!({ "version": version, "parts": both });
        let get =
            Finding::down(super::super::MODEL_SETTING, "no runtime", "pip download onnxruntime");
        let premises = Premises { findings: vec![get], ..Premises::default() };
        assert_eq!(advice(&dead, &premises), ["pip download onnxruntime"; 2]);
        assert_eq!(advice(&dead, &Premises::default()), [NO_MODEL; 2]);
        let loading = [part("vectors", "degraded"), part("model", "ok")];
        let loading = json!({ "version": version, "parts": loading });
        assert!(advice(&loading, &premises)[0].starts_with("wait"));

        // Other weights under the same name count only after a restart.
        let well = json!({ "version": version, "parts": [], "model": "m", "weights_hash": "a" });
        let installed =
            |hash: &str| Premises { weights_hash: Some(hash.to_owned()), ..Premises::default() };
        assert_eq!(advice(&well, &installed("a")), [""; 0]);
        assert_eq!(advice(&well, &installed("b")), [RESTART]);
    }

    #[test]
    fn an_index_that_could_not_be_compared_is_degraded() {
        let version = env!("CARGO_PKG_VERSION");
        let status = json!({ "version": version, "parity": { "error": "the store is closed" } });
        let parity = ("index parity", State::Degraded);
        assert_eq!(states(status), [("daemon", State::Ok), ("version", State::Ok), parity]);
    }
}
