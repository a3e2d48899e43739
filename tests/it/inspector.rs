//! Another client nobody here wrote: the command line of the MCP inspector, from npm, through
//! `recalld connect`, in both eras.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::{Home, program};
use crate::skip::skip;

/// The release the test is written for.
const INSPECTOR: &str = "2.12.0";
/// The inspector asks for Node 22.19 or later, which distributions do not have yet.
const NODE: &str = "22.23.3";

/// The directory of the installed programs, kept below the target directory; `None` where they
/// cannot be had.
fn programs() -> Option<PathBuf> {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("mcp-inspector-{INSPECTOR}-node-{NODE}"));
    let programs = prefix.join("node_modules/.bin");
    let is_installed = || {
        run_in(&programs, &["--version"])
            .output()
            .is_ok_and(|out| out.status.success() && text(&out.stdout).trim().ends_with(INSPECTOR))
    };
    if !is_installed() {
        std::fs::create_dir_all(&prefix).ok()?;
        Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&prefix)
            .arg(format!("node@{NODE}"))
            .arg(format!("@modelcontextprotocol/inspector@{INSPECTOR}"))
            .output()
            .ok()?;
    }
    is_installed().then_some(programs)
}

/// The inspector's command line with these arguments, run by the Node beside it.
fn run_in(programs: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(programs.join("mcp-inspector"));
    command
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .arg("--cli")
        .args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One agent that asks through the inspector; each request is a bridge of its own.
struct Inspector<'a> {
    programs: &'a Path,
    home: &'a Home,
    era: &'a str,
    /// Tools that were called.
    called: RefCell<BTreeSet<String>>,
}

impl Inspector<'_> {
    /// A request; gives the exit code, the result and what was complained about.
    fn ask(&self, arguments: &[&str]) -> (Option<i32>, Value, String) {
        let (state, socket) = (self.home.state(), self.home.socket());
        let mut command = run_in(self.programs, &[]);
        command
            .env("HOME", self.home.path(""))
            .args(["--protocol-era", self.era])
            .arg(program())
            .arg("--state-dir")
            .arg(state)
            .arg("--socket")
            .arg(socket)
            .args(["connect", "--no-start", "--agent", "inspector"])
            .args(arguments);
        let output = command.output().unwrap();
        let (printed, complaint) = (text(&output.stdout), text(&output.stderr));
        let result = serde_json::from_str(&printed)
            .unwrap_or_else(|_| panic!("{arguments:?} printed {printed}{complaint}"));
        (output.status.code(), result, complaint)
    }

    /// A request that must succeed; gives its result.
    #[track_caller]
    fn must(&self, arguments: &[&str]) -> Value {
        let (code, result, complaint) = self.ask(arguments);
        assert_eq!(code, Some(0), "{} {arguments:?}: {complaint}{result}", self.era);
        result
    }

    /// Calls a tool that must succeed; gives its structured answer.
    #[track_caller]
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.called.borrow_mut().insert(tool.to_owned());
        let arguments = arguments.to_string();
        let request =
            ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments];
        let result = self.must(&request);
        assert_ne!(result["content"][0]["text"], json!(""), "{tool} gave no text");
        assert!(result["structuredContent"].is_object(), "{tool}: {result}");
        result["structuredContent"].clone()
    }
}

#[tokio::test]
async fn the_mcp_inspector_calls_every_tool_and_reads_resources_and_prompts() {
    let Some(programs) = programs() else {
        skip("the MCP inspector", "no npm, or no package registry in reach");
        return;
    };
    let home = Home::new();
    let _daemon = home.serve().await;
    for era in ["legacy", "modern"] {
        let called = RefCell::default();
        check_every_request(&Inspector { programs: &programs, home: &home, era, called });
    }
}

/// Every request of the protocol that the daemon serves, with every tool once.
fn check_every_request(inspector: &Inspector<'_>) {
    let era = inspector.era;
    // Strict: a schema that some client would not take is exit code 6.
    let tools = inspector.must(&["--method", "tools/list", "--strict"]);
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let tools: BTreeSet<String> = tools["tools"].as_array().unwrap().iter().map(name).collect();

    let oolong = format!("The {era} inspector likes oolong tea");
    let stored = inspector.call("memory_store", &json!({ "content": oolong, "tags": ["tea"] }));
    let id = stored["memories"][0]["id"].as_str().unwrap();
    let found = inspector.call("memory_search", &json!({ "query": format!("{era} oolong") }));
    assert_eq!(found["memories"][0]["id"], id, "{found}");
    let green = format!("The {era} inspector likes green tea");
    let changed = inspector.call("memory_update", &json!({ "id": id, "content": green }));
    assert_eq!(changed["changed"], json!(["content"]));
    let got = inspector.call("memory_get", &json!({ "ids": [id] }));
    assert_eq!(got["memories"][0]["content"], green.as_str(), "{got}");
    let helped = json!({ "ids": [id], "verdict": "useful" });
    let judged = inspector.call("memory_feedback", &helped);
    assert_eq!(judged["memories"][0]["id"], id, "{judged}");
    let told = inspector.call("memory_context", &json!({ "query": format!("{era} tea") }));
    assert_eq!(told["memories"][0]["content"], green.as_str(), "{told}");
    let set = json!({ "text": format!("{era} tea"), "at": "in 3 days" });
    let reminder = inspector.call("reminder_set", &set)["reminder"]["id"].clone();
    let listed = inspector.call("reminder_list", &json!({ "view": "upcoming" }));
    assert_eq!(listed["reminders"][0]["id"], reminder, "{listed}");
    let cancelled = json!({ "id": reminder, "action": "cancel" });
    let ended = inspector.call("reminder_update", &cancelled);
    assert_eq!(ended["reminder"]["state"], "cancelled", "{ended}");
    let status = inspector.call("memory_status", &json!({}));
    assert_eq!(status["store"]["n_memories"], 1, "{status}");

    let resources = inspector.must(&["--method", "resources/list"]);
    assert_eq!(resources["resources"][0]["uri"], "recalld://status", "{resources}");
    let read = inspector.must(&["--method", "resources/read", "--uri", "recalld://status"]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("parts"), "{read}");
    let templates = inspector.must(&["--method", "resources/templates/list"]);
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "recalld://memory/{id}");
    let address = format!("recalld://memory/{id}");
    let read = inspector.must(&["--method", "resources/read", "--uri", &address]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains(&green), "{read}");
    let prompts = inspector.must(&["--method", "prompts/list"]);
    let name = prompts["prompts"][0]["name"].as_str().unwrap();
    let prompt = inspector.must(&["--method", "prompts/get", "--prompt-name", name]);
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("memory_search"), "{prompt}");

    inspector.call("memory_forget", &json!({ "ids": [id] }));
    let arguments = json!({ "ids": [id] }).to_string();
    let again =
        ["--method", "tools/call", "--tool-name", "memory_get", "--tool-args-json", &arguments];
    let (code, refused, _) = inspector.ask(&again);
    assert_eq!(code, Some(5), "the code of a tool that failed: {refused}");
    assert_eq!(refused["isError"], json!(true), "{refused}");
    assert_eq!(*inspector.called.borrow(), tools, "a tool was left out");
}
