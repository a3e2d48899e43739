//! `recalld remind` and `recalld sinks`.

use clap::{Args, Subcommand, ValueEnum};

use super::{count, filled};

/// `remind`
#[derive(Debug, Subcommand)]
pub enum RemindCommand {
    /// Set a reminder; the text may name the time
    Add(AddArguments),
    /// List what is due, proposed and to come, or another view
    List(RemindListArguments),
    /// Show reminders whole, with the messages that were sent for them
    Show(ReminderIds),
    /// It is seen to: do not tell it again
    Ack(ReminderIds),
    /// Tell it once more later
    Snooze(SnoozeArguments),
    /// Tell nothing of it until it is resumed
    Pause(ReminderIds),
    /// Go on with what is to come
    Resume(ReminderIds),
    /// Change what it says, or when and where it is told
    Change(ChangeArguments),
    /// Call it off
    Cancel(ReminderIds),
    /// What it is about is done, with all that was to come
    Done(ReminderIds),
    /// Take up a proposal
    Accept(ReminderIds),
    /// Turn down a proposal, for good
    Decline(ReminderIds),
    /// Messages that did not arrive, or may not have: list, retry or drop them
    Dead {
        /// [default: list]
        #[command(subcommand)]
        what: Option<DeadCommand>,
    },
}

/// `remind dead`
#[derive(Debug, Subcommand)]
pub enum DeadCommand {
    /// List them, with the reason of each
    List,
    /// Send them once more
    Retry(DeliveryKeys),
    /// Drop them for good
    Drop(DeliveryKeys),
}

/// `sinks`
#[derive(Debug, Subcommand)]
pub enum SinksCommand {
    /// Show where reminders go, and how each place is
    List,
    /// Send a test message, now and at any hour
    Test {
        /// A name of `recalld sinks list`
        name: String,
    },
}

/// Some reminders.
#[derive(Debug, Args)]
pub struct ReminderIds {
    /// Ids or handles
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
}

/// Some messages.
#[derive(Debug, Args)]
pub struct DeliveryKeys {
    /// Keys of `recalld remind dead`
    #[arg(value_name = "KEY", required_unless_present_any = ["all", "sink"])]
    pub keys: Vec<String>,
    /// All those for this sink, which may be gone from the configuration
    #[arg(long, value_name = "NAME", conflicts_with_all = ["keys", "all"], value_parser = filled)]
    pub sink: Option<String>,
    /// All of them
    #[arg(long, conflicts_with = "keys")]
    pub all: bool,
}

/// When and where a reminder is told.
#[derive(Debug, Default, Args)]
pub struct WhenArguments {
    /// When it takes place: ISO 8601 or words ("tomorrow 3pm")
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub at: Option<String>,
    /// How it recurs: words ("every Friday 15:00") or an RRULE
    #[arg(long, value_name = "RULE", allow_hyphen_values = true, value_parser = filled)]
    pub rule: Option<String>,
    /// How long before it is told, at least 0s: 1h, PT90M, P1D@18:00
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub lead: Option<String>,
    /// Time zone, like Europe/Berlin [default: that of the configuration]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true, value_parser = filled)]
    pub zone: Option<String>,
    /// Sink to tell; may be repeated [default: those of the configuration]
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub sink: Vec<String>,
    /// normal, or urgent: at any hour and never together with others
    #[arg(long)]
    pub priority: Option<PriorityArgument>,
    /// What becomes of what was missed while nothing ran
    #[arg(long)]
    pub on_missed: Option<MissedArgument>,
    /// Last day of a rule
    #[arg(long, value_name = "DATE", allow_hyphen_values = true, value_parser = filled)]
    pub until: Option<String>,
    /// How many times a rule holds
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub count: Option<u32>,
}

/// How much a reminder matters.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PriorityArgument {
    /// It may wait for the end of quiet hours
    Normal,
    /// At once, at any hour
    Urgent,
}

/// What becomes of what was missed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MissedArgument {
    /// Each is told late
    Late,
    /// None is told
    Skip,
    /// The latest is told for all
    Coalesce,
}

/// `remind add`
#[derive(Debug, Args)]
pub struct AddArguments {
    /// What to be reminded of; several words are joined
    #[arg(value_name = "TEXT", required_unless_present = "memory")]
    pub text: Vec<String>,
    /// Memory that it is about, by id or handle; forgotten with it
    #[arg(long, value_name = "ID", value_parser = filled)]
    pub memory: Option<String>,
    /// Who may read it [default: user]
    #[arg(long, short, value_parser = filled)]
    pub namespace: Option<String>,
    /// When and where
    #[command(flatten)]
    pub when: WhenArguments,
}

/// `remind list`
#[derive(Debug, Args)]
pub struct RemindListArguments {
    /// due, upcoming, proposed, past, dead or all
    #[arg(long, value_parser = filled)]
    pub view: Option<String>,
    /// Namespace or pattern like `shared/*`; may be repeated
    #[arg(long, short, value_name = "NAMESPACE", value_parser = filled)]
    pub namespace: Vec<String>,
    /// At most this many
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub limit: Option<u32>,
    /// Go on where the last page ended
    #[arg(long, value_parser = filled)]
    pub cursor: Option<String>,
}

/// `remind snooze`
#[derive(Debug, Args)]
pub struct SnoozeArguments {
    /// Id or handle
    pub id: String,
    /// For how long (30m, 2h, PT90M), or until when in words (in 10 minutes, tomorrow 9:00)
    #[arg(
        value_name = "TIME",
        required_unless_present_any = ["wait", "until"],
        conflicts_with_all = ["wait", "until"],
        value_parser = filled
    )]
    pub time: Vec<String>,
    /// For how long: 30m, 2h, PT90M
    #[arg(
        long = "for",
        value_name = "TIME",
        conflicts_with = "until",
        allow_hyphen_values = true,
        value_parser = filled
    )]
    pub wait: Option<String>,
    /// Until when: ISO 8601 or words ("tomorrow 9:00")
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = filled)]
    pub until: Option<String>,
}

/// `remind change`
#[derive(Debug, Args)]
pub struct ChangeArguments {
    /// Id or handle
    pub id: String,
    /// What it says from now on; several words are joined
    #[arg(value_name = "TEXT", conflicts_with = "text", value_parser = filled)]
    pub words: Vec<String>,
    /// The same as one argument, whatever it begins with
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = filled)]
    pub text: Option<String>,
    /// When and where
    #[command(flatten)]
    pub when: WhenArguments,
}
