//! Rules of the tree that no compiler checks: which room may import which, file heads and sizes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each room of `src/` may import of ours. The map in the README says the same in words.
const IMPORTS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ports", &["domain"]),
    ("clock", &["domain", "ports"]),
    ("store", &["domain", "ports"]),
    ("index", &["domain", "ports"]),
    ("http", &["domain", "ports"]),
    ("embed", &["domain", "ports", "http"]),
    ("llm", &["domain", "ports", "http"]),
    ("sinks", &["domain", "ports", "http"]),
    ("service", &["domain", "ports"]),
    ("jobs", &["domain", "ports", "service"]),
    ("mcp", &["domain", "ports", "service"]),
    ("bridge", &["domain", "mcp"]),
    ("cli", &["domain", "ports", "clock", "mcp"]),
    ("config", &["domain"]),
    ("telemetry", &["domain", "ports"]),
];

/// Rooms that know all others.
const ROOTS: &[&str] = &["app", "lib", "main"];

/// Longest file, lines, tests included.
const LINES_MAX: usize = 600;

pub fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for dir in ["src", "tests", "benches", "examples"] {
        if root.join(dir).is_dir() {
            rust_files(&root.join(dir), &mut files);
        }
    }
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path.strip_prefix(root).unwrap().to_owned(), text)
        })
        .collect()
}

/// The rooms that a file names: `crate::room` anywhere, `use` line or path.
fn named_rooms(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group
                .split_once('}')
                .map_or(group, |(inner, _)| inner)
                .split(',')
                .map(str::trim)
                .collect(),
            None => vec![rest],
        };
        for name in names {
            let room: String =
                name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            rooms.insert(room);
        }
    }
    rooms
}

#[test]
fn rooms_import_only_inwards() {
    let mut breaches = Vec::new();
    for (path, text) in sources() {
        let Ok(inside) = path.strip_prefix("src") else { continue };
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let room = first.trim_end_matches(".rs").to_owned();
        if ROOTS.contains(&room.as_str()) {
            continue;
        }
        let (_, allowed) = IMPORTS
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("{}: `{room}` is not in the table of rooms", path.display()));
        for named in named_rooms(&text) {
            let is_room =
                IMPORTS.iter().any(|(name, _)| *name == named) || ROOTS.contains(&&*named);
            // Adapters are tested together in the integration tests, not from inside a room; the
            // one exception is a room's own test files, which may use the real neighbours.
            let is_test = inside.to_string_lossy().contains("tests");
            if is_room && named != room && !allowed.contains(&&*named) && !is_test {
                breaches.push(format!("{} imports `{named}`", path.display()));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn every_file_opens_by_saying_what_it_owns() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{} does not open with //!", path.display());
        let n_lines = text.lines().count();
        assert!(n_lines <= LINES_MAX, "{} has {n_lines} lines", path.display());
    }
}

#[test]
fn no_test_is_ignored() {
    let marker = ["#[ig", "nore"].concat();
    for (path, text) in sources() {
        assert!(!text.contains(&marker), "{} ignores a test", path.display());
    }
}
