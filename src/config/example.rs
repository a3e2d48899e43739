//! The example file as defaults, as the list of keys, and as their documentation.

use std::sync::LazyLock;

use super::layer::{Known, Layer, show};

/// The defaults, with a line of explanation for each key.
pub const DEFAULTS: &str = include_str!("../../config.toml.example");

/// The layer below all others.
pub(super) static EXAMPLE: LazyLock<Layer<'static>> = LazyLock::new(|| Layer::example(DEFAULTS));
/// Its keys.
pub(super) static KNOWN: LazyLock<Known> = LazyLock::new(|| EXAMPLE.known());

/// A key, for documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// Dotted key.
    pub key: String,
    /// Default as TOML on one line.
    pub default: String,
    /// What it means, unit and range.
    pub doc: String,
}

/// Every key, in the order of the example.
pub fn keys() -> Vec<KeyDoc> {
    let leaves = KNOWN.keys.iter().filter_map(|key| Some((key, EXAMPLE.leaves.get(key)?)));
    leaves
        .map(|(key, leaf)| {
            let before = DEFAULTS.get(..leaf.key.start).unwrap_or("");
            // The lines above; the last piece is the beginning of the key's own line.
            let above = before.lines().rev().skip(usize::from(!before.ends_with('\n')));
            let mut doc: Vec<&str> = above.map_while(|line| line.strip_prefix('#')).collect();
            doc.reverse();
            let doc: Vec<&str> = doc.into_iter().map(str::trim).collect();
            KeyDoc { key: key.clone(), default: show(leaf.value.get_ref()), doc: doc.join(" ") }
        })
        .collect()
}
