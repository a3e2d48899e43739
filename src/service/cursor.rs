//! Cursors: opaque to callers, bound to the caller and to everything else it asked for.

use std::fmt::Debug;

use super::ServiceError;
use crate::domain::identity::Caller;

/// Hash of what a page belongs to, so that a cursor of another call is noticed.
pub(crate) fn fingerprint(caller: &Caller, asked: &impl Debug) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{} {asked:?}", caller.actor).as_bytes());
    let mut head = [0; 8];
    hasher.finalize_xof().fill(&mut head);
    u64::from_be_bytes(head)
}

/// A cursor that carries `position`.
pub(crate) fn write(fingerprint: u64, position: &[u128]) -> String {
    let mut cursor = format!("{fingerprint:016x}");
    for number in position {
        cursor.push_str(&format!("-{number:x}"));
    }
    cursor
}

/// The position of a cursor that was written for the same call.
///
/// # Errors
/// [`ServiceError::Invalid`] for anything else.
pub(crate) fn read<const N: usize>(
    cursor: &str,
    fingerprint: u64,
) -> Result<[u128; N], ServiceError> {
    let invalid = || {
        ServiceError::invalid(
            "cursor",
            "the `next_cursor` of the same call with the same arguments",
            format!("`{cursor}`"),
        )
    };
    let mut parts = cursor.trim().split('-');
    let of = parts.next().and_then(|part| u64::from_str_radix(part, 16).ok());
    let position: Option<Vec<u128>> =
        parts.map(|part| u128::from_str_radix(part, 16).ok()).collect();
    match (of, position.and_then(|numbers| <[u128; N]>::try_from(numbers).ok())) {
        (Some(of), Some(position)) if of == fingerprint => Ok(position),
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_only_for_its_own_call() {
        let cursor = write(7, &[3, u128::MAX]);
        assert_eq!(read::<2>(&cursor, 7).unwrap(), [3, u128::MAX]);
        for (bad, of) in [(cursor.as_str(), 8), ("", 7), ("xyz", 7), ("0000000000000007-1", 7)] {
            assert!(read::<2>(bad, of).unwrap_err().to_string().contains("`cursor`"), "{bad}");
        }
    }
}
