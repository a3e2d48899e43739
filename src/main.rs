//! The `recalld` program: reads the command line and hands it to the composition root.

use std::process::ExitCode;

use clap::Parser as _;
use recalld::cli::Arguments;

/// Exit code for a wrong command line (`EX_USAGE` of `sysexits.h`).
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => recalld::app::run(&arguments),
        // Help and the version are such errors too, for standard output.
        Err(error) => {
            let is_wrong = error.use_stderr();
            drop(error.print());
            if is_wrong { ExitCode::from(EXIT_USAGE) } else { ExitCode::SUCCESS }
        }
    }
}
