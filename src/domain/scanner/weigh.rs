//! How sure a time is, and what of it is only a guess.

use super::Precision;
use super::context::Context;
use super::phrases::Timed;

/// Of a time of day alone that has passed today: it may mean tomorrow, or tell what was.
const NEXT_SURENESS: f64 = 0.85;

/// How sure a time is.
pub(super) fn confidence(time: &Timed, context: Context) -> f64 {
    let slots = &time.slots;
    // What stands for the asking or the occasion: the same time weighs more beside it.
    let by = |asked: f64, occasion: f64, bare: f64| {
        if context.is_asked {
            asked
        } else if context.is_occasion || slots.is_deadline {
            occasion
        } else {
            bare
        }
    };
    let base = if slots.instant.is_some() {
        by(0.98, 0.95, 0.9)
    } else if slots.elapsed.is_some() {
        by(0.96, 0.85, 0.7)
    } else if slots.recurs() && time.meaning.precision == Precision::Day {
        let is_named = slots.has_day() || !slots.days.is_empty();
        by(0.93, if is_named { 0.72 } else { 0.5 }, 0.45)
    } else if slots.recurs() || slots.has_day() {
        match time.meaning.precision {
            Precision::Minute => 0.96,
            Precision::Part => by(0.93, 0.8, 0.65),
            Precision::Day if time.is_today => by(0.6, 0.4, 0.3),
            Precision::Day => by(0.93, 0.72, 0.5),
        }
    } else if time.is_led {
        by(0.94, 0.8, 0.62)
    } else {
        by(0.93, 0.55, 0.35)
    };
    let is_open = slots.instant.is_none()
        && !matches!(slots.shift, Some((_, 1.., _)))
        && slots.date.is_none_or(|date| date.year.is_none())
        && !matches!(slots.weekday, Some((_, Some(1..))))
        && !slots.is_deadline;
    let told = if context.is_past && is_open && !context.is_asked { 0.4 } else { 1.0 };
    let asked_back = if context.is_question && !context.is_asked { 0.75 } else { 1.0 };
    let behind = if slots.is_behind { 0.3 } else { 1.0 };
    // Who asks speaks of what is to come.
    let next = if time.meaning.is_next && !context.is_asked { NEXT_SURENESS } else { 1.0 };
    (base * time.meaning.sureness * told * asked_back * behind * next).clamp(0.0, 1.0)
}
