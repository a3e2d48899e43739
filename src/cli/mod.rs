//! Commands for people: clients of the socket, never of the store.
//!
//! Every command is a call of a tool that agents use too; what a person sees is what is true for
//! them. With `--json` the structured answer is printed as it came.

mod arguments;
mod failure;
mod jobs;
mod output;
mod remind;
mod requests;
mod session;
mod show;
mod sinks;
mod status;
mod words;

pub mod doctor;

mod bridged;
mod demo;
mod eval;
mod hook;
mod transfer;
mod trial;
mod webhook;

use std::process::ExitCode;

use clap::CommandFactory as _;
use serde_json::{Value, json};

pub use arguments::{Arguments, Command, ImportArguments, ModelCommand};
pub use failure::{Fault, Usage, fail, remark, wants_json};
pub use output::{ending, say, table};
pub use session::Door;

use session::CliError;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "recalld", &mut script);
    say(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

/// Carries out a command of a person against the daemon behind a door.
pub fn run(arguments: &Arguments, door: &Door) -> ExitCode {
    if let Command::Hook(what) = &arguments.command {
        return block_on(arguments.json, hook::run(what, door));
    }
    block_on(arguments.json, async {
        match carry_out(arguments, door).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(error.fault(), &error, arguments.json),
        }
    })
}

/// Looks at every part and says what to do about it.
pub fn examine(premises: &doctor::Premises, json: bool) -> ExitCode {
    block_on(json, doctor::run(premises, json))
}

/// The model that the running daemon has loaded, if one runs and has one.
pub fn running_model(door: &Door) -> Option<Option<String>> {
    let asked = async {
        let connection = session::connect(door, true).await.ok()?;
        let status = connection.call("memory_status", json!({})).await.ok()?;
        Some(status.get("model").and_then(Value::as_str).map(str::to_owned))
    };
    runtime().ok()?.block_on(asked)
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn block_on(json: bool, work: impl Future<Output = ExitCode>) -> ExitCode {
    match runtime() {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => fail(Fault::Failed, &format!("start the runtime: {error}"), json),
    }
}

async fn carry_out(arguments: &Arguments, door: &Door) -> Result<(), CliError> {
    let json = arguments.json;
    let (tool, request, show): (_, _, fn(&Value, bool)) = match &arguments.command {
        Command::Demo => return demo::run(json).await,
        Command::Eval(what) => {
            return eval::run(what, arguments.config.as_deref(), &door.models, json).await;
        }
        Command::Forget(what) => return forget(door, what, json).await,
        Command::Jobs(what) => return jobs::run(what, door, json).await,
        Command::Remind(what) => return remind::run(what, door, json).await,
        Command::Sinks(what) => return sinks::run(what, door, json).await,
        Command::Show { ids, history } => {
            show::whole(&session::get_whole(door, ids, *history).await?, json);
            return Ok(());
        }
        Command::Status(what) if what.watch => {
            return status::watch(door, what.interval, json).await;
        }
        Command::Status(_) => ("memory_status", requests::none(), show::status),
        Command::Reload => ("daemon_reload", requests::none(), show::reloaded),
        Command::Remember(what) => ("memory_store", requests::remember(what)?, show::stored),
        Command::Recall(what) => ("memory_search", requests::recall(what), show::found),
        Command::History { id } => ("memory_history", requests::by_id(id), show::history),
        Command::List(what) => ("memory_list", requests::list(what), show::listed),
        Command::Update(what) => ("memory_update", requests::update(what)?, show::updated),
        Command::Unforget { id } => ("memory_unforget", requests::by_id(id), show::restored),
        Command::Unarchive { ids } => ("memory_restore", requests::ids(ids), show::restored),
        Command::Export { file } => {
            return transfer::export(door, file.as_deref(), json).await;
        }
        Command::Import { file, dry_run } => {
            return transfer::import(door, file, *dry_run, json).await;
        }
        Command::Backup { file } => {
            let request = requests::backup(file.as_deref())?;
            let connection = session::connect(door, true).await?;
            let answer =
                connection.call_within("memory_backup", request, session::LONG_WAIT).await?;
            show::backed_up(&answer, json);
            return Ok(());
        }
        // These are carried out before it comes here.
        Command::Serve { .. }
        | Command::Hook(_)
        | Command::Verify { .. }
        | Command::Restore { .. }
        | Command::Doctor
        | Command::Connect { .. }
        | Command::CheckConfig
        | Command::Model(_)
        | Command::Completions { .. } => return Ok(()),
    };
    show(&session::call(door, tool, request).await?, json);
    Ok(())
}

/// By id at once; by filter only after the person has seen what would go.
async fn forget(
    door: &Door,
    what: &arguments::ForgetArguments,
    json: bool,
) -> Result<(), CliError> {
    let mut request = requests::forget(what)?;
    if what.ids.is_empty() {
        request.insert("dry_run".to_owned(), true.into());
        let preview = session::call(door, "memory_forget", request.clone()).await?;
        let Some(token) = preview.get("confirm").cloned() else {
            show::forgotten(&preview, json);
            return Ok(());
        };
        if preview.get("n_matching") == Some(&0.into()) {
            show::none_matching(&preview, json);
            return Ok(());
        }
        if !what.yes {
            show::preview(&preview);
            if !output::can_ask() {
                let how = "not confirmed: say `--yes` where nobody can be asked";
                return Err(CliError::Usage(how.to_owned()));
            }
            if !output::confirmed("Forget them all?")? {
                output::say("nothing was forgotten");
                return Ok(());
            }
        }
        request.remove("dry_run");
        request.insert("confirm".to_owned(), token);
    }
    show::forgotten(&session::call(door, "memory_forget", request).await?, json);
    Ok(())
}
