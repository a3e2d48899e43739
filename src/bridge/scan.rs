//! Finds the `id` of a JSON-RPC message in a stream of bytes, without keeping the bytes.
//!
//! Serves lines too long to buffer and lines whose shape is wrong: the client still learns which
//! request failed. It tracks strings and nesting, so an `id` inside the parameters, or inside a
//! text, is never taken for the one of the message.

use super::message::Id;

/// Longest id that is recognised, bytes of JSON.
const ID_BYTES_MAX: usize = 256;

/// Reads a message byte by byte and remembers its top-level `id`.
#[derive(Debug, Default)]
pub(super) struct IdScanner {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The key or plain value at the top level that is being read, cut one past [`ID_BYTES_MAX`].
    token: Vec<u8>,
    is_value_of_id: bool,
    found: Option<Vec<u8>>,
}

impl IdScanner {
    /// The id in one whole line.
    pub(super) fn id_in(line: &[u8]) -> Option<Id> {
        let mut scanner = Self::default();
        scanner.feed(line);
        scanner.id()
    }

    /// Takes the next bytes of the message.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.is_in_string {
                self.keep(byte);
                if self.is_escaped {
                    self.is_escaped = false;
                } else if byte == b'\\' {
                    self.is_escaped = true;
                } else if byte == b'"' {
                    self.is_in_string = false;
                }
            } else {
                self.structural(byte);
            }
        }
    }

    /// The id, if the bytes so far held one that a request may have.
    pub(super) fn id(&self) -> Option<Id> {
        let value = serde_json::from_slice(self.found.as_deref()?).ok()?;
        Id::from_value(&value)
    }

    fn structural(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_value(),
            b':' if self.depth == 1 => {
                self.is_value_of_id = self.token == b"\"id\"";
                self.token.clear();
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= ID_BYTES_MAX {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        let token = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.is_value_of_id) && self.found.is_none() {
            self.found = Some(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_at_the_top_level_counts() {
        let text = |id: &str| Some(Id::Text(id.to_owned()));
        for (line, expected) in [
            (r#"{"id":7,"method":"x"}"#, Some(Id::Number(7))),
            (r#"{"params":{"id":1,"a":["}",{"id":2}]},"id" : "a,\"b" }"#, text("a,\"b")),
            (r#"{"params":"\"id\":3,","id":4}"#, Some(Id::Number(4))),
            (r#"{"params":{"id":1}}"#, None),
            (r#"{"x":"id","id":null}"#, None),
            (r#"{"id":{"id":1}}"#, None),
            (r#"[{"id":1}]"#, None),
            ("", None),
        ] {
            assert_eq!(IdScanner::id_in(line.as_bytes()), expected, "{line}");
            let mut bytewise = IdScanner::default();
            line.bytes().for_each(|byte| bytewise.feed(&[byte]));
            assert_eq!(bytewise.id(), expected, "{line}, byte by byte");
        }
    }

    #[test]
    fn an_endless_id_is_not_kept() {
        let mut scanner = IdScanner::default();
        scanner.feed(b"{\"id\":\"");
        scanner.feed(&[b'x'; 10_000]);
        scanner.feed(b"\"}");
        assert!(scanner.token.capacity() < 1_000);
        assert_eq!(scanner.id(), None);
    }
}
