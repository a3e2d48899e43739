//! The dates of a rule by walking through the calendar a day at a time.

use jiff::civil::{Date, Weekday};

use super::*;

/// Whether a day on or after the start is a date of a rule, going by what its parts say.
fn is_date(parts: &RuleParts, day: Date) -> bool {
    let start = parts.start.date();
    let every = i64::from(parts.every);
    let months = |day: Date| i64::from(day.year()) * 12 + i64::from(day.month());
    let month_counts = (months(day) - months(start)) % every == 0;
    let is_last = day == day.last_of_month();
    match parts.pattern {
        Pattern::Once => day == start,
        Pattern::Daily => day.duration_since(start).as_hours() / 24 % every == 0,
        Pattern::Weekly(days) => {
            let monday =
                |day: Date| day - jiff::Span::new().days(day.weekday().since(Weekday::Monday));
            let weeks = monday(day).duration_since(monday(start)).as_hours() / 168;
            weeks % every == 0 && days.contains(day.weekday())
        }
        Pattern::MonthlyDay { day: of_month, short } => {
            let is_clamped = short == Short::Clamp && is_last && day.day() < of_month;
            month_counts && (day.day() == of_month || is_clamped)
        }
        Pattern::MonthlyNth { nth, weekday } => {
            let nth = match nth {
                Nth::From(nth) => (day.day() - 1) / 7 + 1 == nth,
                Nth::Last => day.day() + 7 > day.days_in_month(),
            };
            month_counts && nth && day.weekday() == weekday
        }
        Pattern::LastDay => month_counts && is_last,
        Pattern::Yearly { month, day: of_month, leap } => {
            let is_day = (day.month(), day.day()) == (month, of_month);
            let replaces = (month, of_month) == (2, 29) && !day.in_leap_year();
            let replaced = match leap {
                LeapDay::Feb28 => (day.month(), day.day()) == (2, 28),
                LeapDay::Mar1 => (day.month(), day.day()) == (3, 1),
                LeapDay::Skip => false,
            };
            i64::from(day.year() - start.year()) % every == 0 && (is_day || (replaces && replaced))
        }
    }
}

/// The dates within some years of the start, exceptions included.
pub(super) fn dates(parts: &RuleParts, years: i16) -> Vec<Date> {
    let start = parts.start.date();
    let mut found = Vec::new();
    let mut day = start;
    while day.year() - start.year() < years {
        let is_over = match parts.end {
            End::Never => false,
            End::Count(count) => found.len() >= count as usize,
            End::Until(last) => day > last,
        };
        if is_over {
            break;
        }
        if is_date(parts, day) {
            found.push(day);
        }
        day = day.tomorrow().unwrap();
    }
    found
}
