//! The scheduler over a real store, with a clock that stands still and jobs that do as they are told.

mod decay;
mod due;
mod fixture;
mod single;
mod trouble;
