//! Commands for people: clients of the socket, never of the store.
