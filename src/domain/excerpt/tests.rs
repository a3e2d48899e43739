//! Tests of excerpts.
