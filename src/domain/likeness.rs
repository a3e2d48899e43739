//! How near to each other a model puts texts, measured, and one scale for the cosines of all models.
//!
//! Some models spread cosines from 0.0 to 0.8, others press all of them into 0.7 to 0.9. Ranking knows
//! one scale, that of the bundled model, on which its constants were chosen: the cosines of every other
//! model are stretched and shifted so that what it makes of a few fixed pairs of texts falls where the
//! bundled model puts them.

use super::embedding::{Vector, cosine};

/// Questions, each with a text that answers it and has nothing to do with the other questions.
pub const PAIRS: [(&str, &str); 8] = [
    ("Where does the cat sleep?", "The kitten takes its nap on the sofa by the window."),
    ("When do we deploy to production?", "Releases go live every Tuesday after the stand-up."),
    ("What is Mara allergic to?", "Mara must not eat peanuts; even a trace makes her ill."),
    (
        "Which database holds the invoices?",
        "Billing data is kept in PostgreSQL on the second host.",
    ),
    ("How long is the flight to Tokyo?", "Flying from Berlin to Tokyo takes about thirteen hours."),
    (
        "What did the doctor say about his knee?",
        "The physician advised rest and ice for the injured leg.",
    ),
    (
        "Who painted the picture in the hall?",
        "The portrait near the entrance was made by her grandmother.",
    ),
    ("Why did the tests fail last night?", "The nightly run broke because the disk was full."),
];

/// Cosines of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Mean cosine of the questions of [`PAIRS`] with the texts that answer other ones.
    pub unrelated: f64,
    /// Mean cosine of the questions with their answers.
    pub related: f64,
}

/// Least distance of the two means that tells anything.
const WIDTH_MIN: f64 = 0.01;

impl Likeness {
    /// Grows when [`PAIRS`] changes: what was measured before says nothing then.
    pub const PAIRS_VERSION: u32 = 1;

    /// What the bundled model makes of the pairs (a test measures it again): the scale that ranking
    /// knows.
    pub const REFERENCE: Self = Self { unrelated: 0.0278, related: 0.4813 };

    /// What a model makes of the pairs: the vectors of the questions and of the texts, in order.
    /// `None` if it does not tell answers from other texts.
    pub fn of(questions: &[Vector], answers: &[Vector]) -> Option<Self> {
        let (mut unrelated, mut related) = (Vec::new(), Vec::new());
        for (row, question) in questions.iter().enumerate() {
            for (column, answer) in answers.iter().enumerate() {
                let cosines = if row == column { &mut related } else { &mut unrelated };
                cosines.push(cosine(question, answer));
            }
        }
        let mean = |cosines: &[f64]| cosines.iter().sum::<f64>() / cosines.len().max(1) as f64;
        let likeness = Self { unrelated: mean(&unrelated), related: mean(&related) };
        (likeness.width() >= WIDTH_MIN).then_some(likeness)
    }

    /// A cosine of this model on the scale of [`Self::REFERENCE`]: straight lines through what is
    /// unrelated, what is related and what is equal (1.0).
    pub fn on_reference(self, cosine: f64) -> f64 {
        let Self { unrelated, related } = Self::REFERENCE;
        if cosine <= self.related {
            unrelated + self.stretched(cosine - self.unrelated)
        } else {
            let share = (cosine - self.related) / (1.0 - self.related).max(WIDTH_MIN);
            related + share * (1.0 - related)
        }
    }

    /// A difference of two cosines of unrelated texts on that scale.
    pub fn stretched(self, difference: f64) -> f64 {
        difference * Self::REFERENCE.width() / self.width().max(WIDTH_MIN)
    }

    fn width(self) -> f64 {
        self.related - self.unrelated
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_reference_is_its_own_scale_and_others_meet_it_in_three_points() {
        let narrow = Likeness { unrelated: 0.75, related: 0.875 };
        let Likeness { unrelated, related } = Likeness::REFERENCE;
        for (likeness, cosine, expected) in [
            (Likeness::REFERENCE, -0.3, -0.3),
            (Likeness::REFERENCE, 0.3, 0.3),
            (Likeness::REFERENCE, 0.8, 0.8),
            (narrow, 0.75, unrelated),
            (narrow, 0.875, related),
            (narrow, 1.0, 1.0),
            (narrow, 0.625, 2.0 * unrelated - related),
        ] {
            let found = likeness.on_reference(cosine);
            assert!((found - expected).abs() < 1e-9, "{likeness:?} {cosine}: {found}");
        }
    }

    #[test]
    fn means_are_taken_over_answers_and_over_all_others() {
        let vector = |x: f32| -> Vector { Arc::from([x, (1.0 - x * x).sqrt()]) };
        let questions = [vector(1.0), vector(0.0)];
        let likeness = Likeness::of(&questions, &[vector(0.8), vector(0.0)]).unwrap();
        // 0.8 and 1.0 with the answers, 0.0 and 0.6 with the others.
        assert!((likeness.related - 0.9).abs() < 1e-6, "{likeness:?}");
        assert!((likeness.unrelated - 0.3).abs() < 1e-6, "{likeness:?}");
        assert_eq!(Likeness::of(&questions, &[vector(0.0), vector(0.8)]), None);
        assert_eq!(Likeness::of(&questions, &[vector(0.6), vector(0.6)]), None);
        assert_eq!(Likeness::of(&[], &[]), None);
    }

    proptest! {
        #[test]
        fn the_scale_keeps_the_order(
            unrelated in -0.5..0.9_f64,
            width in 0.01..0.5_f64,
            one in -1.0..1.0_f64,
            other in -1.0..1.0_f64,
        ) {
            let likeness = Likeness { unrelated, related: (unrelated + width).min(1.0) };
            let (low, high) = (one.min(other), one.max(other));
            prop_assert!(likeness.on_reference(low) <= likeness.on_reference(high));
        }
    }
}
