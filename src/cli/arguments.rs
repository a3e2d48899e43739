//! The command line, as clap reads it.

mod reminders;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(super) use reminders::{
    AddArguments, ChangeArguments, DeadCommand, DeliveryKeys, RemindCommand, RemindListArguments,
    ReminderIds, SinksCommand, SnoozeArguments, WhenArguments,
};

/// What the options of every command stand under in its help.
const GLOBAL: &str = "Global options";

/// The memory of the AI agents on this workstation.
#[derive(Debug, Parser)]
#[command(name = "recalld", version, about, max_term_width = 100)]
pub struct Arguments {
    /// Configuration file [default: `$XDG_CONFIG_HOME/recalld/config.toml`]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Socket of the daemon [default: `$XDG_RUNTIME_DIR/recalld/recalld.sock`]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Data directory [default: `$XDG_STATE_HOME/recalld`]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Longest wait for the daemon, 0.1 to 86400 [default: 60; 21600 for backups, exports, imports]
    #[arg(long, global = true, help_heading = GLOBAL, env = "RECALLD_TIMEOUT", value_name = "SECONDS", allow_negative_numbers = true, value_parser = timeout)]
    pub timeout: Option<Duration>,
    /// Print JSON instead of tables
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What a harness asks for.
#[derive(Debug, Args)]
pub struct HookArguments {
    /// When it runs: at the start of a session, before each prompt, or all the time
    #[arg(value_enum)]
    pub event: HookEvent,
    /// Name of the agent
    #[arg(long, env = "RECALLD_AGENT", value_name = "NAME", default_value = "claude-code")]
    pub agent: String,
    /// Least time between two wakings of a session
    #[arg(long, value_name = "SECONDS", default_value = "60", allow_negative_numbers = true, value_parser = gap)]
    pub gap: Duration,
}

/// The moments of a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookEvent {
    /// Print standing orders, who the user is, and what is due
    SessionStart,
    /// Print what bears on the prompt, and what is due
    PromptSubmit,
    /// Wait until a reminder is due, then exit with 2 so that an idle session wakes
    Wait,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon
    Serve {
        /// Leave the session of the terminal first (used by `connect` when it starts the daemon)
        #[arg(long, hide = true)]
        detach: bool,
        /// Make a new store even where there are traces of one that is missing
        #[arg(long)]
        start_empty: bool,
    },
    /// Bridge an agent's stdio to the daemon; starts the daemon where none runs
    Connect {
        /// Name of the agent [default: `$RECALLD_AGENT`, else what the client calls itself]
        #[arg(long, env = "RECALLD_AGENT", value_name = "NAME")]
        agent: Option<String>,
        /// Never start a daemon
        #[arg(long)]
        no_start: bool,
    },
    /// Tell an agent what it should know at a moment of its harness (see the README)
    Hook(HookArguments),
    /// Show the main job at work, in a temporary directory
    Demo,
    /// Show what works, what does not and why
    Status(StatusArguments),
    /// Look at every part from outside: how it is, and what to do about it
    Doctor,
    /// Have the daemon read its configuration anew; tells what changed, or everything that is wrong
    Reload,
    /// Store a memory (`-` reads it from standard input)
    Remember(RememberArguments),
    /// Search
    Recall(RecallArguments),
    /// Show memories whole, by id or handle
    Show {
        /// Ids or handles
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Earlier versions too
        #[arg(long)]
        history: bool,
    },
    /// Tell what happened to a memory: who changed what, when, in which run
    History {
        /// Id or handle; the whole id if it is gone
        id: String,
    },
    /// List memories by time, newest first
    List(ListArguments),
    /// Change a memory; the earlier version is kept
    Update(UpdateArguments),
    /// Forget memories, by id or by a filter (shown first, then asked)
    Forget(ForgetArguments),
    /// Bring back what an agent forgot, while its grace lasts
    Unforget {
        /// The whole id
        id: String,
    },
    /// Make archived memories current again, by id or handle
    Unarchive {
        /// Ids or handles
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Set, list, acknowledge, snooze, change and end reminders
    #[command(subcommand)]
    Remind(RemindCommand),
    /// Show and test where reminders go
    #[command(subcommand)]
    Sinks(SinksCommand),
    /// Back up the store while the daemon runs
    Backup {
        /// A new file [default: a name with the time, in the directory of the backups]
        file: Option<PathBuf>,
    },
    /// Prove that a backup is sound (needs no daemon); exits 1 if it is not
    Verify {
        /// The backup
        file: PathBuf,
    },
    /// Put a backup in the place of the store, while no daemon runs; the old store is kept beside it
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Write everything but vectors as JSON Lines
    Export {
        /// A new file; `-` is standard output [default: -]
        file: Option<PathBuf>,
    },
    /// Take in what an export holds and the store does not; nothing that is there changes
    Import {
        /// The export; `-` is standard input
        file: PathBuf,
        /// Only say what would become of it
        #[arg(long)]
        dry_run: bool,
    },
    /// Check the configuration and print what is in force; exits 78 on a bad one
    CheckConfig,
    /// Show, run and undo what the daemon does by itself
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Show, fetch, import and choose embedding models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Measure recall on dialogue sets with labelled evidence
    Eval(EvalArguments),
    /// Print a completion script
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// Where a command looks.
#[derive(Debug, Default, Args)]
pub struct ScopeArguments {
    /// Namespace or pattern like `shared/*`; may be repeated
    #[arg(long, short, value_name = "NAMESPACE", value_parser = filled)]
    pub namespace: Vec<String>,
    /// Kind (fact, preference, instruction, event, procedure, task, reflection); may be repeated
    #[arg(long, short, value_name = "KIND", value_parser = filled)]
    pub kind: Vec<String>,
    /// Tag; may be repeated
    #[arg(long, short, value_name = "TAG", value_parser = filled)]
    pub tag: Vec<String>,
    /// Only what happened at or after this time (ISO 8601)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub after: Option<String>,
    /// Only what happened before this time (ISO 8601)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub before: Option<String>,
}

/// `status`
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Look again and again, until Ctrl-C
    #[arg(long, short)]
    pub watch: bool,
    /// Time between two looks, 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "2", allow_negative_numbers = true, value_parser = interval, requires = "watch")]
    pub interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    seconds(text, 3_600)
}

/// A value that says something: one that comes from a variable that was not set must not count as
/// left out, or a filter matches everything.
fn filled(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("expected a value, got nothing".to_owned());
    }
    Ok(text.to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number, 0 to 1".to_owned())
}

/// How many of something; one at least.
fn count(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

fn gap(text: &str) -> Result<Duration, String> {
    seconds(text, 86_400)
}

fn timeout(text: &str) -> Result<Duration, String> {
    seconds(text, 86_400)
}

/// Reads a number of seconds.
fn seconds(text: &str, most: u32) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=f64::from(most)).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("expected seconds, 0.1 to {most}"))
}

