//! A deterministic stand-in for a model, for tests and for benches of scale: each word is a
//! pseudo-random direction, a text the sum of its words, so that texts that share words are near.
//!
//! It knows nothing of meaning: figures of recall never use it.

use super::{Model, ModelError};
use crate::domain::embedding::{ModelIdentity, Scripts};
use crate::domain::limits::EMBED_BATCH_MAX;
use crate::domain::text::tokens::tokens;

/// Coordinates of its vectors: as many as the bundled model has, so that sizes compare.
const DIMENSION: usize = 384;
/// Length of its window, tokens: that of the bundled model.
const TOKENS_MAX: usize = 128;

/// What its vectors can be compared with: each seed is a space of its own.
pub fn identity(seed: u64) -> ModelIdentity {
    ModelIdentity {
        name: "seeded".to_owned(),
        dimension: DIMENSION,
        tokens_max: TOKENS_MAX,
        pooling: "sum of words; L2 normalized".to_owned(),
        normalised: true,
        query_prefix: String::new(),
        document_prefix: String::new(),
        weights_hash: format!("seed:{seed}"),
        tokenizer_hash: format!("tokens:{}", crate::domain::text::TOKENS_VERSION),
        text_template: super::text_template(),
        scripts: Scripts::ALL,
    }
}

/// The model of a seed.
pub fn model(seed: u64) -> Box<dyn Model> {
    Box::new(Seeded { seed })
}

struct Seeded {
    seed: u64,
}

impl Model for Seeded {
    fn batch_max(&self) -> usize {
        EMBED_BATCH_MAX
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(texts.iter().map(|text| self.sum_of_words(text)).collect())
    }
}

impl Seeded {
    fn sum_of_words(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; DIMENSION];
        let mut n_words = 0;
        for token in tokens(text).iter().filter(|token| token.counts()) {
            self.add(&token.text, &mut sum);
            n_words += 1;
        }
        if n_words == 0 {
            self.add(text, &mut sum);
        }
        sum
    }

    /// Adds the direction of `word`: 16 bits of its hash a coordinate, uniform in -1.0..1.0.
    fn add(&self, word: &str, sum: &mut [f32]) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_be_bytes());
        hasher.update(word.as_bytes());
        let mut bytes = [0; 2 * DIMENSION];
        hasher.finalize_xof().fill(&mut bytes);
        for (coordinate, pair) in sum.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *coordinate += f32::from(i16::from_be_bytes(*pair)) / 32_768.0;
        }
    }
}
