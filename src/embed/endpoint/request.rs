//! Sends texts to an endpoint from a thread that waits for the answer.

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{EndpointSettings, reply};
use crate::domain::limits::ENDPOINT_REPLY_BYTES_MAX;
use crate::http::{Client, Fault, Place};
use crate::ports::Clock;

/// The section of the configuration that names the endpoint.
const SECTION: &str = "embed.endpoint";

/// The way to an endpoint, for one thread.
pub(super) struct Requests {
    pub(super) settings: Arc<EndpointSettings>,
    client: Client,
    runtime: Runtime,
    closing: CancellationToken,
}

impl Requests {
    /// Makes the client; sends nothing.
    ///
    /// # Errors
    /// If the address is not one that memories may go to, or TLS cannot be set up.
    pub(super) fn open(
        settings: Arc<EndpointSettings>,
        clock: Arc<dyn Clock>,
        closing: CancellationToken,
    ) -> Result<Self, String> {
        let place = Place {
            target: Place::below(&settings.url, "embeddings"),
            key_file: settings.key_file.clone(),
            timeout: settings.timeout,
            allow_private: settings.allow_private.clone(),
            reply_bytes_max: ENDPOINT_REPLY_BYTES_MAX,
            section: SECTION,
            refusable: &[],
        };
        let client = Client::open(place, clock)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("prepare requests: {error}"))?;
        Ok(Self { settings, client, runtime, closing })
    }

    /// The vectors of the texts, in order, all of one length.
    pub(super) fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Fault> {
        let settings = &self.settings;
        let mut body =
            json!({ "model": settings.model, "input": texts, "encoding_format": "float" });
        if let (Some(dimensions), Some(fields)) = (settings.dimensions, body.as_object_mut()) {
            fields.insert("dimensions".to_owned(), dimensions.into());
        }
        let answer = self.runtime.block_on(async {
            tokio::select! {
                () = self.closing.cancelled() => Err(Fault::down("it is stopped")),
                answer = self.client.post(&body) => answer,
            }
        })?;
        let place = self.client.place().host();
        let vectors = reply::vectors(&answer, texts.len())
            .map_err(|reason| Fault::down(format!("{place}: {reason}")))?;
        match (settings.dimensions, vectors.first().map(Vec::len)) {
            (Some(asked), Some(got)) if asked != got => Err(Fault::down(format!(
                "{place}: it gives vectors of {got} numbers where embed.endpoint.dimensions asks \
                 for {asked}: this model cannot shorten its vectors, set it to 0"
            ))),
            _ => Ok(vectors),
        }
    }
}
