//! The derived indexes: vectors and words, rebuilt from the store whenever they must be.

mod catalog;
pub mod text;
pub mod vectors;

#[cfg(test)]
mod fixtures;
