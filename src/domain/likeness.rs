//! How near to each other a model puts texts, measured, and one scale for the cosines of all models.
//!
//! Some models spread cosines from 0.0 to 0.8, others press all of them into 0.7 to 0.9. Ranking knows
//! one scale, that of the bundled model, on which its constants were chosen: the cosines of every other
//! model are stretched and shifted so that what it makes of a few fixed pairs of texts falls where the
//! bundled model puts them. Texts of two scripts have a spread of their own (multilingual-e5-small puts
//! unrelated English texts at 0.72, Chinese ones at 0.82, one of each at 0.71).

use super::embedding::{Vector, cosine};

/// A question and a text that answers it and no other question of [`PAIRS`], in a language.
pub type Pair = (&'static str, &'static str);

/// The same pairs in English and in Chinese: a model puts texts of one language nearer to each other
/// than those of two.
pub const PAIRS: [(Pair, Pair); 8] = [
    (
        ("Where does the cat sleep?", "The kitten takes its nap on the sofa by the window."),
        ("猫在哪里睡觉？", "小猫在窗边的沙发上打盹。"),
    ),
    (
        ("When do we deploy to production?", "Releases go live every Tuesday after the stand-up."),
        ("我们什么时候部署到生产环境？", "每周二站会之后上线新版本。"),
    ),
    (
        ("What is Mara allergic to?", "Mara must not eat peanuts; even a trace makes her ill."),
        ("她对什么过敏？", "她不能吃花生，一点点就会生病。"),
    ),
    (
        (
            "Which database holds the invoices?",
            "Billing data is kept in PostgreSQL on the second host.",
        ),
        ("发票存在哪个数据库里？", "账单数据保存在第二台主机的 PostgreSQL 中。"),
    ),
    (
        (
            "How long is the flight to Tokyo?",
            "Flying from Berlin to Tokyo takes about thirteen hours.",
        ),
        ("飞往东京的航班要多久？", "从柏林飞到东京大约需要十三个小时。"),
    ),
    (
        (
            "What did the doctor say about his knee?",
            "The physician advised rest and ice for the injured leg.",
        ),
        ("医生对他的膝盖说了什么？", "医师建议受伤的腿多休息并冰敷。"),
    ),
    (
        (
            "Who painted the picture in the hall?",
            "The portrait near the entrance was made by her grandmother.",
        ),
        ("大厅里的画是谁画的？", "入口附近的肖像是她祖母画的。"),
    ),
    (
        ("Why did the tests fail last night?", "The nightly run broke because the disk was full."),
        ("昨晚测试为什么失败了？", "夜间运行因磁盘已满而中断。"),
    ),
];

/// Cosines of a model, by the scripts of what is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Both texts in Latin script.
    pub latin: Spread,
    /// One in Latin script, one in another.
    pub across: Spread,
    /// Both in another script.
    pub other: Spread,
}

/// Where the cosines of a model lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean cosine of the questions of [`PAIRS`] with the texts that answer other ones.
    pub unrelated: f64,
    /// Mean cosine of the questions with their answers.
    pub related: f64,
}

/// The vectors of the questions and of the texts of [`PAIRS`] in one language, in order.
pub type PairVectors = (Vec<Vector>, Vec<Vector>);

/// Share of Latin script from which a text counts as Latin.
const LATIN_MIN: f32 = 0.5;
/// Least distance of the two means that tells anything.
const WIDTH_MIN: f64 = 0.01;

impl Likeness {
    /// Grows when [`PAIRS`] changes: what was measured before says nothing then.
    pub const PAIRS_VERSION: u32 = 1;

    /// The bundled model: cosines are taken as they are.
    pub const REFERENCE: Self =
        Self { latin: Spread::REFERENCE, across: Spread::REFERENCE, other: Spread::REFERENCE };

    /// What a model makes of the pairs in English and, if it reads them, in Chinese. `None` if it
    /// does not tell answers from other texts.
    pub fn of(english: &PairVectors, chinese: Option<&PairVectors>) -> Option<Self> {
        let latin = Spread::of(&[english])?;
        let Some(chinese) = chinese else {
            return Some(Self { latin, across: latin, other: latin });
        };
        let other = Spread::of(&[chinese]).unwrap_or(latin);
        let mixed =
            [&(english.0.clone(), chinese.1.clone()), &(chinese.0.clone(), english.1.clone())];
        let across = Spread::of(&mixed).unwrap_or(latin);
        Some(Self { latin, across, other })
    }

    /// The spread of the cosines of two texts with these shares of Latin script.
    pub fn between(&self, latin_share: f32, other_share: f32) -> Spread {
        match (latin_share >= LATIN_MIN, other_share >= LATIN_MIN) {
            (true, true) => self.latin,
            (false, false) => self.other,
            (true, false) | (false, true) => self.across,
        }
    }
}

impl Spread {
    /// What the bundled model makes of the English pairs (a test measures it again): the scale that
    /// ranking knows.
    pub const REFERENCE: Self = Self { unrelated: 0.0278, related: 0.4813 };

