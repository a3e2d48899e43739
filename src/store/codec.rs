//! Bytes of a stored value: a version byte, then `MessagePack` with field names.
//!
//! Field names make a value readable by every version that knows fewer fields; each record keeps
//! the fields it does not know and writes them back. The version byte changes only when a field
//! changes its meaning.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::errors::{Result, damaged};

/// A value that is stored.
pub(super) trait Stored: Serialize + DeserializeOwned {
    /// What it is, for messages.
    const WHAT: &'static str;
    /// The version byte written now, and the newest that can be read.
    const VERSION: u8 = 1;
}

/// The bytes of `value`.
pub(super) fn encode<T: Stored>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = vec![T::VERSION];
    rmp_serde::encode::write_named(&mut bytes, value)
        .map_err(|error| damaged(format!("cannot encode a {}: {error}", T::WHAT)))?;
    Ok(bytes)
}

/// Reads what [`encode`] wrote.
pub(super) fn decode<T: Stored>(bytes: &[u8]) -> Result<T> {
    let (version, body) =
        bytes.split_first().ok_or_else(|| damaged(format!("a {} without bytes", T::WHAT)))?;
    if *version != T::VERSION {
        return Err(damaged(format!("a {} of the unknown version {version}", T::WHAT)));
    }
    rmp_serde::from_slice(body).map_err(|error| damaged(format!("a {}: {error}", T::WHAT)))
}
