//! Scripts: how much of a text is in which, and which of them a model reads.

use std::fmt;
use std::str::FromStr;

use super::is_unspaced;

/// A script, as far as models differ in what they read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Latin.
    Latin,
    /// Chinese characters, in whichever language.
    Han,
    /// Hiragana and katakana.
    Kana,
    /// Korean, as syllables or letters.
    Hangul,
    /// Cyrillic.
    Cyrillic,
    /// Arabic.
    Arabic,
    /// Any other.
    Other,
}

impl Script {
    /// All of them, in the order of their values.
    pub const ALL: [Self; 7] = [
        Self::Latin,
        Self::Han,
        Self::Kana,
        Self::Hangul,
        Self::Cyrillic,
        Self::Arabic,
        Self::Other,
    ];

    /// Its name, for people.
    const fn name(self) -> &'static str {
        match self {
            Self::Latin => "Latin",
            Self::Han => "Han",
            Self::Kana => "Kana",
            Self::Hangul => "Hangul",
            Self::Cyrillic => "Cyrillic",
            Self::Arabic => "Arabic",
            Self::Other => "other",
        }
    }

    /// The script of a letter (blocks of the Unicode standard, without the rare ones).
    fn of(letter: char) -> Self {
        match u32::from(letter) {
            0x0041..=0x024f | 0x1e00..=0x1eff | 0xff21..=0xff5a => Self::Latin,
            0x3005..=0x3007
            | 0x3400..=0x4dbf
            | 0x4e00..=0x9fff
            | 0xf900..=0xfaff
            | 0x2_0000..=0x3_ffff => Self::Han,
            0x3040..=0x30ff | 0x31f0..=0x31ff | 0xff66..=0xff9f => Self::Kana,
            0x1100..=0x11ff | 0x3130..=0x318f | 0xac00..=0xd7af => Self::Hangul,
            0x0400..=0x052f => Self::Cyrillic,
            0x0600..=0x06ff | 0x0750..=0x077f | 0x08a0..=0x08ff | 0xfb50..=0xfefc => Self::Arabic,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scripts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scripts(u8);

impl Scripts {
    /// Latin alone.
    pub const LATIN: Self = Self(1 << Script::Latin as u8);
    /// Every one.
    pub const ALL: Self = Self((1 << Script::ALL.len()) - 1);

    /// Whether it is among them.
    pub const fn contains(self, script: Script) -> bool {
        self.0 & 1 << script as u8 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are among them.
    pub fn iter(self) -> impl Iterator<Item = Script> {
        Script::ALL.into_iter().filter(move |script| self.contains(*script))
    }

    /// How they are written down: `all`, or names joined by commas, in lower case.
    pub fn words(self) -> String {
        if self == Self::ALL {
            return ALL.to_owned();
        }
        let names: Vec<String> = self.iter().map(|script| script.name().to_lowercase()).collect();
        names.join(",")
    }
}

/// The word for every script.
const ALL: &str = "all";

impl FromIterator<Script> for Scripts {
    fn from_iter<I: IntoIterator<Item = Script>>(scripts: I) -> Self {
        Self(scripts.into_iter().fold(0, |bits, script| bits | 1 << script as u8))
    }
}

/// A text does not name scripts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `all`, or some of latin, han, kana, hangul, cyrillic, arabic, other, joined by commas"
)]
pub struct ScriptsError;

impl FromStr for Scripts {
    type Err = ScriptsError;

    /// Reads what [`Self::words`] writes.
    fn from_str(words: &str) -> Result<Self, ScriptsError> {
        if words == ALL {
            return Ok(Self::ALL);
        }
        let named = |word: &str| {
            let mut all = Script::ALL.into_iter();
            all.find(|script| script.name().to_lowercase() == word.trim()).ok_or(ScriptsError)
        };
        words.split(',').map(named).collect()
    }
}

impl fmt::Display for Scripts {
    /// `Latin`, `Latin and Han`, `Latin, Han and Kana`, `all scripts`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all scripts");
        }
        let names: Vec<&str> = self.iter().map(Script::name).collect();
        match names.as_slice() {
            [] => f.write_str("no script"),
            [one] => f.write_str(one),
            [before @ .., last] => write!(f, "{} and {last}", before.join(", ")),
        }
    }
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How much of a text is in which script: for each the share of its words, 0.0..=1.0. All are 0.0 in a
/// text without words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScriptShares([f32; Script::ALL.len()]);

