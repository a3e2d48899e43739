//! What `recalld check-config` prints about a valid configuration.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::load::Loaded;
use super::problem::Origin;

/// Column of the remarks on where a value comes from, characters.
const REMARK_COLUMN: usize = 48;

/// The paths, the next runs of each job after `now`, the warnings and every key with its value and,
/// unless it is the default, where that stands. The part after the first empty line is itself a configuration,
/// secrets left out.
pub fn render_check(loaded: &Loaded, now: Timestamp) -> String {
    let file = match &loaded.file {
        Some(path) => path.display().to_string(),
        None => "none".to_owned(),
    };
    let mut lines = vec![
        "The configuration is valid.".to_owned(),
        format!("file    {file}"),
        format!("data    {} ({})", loaded.state_dir.path.display(), loaded.state_dir.place),
        format!("socket  {} ({})", loaded.socket.path.display(), loaded.socket.place),
    ];
    for (job, runs) in loaded.config.jobs.upcoming(now) {
        lines.push(format!("job     {job} next runs {}", runs.join(", ")));
    }
    lines.extend(loaded.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.push(String::new());
    for source in &loaded.sources {
        let mut line = format!("{} = {}", source.key, source.value);
        if source.place.origin != Origin::Default {
            let width = REMARK_COLUMN.saturating_sub(line.chars().count());
            let written = write!(line, "{:width$}  # {}", "", source.place);
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
        }
        lines.push(line);
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The same facts for programs.
pub fn check_json(loaded: &Loaded, now: Timestamp) -> Value {
    let settings: Vec<Value> = loaded
        .sources
        .iter()
        .map(|source| {
            json!({
                "key": source.key,
                "value": source.value,
                "place": source.place.to_string(),
            })
        })
        .collect();
    let upcoming = loaded.config.jobs.upcoming(now).into_iter();
    let jobs: Vec<Value> =
        upcoming.map(|(job, runs)| json!({ "job": job.as_str(), "next_runs": runs })).collect();
    json!({
        "valid": true,
        "file": loaded.file,
        "state_dir": loaded.state_dir.path,
        "socket": loaded.socket.path,
        "warnings": loaded.warnings,
        "jobs": jobs,
        "settings": settings,
    })
}
