//! Rounds of SIGKILL in every phase of a daemon, 1,000 or as many as the argument says, under
//! concurrent writes; with `jobs` as the second argument, in the middle of its jobs. Prints a summary;
//! fails if anything was lost, came back or was done twice.
//!
//! `cargo build --release && cargo run --release --example kill_rounds -- 1000`
//! `cargo run --release --example kill_rounds -- 50 jobs`
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "shares the test code of tests/it, where a failure is a panic"
)]

use std::process::ExitCode;

#[path = "../tests/it/daemon.rs"]
mod daemon;
#[path = "../tests/it/kill/mod.rs"]
mod kill;
#[path = "../tests/it/random.rs"]
mod random;

#[tokio::main]
async fn main() -> ExitCode {
    let n_rounds = std::env::args().nth(1).map_or(1_000, |n| n.parse().unwrap());
    let mut random = random::Random::from_environment("kill rounds");
    if std::env::args().nth(2).is_some_and(|what| what == "jobs") {
        let summary = kill::job_rounds(n_rounds, &mut random).await;
        println!("{summary}");
        let is_proof = summary.is_clean() && summary.n_cut_off() > 0;
        return if is_proof { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let summary = kill::rounds(n_rounds, &mut random).await;
    println!("{summary}");
    if summary.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
