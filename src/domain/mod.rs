//! The pure core: types with their invariants, every formula, every limit.
//!
//! No I/O, no async, no clock, no randomness, no logging: time and ids come in as arguments, so that
//! every rule here is a function that a table or a property test can prove.

pub mod limits;

pub mod id;
pub mod identity;
pub mod memory;
pub mod namespace;

pub mod change;
pub mod dedupe;
pub mod embedding;
pub mod filter;
pub mod job;
pub mod likeness;
pub mod search;
pub mod sink;
pub mod transfer;

pub mod address;
pub mod bm25;
pub mod chunk;
pub mod dates;
pub mod redaction;
pub mod text;
pub mod when;

pub mod archive;
pub mod backup;
pub mod budget;
pub mod context;
pub mod decay;
pub mod excerpt;
pub mod measure;
pub mod periodicity;
pub mod ranking;
pub mod reminder;
pub mod retention;
pub mod scanner;
pub mod schedule;
pub mod scoring;
pub mod session;

pub mod consolidation;
pub mod contradiction;
pub mod extraction;
pub mod extractive;
pub mod grounding;
pub mod suggestion;
pub mod summary;
