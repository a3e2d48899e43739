//! An agent as its host runs it: behind `recalld connect`, over two pipes.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a JSON value by a name it does not have gives null"
)]

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::session::CliError;
use super::trial::Trial;

/// The bridge of one agent.
pub(super) struct BridgedAgent {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    _bridge: Child,
}

impl BridgedAgent {
    /// Starts a bridge and shakes hands.
    pub(super) async fn connect(trial: &Trial, name: &str) -> Result<Self, CliError> {
        let mut bridge = trial
            .command(&["connect", "--no-start", "--agent", name])?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let no_pipe = || CliError::Data("the bridge has no pipes".to_owned());
        let mut agent = Self {
            input: bridge.stdin.take().ok_or_else(no_pipe)?,
            output: BufReader::new(bridge.stdout.take().ok_or_else(no_pipe)?).lines(),
            last_id: 0,
            _bridge: bridge,
        };
        let handshake = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": env!("CARGO_PKG_VERSION") },
        });
        agent.request("initialize", handshake).await?;
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(agent)
    }

    /// Calls a tool; gives its structured answer.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut result = self.request("tools/call", params).await?;
        if result["isError"] == json!(true) {
            let text = result["content"][0]["text"].as_str().unwrap_or("refused");
            return Err(CliError::Refused(text.to_owned()));
        }
        Ok(result.get_mut("structuredContent").map(Value::take).unwrap_or_default())
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, CliError> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await?;
        while let Some(line) = self.output.next_line().await? {
            let mut message: Value = serde_json::from_str(&line)
                .map_err(|_| CliError::Data(format!("the bridge printed no message: {line}")))?;
            if message["id"] == json!(id) {
                return match message.get("error") {
                    Some(error) => Err(CliError::Refused(error.to_string())),
                    None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
                };
            }
        }
        Err(CliError::Data("the bridge ended".to_owned()))
    }

    async fn send(&mut self, message: &Value) -> Result<(), CliError> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(())
    }
}
