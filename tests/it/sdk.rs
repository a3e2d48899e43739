//! A client nobody here wrote: the public Python MCP SDK, 1.x and 2.x, through `recalld connect`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::{Home, program};
use crate::skip::skip;

/// A Python with this release of the SDK, kept below the target directory; `None` where it cannot be
/// had.
fn python(release: &str) -> Option<PathBuf> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-sdk-{release}"));
    let python = environment.join("bin/python");
    let has_sdk = || {
        let probe =
            format!("import importlib.metadata as m; assert m.version('mcp') == '{release}'");
        Command::new(&python).args(["-c", &probe]).output().is_ok_and(|out| out.status.success())
    };
    if !has_sdk() {
        Command::new("python3").args(["-m", "venv"]).arg(&environment).output().ok()?;
        let install = ["-m", "pip", "install", "--quiet"];
        Command::new(&python).args(install).arg(format!("mcp=={release}")).output().ok()?;
    }
    has_sdk().then_some(python)
}

/// Drives every tool with a release of the SDK in these modes, each with the protocol version that
/// it must come to.
async fn drive(release: &str, modes: &[(&str, &str)]) {
    let Some(python) = python(release) else {
        let reason = "no python3 with venv, or no package registry in reach";
        skip(&format!("the public Python SDK {release}"), reason);
        return;
    };
    let home = Home::new();
    let _daemon = home.serve().await;
    for (mode, version) in modes {
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
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), *version, "{mode}");
    }
}

#[tokio::test]
async fn the_public_python_sdk_2_calls_every_tool_in_both_eras() {
    drive("2.3.0", &[("legacy", "2025-11-25"), ("auto", "2026-07-28")]).await;
}

#[tokio::test]
async fn the_public_python_sdk_1_calls_every_tool() {
    drive("1.30.0", &[("v1", "2025-11-25")]).await;
}
