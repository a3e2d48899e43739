//! The `recalld` program: reads the command line and hands it to the composition root.

use std::process::ExitCode;

use clap::Parser as _;
use recalld::cli::{self, Arguments, Fault};

fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => cli::ending(recalld::app::run(&arguments), arguments.json),
        Err(error) if error.use_stderr() && cli::wants_json(std::env::args_os()) => {
            cli::fail(Fault::Usage, &error.render(), true)
        }
        // Help and the version are such errors too, for standard output.
        Err(error) => {
            let is_wrong = error.use_stderr();
            drop(error.print());
            if is_wrong { ExitCode::from(Fault::Usage.exit_code()) } else { ExitCode::SUCCESS }
        }
    }
}
