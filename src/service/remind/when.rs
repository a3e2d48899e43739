//! Reads when a reminder is meant, as callers say it.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

use crate::domain::reminder::{End, Given, Lead, Rule, RuleError, instant, told, zone_named};
use crate::domain::scanner::{Found, Precision, Unarmed, When, read_asked, whole};
use crate::domain::when;
use crate::service::ServiceError;

/// Least confidence of a time in a text that a caller wants to be reminded of; chosen: below it are
/// times that are told of as past.
const READ_MIN: f64 = 0.3;

/// When a caller says it, and where times without a zone are.
pub(super) struct Said {
    /// Now, on the wall of the zone.
    pub(super) now: ZonedDateTime,
    /// The time of a day that is named without one.
    pub(super) all_day_at: Time,
}

/// When something is meant.
pub(super) struct Meant {
    /// When it takes place.
    pub(super) rule: Rule,
    /// How long before it the text asks to be reminded.
    pub(super) lead: Option<Lead>,
    /// Whether a time of day was named.
    pub(super) is_timed: bool,
    /// Whether only days were named.
    pub(super) is_all_day: bool,
    /// Whether the half of the day is a guess.
    pub(super) is_guess: bool,
    /// What the text is about beside the time.
    pub(super) subject: Option<String>,
}

impl Said {
    /// At `now`, where `zone` is what the caller names, else `usual`.
    ///
    /// # Errors
    /// `Refused` for a zone that is not known or has no name.
    pub(super) fn new(
        now: Timestamp,
        zone: Option<&str>,
        usual: &TimeZone,
        all_day_at: Time,
    ) -> Result<Self, ServiceError> {
        let zone = match zone {
            Some(name) => zone_named(name).map_err(|why| ServiceError::refused("zone", why))?,
            None => usual.clone(),
        };
        if zone.iana_name().is_none() {
            return Err(ServiceError::refused("zone", RuleError::Offset));
        }
        Ok(Self { now: now.to_zoned_datetime(zone), all_day_at })
    }

    fn zone(&self) -> &TimeZone {
        self.now.time_zone()
    }

    /// What `at` and `rule` say; `None`: nothing.
    ///
    /// # Errors
    /// `Refused` names the argument.
    pub(super) fn given(
        &self,
        at: Option<&str>,
        rule: Option<&str>,
    ) -> Result<Option<Meant>, ServiceError> {
        match (at, rule) {
            (None, None) => Ok(None),
            (Some(at), None) => self.at(at).map(Some),
            (at, Some(rule)) if is_ical(rule) => self.ical(rule, at).map(Some),
            (at, Some(rule)) => self.words(rule, at).map(Some),
        }
    }

