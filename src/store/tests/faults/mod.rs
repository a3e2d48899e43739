//! Storage that fails, and power cuts: at every operation of a run of the daemon's own use cases.
//!
//! `disk` is the storage, `workload` the run, `dump` tells two states of a store apart, `check` says
//! what a state may be after an interruption. The loops: `failing` fails each operation in turn,
//! `cutting` cuts the power at operations (and shows that a disk which lies about syncs is caught),
//! `reopening` does both again while the store opens after a cut, `migrating` while its format is
//! brought up to date, `rebuilding` while the indexes are filled from it, `delivering` between the
//! steps of a message.

mod check;
mod disk;
mod dump;
mod stand_ins;
mod workload;

mod cutting;
mod delivering;
mod failing;
mod migrating;
mod rebuilding;
mod reopening;

pub(super) use disk::{Random, seed};
