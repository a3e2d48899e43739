//! The way to a service that the configuration names: which addresses it may have, its key, how
//! often it is asked again, and when it is left alone.
//!
//! What is said and what the answer means is known by those who use it: the models of `embed/` and
//! `llm/`, and the `sinks/`. Nothing here quotes what was sent, since that is somebody's memory.

mod policy;
mod secret;

mod breaker;
mod client;
mod courier;

pub use breaker::Breaker;
pub use client::{Client, Fault, FaultKind, Place, complaint};
pub use courier::{Answer, Courier, NoAnswer, Request};
pub use policy::{Limits, host, install_crypto};
pub use secret::{Secret, read_line, read_token};

/// Whether a file holds a key that may be used.
///
/// # Errors
/// Why not.
pub fn check_key(file: &std::path::Path) -> Result<(), String> {
    secret::read_token(file).map(drop)
}
