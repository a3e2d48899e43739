//! JSON-RPC messages as the bridge sees them: it looks at the envelope and a few parameters, and
//! leaves every other byte as it came.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::lines::Line;
use super::scan::IdScanner;

/// Key in a call's `_meta` under which the daemon keeps its answer, so that a call that is sent
/// twice happens once.
pub(super) const REQUEST_KEY: &str = "recalld/requestKey";
/// Key in `_meta` that names the listen request a notification belongs to.
pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Key in `_meta` that every request of the 2026-07-28 protocol carries.
pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// JSON-RPC: the line is not JSON.
pub(super) const PARSE_ERROR: i64 = -32_700;
/// JSON-RPC: the line is JSON, but no message.
pub(super) const INVALID_REQUEST: i64 = -32_600;
/// JSON-RPC: our fault.
pub(super) const INTERNAL_ERROR: i64 = -32_603;

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
}

impl Id {
    /// The id in `value`, if it may be one. `1.0` is the integer 1: the daemon answers so.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => {
                number.as_i64().or_else(|| integer(number.as_f64()?)).map(Self::Number)
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The id as JSON.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

fn integer(number: f64) -> Option<i64> {
    // Below 2^53 each integer has exactly one f64, and its text has no fraction.
    (number.fract() == 0.0 && number.abs() < 9e15).then(|| format!("{number:.0}").parse().ok())?
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

/// One message.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// Wants an answer.
    Request { id: Id, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// Wants none.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// An answer; `result` is absent in an error.
    Response { id: Id, result: Option<&'a RawValue> },
}

/// A line that is no message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    /// Its id, if that much could be read.
    pub(super) id: Option<Id>,
    /// JSON-RPC error code.
    pub(super) code: i64,
    /// What is wrong with it.
    pub(super) why: String,
}

impl Unusable {
    /// What the client gets for it.
    pub(super) fn answer(&self) -> Line {
        error(self.id.as_ref(), self.code, &self.why)
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from absent.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Why the daemon refuses the connection, if this line says so: an error that answers no request.
pub(super) fn refusal(line: &[u8]) -> Option<String> {
    let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
    let answers_none = envelope.id.is_none_or(|id| id.get() == "null");
    let error: Value = serde_json::from_str(envelope.error.filter(|_| answers_none)?.get()).ok()?;
    Some(error.get("message")?.as_str()?.to_owned())
}

/// Reads the envelope of a line.
///
/// # Errors
/// [`Unusable`] with what to answer. Strict where the daemon would answer without an id, or not at
/// all: the client must learn which request failed.
pub(super) fn parse(line: &[u8]) -> Result<Message<'_>, Unusable> {
    let unusable = |code, why: String| Unusable { id: IdScanner::id_in(line), code, why };
    let invalid = |why: &str| unusable(INVALID_REQUEST, why.to_owned());
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(match serde_json::from_slice::<&RawValue>(line) {
            Ok(_) => invalid("expected one JSON-RPC object"),
            Err(error) => unusable(PARSE_ERROR, format!("not JSON: {error}")),
        });
    }
    let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(|error| {
        if error.is_data() {
            unusable(INVALID_REQUEST, format!("not a JSON-RPC message: {error}"))
        } else {
            unusable(PARSE_ERROR, format!("not JSON: {error}"))
        }
    })?;
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    let id = match envelope.id.map(RawValue::get) {
        None => None,
        Some(id) => Some(
            serde_json::from_str(id)
                .ok()
                .and_then(|id| Id::from_value(&id))
                .ok_or_else(|| invalid("`id` must be a string or an integer"))?,
        ),
    };
    match (envelope.method, id) {
        (Some(method), id) => {
            let params = envelope.params;
            if params.is_some_and(|params| !is_object(params)) {
                return Err(invalid("`params` must be an object"));
            }
            let meta = params.and_then(|params| fields(params).remove("_meta"));
            if meta.is_some_and(|meta| meta.get() != "null" && !is_object(meta)) {
                return Err(invalid("`_meta` must be an object"));
            }
            Ok(match id {
                Some(id) => Message::Request { id, method, params },
                None => Message::Notification { method, params },
            })
        }
        (None, Some(id)) if envelope.result.is_some() || envelope.error.is_some() => {
            Ok(Message::Response { id, result: envelope.result })
        }
        (None, _) => Err(invalid("neither a request nor an answer")),
    }
}

/// Refuses what [`parse`] lets through because it looks at the envelope only, and what the daemon's
/// reader would drop without an answer: a lone surrogate in a string, a number beyond f64, nesting
/// past 128 levels.
///
/// # Errors
/// [`Unusable`] with what to answer.
pub(super) fn check_whole(line: &[u8], id: &Id) -> Result<(), Unusable> {
    match serde_json::from_slice::<Value>(line) {
        Ok(_) => Ok(()),
        Err(error) => Err(Unusable {
            id: Some(id.clone()),
            code: PARSE_ERROR,
            why: format!("cannot be read as JSON: {error}"),
        }),
    }
}

/// The fields of an object; none of anything else.
pub(super) fn fields(raw: &RawValue) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// One field of an object, read as JSON.
pub(super) fn field(raw: Option<&RawValue>, name: &str) -> Option<Value> {
    serde_json::from_str(fields(raw?).get(name)?.get()).ok()
}

/// One entry of the `_meta` of some parameters, read as JSON.
pub(super) fn meta(params: Option<&RawValue>, name: &str) -> Option<Value> {
    field(fields(params?).get("_meta").copied(), name)
}

fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// `line` with `key` as the request key in the `_meta` of its `params`, every other byte as it
/// was. A key that the client chose itself stays. `params` must be a part of `line`.
pub(super) fn with_request_key(line: &[u8], params: &RawValue, key: &str) -> Vec<u8> {
    let entry = format!("{}:{}", json!(REQUEST_KEY), json!(key));
    let keyed = match fields(params).get("_meta").copied() {
        None => insert_first(line, params, &format!("\"_meta\":{{{entry}}}")),
        Some(meta) if meta.get() == "null" => splice(line, meta.get(), &format!("{{{entry}}}")),
        Some(meta) if fields(meta).contains_key(REQUEST_KEY) => None,
        Some(meta) => insert_first(line, meta, &entry),
    };
    keyed.unwrap_or_else(|| line.to_vec())
}

/// `line` with `entry` as the first one of `object`, which must be a part of `line`.
fn insert_first(line: &[u8], object: &RawValue, entry: &str) -> Option<Vec<u8>> {
    let inside = object.get().strip_prefix('{')?;
    let comma = if inside.trim_start().starts_with('}') { "" } else { "," };
    splice(line, inside.get(..0)?, &format!("{entry}{comma}"))
}

/// `line` with `new` in the place of `part`, which must be a part of `line`.
fn splice(line: &[u8], part: &str, new: &str) -> Option<Vec<u8>> {
    let at = part.as_ptr().addr().checked_sub(line.as_ptr().addr())?;
    let (before, rest) = line.split_at_checked(at)?;
    Some([before, new.as_bytes(), rest.get(part.len()..)?].concat())
}

/// A line of these bytes.
pub(super) fn line(bytes: &[u8]) -> Line {
    [bytes, b"\n"].concat().into()
}

/// A request of the bridge itself, or one of the client's under another id.
pub(super) fn request(id: &Id, method: &str, params: Option<&RawValue>) -> Line {
    let params = params.map_or_else(String::new, |params| format!(",\"params\":{}", params.get()));
    let method = json!(method);
    line(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method}{params}}}").as_bytes())
}

/// A notification.
pub(super) fn notification(method: &str, params: Option<&Value>) -> Line {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let (Some(params), Some(fields)) = (params, message.as_object_mut()) {
        fields.insert("params".into(), params.clone());
    }
    line(message.to_string().as_bytes())
}

/// An answer.
pub(super) fn result(id: &Id, result: &Value) -> Line {
    let message = json!({ "jsonrpc": "2.0", "id": id.to_value(), "result": result });
    line(message.to_string().as_bytes())
}

/// An answer that is an error; `null` stands for an id that could not be read.
pub(super) fn error(id: Option<&Id>, code: i64, message: &str) -> Line {
    let id = id.map_or(Value::Null, Id::to_value);
    let error = json!({ "code": code, "message": message });
    line(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().as_bytes())
}

/// A tool's answer that tells the model what went wrong.
pub(super) fn tool_failure(id: &Id, is_modern: bool, text: &str) -> Line {
    let mut answer = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    if let (true, Some(fields)) = (is_modern, answer.as_object_mut()) {
        fields.insert("resultType".into(), json!("complete"));
    }
    result(id, &answer)
}

#[cfg(test)]
mod tests;
