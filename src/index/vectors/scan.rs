//! The exact searcher: every row is scored.

use super::rows::{Rows, cosine};
use super::search::{Best, Candidate, Found, Moments, Query, Searcher};

/// Scores all rows of a namespace; a memory counts by its best chunk.
pub struct Scan<'a>(pub &'a Rows);

impl Searcher for Scan<'_> {
    fn search(&self, query: &Query<'_>) -> Found {
        let rows = self.0;
        let mut scores = vec![(f32::NEG_INFINITY, 0_u32); rows.members().len()];
        for (row, (owner, values, scale)) in (0_u32..).zip(rows.iter()) {
            let cosine = cosine(&query.code, values, scale);
            if let Some(best) = scores.get_mut(owner as usize)
                && cosine > best.0
            {
                *best = (cosine, row);
            }
        }
        let mut moments = Moments::default();
        let mut best = Best::new(query.wanted);
        for (member, (cosine, row)) in rows.members().iter().zip(scores) {
            moments.add(cosine);
            if best.admits(cosine) && (query.accepts)(member.slot) {
                let chunk = rows.chunk(row);
                let n_chunks = member.n_chunks();
                best.push(Candidate { id: member.id, slot: member.slot, cosine, chunk, n_chunks });
            }
        }
        Found { best: best.into_sorted(), moments }
    }
}
