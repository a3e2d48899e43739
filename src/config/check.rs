//! What `recalld check-config` prints about a valid configuration.

use std::fmt::Write;

use serde_json::{Value, json};

use super::load::Loaded;
use super::problem::Origin;

/// Column of the remarks on where a value comes from, characters.
const REMARK_COLUMN: usize = 48;

/// The paths, the warnings and every key with its value and, unless it is the default, where that
/// stands. The part after the first empty line is itself a configuration,
/// secrets left out.
pub fn render_check(loaded: &Loaded) -> String {
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
pub fn check_json(loaded: &Loaded) -> Value {
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
    json!({
        "valid": true,
        "file": loaded.file,
        "state_dir": loaded.state_dir.path,
        "socket": loaded.socket.path,
        "warnings": loaded.warnings,
        "settings": settings,
    })
}
