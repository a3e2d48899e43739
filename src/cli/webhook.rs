//! A receiver of webhooks on loopback, for the demo: what any program with an HTTP server is.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::session::CliError;

/// Longest body that it takes, bytes.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// Most lines of a head.
const HEAD_LINES_MAX: usize = 100;

/// The receiver.
pub(super) struct Receiver {
    listener: TcpListener,
    url: String,
}

impl Receiver {
    /// A receiver at a free port.
    ///
    /// # Errors
    /// If there is none.
    pub(super) async fn start() -> Result<Self, CliError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        Ok(Self { listener, url })
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Takes the next message, answers that it was taken, and gives its body.
    ///
    /// # Errors
    /// If the sender speaks no HTTP, or sends no JSON.
    pub(super) async fn next(&self) -> Result<Value, CliError> {
        let (stream, _) = self.listener.accept().await?;
        let mut stream = BufReader::new(stream);
        let body = body(&mut stream).await?;
        let answer = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
        stream.get_mut().write_all(answer.as_bytes()).await?;
        serde_json::from_slice(&body)
            .map_err(|error| CliError::Data(format!("the webhook was sent no JSON: {error}")))
    }
}

async fn body(stream: &mut BufReader<TcpStream>) -> Result<Vec<u8>, CliError> {
    let mut length = 0;
    for _ in 0..HEAD_LINES_MAX {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if line.trim().is_empty() {
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await?;
            return Ok(body);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0).min(BODY_BYTES_MAX);
        }
    }
    Err(CliError::Data("the webhook was sent no HTTP request".to_owned()))
}
