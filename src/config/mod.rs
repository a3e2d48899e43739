//! Configuration: parse, validate, report every problem at once.
//!
//! `config.toml.example` is compiled in and *is* the defaults. Above it come the user's file, the
//! environment (`RECALLD_STORE_CACHE_MB` for `store.cache_mb`) and the command line. This room reads
//! one file and nothing else: the environment is an argument, so that every rule is a table in a
//! test. No other room reads the environment for settings.

mod problem;

mod example;
mod layer;
mod reader;
mod reminders;

mod access;
mod consolidate;
mod edit;
mod endpoint;
mod entries;
mod jobs;
mod llm;
mod retention;
mod session;
mod sinks;

mod settings;

mod paths;
mod variables;

mod check;
mod load;

#[cfg(test)]
mod tests;

pub use access::AccessRule;
pub use check::{check_json, render_check};
pub use consolidate::ConsolidateConfig;
pub use edit::{EditError, set_text};
pub use endpoint::EndpointConfig;
pub use example::{DEFAULTS, KeyDoc, keys};
pub use jobs::{JobConfig, JobsConfig};
pub use llm::{LlmConfig, LlmEndpointConfig};
pub use load::{Loaded, Source, Sources};
pub use paths::{Chosen, Environment, config_file, server_socket, socket_candidates, state_dir};
pub use problem::{Fault, Origin, Place, Problem, Problems};
pub use settings::{
    BackupConfig, Config, ContradictionConfig, EmbedConfig, EmbedModel, ForgetConfig, IndexConfig,
    LogConfig, McpConfig, RecallConfig, ServerConfig, StoreConfig,
};
