//! When two memories are the same: hash of namespace, text and event time.

use jiff::Timestamp;
use unicode_normalization::UnicodeNormalization;

use super::namespace::Namespace;

/// The hash by which equal memories find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupeKey(pub [u8; 32]);

/// BLAKE3 over (namespace, text in NFC without outer white space, event time if it was given). Case
/// and inner white space count: only a memory that says exactly the same is the same.
pub fn dedupe_key(
    namespace: &Namespace,
    content: &str,
    occurred_at: Option<Timestamp>,
) -> DedupeKey {
    let canonical: String = content.trim().nfc().collect();
    let mut hasher = blake3::Hasher::new();
    for part in [namespace.as_str().as_bytes(), canonical.as_bytes()] {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    if let Some(time) = occurred_at {
        hasher.update(&time.as_microsecond().to_be_bytes());
    }
    DedupeKey(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_exactly_the_same_has_the_same_key() {
        let user = Namespace::user();
        let other = "agent/a".parse().unwrap();
        let key = dedupe_key(&user, "Café", None);
        assert_eq!(key, dedupe_key(&user, " Cafe\u{301}\n", None));
        assert_ne!(key, dedupe_key(&user, "café", None));
        assert_ne!(key, dedupe_key(&other, "Café", None));
        assert_ne!(key, dedupe_key(&user, "Café", Some(Timestamp::UNIX_EPOCH)));
        assert_ne!(
            dedupe_key(&user, "router is 192.168.7.1", None),
            dedupe_key(&user, "router is 192.168.9.1", None)
        );
    }
}
