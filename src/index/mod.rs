//! The derived indexes: vectors and words, rebuilt from the store whenever they must be.

pub mod text;
pub mod vectors;
