//! `reminder_show`: one reminder whole, with its messages. For the person; not listed.

use super::super::super::args::Arguments;
use super::super::super::reply::Reply;
use super::super::{Call, Outcome};
use super::reference;

pub(super) async fn run(call: Call<'_>, mut arguments: Arguments) -> Outcome {
    let reference = reference(&mut arguments)?;
    let warnings = arguments.finish();
    let view = call.service.reminder(call.caller, &reference).await?;
    let mut reply = Reply::default();
    reply.reminder(&view);
    reply.remarks("warnings", &warnings);
    Ok(reply)
}
