//! The MCP server of one connection: dispatch, limits, the panic guard and the log line.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ResourceUpdatedNotificationParam, ServerConfig, ServerResult, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::args::{Arguments, InvalidArgument};
use super::error::{ToolError, forbidden};
use super::hello::Identity;
use super::pending::{Follower, PENDING_URI};
use super::tools::{self, Call, Outcome, Toolset};
use super::{Shared, info, prompts, resources};
use crate::domain::change::RequestKey;
use crate::domain::identity::Caller;
use crate::domain::limits::{CALLS_PER_CONNECTION_MAX, REQUEST_KEY_BYTES_MAX};
use crate::ports::Measured;

/// Key in `_meta` under which a client that may send a call twice names it.
pub const REQUEST_KEY: &str = "recalld/requestKey";

/// Methods that are known, so that a request of theirs which cannot be read has bad parameters.
const METHODS: &[&str] = &[
    "completion/complete",
    "initialize",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// The server of one connection.
pub(super) struct Handler {
    shared: Arc<Shared>,
    identity: Identity,
    calls: Semaphore,
    ended: CancellationToken,
    /// The one resource that can be followed, while a peer of the older era does; it ends with the
    /// connection.
    following: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl Handler {
    /// The server for the peer `identity`; `ended` is cancelled when the peer sends nothing more.
    pub(super) fn new(shared: Arc<Shared>, identity: Identity, ended: CancellationToken) -> Self {
        let calls = Semaphore::new(CALLS_PER_CONNECTION_MAX);
        Self { shared, identity, calls, ended, following: Mutex::default() }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let client = context.client_info().map(|client| client.name);
        self.identity.caller(client.as_deref()).map_err(|refused| forbidden(&refused))
    }

    /// Runs a tool within the limits, and turns whatever becomes of it into a result.
    async fn call(
        &self,
        name: &str,
        arguments: Option<&Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let caller = self.caller(context)?;
        if !tools::is_for(name, &caller, self.shared.toolset) {
            return Err(unknown_tool(name, self.shared.toolset));
        }
        let span = tracing::debug_span!("request", request_id = %context.id, method = "tools/call", tool = name);
        let started = self.shared.clock.monotonic();
        let outcome =
            self.guarded(name, arguments, &caller, context).instrument(span.clone()).await;
        let elapsed = self.shared.clock.monotonic().saturating_sub(started);
        let elapsed_ms = elapsed.as_secs_f64() * 1e3;
        let _entered = span.enter();
        match outcome {
            Ok(reply) => {
                tracing::debug!(n_items = reply.n_items, elapsed_ms, "tool answered");
                Ok(reply.into())
            }
            Err(error) => {
                self.shared.meter.record(Measured::ToolError);
                if error.is_ours() {
                    tracing::error!(%error, elapsed_ms, "tool failed");
                } else {
                    tracing::debug!(elapsed_ms, "tool refused");
                }
                Ok(error.into_result())
            }
        }
    }

    async fn guarded(
        &self,
        name: &str,
        arguments: Option<&Value>,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Outcome {
        let Ok(_own) = self.calls.try_acquire() else {
            return Err(ToolError::Busy(CALLS_PER_CONNECTION_MAX));
        };
        let request = request_key(caller, context, arguments)?;
        let arguments = Arguments::from_value(arguments)?;
        let call = Call {
            service: &self.shared.service,
            caller,
            session: self.identity.session(),
            request,
            shared: &self.shared,
        };
        // Cancelling stops the wait for a turn and a reading tool; a write that has begun goes on.
        let calls = self.shared.calls();
        let run = async {
            let _turn = tokio::select! {
                turn = calls.acquire() => turn,
                () = context.ct.cancelled() => return Err(ToolError::Cancelled),
            };
            let outcome = tools::run(name, call, arguments).await;
            let mut reply = outcome.unwrap_or(Err(ToolError::Cancelled))?;
            self.shared.riding.ride(&self.shared, caller, &mut reply).await;
            Ok(reply)
        };
        let run = AssertUnwindSafe(run).catch_unwind();
        let finished = if tools::is_reading(name) {
            tokio::select! {
                finished = run => finished,
                () = context.ct.cancelled() => return Err(ToolError::Cancelled),
            }
        } else {
            run.await
        };
        finished.unwrap_or_else(|panic| {
            tracing::error!(panic = panic_text(&*panic), "tool panicked");
            Err(ToolError::Panicked(name.to_owned()))
        })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        info::server()
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Ok(info::discovered())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(info::tools(self.shared.toolset))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.map(Value::Object);
        Ok(self.call(&request.name, arguments.as_ref(), &context).await?.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(info::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request.name).map(Into::into)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(info::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(info::resource_templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let span =
            tracing::debug_span!("request", request_id = %context.id, method = "resources/read");
        let read = resources::read(&request.uri, &self.shared, &caller);
        let read = AssertUnwindSafe(read.instrument(span)).catch_unwind();
        read.await
            .unwrap_or_else(|panic| {
                tracing::error!(panic = panic_text(&*panic), "resource panicked");
                Err(ErrorData::internal_error(
                    "internal error; the daemon's log has the cause",
                    None,
                ))
            })
            .map(Into::into)
    }

    /// The tool list may change across a restart alone, which the bridge sees; what is pending changes
    /// all the time.
    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| uri == PENDING_URI);
        }
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = subscription.accepted().resource_subscriptions.as_deref().unwrap_or_default();
        let follows = uris.iter().any(|uri| uri == PENDING_URI);
        let caller = self.caller(subscription.request_context())?;
        let sink = subscription.sink();
        let tell = || async { sink.notify_resource_updated(PENDING_URI).await.is_ok() };
        let follow = async {
            if follows {
                Follower::begin(&self.shared, caller).await.run(tell).await;
            }
            std::future::pending::<()>().await;
        };
        // Without the second, a peer that hangs up would be waited for.
        tokio::select! {
            () = subscription.cancelled() => {}
            () = self.ended.cancelled() => {}
            () = follow => {}
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri != PENDING_URI {
            let shown: String = request.uri.chars().take(100).collect();
            let reason = format!("no updates are sent of `{shown}`; only of `{PENDING_URI}`");
            return Err(ErrorData::invalid_params(reason, None));
        }
        let caller = self.caller(&context)?;
        let (follower, peer) = (Follower::begin(&self.shared, caller).await, context.peer);
        let following = tokio::spawn(async move {
            let tell = || async {
                let updated = ResourceUpdatedNotificationParam::new(PENDING_URI);
                peer.notify_resource_updated(updated).await.is_ok()
            };
            follower.run(tell).await;
        });
        let following = Some(AbortOnDropHandle::new(following));
        *self.following.lock().unwrap_or_else(PoisonError::into_inner) = following;
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.following.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Requests that rmcp cannot read: a `tools/call` whose arguments are JSON text or a list is
    /// carried out all the same.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if !METHODS.contains(&request.method.as_str()) {
            let method: String = request.method.chars().take(100).collect();
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let params = request.params.unwrap_or_default();
        let name = params.get("name").and_then(Value::as_str);
        match (request.method.as_str(), name) {
            ("tools/call", Some(name)) => {
                let result = self.call(name, params.get("arguments"), &context).await?;
                let mut result = ServerResult::CallToolResult(result);
                let is_modern = context.protocol_version().is_some_and(|v| !v.has_initialize());
                if !is_modern {
                    result.strip_result_type_for_legacy_peer();
                }
                serde_json::to_value(result)
                    .map(CustomResult::new)
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))
            }
            ("tools/call", None) => {
                Err(ErrorData::invalid_params("`params.name`: expected the name of a tool", None))
            }
            (method, _) => {
                let reason = format!("the parameters of {method} cannot be read");
                Err(ErrorData::invalid_params(reason, None))
            }
        }
    }

    async fn on_initialized(&self, _: NotificationContext<RoleServer>) {}
}

/// The idempotency key of a call, if it has one: the key it was sent under and its arguments.
fn request_key(
    caller: &Caller,
    context: &RequestContext<RoleServer>,
    arguments: Option<&Value>,
) -> Result<Option<RequestKey>, InvalidArgument> {
    match context.meta.get(REQUEST_KEY) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(key)) if (1..=REQUEST_KEY_BYTES_MAX).contains(&key.len()) => {
            let (uid, actor) = (caller.uid, caller.actor.to_string());
            // The same key with other arguments is another request: nothing is dropped for it.
            let arguments = arguments.map(Value::to_string).unwrap_or_default();
            let digest = blake3::hash(arguments.as_bytes()).to_hex();
            Ok(Some(RequestKey { uid, actor, key: format!("{key} {digest}") }))
        }
        Some(other) => {
            let expected = format!("text of 1 to {REQUEST_KEY_BYTES_MAX} bytes");
            Err(InvalidArgument::new(format!("_meta.{REQUEST_KEY}"), expected, other))
        }
    }
}

fn unknown_tool(name: &str, toolset: Toolset) -> ErrorData {
    let known: Vec<&str> = tools::listed(toolset).iter().map(|tool| tool.name.as_ref()).collect();
    let shown: String = name.chars().take(100).collect();
    let reason = format!("unknown tool `{shown}`; there are {}", known.join(", "));
    ErrorData::invalid_params(reason, Some(json!({"known": known})))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}
