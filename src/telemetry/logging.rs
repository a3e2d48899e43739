//! The tracing subscriber: one line an event, on stderr.

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

/// What the libraries may say unless the settings name them: rmcp reports clients that hang up as
/// errors, and tantivy each commit at INFO.
const LIBRARIES: &str = "rmcp=off,tantivy=warn";

/// How to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Filter directives (`info`, `info,recalld::store=debug`).
    pub directives: String,
    /// One JSON object a line instead of text.
    pub json: bool,
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

/// Sets up logging for the process, once, for events of this crate and of its libraries (also those
/// that use the `log` crate).
///
/// # Errors
/// [`TelemetryError::Filter`] if the directives do not parse, [`TelemetryError::Installed`] at a
/// second call.
pub fn install(settings: &LogSettings) -> Result<(), TelemetryError> {
    let is_terminal = std::io::stderr().is_terminal();
    let subscriber = subscriber(settings, is_terminal, std::io::stderr)?;
    subscriber.try_init().map_err(|_| TelemetryError::Installed)
}

/// A subscriber that writes to `writer`, with colours if asked for and not JSON.
fn subscriber<W>(
    settings: &LogSettings,
    colours: bool,
    writer: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(&settings.directives)?)
        .with_ansi(colours && !settings.json)
        .with_writer(writer)
        // A line that cannot be written is lost; complaining on a closed stderr would panic.
        .log_internal_errors(false);
    Ok(if settings.json { Box::new(builder.json().finish()) } else { Box::new(builder.finish()) })
}

/// The directives, after those for the libraries: of two for one target the later counts.
fn filter(directives: &str) -> Result<EnvFilter, TelemetryError> {
    EnvFilter::try_new(format!("{LIBRARIES},{directives}")).map_err(|error| {
        TelemetryError::Filter { directives: directives.to_owned(), reason: error.to_string() }
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn logged(directives: &str, json: bool, events: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let settings = LogSettings { directives: directives.to_owned(), json };
        let subscriber = subscriber(&settings, false, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, events);
        lines.text()
    }

    fn events() {
        tracing::info!(target: "recalld::store", n_items = 3, "stored");
        tracing::debug!(target: "recalld::store", "detail");
        tracing::error!(target: "rmcp::service", "client went away");
        tracing::info!(target: "tantivy::indexer", "commit");
        tracing::warn!(target: "tantivy::indexer", "slow merge");
    }

    #[test]
    fn libraries_are_quiet_unless_they_are_named() {
        let names = |text: &str| -> Vec<&'static str> {
            ["stored", "detail", "client went away", "commit", "slow merge"]
                .into_iter()
                .filter(|name| text.contains(name))
                .collect()
        };
        for (directives, expected) in [
            ("info", &["stored", "slow merge"][..]),
            ("debug", &["stored", "detail", "slow merge"]),
            ("info,tantivy=info", &["stored", "commit", "slow merge"]),
            ("off,rmcp=error", &["client went away", "slow merge"]),
        ] {
            assert_eq!(names(&logged(directives, false, events)), expected, "{directives}");
        }
    }

    #[test]
    fn a_json_line_is_one_object_with_the_fields_of_its_event() {
        let text = logged("info", true, events);
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["target"], "recalld::store");
        assert_eq!(line["fields"]["message"], "stored");
        assert_eq!(line["fields"]["n_items"], 3);
    }

    #[test]
    fn a_bad_filter_is_named() {
        let settings = LogSettings { directives: "recalld=loud".to_owned(), json: false };
        let error = subscriber(&settings, false, io::sink).err().unwrap();
        assert!(error.to_string().contains("recalld=loud"), "{error}");
    }
}
