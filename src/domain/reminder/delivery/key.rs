//! What makes a delivery one and the same.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;

use crate::domain::reminder::Kind;

/// Identity of a delivery, stable over restarts, edits and retries: the outbox has one row of a key,
/// and a sink that knows keys is given it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryKey([u8; 16]);

impl DeliveryKey {
    /// The first 128 bits of BLAKE3 over the reminder, its generation, the time on the wall that
    /// names the occurrence, the kind of telling, and the sink.
    pub fn new(
        reminder: &[u8],
        generation: u32,
        occurrence: DateTime,
        kind: Kind,
        sink: &str,
    ) -> Self {
        let (kind, n) = match kind {
            Kind::First => (0_u8, 0),
            Kind::Snoozed(n) => (1, n),
            Kind::Repeated(n) => (2, n),
            Kind::Escalated => (3, 0),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(reminder.len() as u64).to_be_bytes());
        hasher.update(reminder);
        hasher.update(&generation.to_be_bytes());
        hasher.update(occurrence.to_string().as_bytes());
        hasher.update(&[0, kind]);
        hasher.update(&n.to_be_bytes());
        hasher.update(sink.as_bytes());
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        Self(key)
    }

    /// Another key for the same delivery, always the same: the first 128 bits of BLAKE3 over this one.
    #[must_use]
    pub fn again(self) -> Self {
        let mut key = [0; 16];
        blake3::Hasher::new().update(&self.0).finalize_xof().fill(&mut key);
        Self(key)
    }

    /// The bytes that are stored.
    pub const fn as_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Wraps bytes as they are stored.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for DeliveryKey {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for DeliveryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the 32 hexadecimal digits of a delivery")]
pub struct InvalidDeliveryKey;

impl FromStr for DeliveryKey {
    type Err = InvalidDeliveryKey;

    fn from_str(text: &str) -> Result<Self, InvalidDeliveryKey> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
        bits.map(|bits| Self(bits.to_be_bytes())).ok_or(InvalidDeliveryKey)
    }
}
