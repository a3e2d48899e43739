//! Configuration: parse, validate, report every problem at once.
