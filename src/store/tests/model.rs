//! Random operations against a plain map.
