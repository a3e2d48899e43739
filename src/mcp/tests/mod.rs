//! The whole room over socket pairs: real service, ports in memory.

mod client;

mod fake;
