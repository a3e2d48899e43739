//! `recalld`: the memory of the AI agents on one workstation.
//!
//! The rooms of this library and what each may import are listed in the README ("Map of the code")
//! and enforced by `tests/it/tidy.rs`. Imports point inwards only: everything may use [`domain`],
//! adapters stand behind the traits of [`ports`], and only [`app`] knows all of them.

pub mod domain;
pub mod ports;

pub mod clock;
pub mod embed;
pub mod http;
pub mod index;
pub mod llm;
pub mod sinks;
pub mod store;

pub mod service;

pub mod jobs;

pub mod bridge;
pub mod cli;
pub mod mcp;

pub mod app;
pub mod config;
pub mod telemetry;

// A stand-in of the unit tests that the integration tests include as well names the library so.
#[cfg(test)]
extern crate self as recalld;
