//! Resources: a memory by id, who the user is, and the state of the daemon. Reading one does not count
//! as using it.

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use super::error::{resource_error, resource_not_found};
use super::pending::{self, PENDING_URI};
use super::reply::{Detail, Reply, Shown};
use super::{Shared, tools};
use crate::domain::id::IdReference;
use crate::domain::identity::Caller;
use crate::service::Service;
use crate::service::get::GetRequest;

const STATUS_URI: &str = "recalld://status";
const PROFILE_URI: &str = "recalld://profile";
const MEMORY_URI: &str = "recalld://memory/";
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// Every resource with a fixed address.
pub(super) fn all() -> Vec<Resource> {
    vec![
        Resource::new(STATUS_URI, "status")
            .with_title("State of the memory")
            .with_description("What works, what is degraded and why, and how much is remembered")
            .with_mime_type(JSON),
        Resource::new(PROFILE_URI, "profile")
            .with_title("Who the user is")
            .with_description("Preferences, standing orders and ways of doing things, in short")
            .with_mime_type(TEXT),
        Resource::new(PENDING_URI, "pending reminders")
            .with_title("Reminders that are due, next, or to be decided")
            .with_description("Can be subscribed to: an update is sent when one becomes due")
            .with_mime_type(JSON),
    ]
}

/// Every family of resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{MEMORY_URI}{{id}}"), "memory")
            .with_title("A memory")
            .with_description("One memory with all its fields, by id or handle")
            .with_mime_type(TEXT),
    ]
}

/// Reads one.
pub(super) async fn read(
    uri: &str,
    shared: &Shared,
    caller: &Caller,
) -> Result<ReadResourceResult, ErrorData> {
    let (text, mime_type) = if uri == STATUS_URI {
        let facts = Value::Object(tools::status_facts(shared, caller).await);
        (format!("{facts:#}"), JSON)
    } else if uri == PENDING_URI {
        let text = pending::text(shared, caller).await;
        (text.map_err(|error| resource_error(uri, &error))?, JSON)
    } else if uri == PROFILE_URI {
        (profiles(&shared.service, caller, uri).await?, TEXT)
    } else {
        let reference = uri
            .strip_prefix(MEMORY_URI)
            .filter(|reference| reference.parse::<IdReference>().is_ok())
            .ok_or_else(|| resource_not_found(uri))?;
        (memory(reference, &shared.service, caller, uri).await?, TEXT)
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(mime_type);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn profiles(service: &Service, caller: &Caller, uri: &str) -> Result<String, ErrorData> {
    let profiles = service.profiles(caller).await.map_err(|error| resource_error(uri, &error))?;
    let mut reply = Reply::default();
    if profiles.is_empty() {
        reply.line("Nothing is known of the user yet.");
    }
    let shown: Vec<Shown<'_>> = profiles
        .iter()
        .map(|profile| Shown::new(profile, &profile.content, Detail::Brief))
        .collect();
    reply.memories("profiles", &shown);
    Ok(reply.into_text())
}

async fn memory(
    reference: &str,
    service: &Service,
    caller: &Caller,
    uri: &str,
) -> Result<String, ErrorData> {
    let request =
        GetRequest { references: vec![reference.to_owned()], history: false, reinforces: false };
    let answer = service.get(caller, request).await.map_err(|error| resource_error(uri, &error))?;
    let mut reply = Reply::default();
    let shown: Vec<Shown<'_>> = answer
        .memories
        .iter()
        .map(|got| {
            let mut shown = Shown::new(&got.memory, &got.memory.content, Detail::Whole);
            shown.strength = Some(got.strength);
            shown
        })
        .collect();
    reply.memories("memories", &shown);
    Ok(reply.into_text())
}
