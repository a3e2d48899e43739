//! What a phrase has said so far, and whether one more piece fits in.

use jiff::Timestamp;
use jiff::civil::Weekday;

use super::length::{Length, Unit};
use super::lexemes::{Clock, Part};
use crate::domain::grounding::values::{DateParts, Period};
use crate::domain::reminder::{Nth, Weekdays};

/// One thing that a phrase says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Instant(Timestamp),
    /// So long from now.
    Elapsed(Length),
    /// So long after the day that is said as well.
    Plus(Length),
    Cycle(u32, Unit),
    /// Days of the week that recur.
    Days(Weekdays),
    Weekday(Weekday, Option<i8>),
    Weekend(i8),
    Nth(Nth, Weekday),
    MonthDay(i8),
    LastDay,
    Date(DateParts),
    Shift {
        period: Period,
        by: i32,
        is_counted: bool,
    },
    Part(Part),
    Clock(Clock),
    Zone(String),
    /// Minutes ahead of UTC.
    Offset(i32),
    /// What stands for a zone and names none.
    NoZone(String),
    /// Days of the week that are left out.
    Except(Weekdays),
    /// The first day of what recurs.
    Start(Box<Slots>),
    /// The last day of what recurs.
    Until(Box<Slots>),
    /// For how long it recurs.
    Lasting(Length),
    Deadline,
    /// The day is the first of what recurs.
    Starting,
    /// It lies behind.
    Behind,
    /// The words leave much open; factor on the confidence, 0.0..=1.0.
    Doubt(f64),
}

/// All that a phrase says.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is said or not, whatever the others")]
pub(super) struct Slots {
    pub(super) instant: Option<Timestamp>,
    pub(super) elapsed: Option<Length>,
    pub(super) plus: Option<Length>,
    pub(super) cycle: Option<(u32, Unit)>,
    pub(super) days: Weekdays,
    pub(super) weekday: Option<(Weekday, Option<i8>)>,
    pub(super) weekend: Option<i8>,
    pub(super) nth: Option<(Nth, Weekday)>,
    pub(super) month_day: Option<i8>,
    pub(super) is_last_day: bool,
    pub(super) date: Option<DateParts>,
    /// With whether it is a count of them.
    pub(super) shift: Option<(Period, i32, bool)>,
    pub(super) part: Option<Part>,
    pub(super) clock: Option<Clock>,
    pub(super) zone: Option<String>,
    pub(super) offset: Option<i32>,
    pub(super) no_zone: Option<String>,
    pub(super) except: Weekdays,
    pub(super) start: Option<Box<Slots>>,
    pub(super) until: Option<Box<Slots>>,
    pub(super) lasting: Option<Length>,
    pub(super) is_deadline: bool,
    /// Whether the day is the first of what recurs.
    pub(super) is_start: bool,
    /// Whether the day is the last of what recurs.
    pub(super) is_until: bool,
    pub(super) is_behind: bool,
    pub(super) doubt: f64,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            instant: None,
            elapsed: None,
            plus: None,
            cycle: None,
            days: Weekdays::NONE,
            weekday: None,
            weekend: None,
            nth: None,
            month_day: None,
            is_last_day: false,
            date: None,
            shift: None,
            part: None,
            clock: None,
            zone: None,
            offset: None,
            no_zone: None,
            except: Weekdays::NONE,
            start: None,
            until: None,
            lasting: None,
            is_deadline: false,
            is_start: false,
            is_until: false,
            is_behind: false,
            doubt: 1.0,
        }
    }
}

impl Slots {
    /// Whether it says that something recurs.
    pub(super) fn recurs(&self) -> bool {
        self.cycle.is_some() || !self.days.is_empty()
    }

    /// Whether it names a day.
    pub(super) fn has_day(&self) -> bool {
        self.weekday.is_some()
            || self.weekend.is_some()
            || self.nth.is_some()
            || self.month_day.is_some()
            || self.is_last_day
            || self.date.is_some()
            || self.shift.is_some()
            || self.plus.is_some()
    }

    /// Whether it is a moment by itself.
    pub(super) fn is_moment(&self) -> bool {
        self.instant.is_some() || self.elapsed.is_some()
    }

    /// Whether it is a time of day and nothing more.
    pub(super) fn is_hour(&self) -> bool {
        self.clock.is_some() && !self.has_day() && !self.recurs() && !self.is_moment()
    }

