//! The systemd units: installed, running, as shipped, with memory enough, and there without a login.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use tokio::process::Command;

use super::Finding;
use crate::cli::words::bytes;
use crate::domain::limits::SYSTEMCTL_WAIT;

/// The daemon.
const SERVICE: &str = "recalld.service";
/// Its socket, which starts it at the first connection.
const SOCKET: &str = "recalld.socket";

/// What is asked of systemd.
const PROPERTIES: &str = "--property=LoadState,ActiveState,SubState,UnitFileState,FragmentPath,\
                          DropInPaths,NeedDaemonReload,Result,MemoryMax,MemoryHigh,TriggeredBy";

/// A unit file that belongs to this version.
#[derive(Clone, Copy, Debug)]
pub struct ShippedUnit {
    /// For the user's manager, or for the system's.
    pub for_user: bool,
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// Everything about the units of the user's and of the system's manager.
pub(super) async fn findings(shipped: &[ShippedUnit], memory_bytes: Option<u64>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut n_enabled = 0;
    for manager in [Manager::User, Manager::System] {
        let service = match manager.show(SERVICE).await {
            Ok(unit) => unit,
            Err(error) => {
                let detail = format!("systemd does not answer: {error}");
                findings.push(Finding::unknown(manager.part(SERVICE), detail));
                continue;
            }
        };
        findings.push(service.state());
        if !service.is_installed() {
            continue;
        }
        findings.extend(service.difference(shipped));
        findings.extend(service.memory(memory_bytes));
        if let Ok(socket) = manager.show(SOCKET).await
            && socket.is_installed()
        {
            findings.push(socket.state());
            findings.extend(socket.difference(shipped));
        }
        if service.is_enabled() {
            n_enabled += 1;
            if manager == Manager::User {
                findings.push(linger().await);
            }
        }
    }
    if n_enabled > 1 {
        let detail = "both the user's and the system's unit are enabled: two daemons, two memories";
        let advice = "disable one: `systemctl --user disable --now recalld`, or the system's";
        findings.push(Finding::degraded("units", detail, advice));
    }
    findings
}

/// Whose systemd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    User,
    System,
}

impl Manager {
    fn part(self, unit: &str) -> &'static str {
        match (self, unit == SOCKET) {
            (Self::User, false) => "user unit",
            (Self::User, true) => "user socket unit",
            (Self::System, false) => "system unit",
            (Self::System, true) => "system socket unit",
        }
    }

    /// The command to type.
    fn systemctl(self) -> &'static str {
        match self {
            Self::User => "systemctl --user",
            Self::System => "systemctl",
        }
    }

    /// The log to read.
    fn journalctl(self) -> &'static str {
        match self {
            Self::User => "journalctl --user",
            Self::System => "journalctl",
        }
    }

    async fn show(self, name: &'static str) -> Result<Unit, String> {
        let whose = if self == Self::User { "--user" } else { "--system" };
        let answer = ask("systemctl", &[whose, "show", name, PROPERTIES]).await?;
        Ok(Unit::read(self, name, &answer))
    }
}

/// A unit as systemd has it.
#[derive(Debug)]
struct Unit {
    manager: Manager,
    name: &'static str,
    properties: BTreeMap<String, String>,
}

impl Unit {
    /// Reads lines of `Name=value`.
    fn read(manager: Manager, name: &'static str, answer: &str) -> Self {
        let properties = answer.lines().filter_map(|line| line.split_once('='));
        let properties =
            properties.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { manager, name, properties }
    }

