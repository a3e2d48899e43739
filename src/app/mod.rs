//! Composition root: open, wire, start, stop. The only room that knows all the others.
