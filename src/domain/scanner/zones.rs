//! The zone that a time of day is said with: PST, UTC+8, Asia/Tokyo, "Tokyo time".
//!
//! What stands for a zone behind a time and names none, or several, leaves the time open: CST is a zone of
//! China, of America and of Cuba. The abbreviations are closed lists, since a word in capitals behind a
//! time is mostly a word.

use jiff::tz::TimeZone;

use super::grammar::{Line, Read};
use super::lexemes::Lexeme;
use super::slots::Piece;
use crate::domain::when;

/// Longest name of a zone; the longest there is has 32 bytes.
const NAME_BYTES_MAX: usize = 40;
/// Most words of a place: "New York time".
const PLACE_WORDS_MAX: usize = 3;
/// Where the zones are that are called by a city.
const AREAS: [&str; 7] =
    ["Europe", "Asia", "America", "Australia", "Africa", "Pacific", "Atlantic"];

/// Abbreviations that several zones share, or that few readers know.
const UNCLEAR: &str = "CST IST AST ADT SST GST WST ECT AMT BRT CLT BDT MYT TRT IRST AFT ALMT UZT YEKT OMST KRAT \
    IRKT VLAT PYT UYT ChST WGT EGT CVT PGT FJT MMT";
/// Such that are words when one shouts.
const UNCLEAR_WORDS: &str = "EAT CAT WAT GET PET BOT ART COT VET";
/// Abbreviations that stand in small letters as well.
const SMALL: &str = "utc gmt cet cest eet eest bst edt cdt mst mdt pst pdt jst kst hkt aest aedt akst akdt \
    nzst nzdt awst acst cst";
/// Those that do so behind "am" or "pm" only; they are words elsewhere.
const SMALL_AFTER_HALF: &str = "est et pt ct mt ist ast";

/// The zone that an abbreviation in capitals stands for, where most readers agree on one.
pub(super) fn named(word: &str) -> Option<&'static str> {
    Some(match word {
        "UTC" | "GMT" => "UTC",
        "CET" | "CEST" => "Europe/Berlin",
        "EET" | "EEST" => "Europe/Helsinki",
        "MSK" => "Europe/Moscow",
        "BST" => "Europe/London",
        "EST" | "EDT" | "ET" => "America/New_York",
        "CDT" | "CT" => "America/Chicago",
        "MST" | "MDT" | "MT" => "America/Denver",
        "PST" | "PDT" | "PT" => "America/Los_Angeles",
        "AKST" | "AKDT" => "America/Anchorage",
        "HST" => "Pacific/Honolulu",
        "JST" => "Asia/Tokyo",
        "KST" => "Asia/Seoul",
        "SGT" => "Asia/Singapore",
        "HKT" => "Asia/Hong_Kong",
        "PKT" => "Asia/Karachi",
        "NPT" => "Asia/Kathmandu",
        "WIB" => "Asia/Jakarta",
        "SAST" => "Africa/Johannesburg",
        "AEST" | "AEDT" => "Australia/Sydney",
        "ACST" | "ACDT" => "Australia/Adelaide",
        "AWST" => "Australia/Perth",
        "NZST" | "NZDT" => "Pacific/Auckland",
        _ => return None,
    })
}

/// The lexeme of an abbreviation that is no other word.
pub(super) fn lexeme(word: &str) -> Option<Lexeme> {
    let is_small = is_in(SMALL, word);
    let zone = if is_small { named(&word.to_uppercase()) } else { named(word) };
    let is_unclear = is_small || is_in(UNCLEAR, word);
    zone.map(Lexeme::Zone).or(is_unclear.then_some(Lexeme::NoZone))
}

/// The zone of a place or a region that is no name of a zone itself.
fn region(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "eastern" | "nyc" | "boston" | "washington" => "America/New_York",
        "central" | "texas" => "America/Chicago",
        "mountain" => "America/Denver",
        "pacific" | "california" | "seattle" | "san_francisco" => "America/Los_Angeles",
        "alaska" => "America/Anchorage",
        "hawaii" => "Pacific/Honolulu",
        "uk" | "british" => "Europe/London",
        "german" | "germany" => "Europe/Berlin",
        "french" | "france" => "Europe/Paris",
        "beijing" | "china" | "chinese" => "Asia/Shanghai",
        "india" | "indian" | "delhi" | "mumbai" => "Asia/Kolkata",
        "japan" | "japanese" => "Asia/Tokyo",
        "korea" | "korean" => "Asia/Seoul",
        _ => return None,
    })
}

/// What stands for a zone at a place behind a time of day.
pub(super) fn behind(line: &Line<'_>, at: usize) -> Option<Read> {
    if line.kind(at) == Some(&Lexeme::NoZone) {
        let slice = line.slice(at);
        let word = slice.rfind(['+', '-']).and_then(|at| slice.get(at..)).unwrap_or(slice);
        return Some((vec![Piece::NoZone(word.to_owned())], 1));
    }
    offset(line, at)
        .or_else(|| place(line, at))
        .or_else(|| name(line, at))
        .or_else(|| abbreviation(line, at))
}

