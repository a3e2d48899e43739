//! The bundled model: that it understands English, and that it reads our chunks to their ends.

use std::sync::Arc;

use pocket_encoder::Encoder;

use super::{assert_unit, cosine};
use crate::domain::chunk::chunks;
use crate::domain::embedding::{Scripts, Vector};
use crate::domain::likeness::{Likeness, PAIRS, Spread};
use crate::embed::{Choice, Queue, bundled};
use crate::ports::Embedder;

fn queue() -> Queue {
    super::start(Choice::Bundled, 1)
}

async fn documents(queue: &Queue, texts: &[&str]) -> Vec<Vec<Vector>> {
    queue.embed_documents(texts.iter().map(|text| Arc::from(*text)).collect()).await.unwrap()
}

#[test]
fn the_identity_names_weights_tokenizer_and_layout() {
    let identity = bundled::identity();
    assert_eq!((identity.dimension, identity.tokens_max), (384, 128));
    assert_eq!(identity.scripts, Scripts::LATIN);
    assert!(identity.normalised && identity.pooling.contains("mean"), "{identity:?}");
    for hash in [&identity.weights_hash, &identity.tokenizer_hash] {
        assert!(hash.len() == 71 && hash.starts_with("sha256:"), "{hash}");
    }
    assert_ne!(identity.weights_hash, identity.tokenizer_hash);
    assert_eq!(identity.text_template, "content, chunks 1");
}

#[tokio::test]
async fn texts_of_one_meaning_are_nearer_than_others() {
    let queue = queue();
    for (text, near, far) in [
        (
            "a cat sits on the mat",
            "a kitten is lying on the rug",
            "quarterly revenue fell by three percent",
        ),
        ("how do I log in", "I forgot my password", "the train leaves at noon"),
    ] {
        let query = queue.embed_query(text.into()).await.unwrap();
        let vectors = documents(&queue, &[near, far]).await;
        let (near, far) = (cosine(&query, &vectors[0][0]), cosine(&query, &vectors[1][0]));
        assert!(near > far + 0.2, "{text}: {near} {far}");
        vectors.iter().flatten().for_each(assert_unit);
    }
}

#[tokio::test]
async fn the_last_paragraph_of_a_long_text_is_found() {
    let queue = queue();
    let filler = "The weekly meeting dealt with the hiring plan, the budget of the marketing team \
                  and the new layout of the office on the second floor. "
        .repeat(40);
    let long = format!("{filler}\n\nThe spare key of the boat house hangs behind the blue barrel.");
    let others = [
        filler.as_str(),
        "The printer on the ground floor is out of toner.",
        "Dinner with the neighbours is on Friday.",
    ];
    let query = queue.embed_query("Where is the key to the boat house?".into()).await.unwrap();
    let found = documents(&queue, &[&long]).await;
    assert_eq!(found[0].len(), chunks(&long, 128).len());
    let best = |chunks: &[Vector]| chunks.iter().map(|c| cosine(&query, c)).fold(-1.0, f32::max);
    let of_long = best(&found[0]);
    for other in documents(&queue, &others).await {
        assert!(of_long > best(&other) + 0.1, "{of_long} {}", best(&other));
    }
}

#[tokio::test]
async fn any_text_gives_a_vector() {
    let queue = queue();
    let texts =
        ["", " \n\t", "!!! ... ---", "\u{200b}\u{200b}", "\0\u{1}", "我喜欢喝乌龙茶", "🙂🙃", "é"];
    for (text, vectors) in texts.iter().zip(documents(&queue, &texts).await) {
        assert_eq!(vectors.len(), 1, "{text:?}");
        assert_unit(&vectors[0]);
    }
    assert_unit(&queue.embed_query("   ".into()).await.unwrap());
    assert_unit(&queue.embed_query("x".repeat(4_096).into()).await.unwrap());
}

