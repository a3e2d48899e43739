//! When the daemon's jobs are due: crontab lines in a time zone, and what is to be done about a job
//! at a moment.

mod cron;
mod plan;

pub use cron::{Schedule, ScheduleError};
pub use plan::{
    Look, View, catch_up_delay, disabled, due_again, due_at_start, failed_by_end_of_process,
    launched, look, paused, skipped,
};