/// `remember`
#[derive(Debug, Args)]
pub struct RememberArguments {
    /// The text; several words are joined; `-` reads standard input
    #[arg(required = true, value_name = "TEXT")]
    pub text: Vec<String>,
    /// Where it goes [default: user]
    #[arg(long, short, value_parser = filled)]
    pub namespace: Option<String>,
    /// fact, preference, instruction, event, procedure, task or reflection
    #[arg(long, short, value_parser = filled)]
    pub kind: Option<String>,
    /// Tag; may be repeated
    #[arg(long, short, value_name = "TAG", value_parser = filled)]
    pub tag: Vec<String>,
    /// 0 to 1
    #[arg(long, short, allow_negative_numbers = true, value_parser = share)]
    pub importance: Option<f64>,
    /// When it happened (ISO 8601)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub occurred_at: Option<String>,
    /// Id or handle of the memory it replaces
    #[arg(long, value_name = "ID", value_parser = filled)]
    pub supersedes: Option<String>,
    /// A JSON object
    #[arg(long, value_name = "JSON", value_parser = filled)]
    pub metadata: Option<String>,
    /// Never let it fade
    #[arg(long)]
    pub pinned: bool,
}

/// `recall`
#[derive(Debug, Args)]
pub struct RecallArguments {
    /// The question; several words are joined
    #[arg(required = true, value_name = "QUERY")]
    pub query: Vec<String>,
    /// At most this many
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub limit: Option<u32>,
    /// What was true then instead of now (ISO 8601; a date is its end)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub as_of: Option<String>,
    /// Archived memories too
    #[arg(long)]
    pub archived: bool,
    /// Superseded memories too
    #[arg(long)]
    pub superseded: bool,
    /// Where
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// `list`
#[derive(Debug, Args)]
pub struct ListArguments {
    /// At most this many
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub limit: Option<u32>,
    /// Oldest first
    #[arg(long)]
    pub oldest: bool,
    /// active, superseded, invalidated or archived; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = filled)]
    pub status: Vec<String>,
    /// Go on where the last page ended
    #[arg(long, value_parser = filled)]
    pub cursor: Option<String>,
    /// Where
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// `update`
#[derive(Debug, Args)]
pub struct UpdateArguments {
    /// Id or handle
    pub id: String,
    /// New text; several words are joined
    #[arg(value_name = "TEXT", conflicts_with = "content", value_parser = filled)]
    pub text: Vec<String>,
    /// The same as one argument, whatever it begins with
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// New kind
    #[arg(long, short, value_parser = filled)]
    pub kind: Option<String>,
    /// New tags, in place of the old; may be repeated
    #[arg(long, short, value_name = "TAG")]
    pub tag: Vec<String>,
    /// New importance, 0 to 1
    #[arg(long, short, allow_negative_numbers = true, value_parser = share)]
    pub importance: Option<f64>,
    /// Pin or unpin
    #[arg(long)]
    pub pinned: Option<bool>,
    /// When it happened (ISO 8601)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub occurred_at: Option<String>,
    /// Until when it is true (ISO 8601)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub valid_to: Option<String>,
    /// `active` makes a superseded, invalidated or archived memory current again
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
}

/// `forget`
#[derive(Debug, Args)]
pub struct ForgetArguments {
    /// Ids or handles
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Everything whose text holds these exact words
    #[arg(long, value_name = "WORDS", conflicts_with = "ids", value_parser = filled)]
    pub query: Option<String>,
    /// Everything of this session, what was said in it too
    #[arg(long, value_name = "NAME", conflicts_with = "ids", value_parser = filled)]
    pub session: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Everything that matches
    #[command(flatten)]
    pub scope: ScopeArguments,
}

/// `eval`
#[derive(Debug, Args)]
pub struct EvalArguments {
    /// Sets: DIR/NAME for DIR/NAME.memories.jsonl and DIR/NAME.queries.jsonl
    #[arg(required = true, value_name = "DIR/NAME")]
    pub sets: Vec<PathBuf>,
    /// Keep the store here instead of in a temporary directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Measure with this embedding model instead of the one of `--config` (none: words alone; one
    /// that is installed is looked for in `--state-dir`)
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

/// `jobs`
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// Show each job, when it runs next and how it went, and the last runs
    List,
    /// Run a job now and wait for its end
    Run {
        /// A name of `recalld jobs list`
        #[arg(value_name = "NAME")]
        job: String,
        /// Only tell what it would do
        #[arg(long)]
        dry_run: bool,
    },
    /// Show one run in full
    Report {
        /// Its number
        #[arg(value_name = "ID")]
        run: u64,
    },
    /// Take back what a run changed; what was changed since is left and listed
    Undo {
        /// Its number
        #[arg(value_name = "RUN")]
        run: u64,
    },
}

/// `model`
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Show the models there are
    List,
    /// Choose a model; one that is not there is fetched first, and has to work
    Use {
        /// A name of `recalld model list`, or bundled, none or endpoint
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Install a model from a directory: model.onnx, tokenizer.json, config.json,
    /// `special_tokens_map.json` and `tokenizer_config.json`
    Import(ImportArguments),
}

/// `model import`
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// What to call it [default: as the directory]; a name of `recalld model list` brings its facts
    #[arg(long)]
    pub name: Option<String>,
    /// Put before each query
    #[arg(long, value_name = "TEXT")]
    pub query_prefix: Option<String>,
    /// Put before each document
    #[arg(long, value_name = "TEXT")]
    pub document_prefix: Option<String>,
    /// How token vectors become one: mean or cls
    #[arg(long, value_name = "HOW")]
    pub pooling: Option<String>,
    /// Longest input, tokens
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
    /// What it reads: all, or some of latin, han, kana, hangul, cyrillic, arabic, other, joined by
    /// commas [default: what is known of it, else what its tokenizer shows]
    #[arg(long, value_name = "SCRIPTS")]
    pub languages: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_help_of_a_command_shows_its_own_options_first() {
        let mut command = Arguments::command();
        command.build();
        for name in ["recall", "serve", "jobs", "status"] {
            let help = command.find_subcommand_mut(name).unwrap().render_help().to_string();
            let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
            for option in ["--config", "--socket", "--state-dir", "--timeout", "--json"] {
                assert!(!own.contains(option) && global.contains(option), "{name}: {help}");
            }
        }
    }
}
