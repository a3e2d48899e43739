//! Places, subjects, leads and refusals.
