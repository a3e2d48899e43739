//! The tools, one a file: a definition by hand and a function from arguments to a reply.

mod backup;
mod context;
mod export;
mod feedback;
mod forget;
mod get;
mod history;
mod import;
mod list;
mod maintenance;
mod reload;
mod reminder;
mod restore;
mod search;
mod session;
mod status;
mod store;
mod summarize;
mod unforget;
mod update;

mod scope;

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use rmcp::model::Tool;

pub(super) use maintenance::job_facts;
pub(super) use status::facts as status_facts;

use super::Shared;
use super::args::{Arguments, InvalidArgument};
use super::error::ToolError;
use super::reply::Reply;

use crate::domain::change::RequestKey;
use crate::domain::id::IdReference;
use crate::domain::identity::Caller;
use crate::domain::memory::{Kind, Memory};
use crate::service::{Service, ServiceError};

/// Which tools agents are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toolset {
    /// Those that every agent needs.
    #[default]
    Small,
    /// Every tool.
    Full,
}

/// The tools of a set, in the order clients see: those an agent needs most come first, and it never
/// varies.
pub(super) fn listed(toolset: Toolset) -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        vec![
            search::definition(),
            store::definition(),
            context::definition(),
            get::definition(),
            update::definition(),
            forget::definition(),
            feedback::definition(),
            reminder::set_definition(),
            reminder::list_definition(),
            reminder::update_definition(),
            status::definition(),
            // From here on in the full set alone.
            list::definition(),
            summarize::definition(),
            session::append_definition(),
            session::get::definition(),
            session::ingest_definition(),
            maintenance::run_definition(),
            maintenance::undo_definition(),
            restore::definition(),
        ]
    });
    let n_small = TOOLS.iter().position(|tool| tool.name == list::NAME);
    match toolset {
        Toolset::Small => TOOLS.get(..n_small.unwrap_or_default()).unwrap_or_default(),
        Toolset::Full => &TOOLS,
    }
}

/// Whether there is a tool of this name for this caller.
pub(super) fn is_for(name: &str, caller: &Caller, toolset: Toolset) -> bool {
    let is_in = |toolset| listed(toolset).iter().any(|tool| tool.name == name);
    is_in(toolset) || (caller.is_owner() && (for_the_person(name) || is_in(Toolset::Full)))
}

/// Tools that no list shows, since no agent can use them.
fn for_the_person(name: &str) -> bool {
    matches!(
        name,
        history::NAME
            | unforget::NAME
            | backup::NAME
            | export::NAME
            | import::NAME
            | reload::NAME
            | maintenance::LIST
            | maintenance::REPORT
            | reminder::SHOW
            | reminder::DEAD
            | reminder::SINKS
            | reminder::TEST
    )
}

/// One call of a tool.
pub(super) struct Call<'a> {
    /// The use cases.
    pub(super) service: &'a Service,
    /// Who calls.
    pub(super) caller: &'a Caller,
    /// The session of the connection.
    pub(super) session: Option<&'a str>,
    /// Idempotency key.
    pub(super) request: Option<RequestKey>,
    /// What all connections share.
    pub(super) shared: &'a Shared,
}

impl Call<'_> {
    fn zone(&self) -> TimeZone {
        self.service.zone()
    }
}

/// Runs a tool; `None`: there is none of that name.
pub(super) async fn run(name: &str, call: Call<'_>, arguments: Arguments) -> Option<Outcome> {
    Some(match name {
        search::NAME => search::run(call, arguments).await,
        store::NAME => store::run(call, arguments).await,
        context::NAME => context::run(call, arguments).await,
        get::NAME => get::run(call, arguments).await,
        update::NAME => update::run(call, arguments).await,
        forget::NAME => forget::run(call, arguments).await,
        feedback::NAME => feedback::run(call, arguments).await,
        list::NAME => list::run(call, arguments).await,
        summarize::NAME => summarize::run(call, arguments).await,
        session::APPEND => session::append(call, arguments).await,
        session::INGEST => session::ingest(call, arguments).await,
        session::get::NAME => session::get::run(call, arguments).await,
        history::NAME => history::run(call, arguments).await,
        restore::NAME => restore::run(call, arguments).await,
        unforget::NAME => unforget::run(call, arguments).await,
        export::NAME => export::run(call, arguments).await,
        import::NAME => import::run(call, arguments).await,
        backup::NAME => backup::run(call, arguments).await,
        reload::NAME => reload::run(call, arguments).await,
        status::NAME => status::run(call, arguments).await,
        _ if reminder::has(name) => return reminder::run(name, call, arguments).await,
        _ => return maintenance::run(name, call, arguments).await,
    })
}

/// What a tool comes to.
pub(super) type Outcome = Result<Reply, ToolError>;

/// Whether a call of this tool may be dropped half-way: it writes nothing.
pub(super) fn is_reading(name: &str) -> bool {
    matches!(
        name,
        search::NAME
            | context::NAME
            | get::NAME
            | history::NAME
            | list::NAME
            | status::NAME
            | session::get::NAME
            | export::NAME
            | maintenance::LIST
            | maintenance::REPORT
            | reminder::LIST
            | reminder::SHOW
            | reminder::SINKS
    )
}

fn kind_words() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.as_str()).collect()
}

/// What a kind is expected to be.
fn expected_kind() -> String {
    format!("one of {}", kind_words().join(", "))
}

/// The kinds that a caller may give a memory: who the user is, only the daemon puts together.
fn stated_kind_words() -> Vec<&'static str> {
    kind_words().into_iter().filter(|word| *word != Kind::Profile.as_str()).collect()
}

/// The kind that a caller gives a memory.
fn stated_kind(arguments: &mut Arguments) -> Result<Option<Kind>, InvalidArgument> {
    let expected = format!(
        "one of {} (a profile is made by the daemon, from preferences, instructions and procedures)",
        stated_kind_words().join(", ")
    );
    let parse = |word: &str| Kind::parse(word).filter(|kind| *kind != Kind::Profile);
    arguments.choice(&["kind"], parse, &expected)
}

/// Splits references into those that can be one, and those that can name nothing.
fn split_references(references: Vec<String>) -> Result<(Vec<String>, Vec<String>), ToolError> {
    let (good, bad): (Vec<String>, Vec<String>) =
        references.into_iter().partition(|text| text.parse::<IdReference>().is_ok());
    let bad: Vec<String> = bad.iter().map(|text| text.chars().take(64).collect()).collect();
    match bad.first() {
        Some(reference) if good.is_empty() => {
            Err(ServiceError::NotFound { reference: reference.clone() }.into())
        }
        _ => Ok((good, bad)),
    }
}

/// The first characters of a memory's text.
fn head(memory: &Memory, n_chars: usize) -> &str {
    let end = memory.content.char_indices().nth(n_chars).map_or(memory.content.len(), |(at, _)| at);
    memory.content.get(..end).unwrap_or_default()
}
