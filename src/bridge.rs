//! `recalld connect`: the stdio bridge between an agent and the daemon's socket.
