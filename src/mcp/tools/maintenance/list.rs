//! `maintenance_list`: the jobs and their last runs. For the person; not listed.

use serde_json::Value;

use super::super::super::args::Arguments;
use super::super::super::reply::Reply;
use super::super::{Call, Outcome};
use super::{facts, job_facts, line};
use crate::domain::limits::RUNS_SHOWN;

pub(super) async fn run(call: Call<'_>, arguments: Arguments) -> Outcome {
    let warnings = arguments.finish();
    let jobs = call.shared.maintenance.jobs();
    let runs = call.service.runs(call.caller, RUNS_SHOWN).await?;
    let mut reply = Reply::default();
    for job in &jobs {
        let next = job.state.next_due_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        reply.line(format!("{} is due next at {next}", job.state.job));
    }
    for run in &runs {
        reply.line(line(run));
    }
    let jobs: Vec<Value> = jobs.iter().map(|job| Value::Object(job_facts(job))).collect();
    reply.field("jobs", jobs);
    let brief = |run| {
        let mut facts = facts(run, true);
        facts.shift_remove("report");
        Value::Object(facts)
    };
    reply.field("runs", runs.iter().map(brief).collect::<Vec<_>>());
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
