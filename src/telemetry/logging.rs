//! The tracing subscriber: one line an event, on stderr, and in files where they are configured.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::Subscriber;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{LevelFilter, dynamic_filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use super::file::{FileSettings, LogFile, Target};
use super::fold::{Fold, Folded, Repeated};
use super::journal::{Prioritised, is_journal};
use crate::domain::limits::LOG_QUEUE_MAX;
use crate::ports::{Clock, LogReport};

/// What the libraries may say unless the settings name them: what a library takes for unexpected is
/// told by who called it, with what it means here. rmcp reports clients that hang up as errors.
const LIBRARIES: &str = "error,rmcp=off";
/// Begins the targets of our own events.
const OWN: &str = env!("CARGO_CRATE_NAME");

/// How to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Filter directives (`info`, `info,recalld::store=debug`).
    pub directives: String,
    /// One JSON object a line on stderr instead of text.
    pub json: bool,
    /// Files of JSON lines besides.
    pub file: Option<FileSettings>,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The directives do not parse.
    #[error("read the log filter {directives:?}: {reason}")]
    Filter {
        /// The directives.
        directives: String,
        /// Why not.
        reason: String,
    },
    /// Logging is set up already.
    #[error("set up logging: it is set up already")]
    Installed,
}

/// The handle on the log.
pub struct Log {
    filter: reload::Handle<EnvFilter, Registry>,
    folded: Arc<Folded>,
    target: Arc<Target>,
    dropped: ErrorCounter,
    /// Dropped and failed lines that were told.
    told: Mutex<(u64, u64)>,
}

/// What writes the log file in the background. Dropping it writes what is still queued: it goes last.
#[must_use = "without it nothing is written to the log file"]
pub struct LogWorker(#[expect(dead_code, reason = "it is held for its drop")] WorkerGuard);

impl Log {
    /// Puts other settings in force: the filter and the file, which is opened anew. The form of the
    /// lines on stderr stays.
    ///
    /// # Errors
    /// [`TelemetryError::Filter`]; nothing is changed then.
    pub fn apply(&self, settings: &LogSettings) -> Result<(), TelemetryError> {
        let filter = filter(&settings.directives)?;
        self.filter.reload(filter).map_err(|error| TelemetryError::Filter {
            directives: settings.directives.clone(),
            reason: error.to_string(),
        })?;
        self.target.set(settings.file.clone());
        Ok(())
    }

    /// State, for `status`.
    pub fn report(&self) -> LogReport {
        LogReport {
            file: self.target.settings().map(|file| file.path().display().to_string()),
            trouble: self.target.trouble(),
            n_dropped: self.dropped.dropped_lines() as u64,
            n_failed: self.target.n_failed(),
            n_folded: self.folded.n_folded(),
            last_error: self.folded.last_error(),
        }
    }

    /// Tells what was repeated, dropped or not written since the last call. The daemon calls it once
    /// a minute and at its end.
    pub fn tend(&self) {
        for Repeated { event, is_error, n_times } in self.folded.take() {
            if is_error {
                tracing::error!(event, n_times, "event repeated");
            } else {
                tracing::warn!(event, n_times, "event repeated");
            }
        }
        let LogReport { trouble, n_dropped, n_failed, .. } = self.report();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (n_told_dropped, n_told_failed) = std::mem::replace(&mut *told, (n_dropped, n_failed));
        drop(told);
        if n_dropped > n_told_dropped {
            tracing::warn!(n_items = n_dropped - n_told_dropped, "log lines dropped");
        }
        if n_failed > n_told_failed {
            let error = trouble.map(|(_, because)| because);
            tracing::warn!(n_items = n_failed - n_told_failed, error, "log lines not written");
        }
    }
}

/// Sets up logging for the process, once, for events of this crate and of its libraries (also those
/// that use the `log` crate).
///
/// # Errors
/// [`TelemetryError::Filter`] if the directives do not parse, [`TelemetryError::Installed`] at a
/// second call.
pub fn install(
    settings: &LogSettings,
    clock: Arc<dyn Clock>,
) -> Result<(Log, LogWorker), TelemetryError> {
    let stream = std::env::var("JOURNAL_STREAM").ok();
    let stderr = if is_journal(stream.as_deref(), std::io::stderr()) {
        Form::Journal
    } else if std::io::stderr().is_terminal() {
        Form::Terminal
    } else {
        Form::Plain
    };
    let (subscriber, log, worker) = subscriber(settings, stderr, clock, std::io::stderr)?;
    subscriber.try_init().map_err(|_| TelemetryError::Installed)?;
    Ok((log, worker))
}

/// What reads the lines on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A person at a terminal, with colours.
    Terminal,
    /// The journal, which has times and priorities of its own.
    Journal,
    /// A file or a pipe.
    Plain,
}

/// A subscriber that writes to `writer` and, where the settings say so, to files.
fn subscriber<W>(
    settings: &LogSettings,
    form: Form,
    clock: Arc<dyn Clock>,
    writer: W,
) -> Result<(Box<dyn Subscriber + Send + Sync>, Log, LogWorker), TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filtering, filter) = reload::Layer::new(filter(&settings.directives)?);
    let folded = Arc::new(Folded::new(Arc::clone(&clock)));
    let target = Arc::new(Target::new(clock, settings.file.clone()));
    let (lines, worker) = NonBlockingBuilder::default()
        // A disk that hangs must not hang the daemon: lines are dropped, counted and told.
        .lossy(true)
        .buffered_lines_limit(LOG_QUEUE_MAX)
        .thread_name("log-file")
        .finish(LogFile::new(Arc::clone(&target)));
    let dropped = lines.error_counter();
    let is_on = Arc::clone(&target);
    let to_file = tracing_subscriber::fmt::layer()
        .json()
        .with_span_list(false)
        .with_writer(lines)
        .log_internal_errors(false)
        .with_filter(dynamic_filter_fn(move |_, _| is_on.is_on()));
    let subscriber = tracing_subscriber::registry()
        .with(filtering)
        .with(Fold { folded: Arc::clone(&folded), own: module_path!() })
        .with(to_stderr(settings.json, form, writer))
        .with(to_file);
    let told = Mutex::default();
    let log = Log { filter, folded, target, dropped, told };
    Ok((Box::new(subscriber), log, LogWorker(worker)))
}

/// The layer for stderr.
fn to_stderr<S, W>(json: bool, form: Form, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(form == Form::Terminal && !json)
        .with_writer(writer)
        // A line that cannot be written is lost; complaining on a closed stderr would panic.
        .log_internal_errors(false);
    match (json, form) {
        (true, Form::Journal) => layer.json().map_event_format(Prioritised).boxed(),
        (true, Form::Terminal | Form::Plain) => layer.json().boxed(),
        (false, Form::Journal) => layer.without_time().map_event_format(Prioritised).boxed(),
        (false, Form::Terminal | Form::Plain) => layer.boxed(),
    }
}

/// The directives, after those for the libraries: of two for one target the later counts. A level that
/// names no target is for our own events; `off` is for all.
fn filter(directives: &str) -> Result<EnvFilter, TelemetryError> {
    let of_own = |directive: &str| match directive.parse::<LevelFilter>() {
        Ok(level) if level != LevelFilter::OFF => format!("{OWN}={directive}"),
        Ok(_) | Err(_) => directive.to_owned(),
    };
    let own: Vec<String> = directives.split(',').map(of_own).collect();
    EnvFilter::try_new(format!("{LIBRARIES},{}", own.join(","))).map_err(|error| {
        TelemetryError::Filter { directives: directives.to_owned(), reason: error.to_string() }
    })
}

#[cfg(test)]
mod tests;
