//! Use cases, one a file: what agents and people can ask of the daemon.
