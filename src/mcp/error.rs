//! The only map from errors of the service to the wire.
//!
//! What a model can put right is a tool result with `isError` (SEP-1303); what only a client or an
//! operator can is a JSON-RPC error.

use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData, MetaObject};

use super::args::InvalidArgument;
use super::hello::Refused;
use crate::ports::{BackupError, NotRun, StoreError};
use crate::service::ServiceError;

/// The peer may not do this (free for servers: the protocol's own codes end at -32020).
const FORBIDDEN: ErrorCode = ErrorCode(-32_001);
/// Where a failed call says whose fault it is.
const FAULT_KEY: &str = "recalld/fault";
/// What stands there if an argument is wrong.
pub const ARGUMENT_FAULT: &str = "argument";
/// What stands there if the configuration is.
pub const CONFIGURATION_FAULT: &str = "configuration";

/// Why a tool has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument cannot be read.
    #[error(transparent)]
    Argument(#[from] InvalidArgument),
    /// The use case said no.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Too much is going on.
    #[error("too many calls in flight on this connection (at most {0}); retry shortly")]
    Busy(usize),
    /// The client took the call back.
    #[error("cancelled")]
    Cancelled,
    /// The job was not run.
    #[error(transparent)]
    NotRun(#[from] NotRun),
    /// The configuration is wrong; what was in force stays so.
    #[error("the configuration was not changed:\n{}", .0.join("\n"))]
    Configuration(Vec<String>),
    /// A defect of the daemon. The cause is in its log, not in the answer.
    #[error("internal error in {0}; the daemon's log has the cause")]
    Panicked(String),
}

impl ToolError {
    /// Whether the daemon or its environment is at fault, not the caller.
    pub(super) fn is_ours(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Service(error) => is_ours(error),
            Self::NotRun(error) => matches!(error, NotRun::Store(_)),
            Self::Argument(_) | Self::Busy(_) | Self::Cancelled | Self::Configuration(_) => false,
        }
    }

    /// What is wrong, whatever the store holds: an argument, or the configuration.
    fn fault(&self) -> Option<&'static str> {
        if let Self::Argument(_)
        | Self::Service(ServiceError::Invalid { .. } | ServiceError::Refused { .. }) = self
        {
            return Some(ARGUMENT_FAULT);
        }
        matches!(self, Self::Configuration(_)).then_some(CONFIGURATION_FAULT)
    }

    /// The result of the tool: the text alone, since clients refuse errors with structure. Our own
    /// client reads in `_meta` whether an argument or the configuration is wrong.
    pub(super) fn into_result(self) -> CallToolResult {
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.to_string())]);
        if let Some(fault) = self.fault() {
            let mut meta = MetaObject::new();
            meta.0.insert(FAULT_KEY.to_owned(), fault.into());
            result.meta = Some(meta);
        }
        result
    }
}

/// The answer to a request from who may not make it.
pub(super) fn forbidden(refused: &Refused) -> ErrorData {
    ErrorData::new(FORBIDDEN, refused.to_string(), None)
}

/// The answer to a resource that cannot be read.
pub(super) fn resource_error(uri: &str, error: &ServiceError) -> ErrorData {
    if is_ours(error) {
        ErrorData::internal_error(error.to_string(), None)
    } else {
        resource_not_found(uri)
    }
}

/// The answer to a resource that is not there, or not for this caller.
pub(super) fn resource_not_found(uri: &str) -> ErrorData {
    let shown: String = uri.chars().take(200).collect();
    ErrorData::resource_not_found(format!("resource `{shown}` not found"), None)
}

fn is_ours(error: &ServiceError) -> bool {
    match error {
        ServiceError::Store(StoreError::SupersedesMissing(_) | StoreError::BadLink(_))
        | ServiceError::Backup(BackupError::Exists(_) | BackupError::Running)
        | ServiceError::Invalid { .. }
        | ServiceError::Refused { .. }
        | ServiceError::NotFound { .. }
        | ServiceError::Run { .. }
        | ServiceError::Ambiguous { .. }
        | ServiceError::NotReadable { .. }
        | ServiceError::NotWritable { .. } => false,
        ServiceError::Store(_) | ServiceError::Backup(_) | ServiceError::Index(_) => true,
    }
}
