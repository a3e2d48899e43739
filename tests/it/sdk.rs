//! A client nobody here wrote: the public Python MCP SDK, through `recalld connect`, both eras.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::{Home, program};
use crate::skip::skip;

/// The release the test is written for; it speaks both protocol eras.
const SDK: &str = "mcp==2.3.0";

/// A Python with the SDK, kept below the target directory; `None` where it cannot be had.
fn python() -> Option<PathBuf> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-sdk");
    let python = environment.join("bin/python");
    let has_sdk = || {
        let probe =
            format!("import importlib.metadata as m; assert m.version('mcp') == '{}'", &SDK[5..]);
        Command::new(&python).args(["-c", &probe]).output().is_ok_and(|out| out.status.success())
    };
    if !has_sdk() {
        Command::new("python3").args(["-m", "venv"]).arg(&environment).output().ok()?;
        Command::new(&python).args(["-m", "pip", "install", "--quiet", SDK]).output().ok()?;
    }
    has_sdk().then_some(python)
}

#[tokio::test]
async fn the_public_python_sdk_calls_every_tool_in_both_eras() {
    let Some(python) = python() else {
        skip("the public Python SDK", "no python3 with venv, or no package registry in reach");
        return;
    };
    let home = Home::new();
    let _daemon = home.serve().await;
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let output = Command::new(&python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sdk_client.py"))
            .arg(mode)
            .arg(program())
            .arg("--state-dir")
            .arg(home.state())
            .arg("--socket")
            .arg(home.socket())
            .args(["connect", "--no-start", "--agent", mode])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{mode}: {errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), version, "{mode}");
    }
}
