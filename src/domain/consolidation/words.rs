//! Vectors from words, for texts that the model cannot read, and where there is none.
//!
//! Feature hashing with signs (Weinberger et al. 2009) of the telling words, and of pairs of characters
//! in scripts without blanks. Texts that share no word are at a distance of about 1; what says the
//! same in other words is found only as far as the words agree.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::embedding::{Vector, dot};
use crate::domain::likeness::Spread;
use crate::domain::text::query::is_stop_word;
use crate::domain::text::tokens::{TokenKind, tokens};

/// Coordinates of a vector: a prime, so that no model has as many and the two are never compared.
pub const WORD_DIMENSION: usize = 1_021;

/// Where the cosines of [`word_vector`] lie, for [`Policy::for_model`](super::Policy::for_model).
pub const WORD_SPREAD: Spread = Spread { unrelated: 0.0, related: 0.3 };

/// A unit vector of the words of a text; `None` if it has no telling ones.
pub fn word_vector(text: &str) -> Option<Vector> {
    let mut counts: BTreeMap<String, f32> = BTreeMap::new();
    for token in tokens(text) {
        let tells = match token.kind {
            TokenKind::Word | TokenKind::Pair => !is_stop_word(&token),
            // Its parts are words already.
            TokenKind::Identifier | TokenKind::Character => false,
        };
        if tells {
            *counts.entry(token.text).or_default() += 1.0;
        }
    }
    let mut vector = vec![0.0_f32; WORD_DIMENSION];
    for (word, count) in counts {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        let hash = hasher.finish();
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        let place = usize::try_from(hash % WORD_DIMENSION as u64).unwrap_or(0);
        if let Some(coordinate) = vector.get_mut(place) {
            // The tenth time a word says little that the first did not.
            *coordinate += sign * (1.0 + count.ln());
        }
    }
    let length = dot(&vector, &vector).sqrt();
    (length > 0.0).then(|| vector.iter().map(|x| x / length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cosine(left: &str, right: &str) -> f32 {
        dot(&word_vector(left).unwrap(), &word_vector(right).unwrap())
    }

    #[test]
    fn texts_that_share_words_are_near_in_any_script() {
        for (text, same, other) in [
            ("我对花生过敏。", "记住，我花生过敏，不能吃。", "周二在上海开会讨论预算。"),
            ("Моя собака боится грозы", "собака снова боится грозы", "поезд в Казань утром"),
            ("the dog fears thunder", "thunder: the dog fears it", "a train to Kazan leaves"),
        ] {
            assert!(cosine(text, text) > 0.999, "{text}");
            let (near, far) = (cosine(text, same), cosine(text, other));
            assert!(near > 0.3 && far < 0.15, "{text}: {near} and {far}");
        }
    }

    #[test]
    fn a_text_without_words_has_no_vector() {
        for text in ["", "!!", "的", "is it the"] {
            assert_eq!(word_vector(text), None, "{text}");
        }
    }
}