    fn part(&self) -> &'static str {
        self.manager.part(self.name)
    }

    fn get(&self, name: &str) -> &str {
        self.properties.get(name).map_or("", String::as_str)
    }

    fn is_installed(&self) -> bool {
        !matches!(self.get("LoadState"), "not-found" | "")
    }

    fn is_enabled(&self) -> bool {
        self.get("UnitFileState").starts_with("enabled")
    }

    /// Installed, enabled, active, or why not.
    fn state(&self) -> Finding {
        let (part, name, systemctl) = (self.part(), self.name, self.manager.systemctl());
        if !self.is_installed() {
            return Finding::off(part, "not installed");
        }
        let (load, active) = (self.get("LoadState"), self.get("ActiveState"));
        let n_drop_ins = self.get("DropInPaths").split_whitespace().count();
        let detail = format!(
            "{}, {active} ({}), {}, {n_drop_ins} drop-ins",
            self.get("UnitFileState"),
            self.get("SubState"),
            self.get("FragmentPath")
        );
        let has_socket = self.get("TriggeredBy").contains("recalld.socket");
        if load != "loaded" {
            let advice = format!("`{systemctl} status {name}`; a masked unit: `unmask`");
            Finding::down(part, format!("{load}: {detail}"), advice)
        } else if active == "failed" {
            let detail = format!("failed ({}): {detail}", self.get("Result"));
            let advice = format!(
                "`{} -u {name} -n 50` says why; then `{systemctl} reset-failed {name}` and \
                 `{systemctl} start {name}`",
                self.manager.journalctl()
            );
            Finding::down(part, detail, advice)
        } else if self.get("NeedDaemonReload") == "yes" {
            let detail = format!("its file changed since systemd read it: {detail}");
            Finding::degraded(part, detail, format!("`{systemctl} daemon-reload`, then restart"))
        } else if active == "inactive" && self.is_enabled() && !has_socket {
            let advice = format!("`{systemctl} start {name}`");
            Finding::degraded(part, format!("enabled, and not running: {detail}"), advice)
        } else if active == "inactive" {
            Finding::off(part, detail)
        } else {
            Finding::ok(part, detail)
        }
    }

    /// Whether its file says something else than the one of this version.
    fn difference(&self, shipped: &[ShippedUnit]) -> Option<Finding> {
        let for_user = self.manager == Manager::User;
        let is_ours = |unit: &&ShippedUnit| unit.for_user == for_user && unit.name == self.name;
        let ours = shipped.iter().find(is_ours)?;
        let path = self.get("FragmentPath");
        let theirs = fs::read_to_string(path).ok()?;
        let different = different_keys(&theirs, ours.text);
        if different.is_empty() {
            return None;
        }
        let detail = format!("{path} differs from this version's in {}", different.join(", "));
        let advice = "copy the new one over it, and keep what is yours in a drop-in \
                      (`systemctl edit`), which no new version replaces";
        Some(Finding::degraded(self.part(), detail, advice))
    }

    /// Whether its memory limits leave room for the model.
    fn memory(&self, needed: Option<u64>) -> Option<Finding> {
        let needed = needed?;
        // "infinity" is no number, and no limit.
        let limit = |name: &'static str| Some((name, self.get(name).parse::<u64>().ok()?));
        let (name, limit) = [limit("MemoryHigh"), limit("MemoryMax")]
            .into_iter()
            .flatten()
            .find(|(_, limit)| *limit < needed)?;
        let detail = format!(
            "{name} is {}, the daemon needs about {} with this model",
            bytes(limit),
            bytes(needed)
        );
        let advice =
            format!("`{} edit {SERVICE}`, or the drop-in for the model", self.manager.systemctl());
        Some(Finding::degraded(self.part(), detail, advice))
    }
}

/// Keys that two unit files give different values. What is run is left out: its path differs from
/// machine to machine.
fn different_keys(one: &str, other: &str) -> Vec<String> {
    let (one, other) = (directives(one), directives(other));
    let keys = one.keys().chain(other.keys()).filter(|key| one.get(*key) != other.get(*key));
    let mut keys: Vec<String> =
        keys.filter(|key| !key.starts_with("Exec")).map(ToString::to_string).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// The values of each key of a unit file, in order.
fn directives(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut directives: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '[']));
    for (key, value) in lines.filter_map(|line| line.split_once('=')) {
        directives.entry(key.trim()).or_default().push(value.trim());
    }
    directives
}

