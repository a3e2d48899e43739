//! Consolidation: related memories become summaries, and the memories stay.

pub mod gather;
