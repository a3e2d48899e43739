//! What only the neighbours of a lexeme tell.

use super::super::lexicon::{self, Cue};
use super::{Lexeme, Row};
use crate::domain::grounding::values::Reading;

/// A number counts what follows only if that is a word: not in "at 10 until noon".
pub(super) fn counted_by_words(row: &mut Row) {
    for at in 0..row.kinds.len() {
        let is_word = matches!(row.kinds.get(at + 1), Some(Lexeme::Word | Lexeme::Opaque));
        if let (false, Some(Lexeme::Number { is_counted, .. })) = (is_word, row.kinds.get_mut(at)) {
            *is_counted = false;
        }
    }
}

/// Names of weekdays in short ("sat", "Mon-Fri") where their neighbours tell that they are no words.
pub(super) fn weekdays_in_short(reading: &Reading, row: &mut Row) {
    for at in 0..row.kinds.len() {
        let is_read = matches!(row.kinds.get(at), Some(Lexeme::Weekday { .. }));
        let is_open = is_read || matches!(row.kinds.get(at), Some(Lexeme::Word));
        let word = row.ranges.get(at).map_or("", |range| reading.slice(range)).to_lowercase();
        let Some(day) = lexicon::short_weekday(&word).filter(|_| is_open) else { continue };
        let before = at.checked_sub(1).and_then(|at| row.kinds.get(at));
        let is_led = matches!(
            before,
            Some(
                Lexeme::Cue(Cue::Every | Cue::Next | Cue::This | Cue::Other)
                    | Lexeme::Weekday { .. }
            )
        );
        let is_last = before == Some(&Lexeme::Cue(Cue::Nth(-1)));
        let is_joined = matches!(
            before,
            Some(Lexeme::Mark('-' | '–' | '/' | ',') | Lexeme::Cue(Cue::And | Cue::To))
        ) && matches!(
            at.checked_sub(2).and_then(|at| row.kinds.get(at)),
            Some(Lexeme::Weekday { .. })
        );
        let after = (row.kinds.get(at + 1), row.kinds.get(at + 2));
        let is_followed = match after {
            (Some(Lexeme::Clock(_) | Lexeme::Date(_) | Lexeme::Part(_)), _)
            | (Some(Lexeme::Cue(Cue::At)), Some(Lexeme::Clock(_) | Lexeme::Number { .. }))
            | (Some(Lexeme::Mark(',')), Some(Lexeme::Date(_))) => {
                !matches!(before, Some(Lexeme::Cue(Cue::The)))
            }
            (Some(Lexeme::Mark('-' | '–')), Some(Lexeme::Word | Lexeme::Weekday { .. })) => {
                row.ranges.get(at + 2).is_some_and(|range| is_weekday(reading.slice(range)))
            }
            _ => false,
        };
        // "Mon ami": what its reader took for a weekday stands before a word.
        let is_named = is_read
            && (!matches!(row.kinds.get(at + 1), Some(Lexeme::Word))
                || matches!(before, Some(Lexeme::Cue(Cue::On | Cue::By | Cue::Until))));
        if let Some(kind) = row.kinds.get_mut(at) {
            *kind = if is_led || is_last || is_joined || is_followed || is_named {
                Lexeme::Weekday { day, week: None, is_many: false }
            } else {
                Lexeme::Word
            };
        }
    }
}

fn is_weekday(word: &str) -> bool {
    lexicon::short_weekday(&word.to_lowercase().chars().take(3).collect::<String>()).is_some()
}