    /// The surest time to come that a text names, if it names one, and the words of the others.
    ///
    /// # Errors
    /// `Refused`: the time is over, or words about it are not understood.
    pub(super) fn in_text(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<Option<(Meant, Vec<String>)>, ServiceError> {
        let refused = |why: Unarmed| ServiceError::refused("at", why);
        let scan = read_asked(text, &self.now, self.all_day_at);
        let is_to_come = |found: &Found| found.when.next_after(now).is_some();
        let is_meant = |found: &&Found| {
            found.confidence >= READ_MIN && (is_to_come(found) || found.flaw.is_some())
        };
        // Of equally sure ones the first, which is the last in this order.
        let times = scan.times.iter().rev().filter(is_meant);
        let Some(surest) = times.max_by(|a, b| a.confidence.total_cmp(&b.confidence)) else {
            let past = scan.times.iter().find(|found| found.confidence >= READ_MIN);
            let past = past.map(|found| Unarmed::Past(found.words.clone()));
            return scan.flaw().or(past).map_or(Ok(None), |why| Err(refused(why)));
        };
        if let Some(flaw) = &surest.flaw {
            return Err(refused(flaw.clone()));
        }
        // "every six months on 1 June", "every Friday the 13th": of one thing, or of two?
        let recurs = |found: &&Found| matches!(found.when, When::Every(_));
        if let Some(rule) = scan.times.iter().find(recurs).filter(|_| !recurs(&surest)) {
            let (rule, time) = (&rule.words, &surest.words);
            let why = format!(
                "`{rule}` recurs and `{time}` does not: expected one of them, in `at` or in `rule`"
            );
            return Err(ServiceError::refused("at", why));
        }
        let others = scan.times.iter().filter(is_meant).filter(|found| *found != surest);
        let others = others.map(|found| found.words.clone()).collect();
        let meant = meant(surest.clone()).map_err(|why| ServiceError::refused("at", why))?;
        Ok(Some((meant, others)))
    }

    /// A moment, as [`crate::domain::when`] or the scanner reads it.
    ///
    /// # Errors
    /// `Refused` for what is no moment or no later one.
    pub(super) fn moment(
        &self,
        argument: &'static str,
        text: &str,
    ) -> Result<Timestamp, ServiceError> {
        if let Some((_, at, _)) = exact(text, self.zone()) {
            return Ok(at);
        }
        let found = self.whole(argument, text)?;
        match found.when {
            When::At(moment) => Ok(moment.at),
            When::Every(_) => Err(ServiceError::refused(argument, "expected one moment")),
        }
    }

    /// The end of a rule.
    ///
    /// # Errors
    /// `Refused` for both, and for what is no day.
    pub(super) fn end(
        &self,
        until: Option<&str>,
        count: Option<u32>,
    ) -> Result<Option<End>, ServiceError> {
        let Some(until) = until else { return Ok(count.map(End::Count)) };
        if count.is_some() {
            return Err(ServiceError::refused("until", "`until` and `count` exclude each other"));
        }
        let last = match when::parse_end(until, self.zone()) {
            Ok(last) => last,
            Err(_) => self.moment("until", until)?,
        };
        Ok(Some(End::Until(self.zone().to_datetime(last).date())))
    }

    /// A rule of whole days as one that begins with its days: what is told some time before such a day
    /// is told before it begins.
    pub(super) fn from_midnight(rule: Rule) -> Rule {
        let mut parts = rule.parts().clone();
        parts.start = parts.start.date().to_datetime(Time::midnight());
        Rule::new(parts).unwrap_or(rule)
    }

    fn at(&self, text: &str) -> Result<Meant, ServiceError> {
        if let Some((civil, at, zone)) = exact(text, self.zone()) {
            let rule = once(civil, at, zone).map_err(|why| ServiceError::refused("at", why))?;
            let (lead, subject) = (None, None);
            let (is_timed, is_all_day, is_guess) = (true, false, false);
            return Ok(Meant { rule, lead, is_timed, is_all_day, is_guess, subject });
        }
        let found = self.whole("at", text)?;
        Ok(Meant { subject: None, ..meant(found).map_err(|why| ServiceError::refused("at", why))? })
    }

    /// A rule in lines of iCalendar, whose start is `at`, else today, or tomorrow if what it names of today
    /// has passed: an occurrence that nobody can be told of is none of a count.
    fn ical(&self, rule: &str, at: Option<&str>) -> Result<Meant, ServiceError> {
        let today = self.now.date();
        let (start, zone) = match at {
            None => (today.to_datetime(self.all_day_at), self.zone().clone()),
            Some(at) => {
                let rule = self.at(at)?.rule;
                (rule.parts().start, rule.zone().clone())
            }
        };
        let read = |start: DateTime| {
            let given = Given { start: Some(start), zone: Some(&zone) };
            Rule::from_ical(rule, given).map_err(|why| ServiceError::refused("rule", why))
        };
        let upper = rule.to_uppercase();
        let is_timed = at.is_some() || upper.contains("BYHOUR") || upper.contains("DTSTART");
        let is_open = at.is_none() && !upper.contains("DTSTART");
        let mut rule = read(start)?;
        let is_past = rule.first().is_some_and(|first| first.at <= self.now.timestamp());
        if let Some(tomorrow) = today.tomorrow().ok().filter(|_| is_open && is_past) {
            rule = read(tomorrow.to_datetime(self.all_day_at))?;
        }
        let (is_all_day, is_guess) = (!is_timed, false);
        Ok(Meant { rule, lead: None, is_timed, is_all_day, is_guess, subject: None })
    }

    /// A rule in words, whose time or start is `at`.
    fn words(&self, rule: &str, at: Option<&str>) -> Result<Meant, ServiceError> {
        let start = at.and_then(|at| exact(at, self.zone()));
        let words = match (at, &start) {
            (Some(at), None) => format!("{rule} {at}"),
            _ => rule.to_owned(),
        };
        let found = self.whole("rule", &words)?;
        if matches!(found.when, When::At(_)) {
            let why = "expected a rule like \"every Friday 15:00\" or FREQ=WEEKLY;BYDAY=FR; \
                       a single time belongs into `at`";
            return Err(ServiceError::refused("rule", why));
        }
        let refused = |why: RuleError| ServiceError::refused("rule", why);
        let mut meant = Meant { subject: None, ..meant(found).map_err(refused)? };
        if let Some((civil, _, zone)) = start {
            let mut parts = meant.rule.parts().clone();
            (parts.start, parts.zone) = (civil, zone);
            let rule = Rule::new(parts).map_err(refused)?;
            meant = Meant { rule, is_timed: true, is_all_day: false, ..meant };
        }
        Ok(meant)
    }

    fn whole(&self, argument: &'static str, text: &str) -> Result<Found, ServiceError> {
        whole(text, &self.now, self.all_day_at).map_err(|why| ServiceError::refused(argument, why))
    }
}

/// Whether something of a rule is still to come.
///
/// # Errors
/// `Refused`: it is over.
pub(super) fn check_to_come(
    argument: &'static str,
    rule: &Rule,
    now: Timestamp,
) -> Result<(), ServiceError> {
    if rule.next_after(now).is_some() {
        return Ok(());
    }
    let last = rule.last().map_or_else(String::new, |last| told(last.at, rule.zone()));
    let why = format!("expected a time to come, got {last}, which is over");
    Err(ServiceError::refused(argument, why))
}

fn meant(found: Found) -> Result<Meant, RuleError> {
    let rule = match &found.when {
        When::At(moment) => once(moment.civil, moment.at, moment.zone.clone())?,
        When::Every(rule) => Rule::clone(rule),
    };
    let subject = Some(found.subject).filter(|subject| subject.chars().any(char::is_alphanumeric));
    let is_timed = found.precision == Precision::Minute;
    let is_all_day = found.precision == Precision::Day;
    let is_guess = found.is_guess;
    Ok(Meant { rule, lead: found.lead, is_timed, is_all_day, is_guess, subject })
}

/// A time written with its day: on the wall, as a moment, and its zone.
fn exact(text: &str, zone: &TimeZone) -> Option<(DateTime, Timestamp, TimeZone)> {
    let text = two_digits(Some(text.trim()).filter(|text| when::has_real_offset(text))?);
    let text = text.as_str();
    let (at, zone) = if let Ok(zoned) = text.parse::<ZonedDateTime>() {
        (zoned.timestamp(), zoned.time_zone().clone())
    } else if let (Ok(at), false) = (text.parse::<Timestamp>(), text.contains('[')) {
        (at, zone.clone())
    } else {
        let is_time = text.contains([':', 'T', 't']) && !text.contains('[');
        let civil: DateTime = is_time.then(|| text.parse().ok())??;
        let civil = civil.with().subsec_nanosecond(0).build().ok()?;
        return Some((civil, instant(civil, zone)?, zone.clone()));
    };
    let at = Timestamp::from_second(at.as_second()).ok()?;
    Some((zone.to_datetime(at), at, zone))
}

/// `2026-12-03 07:45` for `2026-12-03 7:45`: who writes a date like that writes hours of 24.
fn two_digits(text: &str) -> String {
    let is_short = |rest: &str| rest.as_bytes().get(1) == Some(&b':');
    let is_hour = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    match text.split_once([' ', 'T']) {
        Some((date, rest)) if date.parse::<Date>().is_ok() && is_hour(rest) && is_short(rest) => {
            format!("{date}T0{rest}")
        }
        _ => text.to_owned(),
    }
}

/// One occurrence at this moment. The second of a time that comes twice has no name on the wall of its
/// zone, only in UTC.
fn once(civil: DateTime, at: Timestamp, zone: TimeZone) -> Result<Rule, RuleError> {
    if instant(civil, &zone) == Some(at) {
        return Rule::once(civil, zone);
    }
    Rule::once(TimeZone::UTC.to_datetime(at), TimeZone::UTC)
}

fn is_ical(rule: &str) -> bool {
    let upper = rule.to_uppercase();
    upper.contains("FREQ=") || upper.contains("DTSTART")
}
