//! A real daemon in a temporary directory, with clients and bridges to it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use recalld::mcp::client::{Client, Hello, ToolReply};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};

/// Longest wait for anything that a test waits for; no assertion is about how long it took.
pub const WAIT: Duration = Duration::from_mins(1);

/// The program under test: what cargo built for the tests, or what lies beside the examples.
pub fn program() -> PathBuf {
    option_env!("CARGO_BIN_EXE_recalld").map_or_else(
        || std::env::current_exe().unwrap().with_file_name("../recalld"),
        PathBuf::from,
    )
}

/// Waits until `probe` gives something, looking every 10 ms.
pub async fn eventually<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let look = async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(WAIT, look).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// A directory for a daemon, removed at the end.
pub struct Home {
    dir: TempDir,
    config: String,
    expected: Vec<&'static str>,
}

impl Home {
    /// An empty directory and no configuration.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), config: String::new(), expected: Vec::new() }
    }

    /// Where agents have every tool.
    pub fn full() -> Self {
        Self::with_config("[mcp]\ntoolset = \"full\"\n")
    }

    /// With this configuration file.
    pub fn with_config(config: &str) -> Self {
        let mut home = Self::new();
        home.configure(config);
        home
    }

    /// Gives the daemons that start from now on this configuration file.
    pub fn configure(&mut self, config: &str) {
        config.clone_into(&mut self.config);
        self.rewrite(config);
    }

    /// Puts another text into the configuration file.
    pub fn rewrite(&self, config: &str) {
        fs::write(self.path("config.toml"), config).unwrap();
    }

    /// A warning or error of the log that holds this text is part of the test.
    pub fn expect_log(mut self, text: &'static str) -> Self {
        self.expected.push(text);
        self
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.path("s/recalld.sock")
    }

    /// The data directory.
    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// The program in a bare environment that points here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", "/usr/bin:/bin")
            .env("RECALLD_LOG", "debug,tantivy=error,rmcp=off")
            .arg("--state-dir")
            .arg(self.state())
            .arg("--socket")
            .arg(self.socket());
        if !self.config.is_empty() {
            command.arg("--config").arg(self.path("config.toml"));
        }
        if !self.config.contains("ballast_mb") {
            // Many of them run at a time.
            command.env("RECALLD_STORE_BALLAST_MB", "1");
        }
        command.args(arguments);
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> std::process::Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts the daemon and waits until it answers.
    pub async fn serve(&self) -> Daemon<'_> {
        let daemon = self.spawn();
        daemon.wait_until_it_answers().await;
        daemon
    }

    /// Starts the daemon by a command that is changed first, and waits until it answers.
    pub async fn serve_with(&self, change: impl FnOnce(&mut Command)) -> Daemon<'_> {
        let daemon = self.spawn_with(change);
        daemon.wait_until_it_answers().await;
        daemon
    }

    /// Starts the daemon without waiting.
    pub fn spawn(&self) -> Daemon<'_> {
        self.spawn_with(|_| {})
    }

    /// Starts the daemon by a command that is changed first, without waiting.
    pub fn spawn_with(&self, change: impl FnOnce(&mut Command)) -> Daemon<'_> {
        let log = File::options().create(true).append(true).open(self.path("daemon.log")).unwrap();
        let mut command = self.command(&["serve"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        change(&mut command);
        Daemon { home: self, child: command.spawn().unwrap() }
    }

    /// What the daemon has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("daemon.log")).unwrap_or_default()
    }

    /// A client that says it is this agent.
    pub async fn agent(&self, name: &str) -> Agent {
        Agent { client: self.connect(Hello::agent(name)).await }
    }

    /// A client that says it is the person.
    pub async fn owner(&self) -> Agent {
        Agent { client: self.connect(Hello::owner()).await }
    }

    async fn connect(&self, hello: Hello) -> Client {
        let client = eventually("the daemon takes a connection", async || {
            Client::connect(&self.socket(), &hello).await.ok()
        })
        .await;
        client.initialize(WAIT).await.unwrap();
        client
    }

    /// A bridge, as an agent's host starts it.
    pub fn bridge(&self, agent: &str) -> Bridge {
        Bridge::start(self.command(&["connect", "--no-start", "--agent", agent]))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("daemon log:\n{}", self.log());
            return;
        }
        let log = self.log();
        let unlisted: Vec<&str> = log
            .lines()
            .filter(|line| line.contains(" WARN ") || line.contains(" ERROR "))
            .filter(|line| !self.expected.iter().any(|expected| line.contains(expected)))
            .collect();
        assert!(unlisted.is_empty(), "the daemon complained: {unlisted:#?}");
    }
}

