//! The parts of an `RRULE`, and the pattern that they make.

use std::collections::BTreeMap;

use jiff::civil::{Date, Weekday};

use super::super::{LeapDay, Nth, Pattern, RuleError, RuleParts, Short};
use super::abbreviation;
use crate::domain::reminder::Weekdays;

/// Refuses a text with a reason.
pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError::Text(why.into()))
}

/// Parts by their names, each taken once; what is left over was not understood.
pub(super) struct Fields {
    unit: String,
    parts: BTreeMap<String, String>,
}

impl Fields {
    /// Reads `FREQ=WEEKLY;BYDAY=MO,FR`.
    pub(super) fn read(text: &str) -> Result<Self, RuleError> {
        let mut parts = BTreeMap::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return refuse(format!("expected NAME=VALUE, got `{part}`"));
            };
            let name = name.trim().to_ascii_uppercase();
            let value = value.trim().to_ascii_uppercase();
            if let Some(before) = parts.insert(name.clone(), value) {
                return refuse(format!("{name} is there twice, first as {before}"));
            }
        }
        let Some(unit) = parts.remove("FREQ") else {
            return refuse("expected FREQ=DAILY, WEEKLY, MONTHLY or YEARLY");
        };
        Ok(Self { unit, parts })
    }

    /// Takes a part.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.parts.remove(name)
    }

    /// Takes a part that is one number.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>, RuleError> {
        self.take(name)
            .map(|text| {
                text.parse().map_err(|_| {
                    RuleError::Text(format!("{name}={text}: expected one whole number"))
                })
            })
            .transpose()
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<(), RuleError> {
        match self.parts.keys().next() {
            None => Ok(()),
            Some(name) => refuse(format!("{name} is not supported with FREQ={}", self.unit)),
        }
    }

    /// Sets the pattern that the parts make; the start and the interval are set.
    pub(super) fn set_pattern(&mut self, parts: &mut RuleParts) -> Result<(), RuleError> {
        let first_of_week = self.take("WKST");
        match self.unit.clone().as_str() {
            "DAILY" => self.daily(parts),
            "WEEKLY" => self.weekly(parts, first_of_week.as_deref()),
            "MONTHLY" => self.monthly(parts),
            "YEARLY" => self.yearly(parts),
            unit @ ("SECONDLY" | "MINUTELY" | "HOURLY") => {
                refuse(format!("FREQ={unit} could run away: a rule comes due at most once a day"))
            }
            unit => refuse(format!("FREQ={unit}: expected DAILY, WEEKLY, MONTHLY or YEARLY")),
        }
    }

    fn daily(&mut self, parts: &mut RuleParts) -> Result<(), RuleError> {
        parts.pattern = match self.weekdays()? {
            None => Pattern::Daily,
            Some(_) if parts.every > 1 => {
                return refuse("BYDAY with every so many days is not supported: use FREQ=WEEKLY");
            }
            Some(days) => Pattern::Weekly(days),
        };
        Ok(())
    }

    fn weekly(&mut self, parts: &mut RuleParts, first: Option<&str>) -> Result<(), RuleError> {
        let own = parts.start.date().weekday();
        let days = self.weekdays()?.unwrap_or_else(|| Weekdays::one(own));
        // Where a week begins matters only if weeks are left out and hold more than the start's day.
        let is_moot = parts.every == 1 || days == Weekdays::one(own);
        if !is_moot && first.is_some_and(|first| first != "MO") {
            return refuse("WKST: weeks begin on Monday here");
        }
        parts.pattern = Pattern::Weekly(days);
        Ok(())
    }

    fn monthly(&mut self, parts: &mut RuleParts) -> Result<(), RuleError> {
        if let Some(pattern) = self.nth_weekday()? {
            parts.pattern = pattern;
            return Ok(());
        }
        let own = parts.start.day();
        let (day, is_clamped) = self.month_day()?.unwrap_or((own, false));
        let skip = self.skip()?;
        parts.pattern = match (day, skip.as_deref()) {
            (-1, _) => Pattern::LastDay,
            (29.., Some("FORWARD")) => {
                return refuse("SKIP=FORWARD is not supported with FREQ=MONTHLY: use BACKWARD");
            }
            (_, Some("BACKWARD")) => Pattern::MonthlyDay { day, short: Short::Clamp },
            _ if is_clamped => Pattern::MonthlyDay { day, short: Short::Clamp },
            _ => Pattern::MonthlyDay { day, short: Short::Skip },
        };
        Ok(())
    }

    fn yearly(&mut self, parts: &mut RuleParts) -> Result<(), RuleError> {
        let own = parts.start.date();
        if let Some(day) = self.number("BYYEARDAY")? {
            if day != 60 {
                return refuse("BYYEARDAY is supported as 60 alone: use BYMONTH and BYMONTHDAY");
            }
            parts.pattern = Pattern::Yearly { month: 2, day: 29, leap: LeapDay::Mar1 };
            return Ok(());
        }
        let month = self.number("BYMONTH")?;
        let has_day = self.parts.contains_key("BYDAY") || self.parts.contains_key("BYMONTHDAY");
        if month.is_none() && has_day {
            return refuse("a day of every year needs its BYMONTH");
        }
        let month = month.map_or(Some(own.month()), |month| i8::try_from(month).ok());
        let Some(month) = month.filter(|month| (1..=12).contains(month)) else {
            return refuse("BYMONTH: expected 1 to 12");
        };
        if let Some(pattern) = self.nth_weekday()? {
            parts.start = first_in_month(own, month, parts.every)?.to_datetime(parts.start.time());
            parts.every = parts.every.saturating_mul(12);
            parts.pattern = pattern;
            return Ok(());
        }
        let (day, is_clamped) = self.month_day()?.unwrap_or((own.day(), false));
        let leap = match self.skip()?.as_deref() {
            Some("FORWARD") => LeapDay::Mar1,
            Some("BACKWARD") => LeapDay::Feb28,
            _ if is_clamped && month == 2 && day == 29 => LeapDay::Feb28,
            _ if is_clamped => return refuse("BYSETPOS is not supported with this BYMONTHDAY"),
            _ => LeapDay::Skip,
        };
        parts.pattern = Pattern::Yearly { month, day, leap };
        Ok(())
    }

    /// Days of the week without numbers.
    fn weekdays(&mut self) -> Result<Option<Weekdays>, RuleError> {
        let Some(text) = self.take("BYDAY") else { return Ok(None) };
        text.split(',').map(weekday).collect::<Result<Weekdays, _>>().map(Some)
    }

    /// `BYDAY=2FR`, or `BYDAY=FR;BYSETPOS=2`.
    fn nth_weekday(&mut self) -> Result<Option<Pattern>, RuleError> {
        let Some(text) = self.take("BYDAY") else { return Ok(None) };
        if text.contains(',') {
            return refuse(format!("BYDAY={text}: expected one weekday of the month, like 2FR"));
        }
        let place = text.len().saturating_sub(2);
        let (number, day) = text.split_at_checked(place).unwrap_or_default();
        let number = match (number, self.take("BYSETPOS")) {
            ("", Some(number)) => number,
            (number, None) => number.to_owned(),
            (_, Some(_)) => return refuse("BYSETPOS is not supported with a numbered BYDAY"),
        };
        let nth = match number.trim_start_matches('+').parse() {
            Ok(-1) => Nth::Last,
            Ok(nth @ 1..=5) => Nth::From(nth),
            _ => {
                return refuse(format!(
                    "BYDAY={text}: expected one weekday of the month, 1 to 5 or -1, like 2FR"
                ));
            }
        };
        Ok(Some(Pattern::MonthlyNth { nth, weekday: weekday(day)? }))
    }

    /// `BYMONTHDAY=15`, `-1`, or `28,29,30,31` of which `BYSETPOS=-1` takes the last that there is:
    /// the day, and whether it is such a last one.
    fn month_day(&mut self) -> Result<Option<(i8, bool)>, RuleError> {
        let Some(text) = self.take("BYMONTHDAY") else { return Ok(None) };
        let days: Result<Vec<i8>, _> = text.split(',').map(str::parse).collect();
        let position = self.take("BYSETPOS");
        match (days.as_deref(), position.as_deref()) {
            (Ok([day @ (-1 | 1..=31)]), None) => Ok(Some((*day, false))),
            (Ok([28, .., last @ 29..=31]), Some("-1")) if days == Ok((28..=*last).collect()) => {
                Ok(Some((*last, true)))
            }
            _ => refuse(format!(
                "BYMONTHDAY={text}: expected one day, 1 to 31 or -1, or 28,29,30,31 with BYSETPOS=-1"
            )),
        }
    }

    /// `SKIP` of RFC 7529: what becomes of a day that a month or year does not have.
    fn skip(&mut self) -> Result<Option<String>, RuleError> {
        let calendar = self.take("RSCALE");
        if calendar.is_some_and(|calendar| calendar != "GREGORIAN") {
            return refuse("RSCALE: the calendar is GREGORIAN here");
        }
        match self.take("SKIP") {
            Some(skip) if !["OMIT", "BACKWARD", "FORWARD"].contains(&skip.as_str()) => {
                refuse(format!("SKIP={skip}: expected OMIT, BACKWARD or FORWARD"))
            }
            skip => Ok(skip),
        }
    }
}

fn weekday(text: &str) -> Result<Weekday, RuleError> {
    let found = Weekdays::ALL.iter().find(|day| abbreviation(*day) == text.trim());
    found.ok_or_else(|| RuleError::Text(format!("`{text}`: expected MO, TU, WE, TH, FR, SA or SU")))
}

/// The first day on or after `start` of that month in a year that counts.
fn first_in_month(start: Date, month: i8, every: u32) -> Result<Date, RuleError> {
    if start.month() == month {
        return Ok(start);
    }
    let turn = if start.month() < month { 0 } else { i64::from(every) };
    i16::try_from(i64::from(start.year()) + turn)
        .ok()
        .and_then(|year| Date::new(year, month, 1).ok())
        .ok_or(RuleError::Never("its first year is beyond the calendar"))
}
