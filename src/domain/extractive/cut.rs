//! Cuts a sentence that is longer than the room for it.

use std::ops::Range;

use crate::domain::grounding::clauses::{clauses, is_negative};
use crate::domain::grounding::values::{Reading, read};
use crate::domain::text::is_unspaced;

/// What stands for what was left out.
const GAP: &str = "…";
/// Fewest characters worth quoting.
const CHARS_MIN: usize = 12;

/// The part of a sentence that fits into `chars_max` characters: its first whole clauses, or else a
/// window of its first one that is negated just as that clause is. Values stay whole. `None` if there is
/// none.
pub(super) fn cut(sentence: &str, chars_max: usize) -> Option<String> {
    if chars_max < CHARS_MIN {
        return None;
    }
    let reading = read(sentence);
    let room = chars_max - 2 * GAP.chars().count();
    let parts: Vec<Range<usize>> =
        clauses(&reading).into_iter().flatten().map(|clause| clause.range).collect();
    let first = parts.first()?.clone();
    let whole = parts
        .iter()
        .map(|part| first.start..part.end)
        .take_while(|range| reading.slice(range).trim().chars().count() <= room)
        .last();
    let kept = match whole {
        Some(range) => range,
        None => window(&reading, &first, room)?,
    };
    let lead = if kept.start > first.start { GAP } else { "" };
    Some(format!("{lead}{}{GAP}", reading.slice(&kept).trim()))
}

/// The first window of at most `room` characters of a clause that says what the clause says: negated or
/// not.
fn window(reading: &Reading, clause: &Range<usize>, room: usize) -> Option<Range<usize>> {
    let borders: Vec<(usize, usize)> = reading
        .slice(clause)
        .char_indices()
        .enumerate()
        .map(|(n_chars, (at, _))| (n_chars, clause.start + at))
        .chain([(reading.slice(clause).chars().count(), clause.end)])
        .filter(|(_, at)| is_border(reading, *at))
        .collect();
    let is_clause_negative = is_negative(reading.slice(clause));
    borders
        .iter()
        .filter_map(|(n_before, start)| {
            let (_, end) = borders.iter().rev().find(|(n_chars, _)| *n_chars <= n_before + room)?;
            Some(*start..*end)
        })
        .filter(|range| reading.slice(range).trim().chars().count() >= CHARS_MIN / 2)
        .find(|range| is_negative(reading.slice(range)) == is_clause_negative)
}

/// Whether a text may be cut at a place: between words and outside of values.
fn is_border(reading: &Reading, at: usize) -> bool {
    let is_in_value =
        reading.values.iter().any(|found| found.range.start < at && at < found.range.end);
    let (before, after) = reading.text.split_at_checked(at).unwrap_or(("", ""));
    let is_between = match (before.chars().next_back(), after.chars().next()) {
        (Some(left), Some(right)) => {
            left.is_whitespace() || right.is_whitespace() || is_unspaced(left) && is_unspaced(right)
        }
        _ => true,
    };
    is_between && !is_in_value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_clauses_are_kept_as_far_as_they_fit() {
        let text =
            "The backup ran for 45 minutes, but it did not finish, because the disk was full.";
        for (room, expected) in [
            (
                200,
                "The backup ran for 45 minutes, but it did not finish, because the disk was full.…",
            ),
            (60, "The backup ran for 45 minutes, but it did not finish…"),
            (32, "The backup ran for 45 minutes…"),
        ] {
            assert_eq!(cut(text, room).as_deref(), Some(expected), "{room}");
        }
        assert_eq!(cut(text, 5), None);
    }

    #[test]
    fn a_cut_breaks_no_value_and_loses_no_negation() {
        for text in [
            "the very long report about the storage of the backups of all hosts on 20 November 2026 was not sent to anybody",
            "关于所有主机在2026年11月20日的备份存储情况的非常长的报告一直到今天下午三点都还没有发送给任何人",
        ] {
            for room in 12..60 {
                let Some(kept) = cut(text, room) else { continue };
                assert!(kept.chars().count() <= room, "{room}: {kept}");
                assert!(is_negative(&kept), "{room}: {kept}");
                let whole = read(text);
                for found in read(&kept).values {
                    assert!(whole.values.iter().any(|value| value.value == found.value), "{kept}");
                }
            }
        }
    }
}
