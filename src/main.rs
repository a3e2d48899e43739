//! The `recalld` program: reads the command line and hands it to the composition root.

use std::process::ExitCode;

use clap::Parser as _;
use recalld::cli::Arguments;

fn main() -> ExitCode {
    recalld::app::run(&Arguments::parse())
}
