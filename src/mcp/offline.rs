//! What the server would answer, for a bridge whose daemon is away.
//!
//! A client that gets no answer to its first messages gives the server up for the whole session, so
//! the bridge answers them from what is compiled in. The live handler gives the same answers.

use rmcp::model::{InitializeRequestParams, ProtocolVersion, RequestMetaObject, ServerResult};
use serde_json::Value;

use super::info;
use super::tools::Toolset;

/// The result of a request that needs no daemon; `None` for every other request and for what the
/// live server would answer with an error.
pub fn answer(method: &str, params: Option<&Value>, toolset: Toolset) -> Option<Value> {
    let meta: RequestMetaObject = params
        .and_then(|params| params.get("_meta"))
        .and_then(|meta| serde_json::from_value(meta.clone()).ok())
        .unwrap_or_default();
    let version = meta.protocol_version();
    let is_modern = version.as_ref().is_some_and(|version| !version.has_initialize());
    let mut result = match method {
        "initialize" => {
            let params: InitializeRequestParams = serde_json::from_value(params?.clone()).ok()?;
            ServerResult::InitializeResult(info::initialized(&params.protocol_version))
        }
        "server/discover" => {
            let is_known = version.is_some_and(|v| ProtocolVersion::KNOWN_VERSIONS.contains(&v));
            let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
            if !is_known || !missing.is_empty() {
                return None;
            }
            ServerResult::DiscoverResult(info::discovered())
        }
        "ping" => ServerResult::empty(()),
        "tools/list" => ServerResult::ListToolsResult(info::tools(toolset)),
        "prompts/list" => ServerResult::ListPromptsResult(info::prompts()),
        "resources/list" => ServerResult::ListResourcesResult(info::resources()),
        "resources/templates/list" => {
            ServerResult::ListResourceTemplatesResult(info::resource_templates())
        }
        _ => return None,
    };
    if is_modern {
        result.fill_missing_cache_hints();
    } else {
        result.strip_result_type_for_legacy_peer();
    }
    serde_json::to_value(result).ok()
}
