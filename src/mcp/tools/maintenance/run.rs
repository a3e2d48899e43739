//! `maintenance_run`: a run of a job, and how far it came while it was waited for.

use serde_json::Value;

use super::super::super::args::{Arguments, InvalidArgument};
use super::super::super::reply::Reply;
use super::super::{Call, Outcome};
use super::reply;
use crate::domain::job::{JobName, Trigger};
use crate::ports::Asked;

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let maintenance = &call.shared.maintenance;
    let names: Vec<JobName> = maintenance.jobs().iter().map(|job| job.state.job).collect();
    let words: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let expected = format!("one of {}", words.join(", "));
    let parse = |text: &str| JobName::parse(text).filter(|name| names.contains(name));
    let job = arguments.choice(&["job", "name"], parse, &expected)?;
    let job = job.ok_or_else(|| InvalidArgument::new("job", expected, &Value::Null))?;
    let is_dry_run = arguments.flag(&["dry_run"])?.unwrap_or_default();
    let warnings = arguments.finish();
    let is_owner = call.caller.is_owner();
    let trigger = if is_owner { Trigger::Owner } else { Trigger::Agent };
    match maintenance.run(job, trigger, is_dry_run).await? {
        Asked::Ended(run) | Asked::Begun(run) => Ok(reply(&run, is_owner, &warnings)),
        Asked::Waits => {
            let mut reply = Reply::default();
            reply.line(format!("{job} runs as soon as another job has ended."));
            reply.field("job", job.as_str());
            reply.field("outcome", "waiting");
            reply.remarks("warnings", &warnings);
            Ok(reply)
        }
    }
}
