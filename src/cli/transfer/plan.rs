//! Checking a whole file before any of it is sent, and collecting what is sent at once.

use super::CliError;
use super::file::Source;
use crate::domain::id::MemoryId;
use crate::domain::limits::IMPORT_PROBLEMS_MAX;
use crate::domain::transfer::Item;
use crate::mcp::transfer::{EXPORT_VERSION, Line, read_item, read_line};

/// Lines that are sent at once.
#[derive(Default)]
pub(super) struct Batch {
    /// Number of the first of them.
    pub(super) first_line: u64,
    /// The lines.
    pub(super) lines: Vec<String>,
    /// Their size.
    pub(super) n_bytes: usize,
}

impl Batch {
    /// Adds a line.
    pub(super) fn add(&mut self, number: u64, line: String) {
        if self.lines.is_empty() {
            self.first_line = number;
        }
        self.n_bytes += line.len();
        self.lines.push(line);
    }
}

/// Whether a new group begins here.
pub(super) const fn starts_group(item: &Item) -> bool {
    !matches!(item, Item::Earlier(_))
}

/// Reads the whole file: header, every line, that no version is missing, footer.
pub(super) fn check(source: &Source) -> Result<(), CliError> {
    let mut checker = Checker::default();
    let mut problems = Problems::default();
    let mut n_lines = 0;
    for line in source.lines()? {
        let (number, line) = match line {
            Ok(line) => line,
            // What follows cannot be told apart into lines.
            Err(error) => {
                problems.add(error.to_string());
                return Err(problems.nothing_imported());
            }
        };
        n_lines = number;
        if let Err(reason) = checker.line(number, &line) {
            problems.add(format!("{}, line {number}: {reason}", source.name));
            // Without a header nothing that follows can be understood.
            if number == 1 {
                break;
            }
        }
    }
    if n_lines == 0 {
        problems.add(format!("{}: it is empty", source.name));
    } else if checker.has_begun && !checker.is_ended {
        problems.add(format!("{}: its end is missing: it was cut short", source.name));
    }
    if problems.n_all == 0 { Ok(()) } else { Err(problems.nothing_imported()) }
}

/// What is wrong, told one by one up to [`IMPORT_PROBLEMS_MAX`].
#[derive(Default)]
pub(super) struct Problems {
    told: Vec<String>,
    n_all: u64,
}

impl Problems {
    fn add(&mut self, problem: String) {
        self.count([problem], 1);
    }

    /// Adds some of `n_all` problems.
    pub(super) fn count(&mut self, some: impl IntoIterator<Item = String>, n_all: u64) {
        let room = IMPORT_PROBLEMS_MAX.saturating_sub(self.told.len());
        self.told.extend(some.into_iter().take(room));
        self.n_all += n_all;
    }

    /// How many there are.
    pub(super) fn n_all(&self) -> u64 {
        self.n_all
    }

    /// Those that are told, and how many more there are.
    pub(super) fn lines(&self) -> Vec<String> {
        let n_more = self.n_all.saturating_sub(self.told.len() as u64);
        let more = (n_more > 0).then(|| format!("and {n_more} more"));
        self.told.iter().cloned().chain(more).collect()
    }

    fn nothing_imported(&self) -> CliError {
        let mut lines = self.lines();
        lines.push("nothing was imported".to_owned());
        CliError::Data(lines.join("\n"))
    }
}

/// What has been seen of a file.
#[derive(Default)]
struct Checker {
    hasher: blake3::Hasher,
    n_lines: u64,
    /// The memory whose versions come now: id, its version, the earlier version seen last.
    memory: Option<(MemoryId, u64, u64)>,
    has_begun: bool,
    is_ended: bool,
}

impl Checker {
    fn line(&mut self, number: u64, line: &str) -> Result<(), String> {
        if number == 1 {
            header(line)?;
            self.has_begun = true;
            return Ok(());
        }
        if self.is_ended {
            return Err("something follows the end of the export".to_owned());
        }
        if line.starts_with("{\"end\"") {
            self.is_ended = true;
            self.all_versions_seen()?;
            return self.footer(line);
        }
        self.n_lines += 1;
        self.hasher.update(line.as_bytes());
        self.hasher.update(b"\n");
        match read_item(line)? {
            Item::Memory { version, .. } => {
                let seen = self.all_versions_seen();
                self.memory = Some((version.memory.id, version.memory.version, 0));
                seen
            }
            Item::Earlier(version) => {
                let (id, number) = (version.memory.id, version.memory.version);
                match &mut self.memory {
                    Some((memory, present, last))
                        if *memory == id && number == *last + 1 && number < *present =>
                    {
                        *last = number;
                        Ok(())
                    }
                    Some(_) | None => {
                        Err("an earlier version that is not the next one of the memory above it"
                            .to_owned())
                    }
                }
            }
            Item::Forgotten(_) | Item::Session(_) | Item::Turn(_) | Item::Reminder(_) => {
                let seen = self.all_versions_seen();
                self.memory = None;
                seen
            }
        }
    }

    /// That the memory above has all its versions.
    fn all_versions_seen(&self) -> Result<(), String> {
        match self.memory {
            Some((id, present, last)) if last + 1 != present => Err(format!(
                "the memory {id} above has version {present}, but its version {} is missing",
                last + 1
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn footer(&self, line: &str) -> Result<(), String> {
        let Line::End(footer) = read_line(line)? else {
            return Err("the end of an export was expected".to_owned());
        };
        if footer.n_lines != self.n_lines {
            return Err(format!(
                "the export had {} lines and has {} now",
                footer.n_lines, self.n_lines
            ));
        }
        if footer.blake3 != self.hasher.finalize().to_hex().as_str() {
            return Err("the lines are not those that were written (the hash differs)".to_owned());
        }
        Ok(())
    }
}

fn header(line: &str) -> Result<(), String> {
    match read_line(line) {
        Ok(Line::RecalldExport(header)) if header.version <= EXPORT_VERSION => Ok(()),
        Ok(Line::RecalldExport(header)) => Err(format!(
            "it is an export of version {}, and this program reads up to {EXPORT_VERSION}: a newer recalld is needed",
            header.version
        )),
        Ok(_) | Err(_) => Err("it does not begin as an export of recalld begins".to_owned()),
    }
}