/// Whether the user's units run without a login.
async fn linger() -> Finding {
    let part = "linger";
    let uid = rustix::process::geteuid().as_raw().to_string();
    match ask("loginctl", &["show-user", &uid, "--property=Linger", "--value"]).await.as_deref() {
        Ok("yes") => Finding::ok(part, "on: the daemon runs without a login"),
        Ok(_) => Finding::off(part, "off: the daemon stops when you log out")
            .advise("`loginctl enable-linger`, if it must not"),
        Err(error) => Finding::unknown(part, error.clone()),
    }
}

/// What a program of systemd's prints, trimmed; else why it does not.
pub(super) async fn ask(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true).stdin(Stdio::null());
    // Without it systemctl would not find the user's manager.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        let uid = rustix::process::geteuid().as_raw();
        command.env("XDG_RUNTIME_DIR", format!("/run/user/{uid}"));
    }
    let output = tokio::time::timeout(SYSTEMCTL_WAIT, command.output())
        .await
        .map_err(|_| format!("`{program}` takes too long"))?
        .map_err(|error| format!("`{program}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint.lines().last().map_or("it failed", str::trim);
    Err(format!("`{program}`: {last}"))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    const LOADED: &str = "LoadState=loaded\nFragmentPath=/etc/systemd/system/recalld.service\n";

    #[test]
    fn a_unit_is_told_by_what_systemd_says_of_it() {
        for (more, expected) in [
            ("ActiveState=active\nSubState=running\nUnitFileState=enabled", State::Ok),
            ("ActiveState=failed\nResult=exit-code\nUnitFileState=enabled", State::Down),
            ("ActiveState=inactive\nUnitFileState=enabled", State::Degraded),
            ("ActiveState=inactive\nUnitFileState=disabled", State::Off),
            ("ActiveState=inactive\nUnitFileState=enabled\nTriggeredBy=recalld.socket", State::Off),
            ("ActiveState=active\nNeedDaemonReload=yes", State::Degraded),
            ("ActiveState=inactive\nLoadState=masked", State::Down),
            ("LoadState=not-found", State::Off),
        ] {
            let unit = Unit::read(Manager::System, SERVICE, &format!("{LOADED}{more}"));
            let finding = unit.state();
            assert_eq!(finding.state, expected, "{more}: {finding:?}");
        }
    }

    #[test]
    fn a_unit_differs_by_its_keys_but_not_by_comments_and_programs() {
        let ours =
            "[Service]\n# why\nType=notify\nExecStart=/usr/bin/recalld serve\nWatchdogSec=60\n";
        for (theirs, expected) in [
            (ours, vec![]),
            ("[Service]\nWatchdogSec=60\nType = notify\nExecStart=/opt/recalld serve", vec![]),
            ("[Service]\nType=simple\nUMask=0077\nWatchdogSec=60", vec!["Type", "UMask"]),
        ] {
            assert_eq!(different_keys(theirs, ours), expected, "{theirs}");
        }
    }

    #[test]
    fn a_limit_below_what_the_model_needs_is_told() {
        let needed = Some(600 * 1024 * 1024);
        for (limits, expected) in [
            ("MemoryHigh=infinity\nMemoryMax=infinity", None),
            ("MemoryHigh=805306368\nMemoryMax=1073741824", None),
            ("MemoryHigh=268435456\nMemoryMax=infinity", Some("MemoryHigh is 256.0 MiB")),
            ("MemoryHigh=infinity\nMemoryMax=536870912", Some("MemoryMax is 512.0 MiB")),
        ] {
            let unit = Unit::read(Manager::User, SERVICE, limits);
            let told = unit.memory(needed).map(|one| one.detail);
            let is_expected = match (&told, expected) {
                (Some(told), Some(expected)) => told.contains(expected),
                (told, expected) => told.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{limits}: {told:?}");
        }
        assert_eq!(Unit::read(Manager::User, SERVICE, "MemoryMax=1").memory(None), None);
    }
}