/// Realistic texts, the worst sorts included.
fn samples() -> Vec<(&'static str, String)> {
    vec![
        (
            "prose",
            "Caroline said that the quarterly review went better than expected, although two of the \
             suppliers had not answered by Thursday. She would like the whole team to meet at the \
             lake house in August, bring their families, and talk about what they want to learn. "
                .repeat(5),
        ),
        (
            "technical prose",
            "Authentication middleware deserialises the configuration, authenticates asynchronously \
             against the authorisation microservice, and invalidates memoised credentials whenever \
             Kubernetes reschedules the corresponding PostgreSQL replica. "
                .repeat(6),
        ),
        (
            "code",
            "pub(crate) fn next_batch(&mut self, n_max: usize) -> Result<Vec<Item>, QueueError> {\n    \
             let n = self.items.len().min(n_max);\n    if n == 0 { return Err(QueueError::Empty); }\n    \
             Ok(self.items.drain(..n).filter(|it| !it.is_done()).collect())\n}\n"
                .repeat(6),
        ),
        (
            "links",
            (0..40)
                .map(|n| format!("https://docs.example.org/v2/guide/{n}8f3a?utm_source=feed&id={n}90312#s{n} "))
                .collect(),
        ),
        ("numbers", (0..200).map(|n| format!("{} ", n * 7_919_333 % 1_000_003)).collect()),
        (
            "hashes",
            (0..30).map(|n| format!("{} ", blake3::hash(&[n]).to_hex())).collect(),
        ),
        (
            "log lines",
            (0..20)
                .map(|n| {
                    format!(
                        "2025-01-14T09:{n:02}:07.{n}31Z WARN [pool-{n}-thread-4] c.e.db.HikariPool: \
                         conn=0x7f{n:02}9c timed_out after={n}037ms\n"
                    )
                })
                .collect(),
        ),
        ("German", "Die Geschwindigkeitsbegrenzung gilt für die Straße zwischen Passau und Köln. ".repeat(12)),
        ("Chinese", "我喜欢早上喝一杯浓浓的乌龙茶，晚上则更喜欢不加糖的咖啡。".repeat(20)),
    ]
}

/// What the model cuts off has no influence on the vector, so the vectors with and without it are
/// the same to the last bit.
#[test]
fn the_model_reads_every_word_of_a_text_in_some_chunk() {
    let encoder = Encoder::new().unwrap();
    let embed = |text: &str| encoder.embed(&[text]).unwrap().remove(0);
    for (name, text) in samples() {
        let ranges = chunks(&text, 128);
        assert!(ranges.len() > 1, "{name}");
        for (at, range) in ranges.iter().enumerate() {
            if at > 0 && at + 2 < ranges.len() {
                continue; // The first and the last two show as much and save time.
            }
            let chunk = &text[range.clone()];
            // Inside a text the next chunk begins before this one ends; up to there it must be read.
            let must_read = match ranges.get(at + 1) {
                Some(next) => text[range.start..next.start].trim_end(),
                None => chunk,
            };
            let but_last = match must_read.rfind(char::is_whitespace) {
                Some(blank) => &must_read[..blank],
                None => &must_read[..must_read.floor_char_boundary(must_read.len() - 1)],
            };
            assert!(embed(must_read) != embed(but_last), "{name}, chunk {at}: `{must_read}`");
            if name.contains("prose") {
                let but_last = &chunk[..chunk.trim_end().rfind(' ').unwrap()];
                assert!(embed(chunk) != embed(but_last), "{name}, chunk {at}: `{chunk}`");
            }
        }
    }
}

#[tokio::test]
async fn the_common_scale_of_cosines_is_that_of_this_model() {
    let model = queue();
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
    for ((question, answer), _) in PAIRS {
        questions.push(model.embed_query(question.into()).await.unwrap());
        answers.push(model.embed_documents(vec![answer.into()]).await.unwrap()[0][0].clone());
    }
    let Spread { unrelated, related } = Likeness::of(&(questions, answers), None).unwrap().latin;
    eprintln!("unrelated {unrelated:.4}, related {related:.4}");
    assert!((unrelated - Spread::REFERENCE.unrelated).abs() < 1e-3, "{unrelated}");
    assert!((related - Spread::REFERENCE.related).abs() < 1e-3, "{related}");
}
