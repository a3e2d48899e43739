//! Tests of leads.
