//! `memory_export`: a page of everything, as lines. Not listed: agents cannot use it.

use serde_json::Value;

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::Reply;
use super::super::transfer::write_item;
use super::{Call, Outcome};
use crate::domain::id::{IdReference, MemoryId};
use crate::domain::session::SessionKey;
use crate::domain::transfer::ExportPlace;
use crate::ports::StoreError;
use crate::service::ServiceError;

pub(super) const NAME: &str = "memory_export";

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let cursor = arguments.word(&["cursor"])?;
    let after = match &cursor {
        None => ExportPlace::Start,
        Some(text) => place(text).ok_or_else(|| {
            let expected = "the `next_cursor` of the page before";
            InvalidArgument::new("cursor", expected, &Value::String(text.clone()))
        })?,
    };
    let warnings = arguments.finish();
    let page = call.service.export(call.caller, after).await?;
    let lines = page
        .items
        .iter()
        .map(write_item)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| ServiceError::Store(StoreError::Damaged(error.to_string())))?;
    let mut reply = Reply::default();
    reply.line(format!("{} lines", lines.len()));
    reply.field("lines", lines);
    reply.field("next_cursor", page.next.map(cursor_of));
    reply.remarks("warnings", &warnings);
    Ok(reply)
}

fn cursor_of(place: ExportPlace) -> String {
    match place {
        ExportPlace::Start => "start".to_owned(),
        ExportPlace::Memory(id, version) => format!("memory {id} {version}"),
        ExportPlace::Memories => "memories".to_owned(),
        ExportPlace::Forgotten(id) => format!("forgotten {id}"),
        ExportPlace::Reminder(id) => format!("reminder {id}"),
        ExportPlace::Session(key, turn) => {
            format!("session {} {turn}", blake3::Hash::from_bytes(key.0).to_hex())
        }
    }
}

fn place(cursor: &str) -> Option<ExportPlace> {
    let parts: Vec<&str> = cursor.split(' ').collect();
    match parts.as_slice() {
        ["start"] => Some(ExportPlace::Start),
        ["memory", id, version] => Some(ExportPlace::Memory(whole(id)?, version.parse().ok()?)),
        ["memories"] => Some(ExportPlace::Memories),
        ["forgotten", id] => Some(ExportPlace::Forgotten(whole(id)?)),
        ["reminder", id] => Some(ExportPlace::Reminder(whole(id)?)),
        ["session", key, turn] => {
            let key = SessionKey(*blake3::Hash::from_hex(key).ok()?.as_bytes());
            Some(ExportPlace::Session(key, turn.parse().ok()?))
        }
        _ => None,
    }
}

fn whole(text: &str) -> Option<MemoryId> {
    match text.parse() {
        Ok(IdReference::Whole(id)) => Some(id),
        Ok(IdReference::Handle(_)) | Err(_) => None,
    }
}
