//! The model that is compiled in: paraphrase-MiniLM-L3-v2 in 4-bit storage, from the crate
//! `pocket-encoder`. English only, 384 dimensions, 128 word pieces; needs no file and no network.

use pocket_encoder::Encoder;

use super::{Model, ModelError};
use crate::domain::embedding::{ModelIdentity, Scripts};

/// What its vectors can be compared with; known without loading it.
pub fn identity() -> ModelIdentity {
    let info = pocket_encoder::model_info();
    ModelIdentity {
        name: info.id,
        dimension: info.dimensions,
        tokens_max: info.max_tokens,
        pooling: info.pooling,
        normalised: true,
        query_prefix: String::new(),
        document_prefix: String::new(),
        weights_hash: info.revision,
        tokenizer_hash: format!("sha256:{}", info.tokenizer_sha256),
        text_template: super::text_template(),
        scripts: Scripts::LATIN,
    }
}

/// Unpacks the weights, once in a process; later calls share them.
///
/// # Errors
/// Why the compiled-in bytes do not load.
pub fn load() -> Result<Box<dyn Model>, String> {
    let encoder = Encoder::new().map_err(|error| error.to_string())?;
    Ok(Box::new(Bundled { encoder }))
}

struct Bundled {
    encoder: Encoder,
}

impl Model for Bundled {
    fn batch_max(&self) -> usize {
        1
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        // The encoder refuses a blank text; a full stop says as little.
        let texts: Vec<&str> =
            texts.iter().map(|text| if text.trim().is_empty() { "." } else { text }).collect();
        self.encoder.embed(&texts).map_err(|error| ModelError::Text(error.to_string()))
    }
}
