//! Bytes of a stored value: a version byte, then `MessagePack` with field names.
//!
//! Field names make a value readable by every version that knows fewer fields; each record keeps
//! the fields it does not know and writes them back. The version byte changes only when a field
//! changes its meaning. Its highest bit says that the rest is deflated, as that of an archived memory
//! is.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::errors::{Result, damaged};
use crate::domain::limits::PACKED_BYTES_MAX;

/// Set in the version byte of a value that is deflated.
const PACKED: u8 = 0x80;

/// A value that is stored.
pub(super) trait Stored: Serialize + DeserializeOwned {
    /// What it is, for messages.
    const WHAT: &'static str;
    /// The version byte written now, and the newest that can be read.
    const VERSION: u8 = 1;

    /// Whether it is seldom read, so that room counts more than time.
    fn is_cold(&self) -> bool {
        false
    }
}

/// The bytes of `value`.
pub(super) fn encode<T: Stored>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = vec![T::VERSION];
    rmp_serde::encode::write_named(&mut bytes, value)
        .map_err(|error| damaged(format!("cannot encode a {}: {error}", T::WHAT)))?;
    if value.is_cold() {
        bytes = pack(&bytes)?;
    }
    Ok(bytes)
}

/// What [`encode`] wrote, deflated unless that makes it no shorter.
pub(super) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    let Some((version, body)) = bytes.split_first() else { return Ok(Vec::new()) };
    if version & PACKED != 0 || body.len() > PACKED_BYTES_MAX {
        return Ok(bytes.to_vec());
    }
    let mut packed = DeflateEncoder::new(vec![version | PACKED], Compression::best());
    let packed = packed.write_all(body).and_then(|()| packed.finish());
    let packed = packed.map_err(|error| damaged(format!("cannot pack a record: {error}")))?;
    Ok(if packed.len() < bytes.len() { packed } else { bytes.to_vec() })
}

fn unpack(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    let most = PACKED_BYTES_MAX as u64;
    DeflateDecoder::new(packed).take(most).read_to_end(&mut body)?;
    Ok(body)
}

/// Reads what [`encode`] wrote.
pub(super) fn decode<T: Stored>(bytes: &[u8]) -> Result<T> {
    let (version, body) =
        bytes.split_first().ok_or_else(|| damaged(format!("a {} without bytes", T::WHAT)))?;
    if version & !PACKED != T::VERSION {
        return Err(damaged(format!("a {} of the unknown version {version}", T::WHAT)));
    }
    let body = if version & PACKED == 0 {
        Cow::Borrowed(body)
    } else {
        let body = unpack(body);
        Cow::Owned(body.map_err(|error| damaged(format!("a packed {}: {error}", T::WHAT)))?)
    };
    rmp_serde::from_slice(&body).map_err(|error| damaged(format!("a {}: {error}", T::WHAT)))
}
