//! When something recurs, found by turning every leaf of a calendar: what the engine computes, this
//! counts. The changes of clocks are resolved from the two offsets of such a night.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::random::Random;

/// Zones with changes of an hour and of half an hour, at midnight and at other hours, in both
/// hemispheres, and without any.
pub const ZONES: [&str; 12] = [
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Los_Angeles",
    "America/St_Johns",
    "America/Santiago",
    "Asia/Shanghai",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Chatham",
    "UTC",
];

/// Which leaves of the calendar.
#[derive(Clone, Debug)]
pub enum Days {
    Once,
    Daily,
    Weekly(Vec<Weekday>),
    /// A day of the month; whether a shorter month has its last day instead.
    Monthly(i8, bool),
    /// The n-th weekday of the month, or the last.
    Nth(Option<i8>, Weekday),
    LastDay,
    /// Month and day.
    Yearly(i8, i8),
    /// 29 February, and what other years have: a month and a day, or nothing.
    Leap(Option<(i8, i8)>),
}

/// When it ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Never,
    Count(usize),
    Until(Date),
}

/// How long before.
#[derive(Clone, Copy, Debug)]
pub enum Ahead {
    Time(SignedDuration),
    Days(usize, Option<Time>),
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub start: DateTime,
    pub zone: &'static str,
    pub days: Days,
    pub every: usize,
    pub end: End,
    pub except: Vec<Date>,
    pub ahead: Ahead,
}

/// One time that it takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// The time on the wall that the plan names.
    pub civil: DateTime,
    /// When that is.
    pub at: Timestamp,
    /// When it is to be told.
    pub due: Timestamp,
}

/// Leaves that have been turned since the first.
#[derive(Clone, Copy, Debug, Default)]
struct Turned {
    days: usize,
    weeks: usize,
    months: usize,
    years: usize,
}

impl Plan {
    /// One that begins within `n_days` from `from` on.
    pub fn random(random: &mut Random, from: Date, n_days: usize) -> Self {
        let start = leaves(from).nth(below(random, n_days)).unwrap();
        // Every second one at an hour at which clocks change.
        let n_hours = pick(random, &[4, 24]);
        let hour = i8::try_from(below(random, n_hours)).unwrap();
        let minute = pick(random, &[0, 0, 0, 15, 30, 30, 45, 7, 59]);
        let start = start.to_datetime(Time::constant(hour, minute, 0, 0));
        let days = Days::random(random);
        let most = if matches!(days, Days::Daily) { 20 } else { 4 };
        let end = match random.below(5) {
            0 | 1 => End::Count(1 + below(random, 30)),
            2 => End::Until(leaves(start.date()).nth(below(random, 300)).unwrap()),
            _ => End::Never,
        };
        let near: Vec<Date> = leaves(start.date()).take(60).collect();
        let n_except = if matches!(days, Days::Once) { 0 } else { random.below(4) };
        let except = (0..n_except).map(|_| pick(random, &near)).collect();
        // Some come together.
        let (start, zone) = match random.below(4) {
            0 => (start.date().at(9, 0, 0, 0), "Europe/Berlin"),
            _ => (start, pick(random, &ZONES)),
        };
        let every = if random.below(2) == 0 { 1 } else { 1 + below(random, most) };
        Self { start, zone, days, every, end, except, ahead: Ahead::random(random) }
    }

    /// Once, in an hour or two.
    pub fn soon(random: &mut Random, now: Timestamp) -> Self {
        let at = now + SignedDuration::from_mins(1 + i64::try_from(random.below(120)).unwrap());
        let start = TimeZone::UTC.to_datetime(at).with().second(0).subsec_nanosecond(0).build();
        let (except, ahead) = (Vec::new(), Ahead::Time(SignedDuration::ZERO));
        let (days, end) = (Days::Once, End::Never);
        Self { start: start.unwrap(), zone: "UTC", days, every: 1, end, except, ahead }
    }

    /// Its zone.
    pub fn time_zone(&self) -> TimeZone {
        TimeZone::get(self.zone).unwrap()
    }

