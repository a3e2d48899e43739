//! The whole room over socket pairs: real service, real store in memory.

mod client;
mod fake;

mod answers;
mod arguments;
mod eras;
mod limits;
mod lists;
mod maintenance;
mod pending;
mod reminders;
mod serving;
mod wire;
