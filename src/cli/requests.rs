//! From command lines to tool arguments.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::arguments::{
    ForgetArguments, ListArguments, RecallArguments, RememberArguments, ScopeArguments,
    UpdateArguments,
};
use super::session::CliError;
use crate::domain::limits::LINE_BYTES_MAX;

/// Arguments of a tool call.
pub(super) type ToolArguments = Map<String, Value>;

/// No arguments.
pub(super) fn none() -> ToolArguments {
    Map::new()
}

/// The text on standard input, as far as a request can carry it.
fn from_standard_input() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let wrong = |reason: String| CliError::Data(format!("standard input: {reason}"));
    let read = std::io::stdin().lock().take(LINE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() > LINE_BYTES_MAX {
        return Err(wrong(format!("it is longer than {LINE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))
}

/// `remember`; reads standard input for `-`.
pub(super) fn remember(what: &RememberArguments) -> Result<ToolArguments, CliError> {
    let content = match what.text.as_slice() {
        [dash] if dash == "-" => {
            let mut text = from_standard_input()?;
            // The line feed that ends what `echo` writes is no part of it.
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
            text
        }
        words => words.join(" "),
    };
    Ok(fields([
        ("content", json!(content)),
        ("namespace", json!(what.namespace)),
        ("kind", json!(what.kind)),
        ("tags", list_of(&what.tag)),
        ("importance", json!(what.importance)),
        ("occurred_at", json!(what.occurred_at)),
        ("supersedes", json!(what.supersedes)),
        ("metadata", json!(what.metadata)),
        ("pinned", if what.pinned { json!(true) } else { Value::Null }),
    ]))
}

/// `recall`
pub(super) fn recall(what: &RecallArguments) -> ToolArguments {
    let mut request = scope(&what.scope);
    request.extend(fields([
        ("query", json!(what.query.join(" "))),
        ("limit", json!(what.limit)),
        ("as_of", json!(what.as_of)),
        ("include_archived", json!(what.archived)),
        ("include_superseded", json!(what.superseded)),
    ]));
    request
}

/// `list`
pub(super) fn list(what: &ListArguments) -> ToolArguments {
    let mut request = scope(&what.scope);
    request.extend(fields([
        ("limit", json!(what.limit)),
        ("order", if what.oldest { json!("oldest") } else { Value::Null }),
        ("status", list_of(&what.status)),
        ("cursor", json!(what.cursor)),
    ]));
    request
}

/// `update`
pub(super) fn update(what: &UpdateArguments) -> Result<ToolArguments, CliError> {
    let joined = (!what.text.is_empty()).then(|| what.text.join(" "));
    let request = fields([
        ("content", json!(joined.as_ref().or(what.content.as_ref()))),
        ("kind", json!(what.kind)),
        ("tags", list_of(&what.tag)),
        ("importance", json!(what.importance)),
        ("pinned", json!(what.pinned)),
        ("occurred_at", json!(what.occurred_at)),
        ("valid_to", json!(what.valid_to)),
        ("status", json!(what.status)),
    ]);
    if request.is_empty() {
        return Err(CliError::Usage("say what to change, for example a new TEXT".to_owned()));
    }
    let mut request = request;
    request.insert("id".to_owned(), json!(what.id));
    Ok(request)
}

/// `forget`
pub(super) fn forget(what: &ForgetArguments) -> Result<ToolArguments, CliError> {
    let mut request = scope(&what.scope);
    if !what.ids.is_empty() && !request.is_empty() {
        return Err(CliError::Usage("name memories by id or by a filter, not both".to_owned()));
    }
    request.extend(fields([
        ("ids", list_of(&what.ids)),
        ("query", json!(what.query)),
        ("session", json!(what.session)),
    ]));
    if request.is_empty() {
        return Err(CliError::Usage("name memories by id or by a filter".to_owned()));
    }
    Ok(request)
}

/// `unforget`, `history`
pub(super) fn by_id(id: &str) -> ToolArguments {
    fields([("id", json!(id))])
}

/// `unarchive`
pub(super) fn ids(ids: &[String]) -> ToolArguments {
    fields([("ids", list_of(ids))])
}

/// `backup`; the daemon writes the file, so its path is made whole here.
pub(super) fn backup(file: Option<&Path>) -> Result<ToolArguments, CliError> {
    let Some(file) = file else { return Ok(none()) };
    let path = std::path::absolute(file)?;
    let path = path.to_str().ok_or_else(|| {
        CliError::Usage(format!("name the file in UTF-8, not {}", file.display()))
    })?;
    Ok(fields([("file", json!(path))]))
}

fn scope(scope: &ScopeArguments) -> ToolArguments {
    fields([
        ("namespace", list_of(&scope.namespace)),
        ("kinds", list_of(&scope.kind)),
        ("tags", list_of(&scope.tag)),
        ("after", json!(scope.after)),
        ("before", json!(scope.before)),
    ])
}

/// The fields that are there.
pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> ToolArguments {
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// A list, or nothing.
pub(super) fn list_of(items: &[String]) -> Value {
    if items.is_empty() { Value::Null } else { json!(items) }
}