    /// Whether it is a single day and nothing more.
    pub(super) fn is_bare_day(&self) -> bool {
        let is_timed = self.clock.is_some() || self.part.is_some() || self.is_moment();
        self.has_day() && !is_timed && !self.recurs()
    }

    /// Whether nothing that tells a time is there.
    pub(super) fn is_empty(&self) -> bool {
        let is_bare = self.clock.is_none() && self.part.is_none();
        is_bare && !self.recurs() && !self.has_day() && !self.is_moment()
    }

    /// This with one more piece, unless that contradicts what is there.
    pub(super) fn with(mut self, piece: &Piece) -> Option<Self> {
        if self.is_start && matches!(piece, Piece::Cycle(..) | Piece::Days(_)) {
            // 从12月11日起每周五
            let except = self.except;
            let start = Self { is_start: false, ..self };
            self = Self { start: Some(Box::new(start)), except, ..Self::default() };
        }
        if !self.is_open_for(piece) {
            return None;
        }
        match piece.clone() {
            Piece::Instant(at) => self.instant = Some(at),
            Piece::Elapsed(length) => self.elapsed = Some(length),
            Piece::Plus(length) => self.plus = Some(length),
            Piece::Cycle(n, unit) => {
                self.cycle = Some((n, unit));
                // "Fridays, every two weeks" and "Friday every week".
                if let Some((day, None)) = self.weekday.filter(|_| unit == Unit::Week) {
                    self.weekday = None;
                    self.days = self.days.with(day);
                }
            }
            Piece::Days(days) => self.days = days,
            Piece::Weekday(day, None) if self.cycle.is_some_and(|(_, unit)| unit == Unit::Week) => {
                self.days = self.days.with(day);
            }
            Piece::Weekday(day, week) => self.weekday = Some((day, week)),
            Piece::Weekend(week) => self.weekend = Some(week),
            Piece::Nth(nth, weekday) => self.nth = Some((nth, weekday)),
            Piece::MonthDay(day) => self.month_day = Some(day),
            Piece::LastDay => self.is_last_day = true,
            Piece::Date(DateParts { year: None, month: None, day }) => self.month_day = day,
            Piece::Date(parts) => self.date = Some(parts),
            Piece::Shift { period, by, is_counted } => self.shift = Some((period, by, is_counted)),
            Piece::Part(part) => self.part = Some(part),
            Piece::Clock(clock) => self.clock = Some(clock),
            Piece::Zone(zone) => self.zone = Some(zone),
            Piece::Offset(minutes) => self.offset = Some(minutes),
            Piece::NoZone(word) => self.no_zone = Some(word),
            Piece::Except(days) => self.except = days,
            Piece::Start(day) => self.start = Some(day),
            Piece::Until(day) => self.until = Some(day),
            Piece::Lasting(length) => self.lasting = Some(length),
            Piece::Deadline => self.is_deadline = true,
            Piece::Starting => self.is_start = true,
            Piece::Behind => self.is_behind = true,
            Piece::Doubt(factor) => self.doubt *= factor,
        }
        Some(self)
    }

