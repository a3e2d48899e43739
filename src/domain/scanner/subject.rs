//! What a sentence is about, beside its times.

use super::asks::{self, Ask};
use super::grammar::Line;
use super::phrases::{Timed, span};
use super::source::Source;

/// The sentence without its times and the asking.
pub(super) fn subject(
    line: &Line<'_>,
    source: &Source<'_>,
    times: &[Timed],
    ask: Option<&Ask>,
) -> String {
    let n = line.kinds.len();
    let mut is_kept = vec![true; n];
    let cut =
        times.iter().filter(|time| !time.is_aside).flat_map(|time| time.pieces.iter().cloned());
    let asking = ask.into_iter().flat_map(|ask| ask.cut.iter().cloned());
    for range in cut.chain(asking) {
        if let Some(kept) = is_kept.get_mut(range) {
            kept.fill(false);
        }
    }
    let is_kept = |at: usize| is_kept.get(at).copied().unwrap_or(false);
    let mut text = String::new();
    let mut at = 0;
    while at < n {
        if !is_kept(at) {
            at += 1;
            continue;
        }
        let end = (at..n).find(|at| !is_kept(*at)).unwrap_or(n);
        let part = source.slice(&span(line, &(at..end))).trim();
        if asks::needs_blank(&text, part) {
            text.push(' ');
        }
        text.push_str(part);
        at = end;
    }
    asks::trimmed(&text)
}