    /// It in lines of iCalendar, without its start; `None`: it is once.
    pub fn rule(&self) -> Option<String> {
        let unit = match &self.days {
            Days::Once => return None,
            Days::Daily => "DAILY".to_owned(),
            Days::Weekly(days) => {
                let days: Vec<&str> = days.iter().map(|day| short(*day)).collect();
                format!("WEEKLY;BYDAY={}", days.join(","))
            }
            Days::Monthly(day, true) if *day > 28 => {
                let days: Vec<String> = (28..=*day).map(|day| day.to_string()).collect();
                format!("MONTHLY;BYMONTHDAY={};BYSETPOS=-1", days.join(","))
            }
            Days::Monthly(day, _) => format!("MONTHLY;BYMONTHDAY={day}"),
            Days::Nth(Some(n), day) => format!("MONTHLY;BYDAY={n}{}", short(*day)),
            Days::Nth(None, day) => format!("MONTHLY;BYDAY=-1{}", short(*day)),
            Days::LastDay => "MONTHLY;BYMONTHDAY=-1".to_owned(),
            Days::Yearly(month, day) => format!("YEARLY;BYMONTH={month};BYMONTHDAY={day}"),
            Days::Leap(None) => "YEARLY;BYMONTH=2;BYMONTHDAY=29".to_owned(),
            Days::Leap(Some((2, _))) => "YEARLY;BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1".to_owned(),
            Days::Leap(Some(_)) => "YEARLY;BYYEARDAY=60".to_owned(),
        };
        let end = match self.end {
            End::Never => String::new(),
            End::Count(n) => format!(";COUNT={n}"),
            End::Until(last) => format!(";UNTIL={}", last.strftime("%Y%m%d")),
        };
        let mut lines = format!("RRULE:FREQ={unit};INTERVAL={}{end}", self.every);
        for date in &self.except {
            lines.push_str(&format!("\nEXDATE:{}", date.strftime("%Y%m%dT000000")));
        }
        Some(lines)
    }

    /// Its lead, as it is asked for.
    pub fn lead(&self) -> String {
        match self.ahead {
            Ahead::Time(time) => format!("PT{}M", time.as_mins()),
            Ahead::Days(days, None) => format!("P{days}D"),
            Ahead::Days(days, Some(at)) => format!("P{days}D@{}", at.strftime("%H:%M")),
        }
    }

    /// Every time that it takes place, up to a day.
    pub fn occasions(&self, last: Date) -> Vec<Occasion> {
        let (zone, mut found, mut n_dates) = (self.time_zone(), Vec::new(), 0);
        let mut turned = Turned::default();
        for date in leaves(self.start.date()).take_while(|date| *date <= last) {
            if date != self.start.date() {
                turned.days += 1;
                turned.weeks += usize::from(date.weekday() == Weekday::Monday);
                turned.months += usize::from(date.day() == 1);
                turned.years += usize::from((date.month(), date.day()) == (1, 1));
            }
            let is_over = match self.end {
                End::Never => false,
                End::Count(n) => n_dates >= n,
                End::Until(until) => date > until,
            };
            if is_over {
                break;
            }
            if !self.is_on(date, turned) {
                continue;
            }
            n_dates += 1;
            if !self.except.contains(&date) {
                let civil = date.to_datetime(self.start.time());
                let at = moment(civil, &zone);
                found.push(Occasion { civil, at, due: self.due(civil, at, &zone) });
            }
        }
        found
    }

