//! MCP on the Unix socket: connections, identity, wire types, tools, resources, prompts.

pub mod client;