impl ScriptShares {
    /// Those of a text. Words count: those of two or more Latin letters, two thirds of the characters
    /// of unspaced scripts, and other words of two or more letters.
    pub fn of(text: &str) -> Self {
        let mut weights = [0.0_f32; Script::ALL.len()];
        let mut add = |script: Script, weight: f32| {
            if let Some(sum) = weights.get_mut(script as usize) {
                *sum += weight;
            }
        };
        for word in text.split(|c: char| !c.is_alphabetic()) {
            let mut n_unspaced = 0;
            for c in word.chars().filter(|c| is_unspaced(*c)) {
                n_unspaced += 1;
                add(Script::of(c), 1.0 / 1.5);
            }
            let n_latin = word.chars().filter(|c| Script::of(*c) == Script::Latin).count();
            if n_latin >= 2 {
                add(Script::Latin, 1.0);
            } else if n_unspaced == 0 && word.chars().count() >= 2 {
                add(
                    word.chars()
                        .map(Script::of)
                        .find(|s| *s != Script::Latin)
                        .unwrap_or(Script::Other),
                    1.0,
                );
            }
        }
        let total: f32 = weights.iter().sum();
        if total > 0.0 {
            weights = weights.map(|weight| weight / total);
        }
        Self(weights)
    }

    /// Share of the text that who reads these scripts can read, 0.0..=1.0; 1.0 for a text without
    /// words.
    pub fn readable(&self, scripts: Scripts) -> f32 {
        let (known, others): (Vec<_>, Vec<_>) =
            Script::ALL.into_iter().zip(self.0).partition(|(script, _)| scripts.contains(*script));
        let sum = |shares: &[(Script, f32)]| shares.iter().map(|(_, share)| share).sum::<f32>();
        // Without rounding where nothing is left out.
        if sum(&others) > 0.0 { sum(&known) } else { 1.0 }
    }

    /// The share that is Latin, or has no words at all.
    pub fn latin(&self) -> f32 {
        self.readable(Scripts::LATIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_tell_what_a_model_of_some_scripts_can_read() {
        for (text, scripts, least, most) in [
            ("I like oolong tea", "latin", 1.0, 1.0),
            ("我喜欢喝乌龙茶", "latin", 0.0, 0.0),
            ("我喜欢喝乌龙茶", "latin,han", 1.0, 1.0),
            ("Я люблю чай", "latin,han", 0.0, 0.0),
            ("Я люблю чай", "cyrillic", 1.0, 1.0),
            ("أحب الشاي", "arabic", 1.0, 1.0),
            ("나는 차를 좋아한다", "hangul", 1.0, 1.0),
            ("お茶がすきです", "han", 0.0, 0.3),
            ("お茶がすきです", "han,kana", 1.0, 1.0),
            ("Μου αρέσει το τσάι", "latin,cyrillic", 0.0, 0.0),
            ("ฉันชอบชา", "other", 1.0, 1.0),
            ("Caroline什么时候去参加LGBTQ支持小组的？", "latin", 0.0, 0.3),
            ("12345", "latin", 1.0, 1.0),
            ("The café is called 乌龙", "latin", 0.7, 0.9),
            ("The café is called 乌龙", "all", 1.0, 1.0),
        ] {
            let share = ScriptShares::of(text).readable(scripts.parse().unwrap());
            assert!((least - 1e-6..=most + 1e-6).contains(&share), "{text} {scripts}: {share}");
        }
    }

    #[test]
    fn a_set_is_written_down_and_read_again() {
        for (words, shown) in [
            ("latin", "Latin"),
            ("latin,han", "Latin and Han"),
            ("latin,han,other", "Latin, Han and other"),
            ("all", "all scripts"),
        ] {
            let scripts: Scripts = words.parse().unwrap();
            assert_eq!(
                (scripts.words(), scripts.to_string()),
                (words.to_owned(), shown.to_owned())
            );
        }
        assert_eq!("han, latin".parse::<Scripts>().unwrap().words(), "latin,han");
        assert_eq!(Script::ALL.into_iter().collect::<Scripts>(), Scripts::ALL);
        for wrong in ["", "some", "latin,", "Latin"] {
            assert_eq!(wrong.parse::<Scripts>(), Err(ScriptsError), "{wrong}");
        }
    }
}
