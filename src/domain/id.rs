//! Ids of memories, and the short handles people and agents type.
//!
//! An id is a `UUIDv7`: its first 48 bits are the time of creation in milliseconds, so ids sort by
//! age; its last 60 bits are random, and their Crockford base-32 form is the *tail* from which a
//! handle takes the first 8 or more characters.

use std::fmt;
use std::str::FromStr;

/// Crockford's base-32 alphabet: no `i`, `l`, `o`, `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Bits of the random tail that a handle can show.
const TAIL_BITS: u32 = 60;
/// Characters of the whole tail, 5 bits each.
pub const TAIL_CHARS: usize = 12;
/// Fewest characters of a handle.
pub const HANDLE_CHARS_MIN: usize = 8;

/// The id of a memory: the 128 bits of a `UUIDv7`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(u128);

impl MemoryId {
    /// Wraps 128 bits as they are stored.
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits)
    }

    /// The 128 bits, big-endian order being the order of creation.
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// Builds a `UUIDv7` from a time (milliseconds since the epoch, 48 bits used) and 74 random
    /// bits (the rest of `random` is ignored).
    pub const fn new(unix_ms: u64, random: u128) -> Self {
        let time = (unix_ms as u128 & 0xffff_ffff_ffff) << 80;
        let rand_a = (random >> 62) & 0xfff;
        let rand_b = random & 0x3fff_ffff_ffff_ffff;
        Self(time | 0x7 << 76 | rand_a << 64 | 0x2 << 62 | rand_b)
    }

    /// When it was made, milliseconds since the epoch.
    pub const fn created_at_ms(self) -> u64 {
        (self.0 >> 80) as u64
    }

    /// The random tail, 60 bits, whose base-32 form starts with every handle of this id.
    pub const fn tail(self) -> u64 {
        (self.0 & ((1 << TAIL_BITS) - 1)) as u64
    }

    /// The shortest handle: the first [`HANDLE_CHARS_MIN`] characters of the tail.
    pub fn handle(self) -> String {
        let mut handle = self.tail_text();
        handle.truncate(HANDLE_CHARS_MIN);
        handle
    }

    /// The whole tail in base 32, [`TAIL_CHARS`] characters.
    pub fn tail_text(self) -> String {
        let tail = self.tail();
        (0..TAIL_CHARS)
            .map(|place| {
                let shift = TAIL_BITS as usize - 5 * (place + 1);
                let digit = usize::try_from(tail >> shift & 31).unwrap_or(0);
                char::from(ALPHABET.get(digit).copied().unwrap_or(b'0'))
            })
            .collect()
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            bits >> 96,
            bits >> 80 & 0xffff,
            bits >> 64 & 0xffff,
            bits >> 48 & 0xffff,
            bits & 0xffff_ffff_ffff
        )
    }
}

impl fmt::Debug for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first characters of a tail: names every id whose tail starts with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    first: u64,
    n_chars: u8,
}

impl Handle {
    /// The smallest tail that this handle can mean.
    pub const fn tail_min(self) -> u64 {
        self.first
    }

    /// The largest tail that this handle can mean.
    pub const fn tail_max(self) -> u64 {
        let free_bits = TAIL_BITS - 5 * self.n_chars as u32;
        self.first | ((1 << free_bits) - 1)
    }
}

/// What a caller wrote where an id is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdReference {
    /// The whole id.
    Whole(MemoryId),
    /// A handle, to be resolved among the memories the caller may read.
    Handle(Handle),
}

/// Text that is neither an id nor a handle.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a memory id (36 characters, like 0198c0de-...) or its handle (8 to 12 characters of 0-9 a-z without i, l, o, u), got `{0}`"
)]
pub struct InvalidId(String);

impl FromStr for IdReference {
    type Err = InvalidId;

    /// Reads a whole id (with or without hyphens, any case) or a handle; a leading `#` and
    /// surrounding white space are ignored, and Crockford's look-alikes (`i`, `l`, `o`) are read.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId(text.chars().take(64).collect());
        let trimmed = text.trim().trim_start_matches('#');
        let hex: String = trimmed.chars().filter(|c| *c != '-').collect();
        if hex.len() == 32 && (trimmed.len() == 32 || trimmed.len() == 36) {
            return u128::from_str_radix(&hex, 16)
                .map(|bits| Self::Whole(MemoryId(bits)))
                .map_err(|_| invalid());
        }
        let n_chars = trimmed.len();
        if !(HANDLE_CHARS_MIN..=TAIL_CHARS).contains(&n_chars) {
            return Err(invalid());
        }
        let mut first = 0_u64;
        for byte in trimmed.bytes() {
            let byte = match byte.to_ascii_lowercase() {
                b'o' => b'0',
                b'i' | b'l' => b'1',
                other => other,
            };
            let digit = ALPHABET.iter().position(|a| *a == byte).ok_or_else(invalid)?;
            first = first << 5 | digit as u64;
        }
        let n_chars = u8::try_from(n_chars).map_err(|_| invalid())?;
        let first = first << (TAIL_BITS - 5 * u32::from(n_chars));
        Ok(Self::Handle(Handle { first, n_chars }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_version_7_uuid_that_reads_back() {
        let id = MemoryId::new(0x0123_4567_89ab, u128::MAX / 3);
        let text = id.to_string();
        assert!(text.starts_with("01234567-89ab-7"), "{text}");
        assert_eq!(text.parse(), Ok(IdReference::Whole(id)));
        assert_eq!(text.replace('-', "").to_uppercase().parse(), Ok(IdReference::Whole(id)));
    }

    #[test]
    fn every_handle_of_an_id_covers_its_tail() {
        let id = MemoryId::new(1, 0x1234_5678_9abc_def0_1357_9bdf);
        let tail = id.tail_text();
        for n_chars in HANDLE_CHARS_MIN..=TAIL_CHARS {
            let IdReference::Handle(handle) = tail[..n_chars].parse().unwrap() else {
                panic!("{n_chars} characters are a handle");
            };
            assert!((handle.tail_min()..=handle.tail_max()).contains(&id.tail()), "{n_chars}");
        }
        assert_eq!(id.handle(), tail[..8]);
    }

    #[test]
    fn look_alikes_and_a_leading_hash_are_read() {
        assert_eq!("#oiL23456".parse::<IdReference>(), "01123456".parse());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "1234567",
            "../users/x",
            "uuuuuuuu",
            "1234567890123",
            "zzzz zzzz",
            "您好您好您好您",
        ] {
            assert!(text.parse::<IdReference>().is_err(), "{text}");
        }
    }
}
