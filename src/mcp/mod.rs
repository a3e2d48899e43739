//! MCP on the Unix socket: connections, identity, wire types, tools, resources, prompts.

mod hello;
mod lines;
mod socket;
mod transport;
