//! Tests of the queue with a scripted model, and of the models behind it.

mod bundled;
mod queue;
mod seeded;

use std::sync::Arc;

use super::{Choice, Queue, Surroundings};
use crate::domain::embedding::Vector;
use crate::ports::Clock;

/// A clock that stands still.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

/// A model that needs no files.
fn start(choice: Choice, n_threads: usize) -> Queue {
    let surroundings = Surroundings::bare(n_threads, Arc::new(Stopped));
    super::start(choice, surroundings)
}

fn cosine(a: &Vector, b: &Vector) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b.iter()).map(|(x, y)| x * y).sum()
}

#[track_caller]
fn assert_unit(vector: &Vector) {
    assert!((cosine(vector, vector) - 1.0).abs() < 1e-5, "length {}", cosine(vector, vector));
}
