//! Tests of the queue with a scripted model, and of the models behind it.

mod bundled;
mod queue;
mod seeded;

use crate::domain::embedding::Vector;

fn cosine(a: &Vector, b: &Vector) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b.iter()).map(|(x, y)| x * y).sum()
}

#[track_caller]
fn assert_unit(vector: &Vector) {
    assert!((cosine(vector, vector) - 1.0).abs() < 1e-5, "length {}", cosine(vector, vector));
}
