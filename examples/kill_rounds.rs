//! 100 rounds (or `RECALLD_ROUNDS`) of SIGKILL under concurrent writes; prints a summary.
//!
//! `cargo build --release && cargo run --release --example kill_rounds`
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

#[path = "../tests/it/daemon.rs"]
mod daemon;
#[path = "../tests/it/kill.rs"]
mod kill;
#[path = "../tests/it/random.rs"]
mod random;

#[tokio::main]
async fn main() {
    let n_rounds = std::env::var("RECALLD_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let mut random = random::Random::from_environment("kill rounds");
    println!("{}", kill::rounds(n_rounds, &mut random).await);
}
