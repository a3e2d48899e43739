//! `memory_import`: takes lines of an export in. Not listed: agents cannot use it.

use serde_json::Value;

use super::super::args::{Arguments, InvalidArgument};
use super::super::reply::Reply;
use super::super::transfer::read_item;
use super::{Call, Outcome};
use crate::domain::limits::{IMPORT_LINES_MAX, IMPORT_PROBLEMS_MAX};
use crate::domain::transfer::{ImportOutcome, Item};
use crate::service::transfer::{Imported, Incoming};

pub(super) const NAME: &str = "memory_import";

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let lines = arguments.items(&["lines"])?.unwrap_or_default();
    let first_line = arguments.integer(&["first_line"], 1, usize::MAX)?.unwrap_or(1) as u64;
    let is_continued = arguments.flag(&["continued"])?.unwrap_or_default();
    let is_dry = arguments.flag(&["dry_run"])?.unwrap_or_default();
    let warnings = arguments.finish();
    if lines.is_empty() || lines.len() > IMPORT_LINES_MAX {
        let expected = format!("1 to {IMPORT_LINES_MAX} lines of an export");
        return Err(InvalidArgument::new("lines", expected, &lines.len().into()).into());
    }
    let (groups, mut problems) = groups(&lines, first_line);
    let mut counts = Counts { n_left_out: problems.len() as u64, ..Counts::default() };
    let bears: Vec<Bears> = groups.iter().map(Bears::of).collect();
    let imported = call.service.import(call.caller, groups, is_continued, is_dry).await?;
    for (one, bears) in imported.iter().zip(bears) {
        counts.add(one, bears);
        problems.extend(problem(one, bears));
    }
    let n_problems = problems.len();
    problems.truncate(IMPORT_PROBLEMS_MAX);
    let mut reply = Reply::default();
    let Counts { n_added, n_same, n_left_out, n_forgotten, n_said, n_reminders, n_redacted } =
        counts;
    reply.line(format!("added {n_added}, there already {n_same}, left out {n_left_out}"));
    reply.field("n_added", n_added);
    reply.field("n_same", n_same);
    reply.field("n_left_out", n_left_out);
    reply.field("n_forgotten", n_forgotten);
    reply.field("n_said", n_said);
    reply.field("n_reminders", n_reminders);
    reply.field("n_redacted", n_redacted);
    reply.field("n_problems", n_problems);
    reply.remarks("problems", &problems);
    reply.remarks("warnings", &warnings);
    reply.n_items = imported.len();
    Ok(reply)
}

/// The lines, memories with their earlier versions together. A line that cannot be read takes its
/// memory with it: a memory without one of its versions is not what was exported.
fn groups(lines: &[Value], first_line: u64) -> (Vec<Incoming>, Vec<String>) {
    let mut groups: Vec<Incoming> = Vec::new();
    let mut problems = Vec::new();
    let mut is_broken = false;
    for (line, text) in (first_line..).zip(lines) {
        let item = text.as_str().ok_or_else(|| "it is no text".to_owned()).and_then(read_item);
        match item {
            Ok(Item::Earlier(_)) if is_broken => {}
            Ok(Item::Earlier(version)) => match groups.last_mut() {
                Some(last) if is_version_of(&version.memory.id, last) => {
                    last.group.push(Item::Earlier(version));
                }
                Some(_) | None => {
                    groups.push(Incoming { line, group: vec![Item::Earlier(version)] });
                }
            },
            Ok(item) => {
                is_broken = false;
                groups.push(Incoming { line, group: vec![item] });
            }
            Err(reason) => {
                problems.push(format!("line {line}: {reason}"));
                if text.as_str().is_some_and(|text| text.starts_with("{\"earlier\"")) && !is_broken
                {
                    groups.pop();
                }
                is_broken = true;
            }
        }
    }
    (groups, problems)
}

fn is_version_of(id: &crate::domain::id::MemoryId, incoming: &Incoming) -> bool {
    match incoming.group.first() {
        Some(Item::Memory { version, .. } | Item::Earlier(version)) => version.memory.id == *id,
        Some(Item::Forgotten(_) | Item::Session(_) | Item::Turn(_) | Item::Reminder(_)) | None => {
            false
        }
    }
}

/// What a group is about: the counts are those that an export gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bears {
    Memory,
    /// More earlier versions of a memory that was counted before.
    Earlier,
    Forgotten,
    /// A session or a turn.
    Said,
    Reminder,
}

impl Bears {
    fn of(incoming: &Incoming) -> Self {
        match incoming.group.first() {
            Some(Item::Memory { .. }) => Self::Memory,
            Some(Item::Earlier(_)) | None => Self::Earlier,
            Some(Item::Forgotten(_)) => Self::Forgotten,
            Some(Item::Session(_) | Item::Turn(_)) => Self::Said,
            Some(Item::Reminder(_)) => Self::Reminder,
        }
    }
}

#[expect(clippy::struct_field_names, reason = "counts are called n_ everywhere")]
#[derive(Default)]
struct Counts {
    n_added: u64,
    n_same: u64,
    n_left_out: u64,
    n_forgotten: u64,
    /// Lines of sessions.
    n_said: u64,
    n_reminders: u64,
    n_redacted: u64,
}

impl Counts {
    fn add(&mut self, one: &Imported, bears: Bears) {
        match (&one.outcome, bears) {
            (Ok(ImportOutcome::Added | ImportOutcome::Same), Bears::Earlier) => {}
            (Ok(ImportOutcome::Added | ImportOutcome::Same), Bears::Forgotten) => {
                self.n_forgotten += 1;
            }
            (Ok(ImportOutcome::Added | ImportOutcome::Same), Bears::Said) => self.n_said += 1,
            (Ok(ImportOutcome::Added | ImportOutcome::Same), Bears::Reminder) => {
                self.n_reminders += 1;
            }
            (Ok(ImportOutcome::Added), Bears::Memory) => self.n_added += 1,
            (Ok(ImportOutcome::Same), Bears::Memory) => self.n_same += 1,
            (
                Ok(
                    ImportOutcome::Different
                    | ImportOutcome::ForgottenHere
                    | ImportOutcome::RememberedHere
                    | ImportOutcome::WithoutMemory
                    | ImportOutcome::TooMany,
                )
                | Err(_),
                _,
            ) => self.n_left_out += 1,
        }
        self.n_redacted += u64::from(!one.redacted.is_empty());
    }
}

/// What the person must know of a group that was left out.
fn problem(one: &Imported, bears: Bears) -> Option<String> {
    let reason = match &one.outcome {
        Ok(ImportOutcome::Added | ImportOutcome::Same) => return None,
        Ok(ImportOutcome::Different) if bears == Bears::Said => {
            "another session has this name here; it stays as it is"
        }
        Ok(ImportOutcome::Different) if bears == Bears::Reminder => {
            "another reminder has this id or pattern here; it stays as it is"
        }
        Ok(ImportOutcome::Different) => "another memory has this id here; it stays as it is",
        Ok(ImportOutcome::ForgottenHere) => "it was forgotten here and stays forgotten",
        Ok(ImportOutcome::RememberedHere) => "it was forgotten there and is here; it stays",
        Ok(ImportOutcome::WithoutMemory) if bears == Bears::Reminder => {
            "a reminder about a memory that is not here"
        }
        Ok(ImportOutcome::TooMany) => "there are too many reminders here",
        Ok(ImportOutcome::WithoutMemory) => "earlier versions of a memory that is not here",
        Err(reason) => reason,
    };
    Some(format!("line {}: {reason}", one.line))
}
