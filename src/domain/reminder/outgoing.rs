//! Which rows of a sink go next, as one message.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::delivery::{DeliveryKey, NextStep};
use super::digest::messages;
use super::entry::Row;
use super::lifecycle::{Kind, Priority, later};
use super::pacing::NagBudget;
use super::quiet::{QuietHours, told_from};
use crate::domain::limits::{DIGEST_MIN, DIGEST_PARTS_MAX};

/// Half an hour, in seconds.
const HALF_HOUR_S: i64 = 1_800;
/// First and last second after a full or half hour to which a message is moved (Feishu asks senders
/// to avoid those moments); chosen.
const ASIDE_S: (i64, i64) = (5, 50);

/// A row that waits, with what its reminder says about how it is told.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// The row.
    pub row: &'a Row,
    /// How much the reminder matters.
    pub priority: Priority,
    /// Whether a person named its time of day.
    pub is_timed: bool,
}

/// What a sink and its owner allow.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Hours in which nobody wants to be disturbed.
    pub quiet: Option<(&'a QuietHours, &'a TimeZone)>,
    /// How much is told unasked.
    pub nag: NagBudget,
    /// When that was done, in order.
    pub nagged: &'a [Timestamp],
    /// Whether the sink asks to be left alone at full and half hours.
    pub avoids_half_hours: bool,
}

/// What there is to do for a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// These go, as one message: places in the list.
    Message(Vec<usize>),
    /// Nothing before this moment.
    Wait(Timestamp),
    /// Nothing.
    Nothing,
}

impl Row {
    /// Whether nobody asked for it: a repetition, or one to a second sink.
    pub const fn is_nag(&self) -> bool {
        matches!(self.telling.kind, Kind::Repeated(_) | Kind::Escalated)
    }
}

/// What goes next of what waits for one sink, in the order in which it was due. What is ready at the
/// same time is told together, however long ago each was due.
pub fn next_message(waiting: &[Waiting<'_>], terms: &Terms<'_>, now: Timestamp) -> Outgoing {
    let (mut ready, mut nags, mut wakes) = (Vec::new(), Vec::new(), Vec::new());
    let mut held: Vec<DeliveryKey> = Vec::new();
    for (place, one) in waiting.iter().enumerate() {
        match one.row.delivery.next_step(now) {
            NextStep::Claim => {}
            NextStep::Wait(at) => {
                wakes.push(at);
                held.extend(one.row.message);
                continue;
            }
            NextStep::Recover | NextStep::Expire | NextStep::Nothing => continue,
        }
        let from = told_at(one, terms, now);
        let is_new = one.row.message.is_none();
        if from > now {
            wakes.push(from.min(one.row.delivery.expires_at));
            held.extend(one.row.message);
        } else if one.row.is_nag() && is_new {
            nags.push(place);
        } else {
            ready.push(place);
        }
    }
    // What has been sent before goes again with all its parts: a sink that knows its key would take any
    // other message under it for the one that it has.
    let is_held = |place: &usize| {
        let message = waiting.get(*place).and_then(|one| one.row.message);
        message.is_some_and(|key| held.contains(&key))
    };
    ready.retain(|place| !is_held(place));
    let allowed_from = terms.nag.allowed_from(terms.nagged, now);
    if allowed_from <= now && !nags.is_empty() {
        // One, and when the next may go is decided by when this one went.
        ready.push(nags.remove(0));
        ready.sort_unstable();
    }
    let Some(mut message) = first_of(waiting, &ready, now) else {
        wakes.extend(nags.iter().filter_map(|place| {
            let expires_at = waiting.get(*place)?.row.delivery.expires_at;
            Some(allowed_from.min(expires_at))
        }));
        return wakes.into_iter().min().map_or(Outgoing::Nothing, Outgoing::Wait);
    };
    let is_new = message
        .first()
        .and_then(|place| waiting.get(*place))
        .is_some_and(|one| one.row.message.is_none() && one.priority != Priority::Urgent);
    if is_new && message.len() >= DIGEST_MIN {
        // What may not be told by itself waits for a digest.
        message.extend(nags);
    }
    message.truncate(DIGEST_PARTS_MAX);
    Outgoing::Message(message)
}

/// The rows of `held`, which wait for somebody, that were part of a message which others of `going` go
/// on with, made messages of their own: the key of the old one stands for what goes under it now.
pub fn left_behind<'a>(
    held: impl Iterator<Item = &'a Row>,
    going: impl Iterator<Item = &'a Row>,
) -> Vec<Row> {
    let going: BTreeSet<DeliveryKey> = going.filter_map(|row| row.message).collect();
    let is_left = |row: &&Row| row.message.is_some_and(|key| going.contains(&key));
    held.filter(is_left)
        .map(|row| {
            let mut row = row.clone();
            row.message = Some(row.delivery.key.again());
            // The old one may have arrived with all its parts.
            row.delivery.may_repeat = true;
            row
        })
        .collect()
}

/// When a row may be told.
fn told_at(one: &Waiting<'_>, terms: &Terms<'_>, now: Timestamp) -> Timestamp {
    let row = one.row;
    // Who snoozed it named the moment; nobody named that of a repetition.
    let is_timed = match row.telling.kind {
        Kind::First => one.is_timed,
        Kind::Snoozed(_) => true,
        Kind::Repeated(_) | Kind::Escalated => false,
    };
    let from = told_from(terms.quiet, one.priority, is_timed, row.delivery.due_at, now);
    let moves = terms.avoids_half_hours && one.priority != Priority::Urgent;
    if moves { from.max(aside(now, row.delivery.key)) } else { from }
}

/// When a message goes that would go at full or half an hour: some seconds after it, always the same
/// for a key. Any other goes at `now`.
fn aside(now: Timestamp, key: DeliveryKey) -> Timestamp {
    let into = now.as_second().rem_euclid(HALF_HOUR_S);
    let (least, most) = ASIDE_S;
    let spread =
        u128::from_be_bytes(key.as_bytes()) % u128::from((most - least + 1).unsigned_abs());
    let aside = least + i64::try_from(spread).unwrap_or(0);
    if into >= aside {
        return now;
    }
    let begun = Timestamp::from_second(now.as_second() - into).unwrap_or(now);
    later(begun, SignedDuration::from_secs(aside))
}

/// The message that goes first of those that the ready rows make: what is urgent, then what was due
/// first.
fn first_of(waiting: &[Waiting<'_>], ready: &[usize], now: Timestamp) -> Option<Vec<usize>> {
    let of = |place: &usize| waiting.get(*place);
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut new = Vec::new();
    let mut known: Vec<DeliveryKey> = Vec::new();
    for place in ready {
        match of(place)?.row.message {
            None => new.push(*place),
            Some(key) => {
                if let Some(at) = known.iter().position(|known| *known == key) {
                    all.get_mut(at)?.push(*place);
                } else {
                    known.push(key);
                    all.push(vec![*place]);
                }
            }
        }
    }
    let times: Vec<(Timestamp, Priority)> =
        new.iter().filter_map(|place| Some((now, of(place)?.priority))).collect();
    all.extend(messages(&times).into_iter().map(|message| {
        message.into_iter().filter_map(|at| new.get(at).copied()).collect::<Vec<usize>>()
    }));
    let rank = |message: &Vec<usize>| {
        let first = message.first().and_then(of);
        let is_urgent = first.is_some_and(|one| one.priority == Priority::Urgent);
        (!is_urgent, first.map(|one| one.row.delivery.due_at))
    };
    all.into_iter().filter(|message| !message.is_empty()).min_by_key(rank)
}

#[cfg(test)]
mod tests;
