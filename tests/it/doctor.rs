//! `recalld doctor` on a well daemon, on none, and on everything that users bring it.
//!
//! What systemd says is played by scripts: what runs on this machine is none of the tests' business.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::{Home, eventually, program};

/// A patient: a directory, and programs of systemd that say what the test wants.
struct Patient {
    home: Home,
}

impl Patient {
    fn new(home: Home) -> Self {
        let patient = Self { home };
        fs::create_dir(patient.home.path("bin")).unwrap();
        patient.says("systemctl", "LoadState=not-found");
        patient.says("loginctl", "no");
        patient.says("timedatectl", "yes");
        patient
    }

    /// From now on this program prints this.
    fn says(&self, program: &str, answer: &str) {
        let path = self.home.path("bin").join(program);
        fs::write(&path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the program prints, and its exit code.
    fn told(&self, mut command: Command) -> (Option<i32>, String) {
        command.env("PATH", self.home.path("bin")).env("TZ", "Europe/Berlin");
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What the doctor finds with these arguments, and its exit code.
    fn examined(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let mut all = arguments.to_vec();
        all.extend(["--json", "doctor"]);
        let (code, printed) = self.told(self.home.command(&all));
        (code, serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}")))
    }

    /// What the doctor finds who looks for data and socket there.
    fn examined_at(&self, state: &Path, socket: &Path) -> Value {
        let mut command = Command::new(program());
        command.env_clear().env("HOME", self.home.path("")).args(["--json", "doctor"]);
        command.arg("--state-dir").arg(state).arg("--socket").arg(socket);
        serde_json::from_str(&self.told(command).1).unwrap()
    }

    /// Waits until the daemon has loaded everything and compared its indexes.
    async fn settled(&self) {
        let owner = self.home.owner().await;
        eventually("the daemon is settled", async || {
            let status = owner.must("memory_status", json!({})).await;
            (status["ok"] == json!(true) && status["parity"].is_object()).then_some(())
        })
        .await;
    }
}

/// The state, the detail and the advice of a part.
#[track_caller]
fn part<'a>(report: &'a Value, name: &str) -> [&'a str; 3] {
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["part"] == json!(name));
    let finding = finding.unwrap_or_else(|| panic!("nothing about `{name}` in {report:#}"));
    ["state", "detail", "advice"].map(|field| finding[field].as_str().unwrap_or_default())
}

#[tokio::test]
async fn a_well_daemon_is_well_in_every_part() {
    let patient = Patient::new(Home::new());
    let daemon = patient.home.serve().await;
    patient.home.owner().await.store("Something to count").await;
    patient.settled().await;
    let (code, report) = patient.examined(&[]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    for name in [
        "configuration",
        "model setting",
        "data directory",
        "store file",
        "store lock",
        "daemon",
        "version",
        "store",
        "index of words",
        "index of meaning",
        "model",
        "index parity",
        "socket file",
        "sizes",
        "clock",
        "time zone",
    ] {
        let [state, detail, _] = part(&report, name);
        assert_eq!(state, "ok", "{name}: {detail}");
        assert!(!detail.is_empty(), "{name}");
    }
    assert_eq!(part(&report, "user unit")[0], "off");
    assert!(part(&report, "store lock")[1].contains(&format!("process {}", daemon.id())));
    let (code, text) = patient.told(patient.home.command(&["doctor"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("ok        daemon") && text.contains(" ms\n"), "{text}");
}

#[tokio::test]
async fn a_damaged_store_that_no_daemon_opens_is_named_with_the_way_out() {
    let patient = Patient::new(Home::new());
    let daemon = patient.home.serve().await;
    patient.home.owner().await.store("kept").await;
    let made = patient.home.owner().await.must("memory_backup", json!({})).await;
    assert!(daemon.stop().await.success());
    let file = patient.home.state().join("recalld.redb");
    let len = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
    let garbage = vec![7; len];
    fs::write(&file, &garbage).unwrap();
    let (code, report) = patient.examined(&[]);
    let [state, detail, _] = part(&report, "store");
    assert_eq!((code, state), (Some(1), "down"), "{report:#}");
    assert!(detail.contains("recalld restore") && detail.contains("damaged"), "{detail}");
    let name = made["path"].as_str().unwrap_or_else(|| panic!("{made}"));
    assert!(detail.contains(name), "{detail}");
    assert!(fs::read(&file).unwrap() == garbage, "the file was changed");
}

#[test]
fn without_a_daemon_it_says_so_and_makes_nothing() {
    let patient = Patient::new(Home::new());
    let (code, report) = patient.examined(&[]);
    assert_eq!((code, &report["state"]), (Some(1), &json!("down")), "{report:#}");
    let [state, detail, advice] = part(&report, "daemon");
    assert_eq!(state, "down");
    assert!(detail.contains(&*patient.home.socket().to_string_lossy()), "{detail}");
    assert!(advice.contains("recalld serve"), "{advice}");
    assert_eq!(part(&report, "data directory")[0], "off");
    assert!(!patient.home.state().exists() && !patient.home.socket().exists());
}

#[tokio::test]
async fn the_socket_of_a_killed_daemon_is_told_from_one_that_hangs() {
    let patient = Patient::new(Home::new());
    patient.home.serve().await.kill();
    let (code, report) = patient.examined(&[]);
    assert_eq!(code, Some(1));
    let [state, detail, advice] = part(&report, "daemon");
    assert_eq!(state, "down");
    assert!(detail.contains("killed") && advice.contains("replaces it"), "{detail}: {advice}");
    assert_eq!(part(&report, "store lock")[0], "off");
    assert_eq!(part(&report, "store file")[0], "ok", "what can be looked at is");

    // A daemon that lives elsewhere has the store: the place of the socket is wrong.
    let _daemon = patient.home.serve().await;
    let report = patient.examined_at(&patient.home.state(), &patient.home.path("nowhere.sock"));
    let [state, detail, advice] = part(&report, "store lock");
    assert_eq!(state, "down", "{detail}");
    assert!(detail.contains("no socket answers") && advice.contains("--socket"), "{advice}");
}

#[tokio::test]
async fn wrong_modes_and_a_foreign_store_are_told_and_are_no_failure() {
    let patient = Patient::new(Home::new());
    let _daemon = patient.home.serve().await;
    patient.settled().await;
    for (path, mode) in [(patient.home.state(), 0o755), (patient.home.socket(), 0o666)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let (code, report) = patient.examined(&[]);
    assert_eq!((code, &report["state"]), (Some(0), &json!("degraded")), "{report:#}");
    for (name, remedy) in [("data directory", "chmod 700"), ("socket file", "chmod 600")] {
        let [state, _, advice] = part(&report, name);
        assert_eq!(state, "degraded", "{name}");
        assert!(advice.contains(remedy), "{name}: {advice}");
    }
    let (code, text) = patient.told(patient.home.command(&["doctor"]));
    assert_eq!(code, Some(0));
    assert!(text.contains("-> chmod 700") && text.contains("could be better"), "{text}");

    let report = patient.examined_at(&patient.home.path("other"), &patient.home.socket());
    let [state, detail, _] = part(&report, "store place");
    assert_eq!(state, "degraded");
    assert!(detail.contains("other"), "{detail}");
}

#[tokio::test]
async fn a_bad_configuration_is_a_finding_and_the_rest_is_still_looked_at() {
    let patient = Patient::new(Home::new());
    let _daemon = patient.home.serve().await;
    let bad = patient.home.path("bad.toml");
    fs::write(&bad, "[store]\ncache_mb = \"big\"\n").unwrap();
    let (code, report) = patient.examined(&["--config", bad.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    let [state, detail, _] = part(&report, "configuration");
    assert_eq!(state, "down");
    assert!(detail.contains("store.cache_mb") && detail.contains("bad.toml:2"), "{detail}");
    assert_eq!(part(&report, "daemon")[0], "ok");
    assert_eq!(part(&report, "data directory")[0], "ok");
}

#[tokio::test]
async fn a_model_that_is_switched_off_is_no_fault() {
    let patient = Patient::new(Home::with_config("[embed]\nmodel = \"none\"\n"));
    let _daemon = patient.home.serve().await;
    patient.settled().await;
    let (code, report) = patient.examined(&[]);
    assert_eq!(code, Some(0));
    for name in ["model setting", "model", "index of meaning"] {
        assert_eq!(part(&report, name)[0], "off", "{report:#}");
    }
}

#[test]
fn a_place_that_cannot_be_used_is_a_finding() {
    let home = Home::with_config("[backup]\ndir = \"/dev/null/backups\"\n");
    let patient = Patient::new(home);
    let (_, report) = patient.examined(&[]);
    let [state, detail, _] = part(&report, "configuration");
    assert_eq!(state, "degraded");
    assert!(detail.contains("backup.dir") && detail.contains("/dev/null"), "{detail}");
}

#[test]
fn units_a_clock_and_lingering_are_looked_at_where_systemd_is() {
    let patient = Patient::new(Home::new());
    let unit = patient.home.path("recalld.service");
    fs::write(&unit, "[Service]\nType=forking\nExecStart=/opt/recalld serve\n").unwrap();
    let unit = unit.display();
    patient.says(
        "systemctl",
        &format!("LoadState=loaded\nActiveState=failed\nResult=exit-code\nUnitFileState=enabled\nFragmentPath={unit}"),
    );
    patient.says("timedatectl", "no");
    let (_, report) = patient.examined(&[]);
    let [state, detail, advice] = part(&report, "user unit");
    assert_eq!(state, "down");
    assert!(detail.contains("exit-code") && advice.contains("journalctl --user"), "{advice}");
    let findings = report["findings"].as_array().unwrap();
    let differs = findings.iter().find(|finding| finding.to_string().contains("differs"));
    assert!(differs.unwrap()["detail"].as_str().unwrap().contains("Type"), "{report:#}");
    assert_eq!(part(&report, "user socket unit")[0], "down", "the script says so of every unit");
    assert_eq!(part(&report, "units")[0], "degraded", "both managers say it is enabled");
    assert_eq!(part(&report, "clock")[0], "degraded");
    let [state, _, advice] = part(&report, "linger");
    assert_eq!(state, "off");
    assert!(advice.contains("enable-linger"), "{advice}");

    fs::remove_file(patient.home.path("bin/systemctl")).unwrap();
    let (_, report) = patient.examined(&[]);
    assert_eq!(part(&report, "user unit")[0], "unknown", "a machine without systemd");
}

#[tokio::test]
async fn a_file_in_the_place_of_the_socket_is_not_called_a_socket() {
    let patient = Patient::new(Home::new());
    let socket = patient.home.path("no-socket");
    fs::write(&socket, "mine").unwrap();
    let report = patient.examined_at(&patient.home.state(), &socket);
    let [state, detail, advice] = part(&report, "daemon");
    assert_eq!(state, "down", "{report:#}");
    assert!(detail.contains("no socket") && advice.contains("remove it"), "{detail}: {advice}");
}