/// A running daemon; killed at the end.
pub struct Daemon<'a> {
    home: &'a Home,
    child: Child,
}

impl<'a> Daemon<'a> {
    /// Where it lives.
    pub fn home(&self) -> &'a Home {
        self.home
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it takes connections.
    pub async fn wait_until_it_answers(&self) {
        self.home.owner().await;
    }

    /// Ends it as a power cut would end a process.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Sends SIGTERM and waits for the end.
    pub async fn stop(mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        eventually("the daemon stops", async || self.child.try_wait().unwrap()).await
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Limits the size of any file it writes, bytes.
    pub fn limit_file_size(&self, bytes: Option<u64>) {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed()).unwrap();
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(Some(pid), rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// Resident memory, bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An agent on the socket.
pub struct Agent {
    /// Its connection.
    pub client: Client,
}

impl Agent {
    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        self.client.call_tool(tool, arguments, WAIT).await.unwrap()
    }

    /// Calls a tool that must succeed; gives its structured answer.
    #[track_caller]
    pub fn must<'a>(&'a self, tool: &'a str, arguments: Value) -> impl Future<Output = Value> + 'a {
        let place = std::panic::Location::caller();
        async move {
            let reply = self.call(tool, arguments).await;
            assert!(!reply.is_error, "{place}: {tool}: {}", reply.text);
            reply.structured.unwrap_or_else(|| panic!("{place}: {tool} gave no structured answer"))
        }
    }

    /// Calls a tool that must fail; gives its message.
    pub async fn refused(&self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments.clone()).await;
        assert!(reply.is_error, "{tool} {arguments} was accepted: {}", reply.text);
        reply.text
    }

    /// Stores one text; gives its id.
    pub async fn store(&self, content: &str) -> String {
        let answer = self.must("memory_store", json!({ "content": content })).await;
        answer["memories"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Searches; gives the contents found, best first.
    pub async fn recall(&self, query: &str) -> Vec<String> {
        let answer = self.must("memory_search", json!({ "query": query })).await;
        answer["memories"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["content"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A bridge process with its two pipes.
pub struct Bridge {
    child: tokio::process::Child,
    input: Option<tokio::process::ChildStdin>,
    output: Lines<BufReader<tokio::process::ChildStdout>>,
    next_id: u64,
}

impl Bridge {
    /// Starts it.
    pub fn start(command: Command) -> Self {
        let mut child = tokio::process::Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), child, output, next_id: 1 }
    }

    /// Sends a request; gives its id.
    pub async fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Sends a message.
    pub async fn line(&mut self, message: &Value) {
        self.text(&message.to_string()).await;
    }

    /// Sends a line as it is.
    pub async fn text(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Closes its input; what it still says can be read.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// The next message; every line must be one.
    pub async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(WAIT, self.output.next_line()).await.unwrap().unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}")))
    }

    /// Waits for the answer to a request, passing over notifications.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await.expect("the bridge ended");
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    /// A request and its result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await["result"].clone()
    }

    /// The handshake of the older protocol era.
    pub async fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        let result = self.request("initialize", params).await;
        self.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        result
    }

    /// Calls a tool; gives its structured answer.
    pub async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let result = self.request("tools/call", params).await;
        assert_ne!(result["isError"], json!(true), "{name}: {result}");
        result["structuredContent"].clone()
    }

    /// Closes its input and waits for its end.
    pub async fn close(mut self) -> ExitStatus {
        drop(self.input.take());
        tokio::time::timeout(WAIT, self.child.wait()).await.unwrap().unwrap()
    }
}
