//! Tests of the first stage of ranking.
