//! `recalld doctor`: looks at every part from outside, says how it is and what to do about it.
//!
//! It never opens the store and changes nothing. What only the composition root knows (the
//! configuration, the model) comes in as findings. Exit code: 1 if some part does not work, else 0;
//! a part that is merely degraded is told, and is no failure.

mod clock;
mod daemon;
mod files;
mod finding;
mod lock;
mod sizes;
mod units;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub use finding::{Finding, State};
pub use units::ShippedUnit;

use super::output::say;
use daemon::Contact;
use finding::Report;

/// What the composition root knows.
#[derive(Clone, Debug, Default)]
pub struct Premises {
    /// What it found itself.
    pub findings: Vec<Finding>,
    /// The data directory, if anything says where it is.
    pub data: Option<DataPlaces>,
    /// Where a client looks for the daemon, in order.
    pub sockets: Vec<PathBuf>,
    /// Longest wait for its answer, if somebody said so.
    pub timeout: Option<Duration>,
    /// The units that belong to this version.
    pub units: Vec<ShippedUnit>,
    /// Memory that the daemon needs with the configured model, bytes.
    pub memory_bytes: Option<u64>,
    /// Hash of the weights of the configured model as they are installed.
    pub weights_hash: Option<String>,
}

impl Premises {
    /// What to do about a model that does not work, if it was found out.
    fn model_remedy(&self) -> Option<&str> {
        let mut findings = self.findings.iter();
        let finding = findings.find(|finding| finding.part == MODEL_SETTING)?;
        finding.advice.as_deref().filter(|_| finding.state == State::Down)
    }
}

/// The part that stands for the configured model: its files and what runs them.
pub const MODEL_SETTING: &str = "model setting";

/// The data directory and what lies in it.
#[derive(Clone, Debug)]
pub struct DataPlaces {
    /// The directory.
    pub dir: PathBuf,
    /// The store.
    pub store: PathBuf,
    /// Held by the process that has the store.
    pub lock: PathBuf,
    /// What is derived and what is kept beside the store: name and place.
    pub beside: Vec<(&'static str, PathBuf)>,
}

/// Looks at everything and prints what was found.
pub(super) async fn run(premises: &Premises, json: bool) -> ExitCode {
    let report = Report(examine(premises).await);
    say(&if json { format!("{:#}", report.to_json()) } else { report.to_text() });
    if report.is_down() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn examine(premises: &Premises) -> Vec<Finding> {
    let mut findings = premises.findings.clone();
    let contact = daemon::reach(&premises.sockets, premises.timeout).await;
    if let Some(data) = &premises.data {
        findings.extend(files::data(data));
        findings.push(lock::holder(data, &contact));
    }
    findings.extend(contact.findings(premises));
    if let Contact::Answers { socket, .. } | Contact::Dead { socket, .. } = &contact {
        findings.extend(files::socket(socket));
    }
    if let Some(data) = &premises.data {
        findings.push(sizes::sizes(data));
        findings.extend(sizes::disk(data));
    }
    findings.extend(clock::findings().await);
    findings.extend(units::findings(&premises.units, premises.memory_bytes).await);
    findings
}
