//! Numbers from digits, English words and Han.

use super::Amount;

/// English number words below one hundred.
const WORDS: &[(&str, u64)] = &[
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
];
/// English ordinals that are seldom anything else ("first" and "second" often are).
const ORDINALS: &[(&str, u64)] = &[
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("eleventh", 11),
    ("twelfth", 12),
    ("twentieth", 20),
];

/// Most digits before the point; longer ones are identifiers.
const DIGITS_MAX: usize = 20;

impl Amount {
    /// Reads digits with an optional sign, thousands commas and a decimal point.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let plain = digits.replace(',', "");
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        if whole.is_empty() || whole.len() > DIGITS_MAX {
            return None;
        }
        let places: String =
            fraction.chars().chain(std::iter::repeat('0')).take(Self::PLACES as usize).collect();
        let number = whole.parse::<i128>().ok()? * Self::ONE + places.parse::<i128>().ok()?;
        Some(Self(sign * number))
    }

    /// This number times a whole one.
    pub(super) fn times(self, factor: u64) -> Option<Self> {
        self.0.checked_mul(i128::from(factor)).map(Self)
    }

    /// Twice this number, if that is a whole one.
    pub(crate) fn halves(self) -> Option<i64> {
        let twice = self.0.checked_mul(2)?;
        (twice % Self::ONE == 0).then(|| i64::try_from(twice / Self::ONE).ok()).flatten()
    }

    pub(super) fn negated(self) -> Self {
        Self(-self.0)
    }
}

/// The number below one hundred that an English word names.
pub(super) fn word(word: &str) -> Option<u64> {
    let lower = word.to_lowercase();
    WORDS.iter().find(|(name, _)| *name == lower).map(|(_, number)| *number)
}

/// The number of an English ordinal word.
pub(super) fn ordinal(word: &str) -> Option<u64> {
    let lower = word.to_lowercase();
    ORDINALS.iter().find(|(name, _)| *name == lower).map(|(_, number)| *number)
}

/// What a multiplying word or letter is worth.
pub(super) fn multiplier(word: &str) -> Option<u64> {
    match word.to_lowercase().as_str() {
        "hundred" => Some(100),
        "k" | "thousand" => Some(1_000),
        "million" | "mio" => Some(1_000_000),
        "bn" | "billion" => Some(1_000_000_000),
        "dozen" => Some(12),
        _ => None,
    }
}

/// What a multiplying character of Han is worth.
pub(super) fn han_multiplier(c: char) -> Option<u64> {
    match c {
        '十' => Some(10),
        '百' => Some(100),
        '千' => Some(1_000),
        '万' | '萬' => Some(10_000),
        '亿' | '億' => Some(100_000_000),
        _ => None,
    }
}

/// The digit of a character of Han.
pub(crate) fn han_digit(c: char) -> Option<u64> {
    let digit = match c {
        '〇' | '零' => 0,
        '一' => 1,
        '二' | '两' | '兩' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    };
    Some(digit)
}

/// Whether a character is part of a number in Han.
pub(super) fn is_han(c: char) -> bool {
    han_digit(c).is_some() || han_multiplier(c).is_some()
}

/// Reads a number in Han (三, 二十, 一百零五, 两万三千, 二〇二六) or in digits.
pub(super) fn han(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let has_places = text.chars().any(|c| han_multiplier(c).is_some());
    if !has_places {
        // Digit by digit, as years and numbers of rooms are.
        return text
            .chars()
            .try_fold(0_u64, |sum, c| sum.checked_mul(10)?.checked_add(han_digit(c)?));
    }
    let (mut total, mut section, mut digit) = (0_u64, 0_u64, None);
    for c in text.chars() {
        if let Some(value) = han_digit(c) {
            if digit.is_some_and(|before| before != 0) {
                return None;
            }
            digit = Some(value);
            continue;
        }
        let factor = han_multiplier(c)?;
        if factor >= 10_000 {
            let whole = (section + digit.take().unwrap_or(0)).max(1);
            total = total.checked_add(whole.checked_mul(factor)?)?;
            section = 0;
        } else {
            section += digit.take().unwrap_or(1).max(1) * factor;
        }
    }
    total.checked_add(section + digit.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_han_are_read() {
        for (text, expected) in [
            ("三", Some(3)),
            ("两", Some(2)),
            ("十", Some(10)),
            ("十二", Some(12)),
            ("二十", Some(20)),
            ("三十五", Some(35)),
            ("一百零五", Some(105)),
            ("一千二百", Some(1_200)),
            ("两万三千", Some(23_000)),
            ("三亿", Some(300_000_000)),
            ("二〇二六", Some(2_026)),
            ("20", Some(20)),
            ("", None),
            ("茶", None),
        ] {
            assert_eq!(han(text), expected, "{text}");
        }
    }

    #[test]
    fn written_numbers_are_equal_when_they_mean_the_same() {
        for (left, right) in
            [("1,000", "1000"), ("1.50", "1.5"), ("+3", "3"), ("-0.5", "-0.500000000")]
        {
            assert_eq!(Amount::parse(left), Amount::parse(right), "{left}");
        }
        assert_ne!(Amount::parse("1.5"), Amount::parse("1.05"));
        assert_eq!(Amount::parse(&"9".repeat(30)), None);
    }
}