    /// Whether the place of a piece is free and nothing else speaks against it.
    fn is_open_for(&self, piece: &Piece) -> bool {
        let is_alone = matches!(piece, Piece::Instant(_) | Piece::Elapsed(_));
        let is_remark =
            matches!(piece, Piece::Doubt(_) | Piece::Deadline | Piece::Starting | Piece::Behind);
        if is_alone || is_remark || self.is_moment() {
            return is_remark || is_alone && self.is_empty();
        }
        match piece {
            Piece::Instant(_)
            | Piece::Elapsed(_)
            | Piece::Doubt(_)
            | Piece::Deadline
            | Piece::Starting
            | Piece::Behind => true,
            Piece::Plus(_) => self.plus.is_none() && !self.recurs(),
            Piece::Cycle(n, unit) => {
                let is_day = *n == 1 && *unit == Unit::Day;
                let fits = self.except.is_empty() || is_day || *unit == Unit::Week;
                fits && self.takes_cycle(*unit)
            }
            Piece::Days(_) => {
                let is_weekly =
                    self.cycle.is_none_or(|(_, unit)| matches!(unit, Unit::Week | Unit::Day));
                self.days.is_empty() && !self.has_day() && is_weekly
            }
            Piece::Weekday(_, None) if self.recurs() => {
                self.days.is_empty() && self.cycle.is_some_and(|(_, unit)| unit == Unit::Week)
            }
            Piece::Weekday(..) => {
                // "tomorrow at 11, Thursday at 10" are two.
                let is_said =
                    self.clock.is_some() && matches!(self.shift, Some((Period::Day, _, _)));
                let is_other =
                    self.nth.is_some() || self.weekend.is_some() || self.recurs() || is_said;
                self.weekday.is_none() && !is_other
            }
            Piece::Weekend(_) => !self.has_day() && !self.recurs(),
            Piece::Nth(..) | Piece::LastDay => self.takes_month_place(),
            Piece::MonthDay(_) => self.takes_month_day(),
            Piece::Date(parts) => self.takes_date(*parts),
            Piece::Shift { period, is_counted, .. } => self.takes_shift(*period, *is_counted),
            Piece::Part(_) => self.part.is_none() && self.clock.is_none_or(|clock| clock.is_vague),
            Piece::Clock(_) => self.clock.is_none(),
            Piece::Zone(_) | Piece::Offset(_) | Piece::NoZone(_) => {
                self.clock.is_some() && !self.has_zone()
            }
            Piece::Except(days) => {
                let rest = self.except.is_empty() && self.recurs() && self.is_weekly();
                rest && !self.weekdays().without(*days).is_empty()
            }
            Piece::Start(_) => self.start.is_none() && self.recurs(),
            Piece::Until(_) | Piece::Lasting(_) => {
                self.until.is_none() && self.lasting.is_none() && self.recurs()
            }
        }
    }

    /// Whether days of the week can be left out of it: every day, weekdays, every Monday and Friday.
    fn is_weekly(&self) -> bool {
        !self.days.is_empty() || self.cycle == Some((1, Unit::Day))
    }

    /// The days of the week on which it recurs, if it does so by days of the week, those included that
    /// are left out.
    pub(super) fn weekdays(&self) -> Weekdays {
        if self.days.is_empty() { Weekdays::ALL } else { self.days }
    }

    /// Whether it says where it is, known or not.
    pub(super) fn has_zone(&self) -> bool {
        self.zone.is_some() || self.offset.is_some() || self.no_zone.is_some()
    }

    /// What it says of a rule that stands elsewhere in the sentence: its first or last day, or days that
    /// are left out.
    pub(super) fn bound(&self) -> Option<Piece> {
        if self.recurs() || self.is_moment() || self.clock.is_some() || self.part.is_some() {
            return None;
        }
        if !self.except.is_empty() {
            return (!self.has_day()).then_some(Piece::Except(self.except));
        }
        let day = Box::new(Self { is_start: false, is_until: false, ..self.clone() });
        match (self.is_start, self.is_until) {
            (true, _) if self.has_day() => Some(Piece::Start(day)),
            (_, true) if self.is_one_day() => Some(Piece::Until(day)),
            _ => None,
        }
    }

    /// Whether it is a day and not a week or a month as a whole.
    pub(super) fn is_one_day(&self) -> bool {
        let is_whole =
            matches!(self.shift, Some((Period::Week | Period::Month | Period::Year, _, false)));
        let is_placed = self.weekday.is_some()
            || self.month_day.is_some()
            || self.is_last_day
            || self.nth.is_some()
            || self.date.is_some();
        self.has_day()
            && (!is_whole || is_placed)
            && self.date.is_none_or(|date| date.day.is_some())
    }

    fn takes_cycle(&self, unit: Unit) -> bool {
        let is_long = matches!(unit, Unit::Month | Unit::Quarter | Unit::Year);
        let has_other_day = if is_long {
            self.weekday.is_some()
        } else {
            self.month_day.is_some() || self.nth.is_some() || self.date.is_some()
        };
        let is_bare = self.cycle.is_none() && self.shift.is_none() && self.weekend.is_none();
        is_bare
            && !has_other_day
            && (self.days.is_empty() || matches!(unit, Unit::Week | Unit::Day))
    }

    fn takes_month_place(&self) -> bool {
        let is_named = self.nth.is_some() || self.is_last_day || self.month_day.is_some();
        let is_month = self.shift.is_none_or(|(period, ..)| period == Period::Month);
        !is_named && self.weekday.is_none() && self.days.is_empty() && is_month && self.is_monthly()
    }

