//! Panics as log lines.
//!
//! What a panic says may hold what somebody stored, and a backtrace is no answer to anybody: the log
//! names the place, and whoever catches the panic says what follows from it. redb panics on files
//! that something else has altered; the store catches these and tells of the file, so that they are
//! no event of their own.

use std::panic::PanicHookInfo;

/// Where the sources of redb lie in every build.
const REDB: &str = "/redb-";

/// Logs panics of this process from now on instead of printing them.
pub fn log_panics() {
    std::panic::set_hook(Box::new(report));
}

fn report(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    if place.contains(REDB) {
        tracing::debug!(place, thread, "a file was not as it should be");
    } else {
        tracing::error!(place, thread, "a defect was met");
    }
}