/// What stands for a zone at a place before a time of day: "UTC+8 10:00".
pub(super) fn before(line: &Line<'_>, at: usize) -> Option<Read> {
    let is_offset = ["UTC", "GMT"].iter().any(|name| line.slice(at).starts_with(name));
    behind(line, at).filter(|_| is_offset || line.kind(at) == Some(&Lexeme::NoZone))
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// `+02:00`, `UTC+8`, `GMT-05:30`. A minus without a name leads the end of a stretch: 22:00-06:00.
fn offset(line: &Line<'_>, at: usize) -> Option<Read> {
    let start = line.ranges.get(at)?.start;
    let rest = line.reading.text.get(start..)?;
    let after = rest.strip_prefix("UTC").or_else(|| rest.strip_prefix("GMT"));
    let is_named = after.is_some();
    let after = after.unwrap_or(rest).trim_start_matches(' ');
    let after = after.strip_prefix(['+', '-']).filter(|_| is_named || after.starts_with('+'))?;
    let n_digits = after.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(after.len());
    let digits = after.get(..n_digits)?.trim_end_matches(':');
    let is_free = after
        .get(digits.len()..)?
        .chars()
        .next()
        .is_none_or(|c| !c.is_ascii_alphanumeric() && c != '%');
    // "+49 30 1234" is the number of a telephone, "+2" and "+30" count something.
    let is_clear = is_named || digits.len() >= 4;
    let end = start + (rest.len() - after.len()) + digits.len();
    let word = line.reading.text.get(start..end)?;
    let sign = word.rfind(['+', '-'])?;
    when::offset_minutes(word.get(sign..)?).filter(|_| is_free && is_clear)?;
    let piece = match when::real_offset(word.get(sign..)?) {
        Some(minutes) => Piece::Offset(minutes),
        None => Piece::NoZone(word.to_owned()),
    };
    let n = line.ranges.get(at..)?.iter().take_while(|range| range.end <= end).count();
    Some((vec![piece], n.max(1)))
}

/// The name of a zone: Asia/Tokyo.
fn name(line: &Line<'_>, at: usize) -> Option<Read> {
    let start = line.ranges.get(at)?.start;
    let rest = line.reading.text.get(start..)?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+');
    let name = rest.get(..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()))?;
    if !name.contains('/') || name.len() > NAME_BYTES_MAX || TimeZone::get(name).is_err() {
        return None;
    }
    let end = start + name.len();
    let n = line.ranges.get(at..)?.iter().take_while(|range| range.end <= end).count();
    Some((vec![Piece::Zone(name.to_owned())], n.max(1)))
}

/// What is a word elsewhere: "3pm est", "at 10:00 EAT".
fn abbreviation(line: &Line<'_>, at: usize) -> Option<Read> {
    let word = line.slice(at);
    let before = at.checked_sub(1).map_or("", |at| line.slice(at)).to_lowercase();
    let is_half = before.ends_with('m') || before.ends_with("m.");
    let is_shouted = |word: &str| word.len() > 1 && word.chars().all(char::is_uppercase);
    let is_clear = || {
        !is_shouted(line.slice(at + 1))
            && line.reading.text.contains(|c: char| c.is_ascii_lowercase())
    };
    if is_half && is_in(SMALL_AFTER_HALF, word) {
        let zone = named(&word.to_uppercase());
        let no_zone = || Piece::NoZone(word.to_owned());
        Some((vec![zone.map_or_else(no_zone, |zone| Piece::Zone(zone.to_owned()))], 1))
    } else if is_in(UNCLEAR_WORDS, word) && is_clear() {
        Some((vec![Piece::NoZone(word.to_owned())], 1))
    } else {
        None
    }
}

/// "Eastern", "Tokyo time", "New York time".
fn place(line: &Line<'_>, at: usize) -> Option<Read> {
    let word = |at: usize| line.slice(at);
    let is_time = |at: usize| word(at).eq_ignore_ascii_case("time");
    let n_words = (1..=PLACE_WORDS_MAX).find(|n| is_time(at + n));
    let is_capital = |at: usize| word(at).starts_with(|c: char| c.is_ascii_uppercase());
    let Some(n_words) = n_words else {
        // "3pm Eastern", but not "3pm Pacific Grill".
        let is_alone = matches!(word(at), "Eastern" | "Central" | "Pacific") && !is_capital(at + 1);
        let zone = region(word(at)).filter(|_| is_alone)?;
        return Some((vec![Piece::Zone(zone.to_owned())], 1));
    };
    let is_standard =
        |word: &str| matches!(word.to_lowercase().as_str(), "standard" | "daylight" | "summer");
    let n_names = (0..n_words).take_while(|n| !is_standard(word(at + n))).count();
    let names: Vec<&str> = (0..n_names).map(|n| word(at + n)).collect();
    let name = names.join("_");
    let is_small_region = matches!(name.as_str(), "eastern" | "central" | "pacific" | "mountain");
    if name.is_empty() || !(0..n_names).all(|n| is_capital(at + n) || is_small_region) {
        return None;
    }
    let city = || {
        let mut names = AREAS.iter().map(|area| format!("{area}/{name}"));
        names.find(|name| TimeZone::get(name).is_ok())
    };
    let zone = region(&name).map(str::to_owned).or_else(city)?;
    Some((vec![Piece::Zone(zone)], n_words + 1))
}