    fn is_on(&self, date: Date, turned: Turned) -> bool {
        let length = date.days_in_month();
        let (every, month_day) = (self.every, (date.month(), date.day()));
        match &self.days {
            Days::Once => date == self.start.date(),
            Days::Daily => turned.days.is_multiple_of(every),
            Days::Weekly(days) => {
                turned.weeks.is_multiple_of(every) && days.contains(&date.weekday())
            }
            Days::Monthly(day, is_clamped) => {
                let is_last = *is_clamped && date.day() == length && *day > length;
                turned.months.is_multiple_of(every) && (date.day() == *day || is_last)
            }
            Days::Nth(n, weekday) => {
                let is_it = match n {
                    Some(n) => (date.day() - 1) / 7 + 1 == *n,
                    None => date.day() + 7 > length,
                };
                turned.months.is_multiple_of(every) && is_it && date.weekday() == *weekday
            }
            Days::LastDay => turned.months.is_multiple_of(every) && date.day() == length,
            Days::Yearly(month, day) => {
                turned.years.is_multiple_of(every) && month_day == (*month, *day)
            }
            Days::Leap(otherwise) => {
                let meant = if date.in_leap_year() { Some((2, 29)) } else { *otherwise };
                turned.years.is_multiple_of(every) && meant == Some(month_day)
            }
        }
    }

    fn due(&self, civil: DateTime, at: Timestamp, zone: &TimeZone) -> Timestamp {
        match self.ahead {
            Ahead::Time(time) => at - time,
            Ahead::Days(days, time) => {
                let mut date = civil.date();
                for _ in 0..days {
                    date = date.yesterday().unwrap();
                }
                let told = date.to_datetime(time.unwrap_or(civil.time()));
                moment(told, zone).min(at)
            }
        }
    }

    /// Whether it is told before it takes place.
    pub fn is_ahead(&self) -> bool {
        !matches!(self.ahead, Ahead::Time(time) if time.is_zero())
    }
}

impl Days {
    fn random(random: &mut Random) -> Self {
        let weekday = |random: &mut Random| pick(random, &WEEK);
        match random.below(14) {
            0..=2 => Self::Once,
            3 => Self::Daily,
            4 | 5 => Self::Weekly((0..=random.below(2)).map(|_| weekday(random)).collect()),
            6..=8 => {
                let day = pick(random, &[1, 9, 15, 28, 29, 30, 31, 31]);
                Self::Monthly(day, day > 28 && random.below(2) == 0)
            }
            9 | 10 => Self::Nth(pick(random, &[None, Some(1), Some(2), Some(5)]), weekday(random)),
            11 => Self::LastDay,
            12 => Self::Yearly(pick(random, &[1, 3, 6, 11]), pick(random, &[1, 8, 28])),
            _ => Self::Leap(pick(random, &[None, Some((2, 28)), Some((3, 1))])),
        }
    }
}

impl Ahead {
    fn random(random: &mut Random) -> Self {
        let time = |hour| Some(Time::constant(hour, 0, 0, 0));
        match random.below(10) {
            0..=3 => Self::Time(SignedDuration::ZERO),
            4..=6 => {
                let minutes = pick(random, &[5, 60, 90, 24 * 60, 36 * 60, 7 * 24 * 60]);
                Self::Time(SignedDuration::from_mins(minutes))
            }
            7 => Self::Days(1, None),
            8 => Self::Days(1 + below(random, 3), time(18)),
            _ => Self::Days(below(random, 2), time(2)),
        }
    }
}

/// When the wall of a zone shows a time: the first time that it does, and if it never does, as much
/// later as the clock is moved forward.
fn moment(civil: DateTime, zone: &TimeZone) -> Timestamp {
    let offset = match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        // By the offset of before, the skipped time is later by the gap, and the first of two is first.
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    offset.to_timestamp(civil).unwrap()
}

/// The leaves of a calendar, one after the other.
fn leaves(from: Date) -> impl Iterator<Item = Date> {
    std::iter::successors(Some(from), |date| date.tomorrow().ok())
}

const WEEK: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

fn short(day: Weekday) -> &'static str {
    let names = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
    names[WEEK.iter().position(|known| *known == day).unwrap()]
}

/// One of these.
pub fn pick<T: Clone>(random: &mut Random, choices: &[T]) -> T {
    choices[below(random, choices.len())].clone()
}

/// A number below `n`.
pub fn below(random: &mut Random, n: usize) -> usize {
    usize::try_from(random.below(n as u64)).unwrap()
}
