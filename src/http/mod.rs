//! The way to a service that the configuration names: which addresses it may have, its key, how
//! often it is asked again, and when it is left alone.
//!
//! What is said and what the answer means is known by those who use it: the models of `embed/` and
//! `llm/`. Nothing here quotes what was sent, since that is somebody's memory.

mod breaker;
mod client;
mod secret;

pub use breaker::Breaker;
pub use client::{Client, Fault, FaultKind, Place, complaint};

/// Whether a file holds a key that may be used.
///
/// # Errors
/// Why not.
pub fn check_key(file: &std::path::Path) -> Result<(), String> {
    secret::read(file).map(drop)
}
