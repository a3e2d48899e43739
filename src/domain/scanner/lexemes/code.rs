//! What a text marks as code: times in it are data.

use std::ops::Range;

/// The bytes of what is marked as code, by one backtick on a line or by three around a block.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find('`')).map(|n| at + n) {
        let rest = text.get(start..).unwrap_or("");
        let n_marks = rest.len() - rest.trim_start_matches('`').len();
        let (fence, body) = rest.split_at(n_marks);
        let is_block = n_marks >= 3;
        let close = body.find(fence);
        let end = match close {
            Some(n) if is_block || !body.get(..n).unwrap_or("").contains('\n') => {
                start + n_marks + n + n_marks
            }
            None if is_block => text.len(),
            _ => {
                at = start + n_marks;
                continue;
            }
        };
        ranges.push(start..end);
        at = end;
    }
    ranges
}
