//! Whether a summary says only what its sources say.
//!
//! A model that summarises invents dates, names and numbers with confidence, drops a "not", or cites a
//! source that says something else. What it writes is stored only if every typed value of it stands in
//! the sources it cites and nothing is turned round.

mod check;
pub(crate) mod clauses;
pub mod values;
mod violation;

pub use check::{Policy, Source, Sources, Summary, check};
pub use violation::{Reason, Violation};
