//! The typed values of a text: dates, times, quantities, numbers, versions, addresses, paths,
//! identifiers and names, in English and Chinese.
//!
//! The longer sorts are read first and what they cover is closed to the others, so that a bare 20 is not
//! found inside `2026-11-20` and a port not inside an address. Two texts agree on a value when they agree
//! on what it means: `1,000` is `1000`, `3pm` is `15:00` and `下午三点`.

mod agree;
mod amounts;
mod han_names;
mod marks;
mod moments;
mod names;
mod numerals;
mod patterns;
mod scan;
mod times;
mod units;

use std::ops::Range;

use jiff::civil::Weekday;

pub use agree::{Support, resolve};
pub(crate) use numerals::han_digit;
pub use scan::read;

/// A date as far as a text tells it; at least one part is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DateParts {
    /// 1900..=2099.
    pub year: Option<i16>,
    /// 1..=12.
    pub month: Option<i8>,
    /// 1..=31.
    pub day: Option<i8>,
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockTime {
    /// 0..=23; 1..=12 if vague.
    pub hour: u8,
    /// 0..=59.
    pub minute: u8,
    /// 0..=59, if the text tells it.
    pub second: Option<u8>,
    /// Whether the text leaves open which half of the day it means ("3 o'clock", 三点).
    pub is_vague: bool,
}

/// What a relative date counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// Days.
    Day,
    /// Weeks.
    Week,
    /// Months.
    Month,
    /// Years.
    Year,
}

/// An exact decimal number, in units of 10^-9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

impl Amount {
    /// Decimal places that are kept.
    const PLACES: u32 = 9;
    /// The number one.
    const ONE: i128 = 10_i128.pow(Self::PLACES);

    /// A whole number.
    pub fn whole(number: u64) -> Self {
        Self(i128::from(number) * Self::ONE)
    }

    /// This number as a whole one, if it is one and not negative.
    pub fn as_whole(self) -> Option<u64> {
        (self.0 % Self::ONE == 0).then(|| u64::try_from(self.0 / Self::ONE).ok()).flatten()
    }
}

/// A value that a text states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// `2026-11-20`, `Nov 20`, `11月20日`.
    Date(DateParts),
    /// `Friday`, `next Friday`, `下周五`.
    Weekday {
        /// The day.
        day: Weekday,
        /// -1 last, 0 this, 1 next week, if the text says so.
        week: Option<i8>,
    },
    /// `yesterday`, `3 days ago`, `下个月`.
    Relative {
        /// What is counted.
        period: Period,
        /// How many of them ahead; negative: back.
        shift: i32,
    },
    /// `15:00`, `3pm`, `下午三点`.
    Time(ClockTime),
    /// `20 people`, `3 GB`, `5%`, `3公里`.
    Quantity {
        /// How many.
        amount: Amount,
        /// Canonical name of the unit.
        unit: &'static str,
    },
    /// A number without a known unit.
    Number {
        /// The number.
        amount: Amount,
        /// Stem of the word that follows, which says what is counted; empty if none does.
        counted: String,
    },
    /// `3rd`, `third`, `第三`.
    Ordinal(u64),
    /// `1.2.3`, `v2`; without the `v`.
    Version(String),
    /// With its scheme, lower case.
    Url(String),
    /// Lower case.
    Email(String),
    /// Lower case, without a final slash.
    Path(String),
    /// IPv4, IPv6 or MAC, lower case.
    Address(String),
    /// `inc-90312`, `foo_bar`, a hash; lower case.
    Identifier(String),
    /// A name in lower case, or in Han.
    Name(String),
}

impl Value {
    /// The text of a name or an identifier.
    pub fn anchor(&self) -> Option<&str> {
        if let Self::Name(text) | Self::Identifier(text) = self { Some(text) } else { None }
    }

    /// Its sort, as it is counted and shown.
    pub const fn sort(&self) -> Sort {
        match self {
            Self::Date(_) | Self::Weekday { .. } | Self::Relative { .. } => Sort::Date,
            Self::Time(_) => Sort::Time,
            Self::Quantity { .. } => Sort::Quantity,
            Self::Number { .. } | Self::Ordinal(_) => Sort::Number,
            Self::Version(_) => Sort::Version,
            Self::Url(_) => Sort::Url,
            Self::Email(_) => Sort::Email,
            Self::Path(_) => Sort::Path,
            Self::Address(_) => Sort::Address,
            Self::Identifier(_) => Sort::Identifier,
            Self::Name(_) => Sort::Name,
        }
    }
}

/// The sorts of value that are told apart in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// Dates, weekdays and relative dates.
    Date,
    /// Times of day.
    Time,
    /// Numbers with a unit.
    Quantity,
    /// Other numbers.
    Number,
    /// Versions.
    Version,
    /// Web addresses.
    Url,
    /// E-mail addresses.
    Email,
    /// File paths and names.
    Path,
    /// Network addresses.
    Address,
    /// Identifiers.
    Identifier,
    /// Names.
    Name,
}

impl Sort {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Time => "time",
            Self::Quantity => "quantity",
            Self::Number => "number",
            Self::Version => "version",
            Self::Url => "url",
            Self::Email => "email",
            Self::Path => "path",
            Self::Address => "address",
            Self::Identifier => "identifier",
            Self::Name => "name",
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it means.
    pub value: Value,
    /// Bytes of [`Reading::text`]; two values read from one expression have the same.
    pub range: Range<usize>,
}

/// A text and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The text in NFKC; case is kept.
    pub text: String,
    /// The values in order.
    pub values: Vec<Found>,
    /// Capitalised words that only open a sentence: names or not, the text alone does not tell.
    pub openers: Vec<Range<usize>>,
}

impl Reading {
    /// The text of a range.
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or("")
    }

    /// The values that lie in a range.
    pub fn values_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Found> {
        self.values
            .iter()
            .filter(move |found| range.start <= found.range.start && found.range.end <= range.end)
    }
}

#[cfg(test)]
mod tests;
