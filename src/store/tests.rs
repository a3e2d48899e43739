//! Tests of the store as its port shows it. Each ends by proving that the tables agree.

mod fixture;

mod backups;
mod format;
mod opening;
mod presence;
mod room;
mod writing;

mod faults;

mod applying;
mod forgetting;
mod ledger;
mod listing;
mod remembering;
mod reminders;
mod requests;
mod revising;
mod sessions;
mod spaces;
mod transfer;
mod undoing;
mod vectors;
mod withdrawing;

mod model;
