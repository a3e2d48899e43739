//! The places that a configuration names, as they are now: what a start or a reload would stumble over.
//!
//! Checked alike by `check-config` (which then fails), by a reload (which then changes nothing) and by a
//! start, which warns and goes on as far as it can. Makes and changes nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::{Access, access};

use super::log_settings;
use crate::config::{EmbedModel, Loaded, Place, Problem, Problems};
use crate::http;

/// What of it cannot be used, all of it.
///
/// # Errors
/// What is wrong, each with the place where it was set.
pub(super) fn check(loaded: &Loaded) -> Result<(), Problems> {
    let Loaded { config, state_dir, socket, .. } = loaded;
    let mut problems = Vec::new();
    let mut note = |place: &Place, key: &str, expected: &str, outcome: Result<(), String>| {
        if let Err(found) = outcome {
            problems.push(Problem::value(place.clone(), key, expected, found));
        }
    };
    let directory = "a directory that can be made and written";
    note(&state_dir.place, "store.dir", directory, writable_dir(&state_dir.path));
    if let Some(dir) = socket.path.parent() {
        let expected = "a socket in a directory that can be made and written";
        note(&socket.place, "server.socket", expected, writable_dir(dir));
    }
    if let Some(dir) = &config.backup.dir {
        note(&loaded.place("backup.dir"), "backup.dir", directory, writable_dir(dir));
    }
    if let Some(file) = log_settings(config).file {
        let outcome = writable_dir(&file.dir).and_then(|()| writable_file(&file.path()));
        note(&loaded.place("log.dir"), "log.dir", directory, outcome);
    }
    let endpoint = &config.embed.endpoint;
    let llm = [&config.llm.summary, &config.llm.scoring];
    let keys = llm.map(|model| (model.url.is_some(), model.section, &model.key_file));
    let keys = keys.into_iter().chain([(
        config.embed.model == EmbedModel::Endpoint,
        "embed.endpoint",
        &endpoint.key_file,
    )]);
    for (is_used, section, file) in keys {
        if let Some(file) = file.as_ref().filter(|_| is_used) {
            let key = format!("{section}.key_file");
            note(&loaded.place(&key), &key, "a file with a key", http::check_key(file));
        }
    }
    if let (EmbedModel::Installed(_), Some(file)) =
        (&config.embed.model, &config.embed.onnx_runtime)
    {
        let key = "embed.onnx_runtime";
        let is_file = || format!("{} is no file", file.display());
        let outcome = if file.is_file() { Ok(()) } else { Err(is_file()) };
        note(&loaded.place(key), key, "the library of ONNX Runtime", outcome);
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems::new(problems)) }
}

/// Each problem on a line of its own: file, line, column, key, what was expected and found.
pub(super) fn lines(problems: &Problems) -> Vec<String> {
    problems.list().iter().map(line).collect()
}

fn line(problem: &Problem) -> String {
    let text = problem.to_string();
    let parts: Vec<&str> = text.lines().map(str::trim).collect();
    parts.join("; ")
}

/// What cannot be used and does not keep a daemon from starting: it is told at the start.
pub(super) fn endured(loaded: &Loaded) -> Vec<String> {
    let problems = check(loaded).err();
    let ends = |problem: &&Problem| problem.key.as_deref().is_some_and(|key| FATAL.contains(&key));
    problems.iter().flat_map(Problems::list).filter(|p| !ends(p)).map(line).collect()
}

/// Places without which there is no start; it fails with the reason.
const FATAL: [&str; 2] = ["store.dir", "server.socket"];

/// Whether a directory is there and may be written, or may be made.
fn writable_dir(dir: &Path) -> Result<(), String> {
    for path in dir.ancestors() {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return writable(path, Access::WRITE_OK | Access::EXEC_OK);
            }
            Ok(_) => return Err(format!("{} is no directory", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    Err(format!("{} is nowhere", dir.display()))
}

/// Whether a file may be written, if it is there.
fn writable_file(path: &Path) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(format!("{} is a directory", path.display())),
        Ok(_) => writable(path, Access::WRITE_OK),
        Err(_) => Ok(()),
    }
}

fn writable(path: &Path, how: Access) -> Result<(), String> {
    access(path, how).map_err(|error| {
        format!("{} may not be written: {}", path.display(), std::io::Error::from(error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Environment, Sources};

    /// What is wrong with a configuration in a directory that has a file called `file`.
    fn problems(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.toml");
        fs::write(dir.path().join("file"), "no key: blanks").unwrap();
        fs::create_dir_all(dir.path().join("logs/recalld.log")).unwrap();
        fs::write(&config, text.replace("HOME", dir.path().to_str().unwrap())).unwrap();
        let runtime = dir.path().join("run").into_os_string();
        let variables = [("HOME".into(), dir.path().into()), ("XDG_RUNTIME_DIR".into(), runtime)];
        let environment = Environment::new(variables, 1000);
        let sources = Sources { environment, config: Some(config), ..Sources::default() };
        let loaded = Config::load(&sources).unwrap();
        let outcome = check(&loaded);
        assert!(!dir.path().join("new").exists(), "nothing is made");
        let list = outcome.err().map(|problems| problems.list().to_vec()).unwrap_or_default();
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_place_that_a_start_or_a_reload_would_stumble_over_is_told_with_its_key() {
        let endpoint = "embed = { model = \"endpoint\", endpoint = { url = \"http://127.0.0.1:9/v1\", \
                        model = \"m\", key_file = \"HOME/file\" } }";
        let llm = "llm.summary = { url = \"http://127.0.0.1:9/v1\", model = \"m\", key_file = \"HOME/file\" }";
        for (text, key, said) in [
            ("store.dir = \"HOME/file/below\"", "store.dir", "file/below"),
            ("server.socket = \"HOME/file/recalld.sock\"", "server.socket", "is no directory"),
            ("backup.dir = \"HOME/file\"", "backup.dir", "is no directory"),
            ("log.dir = \"HOME/file\"", "log.dir", "is no directory"),
            ("log.dir = \"HOME/logs\"", "log.dir", "is a directory"),
            (endpoint, "embed.endpoint.key_file", "file"),
            (llm, "llm.summary.key_file", "file"),
            (
                "embed = { model = \"bge-m3\", onnx_runtime = \"HOME/none\" }",
                "embed.onnx_runtime",
                "none is no file",
            ),
        ] {
            let found = problems(text);
            let [problem] = found.as_slice() else { panic!("{text}: {found:?}") };
            for part in [key, said, "config.toml:1:"] {
                assert!(problem.contains(part), "{part}: {problem}");
            }
        }
        let all =
            "store.dir = \"HOME/file/x\"\nbackup.dir = \"HOME/file\"\nlog.dir = \"HOME/file\"";
        assert_eq!(problems(all).len(), 3);
        for well in
            ["", "store.dir = \"HOME/new/a\"\nbackup.dir = \"HOME/new/b\"\nlog.dir = \"HOME/new\""]
        {
            assert_eq!(problems(well), [""; 0]);
        }
        // What is not used needs not be there.
        assert_eq!(problems("embed.onnx_runtime = \"HOME/none\""), [""; 0]);
    }
}
