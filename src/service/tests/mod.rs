//! Tests of the use cases with the real store and index; only the model is a stand-in.

mod fixture;
mod model;
mod writer;

mod access;
mod archiving;
mod backups;
mod consolidating;
mod context;
mod contradicting;
mod extracting;
mod foreseeing;
mod forgetting;
mod gathering;
mod limits;
mod looping;
mod meaning;
mod pages;
mod profiling;
mod recorder;
mod reminders;
mod requests;
mod restoring;
mod searching;
mod sending;
mod sessions;
mod status;
mod storing;
mod suggesting;
mod summaries;
mod summarizing;
mod superseding;
mod telling;
mod transfer;
mod updating;
mod usage;
