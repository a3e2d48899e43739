//! Lines in and out: a reader that never holds more than the longest line, and a queue of lines
//! to be written. Both may be dropped between two steps without losing or repeating a byte, since
//! the bridge waits on several of them at once.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::message::Id;
use super::scan::IdScanner;

/// One line with its newline, shared between the queue that sends it and the memory of it.
pub(super) type Line = Arc<[u8]>;

/// What a peer sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// A line, without its newline.
    Line(Vec<u8>),
    /// A line over the limit, dropped while it was read; its id if it had one.
    TooLong(Option<Id>),
    /// The end, and what came after the last newline.
    End(Vec<u8>),
}

/// Reads lines of at most `bytes_max` bytes.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Set while the rest of an over-long line is skipped.
    skipped: Option<IdScanner>,
    bytes_max: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// A reader over `read`.
    pub(super) fn new(read: R, bytes_max: usize) -> Self {
        Self { read: BufReader::new(read), line: Vec::new(), skipped: None, bytes_max }
    }

    /// The next line. A failing read is the end, like a closed one.
    pub(super) async fn next(&mut self) -> Incoming {
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::debug!(%error, "read failed");
                    &[]
                }
            };
            if available.is_empty() {
                return match self.skipped.take() {
                    Some(scanner) => Incoming::TooLong(scanner.id()),
                    None => Incoming::End(std::mem::take(&mut self.line)),
                };
            }
            let newline = available.iter().position(|&byte| byte == b'\n');
            let part = available.get(..newline.unwrap_or(available.len())).unwrap_or(available);
            let consumed = part.len() + usize::from(newline.is_some());
            if let Some(scanner) = &mut self.skipped {
                scanner.feed(part);
            } else if self.line.len() + part.len() > self.bytes_max {
                let mut scanner = IdScanner::default();
                scanner.feed(&std::mem::take(&mut self.line));
                scanner.feed(part);
                self.skipped = Some(scanner);
            } else {
                self.line.extend_from_slice(part);
            }
            self.read.consume(consumed);
            if newline.is_some() {
                return match self.skipped.take() {
                    Some(scanner) => Incoming::TooLong(scanner.id()),
                    None => Incoming::Line(std::mem::take(&mut self.line)),
                };
            }
        }
    }
}

/// Lines waiting to be written, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    lines: VecDeque<Line>,
    /// Bytes of the first line that are written already.
    n_written: usize,
    n_bytes: usize,
}

impl Outbox {
    /// Queues a line.
    pub(super) fn push(&mut self, line: Line) {
        self.n_bytes += line.len();
        self.lines.push_back(line);
    }

    /// Forgets everything: the other end is gone.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of the lines that wait.
    pub(super) const fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Writes some bytes of the first line; pass the count to [`Self::advance`]. Waits for ever
    /// when nothing is queued or there is nowhere to write.
    ///
    /// # Errors
    /// Those of the writer; writing nothing is one.
    pub(super) async fn write_some(
        &self,
        write: Option<&mut (impl AsyncWrite + Unpin)>,
    ) -> io::Result<usize> {
        let rest = self.lines.front().and_then(|line| line.get(self.n_written..));
        match (write, rest) {
            (Some(write), Some(rest)) => match write.write(rest).await? {
                0 => Err(io::ErrorKind::WriteZero.into()),
                n => Ok(n),
            },
            _ => std::future::pending().await,
        }
    }

    /// Notes that `n` more bytes of the first line are written.
    pub(super) fn advance(&mut self, n: usize) {
        self.n_written += n;
        if self.lines.front().is_some_and(|line| line.len() <= self.n_written) {
            self.n_written = 0;
            self.n_bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(input: &[u8], bytes_max: usize) -> Vec<Incoming> {
        let mut reader = LineReader::new(input, bytes_max);
        let mut all = Vec::new();
        loop {
            let incoming = reader.next().await;
            let is_end = matches!(incoming, Incoming::End(_));
            all.push(incoming);
            if is_end {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn a_line_at_the_limit_passes_and_one_byte_more_does_not() {
        let line = |text: &str| Incoming::Line(text.as_bytes().to_vec());
        let end = |text: &str| Incoming::End(text.as_bytes().to_vec());
        assert_eq!(
            read_all(b"12345678\n{\"id\":1}9\n\nnext\nrest", 8).await,
            [
                line("12345678"),
                Incoming::TooLong(Some(Id::Number(1))),
                line(""),
                line("next"),
                end("rest")
            ]
        );
        assert_eq!(
            read_all(br#"{"x":"yyyyyyyyyyyy","id":"z"}"#, 8).await,
            [Incoming::TooLong(Some(Id::Text("z".into()))), end("")]
        );
    }

    #[tokio::test]
    async fn an_outbox_writes_its_lines_in_pieces_and_in_order() {
        let (mut near, far) = tokio::io::duplex(3);
        let mut outbox = Outbox::default();
        outbox.push(Arc::from(&b"first\n"[..]));
        outbox.push(Arc::from(&b"second\n"[..]));
        assert_eq!(outbox.n_bytes(), 13);
        let mut lines = BufReader::new(far).lines();
        let mut received = Vec::new();
        while received.len() < 2 {
            tokio::select! {
                n = outbox.write_some(Some(&mut near)) => outbox.advance(n.unwrap()),
                line = lines.next_line() => received.push(line.unwrap().unwrap()),
            }
        }
        assert_eq!(received, ["first", "second"]);
        assert!(outbox.is_empty() && outbox.n_bytes() == 0);
    }
}
