//! What an evaluation prints.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::output::{say, table};
use crate::domain::limits::CONTENT_BYTES_MAX;
use crate::domain::measure::{ADVERSARIAL, Means, percentile};

/// The figures of one set.
pub(super) struct SetReport {
    /// Its name.
    pub(super) name: String,
    /// Memories stored.
    pub(super) n_memories: usize,
    /// Of these, cut at the limit of a memory.
    pub(super) n_cut: usize,
    /// Means over all questions but the adversarial ones.
    pub(super) all: Means,
    /// Means by category.
    pub(super) categories: BTreeMap<String, Means>,
    /// What it cost.
    pub(super) costs: Costs,
}

/// Speed and size.
pub(super) struct Costs {
    /// Acknowledged memories a second.
    pub(super) stores_per_second: f64,
    /// Memories a second until the last one had its vector.
    pub(super) embedded_per_second: f64,
    /// Time of each search as its client saw it, milliseconds.
    pub(super) search_ms: Vec<f64>,
    /// Resident memory of the daemon at the end, bytes.
    pub(super) resident_bytes: Option<u64>,
    /// The store, bytes on disk.
    pub(super) store_bytes: u64,
    /// The indexes, bytes on disk.
    pub(super) index_bytes: u64,
}

/// Prints all reports as JSON.
pub(super) fn print_json(reports: &[SetReport]) {
    let sets: Vec<Value> = reports.iter().map(as_json).collect();
    say(&format!("{:#}", json!({ "sets": sets })));
}

/// Prints a report as a table.
pub(super) fn print(report: &SetReport) {
    let header = ["category", "questions", "R@5", "R@10", "R@20", "hit@10", "MRR", "nDCG@10"];
    let mut rows = table(&header);
    for (category, means) in &report.categories {
        rows.add_row(row(category, means));
    }
    rows.add_row(row(&format!("all but {ADVERSARIAL}"), &report.all));
    let costs = &report.costs;
    let cut = match report.n_cut {
        0 => String::new(),
        n => format!(", {n} of them cut at {CONTENT_BYTES_MAX} bytes"),
    };
    say(&format!(
        "{} ({} memories{cut})\n{rows}\n{:.0} stores/s, {:.0}/s until embedded; search p50 {:.1} ms, \
         p95 {:.1} ms; RSS {}; on disk: store {}, indexes {}\n",
        report.name,
        report.n_memories,
        costs.stores_per_second,
        costs.embedded_per_second,
        percentile(&costs.search_ms, 0.5).unwrap_or(0.0),
        percentile(&costs.search_ms, 0.95).unwrap_or(0.0),
        costs.resident_bytes.map_or_else(|| "unknown".to_owned(), megabytes),
        megabytes(costs.store_bytes),
        megabytes(costs.index_bytes),
    ));
}

fn row(name: &str, means: &Means) -> Vec<String> {
    let [r5, r10, r20] = means.means.recall;
    let [_, hit_10, _] = means.means.hit;
    let mut cells = vec![name.to_owned(), means.n_questions.to_string()];
    let figures = [r5, r10, r20, hit_10, means.means.reciprocal_rank, means.means.ndcg_10];
    cells.extend(figures.map(|figure| format!("{figure:.3}")));
    cells
}

fn as_json(report: &SetReport) -> Value {
    let categories: serde_json::Map<String, Value> =
        report.categories.iter().map(|(name, means)| (name.clone(), means_json(means))).collect();
    let costs = &report.costs;
    json!({
        "name": report.name,
        "n_memories": report.n_memories,
        "n_cut": report.n_cut,
        "all": means_json(&report.all),
        "categories": categories,
        "stores_per_second": costs.stores_per_second,
        "embedded_per_second": costs.embedded_per_second,
        "search_p50_ms": percentile(&costs.search_ms, 0.5),
        "search_p95_ms": percentile(&costs.search_ms, 0.95),
        "resident_bytes": costs.resident_bytes,
        "store_bytes": costs.store_bytes,
        "index_bytes": costs.index_bytes,
    })
}

fn means_json(means: &Means) -> Value {
    let [r5, r10, r20] = means.means.recall;
    let [_, hit_10, _] = means.means.hit;
    json!({
        "n_questions": means.n_questions,
        "recall_at_5": r5,
        "recall_at_10": r10,
        "recall_at_20": r20,
        "hit_at_10": hit_10,
        "mrr": means.means.reciprocal_rank,
        "ndcg_at_10": means.means.ndcg_10,
    })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Resident memory of a process, from `/proc`.
pub(super) fn resident_bytes(process: Option<u32>) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process?)).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Bytes of a file, or of all files below a directory.
pub(super) fn bytes_on_disk(path: &Path) -> u64 {
    if path.is_dir() { bytes_below(path) } else { path.metadata().map_or(0, |file| file.len()) }
}

fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.flatten().map(|entry| bytes_on_disk(&entry.path())).sum()
}