    /// Whether it recurs by months, or not.
    fn is_monthly(&self) -> bool {
        self.cycle.is_none_or(|(_, unit)| matches!(unit, Unit::Month | Unit::Quarter))
    }

    fn takes_shift(&self, period: Period, is_counted: bool) -> bool {
        let is_week_of =
            period == Period::Week && !is_counted && matches!(self.weekday, Some((_, None)));
        let is_month_of = period == Period::Month
            && (self.month_day.is_some() || self.nth.is_some() || self.is_last_day);
        let is_year_of = period == Period::Year && self.date.is_some();
        self.shift.is_none()
            && !self.recurs()
            && (!self.has_day() || is_week_of || is_month_of || is_year_of)
    }

    fn takes_month_day(&self) -> bool {
        let is_month = matches!(self.shift, None | Some((Period::Month, _, false)));
        let is_named = self.month_day.is_some() || self.nth.is_some() || self.date.is_some();
        is_month && self.is_monthly() && !is_named && !self.is_last_day && self.days.is_empty()
    }

    /// A whole date, the month of a day that is said already, or a day of the month.
    fn takes_date(&self, parts: DateParts) -> bool {
        let has_day = self.month_day.is_some() || self.nth.is_some();
        match (parts.month, parts.day) {
            (Some(_), None) => has_day && self.date.is_none() && self.cycle.is_none(),
            (None, Some(_)) => self.takes_month_day(),
            (None, None) => false,
            (Some(_), Some(_)) => {
                let is_yearly =
                    self.cycle.is_none_or(|(_, unit)| unit == Unit::Year && parts.year.is_none());
                let is_year_of = matches!(self.shift, None | Some((Period::Year, _, false)));
                let is_named = self.date.is_some() || has_day || self.is_last_day;
                is_yearly && is_year_of && !is_named && self.days.is_empty()
            }
        }
    }

    /// Whether it is a day and a month and nothing else.
    pub(super) fn is_yearless(&self) -> bool {
        let is_day =
            matches!(self.date, Some(DateParts { year: None, month: Some(_), day: Some(_) }));
        is_day
            && self.clock.is_none()
            && !self.recurs()
            && self.weekday.is_none()
            && self.shift.is_none()
    }

    /// Whether it only says how often.
    pub(super) fn is_cycle_alone(&self) -> bool {
        self.cycle.is_some()
            && self.days.is_empty()
            && !self.has_day()
            && self.clock.is_none()
            && self.part.is_none()
    }

    /// All that it says, piece by piece.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        pieces.extend(self.cycle.map(|(n, unit)| Piece::Cycle(n, unit)));
        pieces.extend((!self.days.is_empty()).then_some(Piece::Days(self.days)));
        pieces.extend(self.weekday.map(|(day, week)| Piece::Weekday(day, week)));
        pieces.extend(self.weekend.map(Piece::Weekend));
        pieces.extend(self.nth.map(|(nth, weekday)| Piece::Nth(nth, weekday)));
        pieces.extend(self.month_day.map(Piece::MonthDay));
        pieces.extend(self.is_last_day.then_some(Piece::LastDay));
        pieces.extend(self.date.map(Piece::Date));
        let shift = |(period, by, is_counted)| Piece::Shift { period, by, is_counted };
        pieces.extend(self.shift.map(shift));
        pieces.extend(self.plus.map(Piece::Plus));
        pieces.extend(self.part.map(Piece::Part));
        pieces.extend(self.clock.map(Piece::Clock));
        pieces.extend(self.zone.clone().map(Piece::Zone));
        pieces.extend(self.offset.map(Piece::Offset));
        pieces.extend(self.no_zone.clone().map(Piece::NoZone));
        pieces.extend((!self.except.is_empty()).then_some(Piece::Except(self.except)));
        pieces.extend(self.start.clone().map(Piece::Start));
        pieces.extend(self.until.clone().map(Piece::Until));
        pieces.extend(self.lasting.map(Piece::Lasting));
        pieces.extend(self.is_deadline.then_some(Piece::Deadline));
        pieces.extend(self.is_behind.then_some(Piece::Behind));
        pieces.push(Piece::Doubt(self.doubt));
        pieces
    }
}
