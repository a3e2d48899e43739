//! Lines of the wire: newline-delimited, capped, and never lost without a word.

use std::io;

use rmcp::model::RequestId;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::domain::limits::{CONNECTION_BUFFER_BYTES, LINE_BYTES_MAX};

/// Longest request id kept while the line around it is thrown away, bytes of JSON.
const ID_BYTES_MAX: usize = 256;

/// What came off the wire.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line longer than the cap, thrown away but for the id it carried.
    TooLong {
        /// The request id, if there was a readable one.
        id: Option<RequestId>,
    },
}

/// Reads lines of at most `line_bytes_max` bytes. [`LineReader::next`] may be dropped at any await
/// and called again: what was read so far is kept here.
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    line_bytes_max: usize,
    line: Vec<u8>,
    skipped: Option<IdScanner>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(CONNECTION_BUFFER_BYTES, reader),
            line_bytes_max: LINE_BYTES_MAX,
            line: Vec::new(),
            skipped: None,
        }
    }

    /// The next line, or `None` at the end of the stream. A last line without an end counts.
    ///
    /// # Errors
    /// Those of the stream.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.finish());
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
            let n_consumed = part.len() + usize::from(end.is_some());
            if let Some(scanner) = &mut self.skipped {
                scanner.feed(part);
            } else if self.line.len() + part.len() > self.line_bytes_max {
                let mut scanner = IdScanner::default();
                scanner.feed(&self.line);
                scanner.feed(part);
                self.skipped = Some(scanner);
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(n_consumed);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn finish(&mut self) -> Option<Line> {
        let is_empty = self.line.is_empty() && self.skipped.is_none();
        (!is_empty).then(|| self.take())
    }

    fn take(&mut self) -> Line {
        match self.skipped.take() {
            Some(scanner) => Line::TooLong { id: scanner.id },
            None => Line::Whole(std::mem::take(&mut self.line)),
        }
    }
}

/// Finds the `id` of the object that a stream of bytes spells, in constant space: it follows
/// strings and nesting, and keeps the token at the top level that is being read.
#[derive(Default)]
struct IdScanner {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    is_id: bool,
    token: Vec<u8>,
    id: Option<RequestId>,
}

impl IdScanner {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.is_in_string {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'\\' {
                self.is_escaped = true;
            } else if byte == b'"' {
                self.is_in_string = false;
            }
            self.keep(byte);
            return;
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.token.clear();
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_value(),
            b':' if self.depth == 1 => {
                self.is_id = self.token.trim_ascii() == br#""id""#;
                self.token.clear();
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < ID_BYTES_MAX {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.is_id && self.id.is_none() {
            self.id = serde_json::from_slice(&self.token).ok();
        }
        self.is_id = false;
        self.token.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8], line_bytes_max: usize) -> LineReader<&[u8]> {
        LineReader { line_bytes_max, ..LineReader::new(bytes) }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_up_to_the_cap_are_read_and_longer_ones_reported() {
        let mut lines = reader(b"12345\n123456\n\nabc", 5);
        assert_eq!(lines.next().await.unwrap(), Some(whole("12345")));
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong { id: None }));
        assert_eq!(lines.next().await.unwrap(), Some(whole("")));
        assert_eq!(lines.next().await.unwrap(), Some(whole("abc")), "a last line without an end");
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_dropped_read_loses_nothing() {
        use tokio::io::AsyncWriteExt;
        let (mut client, server) = tokio::io::duplex(64);
        let mut lines = LineReader::new(server);
        client.write_all(b"first ").await.unwrap();
        assert!(futures::poll!(std::pin::pin!(lines.next())).is_pending());
        client.write_all(b"line\n").await.unwrap();
        assert_eq!(lines.next().await.unwrap(), Some(whole("first line")));
    }

    #[tokio::test]
    async fn the_id_of_a_line_that_is_too_long_is_found_wherever_it_stands() {
        let filler = "x".repeat(300);
        for (line, expected) in [
            (format!(r#"{{"id":7,"params":{{"text":"{filler}"}}}}"#), Some(RequestId::Number(7))),
            (
                format!(r#"{{"params":{{"id":1,"text":"\"id\":2,{filler}"}}, "id" : "a,}}b" }}"#),
                Some(RequestId::String("a,}b".into())),
            ),
            (format!(r#"{{"method":"x","params":["id",{{"id":3}},"{filler}"]}}"#), None),
            (format!(r#"{{"id":"{filler}"}}"#), None),
            (format!("[{{\"id\":1}},\"{filler}\"]"), None),
        ] {
            let mut lines = reader(line.as_bytes(), 40);
            assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong { id: expected }), "{line}");
        }
    }
}
