//! A set of days of the week.

use jiff::civil::Weekday;

/// The days of the week in their order; a week begins on Monday (ISO 8601).
const DAYS: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

/// Some days of the week: bit 0 is Monday.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Weekdays(u8);

impl Weekdays {
    /// No day.
    pub const NONE: Self = Self(0);
    /// Monday to Friday.
    pub const WORKING: Self = Self(0b001_1111);
    /// Saturday and Sunday.
    pub const WEEKEND: Self = Self(0b110_0000);
    /// Every day.
    pub const ALL: Self = Self(0b111_1111);

    /// One day.
    pub const fn one(day: Weekday) -> Self {
        Self(1 << day.to_monday_zero_offset())
    }

    /// This set and a day.
    #[must_use]
    pub const fn with(self, day: Weekday) -> Self {
        Self(self.0 | Self::one(day).0)
    }

    /// This set without the days of another.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the day is among them.
    pub const fn contains(self, day: Weekday) -> bool {
        self.0 & Self::one(day).0 != 0
    }

    /// How many there are, 0..=7.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many come before `day` in their week.
    pub const fn n_before(self, day: Weekday) -> usize {
        Self(self.0 & (Self::one(day).0 - 1)).len()
    }

    /// They, from Monday on.
    pub fn iter(self) -> impl Iterator<Item = Weekday> {
        DAYS.into_iter().filter(move |day| self.contains(*day))
    }
}

impl FromIterator<Weekday> for Weekdays {
    fn from_iter<I: IntoIterator<Item = Weekday>>(days: I) -> Self {
        days.into_iter().fold(Self::NONE, Self::with)
    }
}
