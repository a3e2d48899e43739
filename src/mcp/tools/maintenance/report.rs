//! `maintenance_report`: one run in full. For the person; not listed.

use super::super::super::args::Arguments;
use super::super::{Call, Outcome};
use super::{reply, run_id};

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let id = run_id(&mut arguments)?;
    let warnings = arguments.finish();
    let run = call.service.run(call.caller, id).await?;
    Ok(reply(&run, true, &warnings))
}
