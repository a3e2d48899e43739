//! The last net for secrets: whatever a sink says about a failure goes through here.
//!
//! Nothing is meant to be caught: reasons are made of our own words and of numbers. But errors of
//! libraries are in them too, and what those say may change with a version.

/// What stands in place of a secret.
const MASKED: &str = "***";
/// Shortest piece of an address that counts as a secret, bytes; shorter with a digit in it.
const PIECE_BYTES_MIN: usize = 16;
/// Shortest text that is a secret at all, bytes: what is shorter occurs everywhere.
const SECRET_BYTES_MIN: usize = 4;
/// See [`PIECE_BYTES_MIN`].
const PIECE_WITH_DIGIT_BYTES_MIN: usize = 8;

/// The secrets of one attempt, longest first.
#[derive(Default)]
pub(super) struct Mask(Vec<String>);

impl Mask {
    /// Adds a secret: as it is and as it stands in a URL.
    pub(super) fn add(&mut self, secret: &str) {
        if secret.len() < SECRET_BYTES_MIN {
            return;
        }
        self.0.push(secret.to_owned());
        self.0.push(percent_encoded(secret));
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self.0.dedup();
    }

    /// Adds an address with those of its pieces that look like secrets.
    pub(super) fn add_url(&mut self, url: &reqwest::Url) {
        self.add(url.as_str());
        let path = url.path_segments().into_iter().flatten().map(str::to_owned);
        let query = url.query_pairs().map(|(_, value)| value.into_owned());
        for piece in path.chain(query).filter(|piece| is_secret(piece)) {
            self.add(&piece);
        }
    }

    /// The text without them.
    pub(super) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASKED))
    }
}

fn is_secret(piece: &str) -> bool {
    let has_digit = piece.bytes().any(|byte| byte.is_ascii_digit());
    piece.len() >= if has_digit { PIECE_WITH_DIGIT_BYTES_MIN } else { PIECE_BYTES_MIN }
}

/// Everything but letters, digits and `-._~` as `%XX` (RFC 3986, section 2.3).
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_their_pieces_are_masked_in_any_form() {
        let mut mask = Mask::default();
        mask.add("pass+word/x=");
        mask.add_url(
            &"https://example.org/services/T0123ABCD/abcdefghijklmnop?key=s3cr3tk3y"
                .parse()
                .unwrap(),
        );
        for (text, expected) in [
            ("it says pass+word/x= here", "it says *** here"),
            ("pass%2Bword%2Fx%3D", "***"),
            ("https://example.org/services/T0123ABCD/abcdefghijklmnop?key=s3cr3tk3y", "***"),
            ("/services/T0123ABCD", "/services/***"),
            ("abcdefghijklmnop s3cr3tk3y", "*** ***"),
            ("connection refused by example.org", "connection refused by example.org"),
        ] {
            assert_eq!(mask.apply(text), expected);
        }
    }
}
