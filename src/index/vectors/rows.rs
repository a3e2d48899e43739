//! The vectors of one namespace as int8 rows in RAM.
//!
//! A row is a chunk of a memory: `code[i] = round(x[i] / m * 127)` with `m = max |x[i]|`, and the
//! scale `m / 127` that leads back. The rows of a memory are found through its *member*; all
//! tables are dense, so that a scan reads memory in one direction, and a removal fills the gap
//! with the last row.

use std::collections::HashMap;

use super::simd;
use crate::domain::embedding::Vector;
use crate::domain::id::MemoryId;
use crate::index::catalog::Slot;

/// A vector in int8 with its scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The coordinates, -127..=127.
    pub(super) values: Vec<i8>,
    /// What a coordinate is multiplied by.
    pub(super) scale: f32,
}

impl Code {
    /// Quantises a vector. One with a coordinate that is not finite becomes zero.
    pub fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        if largest <= 0.0 || !vector.iter().all(|x| x.is_finite()) {
            return Self { values: vec![0; vector.len()], scale: 0.0 };
        }
        let factor = 127.0 / largest;
        #[expect(clippy::cast_possible_truncation, reason = "|x * factor| <= 127")]
        let values = vector.iter().map(|x| (x * factor).round() as i8).collect();
        Self { values, scale: largest / 127.0 }
    }

    /// The cosine of the two unit vectors, up to the error of int8.
    pub fn cosine(&self, other: &Self) -> f32 {
        cosine(self, &other.values, other.scale)
    }
}

/// A memory that has rows.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: MemoryId,
    pub(super) slot: Slot,
    rows: Vec<u32>,
}

impl Member {
    /// Chunks of the memory.
    pub(super) fn n_chunks(&self) -> u32 {
        as_u32(self.rows.len())
    }
}

/// The rows of one namespace, all of one dimension.
#[derive(Debug, Default)]
pub struct Rows {
    dimension: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
    chunks: Vec<u32>,
    /// Number of the member a row belongs to.
    owners: Vec<u32>,
    members: Vec<Member>,
    by_id: HashMap<MemoryId, u32>,
}

impl Rows {
    /// Gives a memory these vectors, one a chunk, instead of those it had. Vectors of another
    /// dimension than the rows already here are refused.
    pub fn put(&mut self, id: MemoryId, slot: Slot, vectors: &[Vector]) -> bool {
        self.remove(id);
        let Some(first) = vectors.first() else { return false };
        if self.members.is_empty() {
            self.dimension = first.len();
        }
        if self.dimension == 0 || vectors.iter().any(|vector| vector.len() != self.dimension) {
            return false;
        }
        let number = as_u32(self.members.len());
        let mut rows = Vec::with_capacity(vectors.len());
        for (chunk, vector) in vectors.iter().enumerate() {
            let code = Code::of(vector);
            rows.push(as_u32(self.scales.len()));
            self.values.extend_from_slice(&code.values);
            self.scales.push(code.scale);
            self.chunks.push(as_u32(chunk));
            self.owners.push(number);
        }
        self.members.push(Member { id, slot, rows });
        self.by_id.insert(id, number);
        true
    }

    /// Removes the rows of a memory; whether it had some.
    pub fn remove(&mut self, id: MemoryId) -> bool {
        let Some(number) = self.by_id.remove(&id) else { return false };
        let mut rows = match self.members.get_mut(number as usize) {
            Some(member) => std::mem::take(&mut member.rows),
            None => Vec::new(),
        };
        // From the last on: the row that fills a gap is then never one still to be removed.
        rows.sort_unstable();
        for row in rows.into_iter().rev() {
            self.remove_row(row);
        }
        self.members.swap_remove(number as usize);
        if let Some(moved) = self.members.get(number as usize) {
            self.by_id.insert(moved.id, number);
            for row in &moved.rows {
                if let Some(owner) = self.owners.get_mut(*row as usize) {
                    *owner = number;
                }
            }
        }
        true
    }

    fn remove_row(&mut self, row: u32) {
        let (at, last) = (row as usize, self.scales.len() - 1);
        let end = last * self.dimension;
        if at != last {
            self.values.copy_within(end..end + self.dimension, at * self.dimension);
            let owner = self.owners.get(last).copied().unwrap_or_default();
            if let Some(member) = self.members.get_mut(owner as usize)
                && let Some(place) = member.rows.iter_mut().find(|place| **place as usize == last)
            {
                *place = row;
            }
        }
        self.values.truncate(end);
        self.scales.swap_remove(at);
        self.chunks.swap_remove(at);
        self.owners.swap_remove(at);
    }

    /// Whether a memory has rows.
    pub(super) fn contains(&self, id: MemoryId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Rows in all.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Coordinates of a row.
    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// The memories that have rows, in the order of their numbers.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Every row in order: its member's number, its code, its scale.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[i8], f32)> {
        self.values
            .chunks_exact(self.dimension.max(1))
            .zip(&self.scales)
            .zip(&self.owners)
            .map(|((values, scale), owner)| (*owner, values, *scale))
    }

    /// The chunk of a row.
    pub(super) fn chunk(&self, row: u32) -> u32 {
        self.chunks.get(row as usize).copied().unwrap_or_default()
    }

    /// The rows of a member: chunk, code, scale.
    pub(super) fn of<'a>(
        &'a self,
        member: &'a Member,
    ) -> impl Iterator<Item = (u32, &'a [i8], f32)> + 'a {
        member.rows.iter().filter_map(|row| {
            let at = *row as usize;
            let values = self.values.get(at * self.dimension..(at + 1) * self.dimension)?;
            Some((self.chunk(*row), values, self.scales.get(at).copied()?))
        })
    }

    /// A memory with rows.
    pub(super) fn member(&self, id: MemoryId) -> Option<&Member> {
        self.members.get(*self.by_id.get(&id)? as usize)
    }

    /// The best cosine among the chunks of a member, and its chunk.
    pub(super) fn best_of(&self, member: &Member, query: &Code) -> Option<(f32, u32)> {
        self.of(member)
            .map(|(chunk, values, scale)| (cosine(query, values, scale), chunk))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
    }

    /// Whether the rows kept are those of `vectors` (used by the parity check).
    pub(super) fn agrees_with(&self, id: MemoryId, vectors: &[Vector]) -> bool {
        self.member(id).is_some_and(|member| {
            let mut kept: Vec<_> = self.of(member).collect();
            kept.sort_unstable_by_key(|(chunk, ..)| *chunk);
            kept.len() == vectors.len()
                && kept
                    .iter()
                    .zip(vectors)
                    .all(|((_, values, _), vector)| Code::of(vector).values.as_slice() == *values)
        })
    }
}

/// The cosine of a row with the query, both of length 1 before they were quantised.
pub(super) fn cosine(query: &Code, values: &[i8], scale: f32) -> f32 {
    simd::dot(&query.values, values) as f32 * (scale * query.scale)
}

/// Row and member numbers; 2^32 rows would be 1.6 TB of RAM.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
