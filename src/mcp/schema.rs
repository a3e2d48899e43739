//! Tool definitions by hand: flat objects that every client accepts.
//!
//! One `type` a property, nothing required, no `$ref`, `anyOf`, `format`, `default` or bounds: each
//! of these breaks some client (the readers in [`super::args`] check instead). There is no
//! `outputSchema` either: it would cost about as many tokens as the input schemas, and clients that
//! have one refuse results that differ from it in a detail.

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// A property of a schema.
pub(super) type Property = (&'static str, Value);

/// A text.
pub(super) fn text(name: &'static str, description: &str) -> Property {
    property(name, "string", description)
}

/// A whole number.
pub(super) fn integer(name: &'static str, description: &str) -> Property {
    property(name, "integer", description)
}

/// A number.
pub(super) fn number(name: &'static str, description: &str) -> Property {
    property(name, "number", description)
}

/// A switch.
pub(super) fn flag(name: &'static str, description: &str) -> Property {
    property(name, "boolean", description)
}

/// A list of texts.
pub(super) fn list(name: &'static str, description: &str) -> Property {
    let (name, mut value) = property(name, "array", description);
    set(&mut value, "items", json!({"type": "string"}));
    (name, value)
}

/// One of a few words.
pub(super) fn choice(name: &'static str, words: &[&str], description: &str) -> Property {
    let (name, mut value) = property(name, "string", description);
    set(&mut value, "enum", json!(words));
    (name, value)
}

/// What a tool does to the store, for clients that ask before calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conduct {
    /// Reads.
    Reads,
    /// Adds, and changes nothing that is there.
    Adds,
    /// Changes or removes.
    Changes,
}

/// A whole definition. Core tools are always in a client's prompt, the others only when it looks.
pub(super) fn tool(
    name: &'static str,
    description: &'static str,
    properties: Vec<Property>,
    conduct: Conduct,
    is_core: bool,
) -> Tool {
    let mut named = JsonObject::new();
    for (name, value) in properties {
        named.insert(name.to_owned(), value);
    }
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(named));
    let reads = conduct == Conduct::Reads;
    let mut annotations = ToolAnnotations::new().read_only(reads).open_world(false);
    // Of a tool that only reads these say nothing (MCP, `ToolAnnotations`), and cost tokens.
    if !reads {
        annotations = annotations.destructive(conduct == Conduct::Changes).idempotent(true);
    }
    let tool = Tool::new(name, description, schema).with_annotations(annotations);
    if !is_core {
        return tool;
    }
    let mut meta = MetaObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), json!(true));
    tool.with_meta(meta)
}

fn property(name: &'static str, kind: &str, description: &str) -> Property {
    let mut value = json!({"type": kind});
    if !description.is_empty() {
        set(&mut value, "description", json!(description));
    }
    (name, value)
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}