    /// Over several pairs of languages.
    fn of(pairs: &[&PairVectors]) -> Option<Self> {
        let (mut unrelated, mut related) = (Vec::new(), Vec::new());
        for (questions, answers) in pairs {
            for (row, question) in questions.iter().enumerate() {
                for (column, answer) in answers.iter().enumerate() {
                    let cosines = if row == column { &mut related } else { &mut unrelated };
                    cosines.push(cosine(question, answer));
                }
            }
        }
        let mean = |cosines: &[f64]| cosines.iter().sum::<f64>() / cosines.len().max(1) as f64;
        let spread = Self { unrelated: mean(&unrelated), related: mean(&related) };
        (spread.width() >= WIDTH_MIN).then_some(spread)
    }

    /// A cosine on the scale of [`Self::REFERENCE`]: straight lines through what is unrelated, what
    /// is related and what is equal (1.0).
    pub fn on_reference(self, cosine: f64) -> f64 {
        let Self { unrelated, related } = Self::REFERENCE;
        if cosine <= self.related {
            unrelated + self.stretched(cosine - self.unrelated)
        } else {
            let share = (cosine - self.related) / (1.0 - self.related).max(WIDTH_MIN);
            related + share * (1.0 - related)
        }
    }

    /// The cosine that [`Self::on_reference`] puts here.
    pub fn off_reference(self, cosine: f64) -> f64 {
        let Self { unrelated, related } = Self::REFERENCE;
        if cosine <= related {
            self.unrelated
                + (cosine - unrelated) * self.width().max(WIDTH_MIN) / Self::REFERENCE.width()
        } else {
            let share = (cosine - related) / (1.0 - related);
            self.related + share * (1.0 - self.related).max(WIDTH_MIN)
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
        let narrow = Spread { unrelated: 0.75, related: 0.875 };
        let Spread { unrelated, related } = Spread::REFERENCE;
        for (spread, cosine, expected) in [
            (Spread::REFERENCE, -0.3, -0.3),
            (Spread::REFERENCE, 0.3, 0.3),
            (Spread::REFERENCE, 0.8, 0.8),
            (narrow, 0.75, unrelated),
            (narrow, 0.875, related),
            (narrow, 1.0, 1.0),
            (narrow, 0.625, 2.0 * unrelated - related),
        ] {
            let found = spread.on_reference(cosine);
            assert!((found - expected).abs() < 1e-9, "{spread:?} {cosine}: {found}");
        }
    }

    fn vectors(cosines: &[f32]) -> Vec<Vector> {
        cosines.iter().map(|x| Arc::from([*x, (1.0 - x * x).sqrt()])).collect()
    }

    #[test]
    fn means_are_taken_over_answers_and_over_all_others() {
        let questions = vectors(&[1.0, 0.0]);
        let english = (questions.clone(), vectors(&[0.8, 0.0]));
        let chinese = (questions.clone(), vectors(&[1.0, 0.0]));
        let near = |spread: Spread, unrelated: f64, related: f64| {
            (spread.unrelated - unrelated).abs() < 1e-6 && (spread.related - related).abs() < 1e-6
        };
        let likeness = Likeness::of(&english, Some(&chinese)).unwrap();
        // 0.8 and 1.0 with the answers, 0.0 and 0.6 with the others.
        assert!(near(likeness.between(0.9, 0.9), 0.3, 0.9), "{likeness:?}");
        assert!(near(likeness.between(0.1, 0.1), 0.0, 1.0), "{likeness:?}");
        assert!(near(likeness.between(0.1, 0.9), 0.15, 0.95), "{likeness:?}");
        let likeness = Likeness::of(&english, None).unwrap();
        assert_eq!(likeness.between(0.1, 0.9), likeness.latin);
        for hopeless in [&[0.0, 0.8], &[0.6, 0.6]] {
            assert_eq!(Likeness::of(&(questions.clone(), vectors(hopeless)), None), None);
        }
        assert_eq!(Likeness::of(&(Vec::new(), Vec::new()), None), None);
    }

    proptest! {
        #[test]
        fn the_scale_keeps_the_order(
            unrelated in -0.5..0.9_f64,
            width in 0.01..0.5_f64,
            one in -1.0..1.0_f64,
            other in -1.0..1.0_f64,
        ) {
            let spread = Spread { unrelated, related: (unrelated + width).min(1.0) };
            let (low, high) = (one.min(other), one.max(other));
            prop_assert!(spread.on_reference(low) <= spread.on_reference(high));
        }

        #[test]
        fn what_was_put_on_the_scale_is_found_again(
            unrelated in -0.5..0.9_f64,
            width in 0.02..0.5_f64,
            cosine in -1.0..1.0_f64,
        ) {
            let spread = Spread { unrelated, related: (unrelated + width).min(0.98) };
            let found = spread.off_reference(spread.on_reference(cosine));
            prop_assert!((found - cosine).abs() < 1e-9, "{} {}", found, cosine);
        }
    }
}
