//! Telling several reminders in one message.

use jiff::Timestamp;

use super::lifecycle::Priority;
use crate::domain::limits::{DIGEST_MIN, DIGEST_WINDOW};

/// One message to a sink: places in the list that it was made of, in the order in which they are
/// told. More than one: a digest.
pub type Message = Vec<usize>;

/// Puts what is ready for one sink into messages, given when each may be told and how much it
/// matters. From [`DIGEST_MIN`] within [`DIGEST_WINDOW`] on they share one; what is urgent never
/// shares, and is told first.
pub fn messages(ready: &[(Timestamp, Priority)]) -> Vec<Message> {
    let mut places: Vec<(usize, Timestamp, Priority)> =
        ready.iter().enumerate().map(|(place, (at, priority))| (place, *at, *priority)).collect();
    places.sort_by_key(|(place, at, _)| (*at, *place));
    let (urgent, normal): (Vec<_>, Vec<_>) =
        places.into_iter().partition(|(_, _, priority)| *priority == Priority::Urgent);
    let mut messages: Vec<Message> = urgent.into_iter().map(|(place, ..)| vec![place]).collect();
    let mut rest = normal.as_slice();
    while let Some((_, first, _)) = rest.first() {
        let n_together =
            rest.iter().take_while(|(_, at, _)| at.duration_since(*first) <= DIGEST_WINDOW).count();
        // The first alone, if there are too few: the others may find company in what follows.
        let n = if n_together >= DIGEST_MIN { n_together } else { 1 };
        let (message, left) = rest.split_at(n);
        messages.push(message.iter().map(|(place, ..)| *place).collect());
        rest = left;
    }
    messages
}

/// The lines of a digest that fit into `room`, in the sink's own unit of length, which `length`
/// measures: the first lines, and `+ 4 more` for the others.
pub fn fitting(lines: &[String], room: usize, length: impl Fn(&str) -> usize) -> String {
    let told = |n: usize| {
        let mut text = lines.iter().take(n).map(String::as_str).collect::<Vec<_>>().join("\n");
        let more = lines.len().saturating_sub(n);
        if more > 0 {
            let blank = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}+ {more} more"));
        }
        text
    };
    (0..=lines.len()).rev().map(told).find(|text| length(text) <= room).unwrap_or_default()
}

#[cfg(test)]
mod tests;
