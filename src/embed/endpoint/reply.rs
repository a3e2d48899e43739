//! What an endpoint answers, read with suspicion.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::domain::limits::EMBED_DIMENSION_MAX;

#[derive(Deserialize)]
struct Reply {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Numbers,
}

/// Some send base64 of little-endian floats even to those who ask for numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    Plain(Vec<f32>),
    Base64(String),
}

/// The vectors of `n_texts` texts, in the order of the texts. All have the same length.
///
/// # Errors
/// What is wrong with the answer, without quoting it.
pub(super) fn vectors(body: &[u8], n_texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let reply: Reply = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("its answer is no list of embeddings (line {line}, column {column})")
    })?;
    let n_items = reply.data.len();
    if n_items != n_texts {
        return Err(format!("it gives {n_items} embeddings for {n_texts} texts"));
    }
    let mut places: Vec<Option<Vec<f32>>> = vec![None; n_texts];
    for (position, item) in reply.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        let Some(place) = places.get_mut(index) else {
            return Err(format!("it gives an embedding {index} for {n_texts} texts"));
        };
        if place.is_some() {
            return Err(format!("it gives two embeddings {index}"));
        }
        *place = Some(item.embedding.decode()?);
    }
    let vectors: Vec<Vec<f32>> = places.into_iter().flatten().collect();
    let length = vectors.first().map_or(0, Vec::len);
    if length == 0 || length > EMBED_DIMENSION_MAX {
        return Err(format!(
            "it gives vectors of {length} numbers (1 to {EMBED_DIMENSION_MAX} are expected)"
        ));
    }
    if let Some(other) = vectors.iter().find(|vector| vector.len() != length) {
        return Err(format!("it gives vectors of {length} and of {} numbers", other.len()));
    }
    if vectors.iter().flatten().any(|x| !x.is_finite()) {
        return Err("it gives vectors with numbers that are none".to_owned());
    }
    Ok(vectors)
}

impl Numbers {
    fn decode(self) -> Result<Vec<f32>, String> {
        let text = match self {
            Self::Plain(numbers) => return Ok(numbers),
            Self::Base64(text) => text,
        };
        let refuse = || "it gives an embedding that is no base64 of floats".to_owned();
        let bytes = STANDARD.decode(text).map_err(|_| refuse())?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(refuse());
        }
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = br#"{"object":"list","model":"m","usage":{"total_tokens":3},"data":[
            {"object":"embedding","index":1,"embedding":[3,4]},
            {"object":"embedding","index":0,"embedding":[1.5,-2e-1]}]}"#;
        assert_eq!(vectors(body, 2).unwrap(), [[1.5, -0.2], [3.0, 4.0]]);
        let unnumbered = br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(vectors(unnumbered, 2).unwrap(), [[1.0], [2.0]]);
        let base64 = br#"{"data":[{"index":0,"embedding":"AACAPwAAAMA="}]}"#;
        assert_eq!(vectors(base64, 1).unwrap(), [[1.0, -2.0]]);
    }

    #[test]
    fn anything_else_is_refused_without_quoting_it() {
        for (body, expected) in [
            ("", "no list"),
            ("<html>secret</html>", "no list"),
            ("{}", "no list"),
            (r#"{"data":"secret"}"#, "no list"),
            (r#"{"data":[]}"#, "0 embeddings for 2"),
            (r#"{"data":[{"embedding":[1]}]}"#, "1 embeddings for 2"),
            (r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, "two"),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
                "embedding 2",
            ),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, "of 1 and of 2"),
            (r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#, "of 0 numbers"),
            (r#"{"data":[{"embedding":[1]},{"embedding":[null]}]}"#, "no list"),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1e39]}]}"#, "that are none"),
            (r#"{"data":[{"embedding":"AACAPw=="},{"embedding":"AACAfw=="}]}"#, "that are none"),
            (r#"{"data":[{"embedding":"AACAPw=="},{"embedding":"AACAPwA="}]}"#, "no base64"),
            (r#"{"data":[{"embedding":"secret!"},{"embedding":"x"}]}"#, "no base64"),
        ] {
            let refusal = vectors(body.as_bytes(), 2).unwrap_err();
            assert!(refusal.contains(expected) && !refusal.contains("secret"), "{body}: {refusal}");
        }
    }
}
