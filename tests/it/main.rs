//! The integration tests: one binary, so that there is one link step.
//!
//! They start the real daemon (`daemon.rs`) in temporary directories and speak to it as agents and
//! people do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "test code: a failure is a panic, and a skipped test says so loudly"
)]

mod archive;
mod backup;
mod bridge;
mod commands;
mod consolidate;
mod daemon;
mod doctor;
mod endpoint;
mod endpoint_server;
mod events;
mod footprint;
mod forget;
mod full;
mod guard;
mod hook;
mod hub;
mod inspector;
mod jobs;
mod kill;
mod lifecycle;
mod lineage;
mod llm;
mod logs;
mod models;
mod random;
mod readme;
mod rebuild;
mod recall;
mod reembed;
mod reload;
mod remind;
mod reminders;
mod rough;
mod rules;
mod scenarios;
mod sdk;
mod secrets;
mod sessions;
mod skip;
mod socket;
mod supervised;
mod tidy;
mod times;
mod transfer;
mod truth;
mod unconnected;
mod units;
mod watch;
mod year;
