//! Listings in order of event time.
//!
//! A listing walks several ranges of one index at once (one a namespace and status, kind or tag),
//! always taking the next memory in the order asked for, and checks the filter on its record. The
//! index decides only how many records are read for nothing.

use std::collections::BinaryHeap;

use redb::{Key, Range, ReadTransaction};

use crate::domain::filter::{Filter, TagMatch};
use crate::domain::id::MemoryId;
use crate::domain::memory::{Memory, Status};
use crate::ports::Listing;

use super::batch::load;
use super::errors::Result;
use super::tables::{
    BY_KIND, BY_TAG, BY_TIME, MEMORIES, NAMESPACES, USAGE, kind_code, namespace_number, status_code,
};

/// Place of a memory in a listing: event time, id.
type Place = (i64, u128);

/// Places in the order asked for.
type Places = Box<dyn Iterator<Item = Result<Place>>>;

/// Carries out a [`Listing`].
pub(super) fn list(transaction: &ReadTransaction, listing: &Listing) -> Result<Vec<Memory>> {
    let records = transaction.open_table(MEMORIES)?;
    let usage = transaction.open_table(USAGE)?;
    let mut found = Vec::new();
    let mut last = None;
    let mut merge = Merge::new(ranges(transaction, listing)?, listing.newest_first)?;
    while found.len() < listing.limit {
        let Some(place) = merge.next()? else { break };
        // A memory with two of the tags asked for comes once from each range.
        if last.replace(place) == Some(place) {
            continue;
        }
        let Some(stored) = load(&records, &usage, MemoryId::from_u128(place.1))? else { continue };
        let memory = stored.memory()?;
        if listing.filter.matches(&memory) {
            found.push(memory);
        }
    }
    Ok(found)
}

/// The ranges that together hold everything the filter can match.
fn ranges(transaction: &ReadTransaction, listing: &Listing) -> Result<Vec<Places>> {
    let Some((first, last)) = bounds(listing) else { return Ok(Vec::new()) };
    let Filter { namespaces, kinds, tags, tag_match, statuses, .. } = &listing.filter;
    let numbers = transaction.open_table(NAMESPACES)?;
    let tags: &[String] = match tag_match {
        TagMatch::Any => tags,
        TagMatch::All => tags.get(..1).unwrap_or_default(),
    };
    let by_tag = transaction.open_table(BY_TAG)?;
    let (by_code, codes): (_, Vec<u8>) = if kinds.is_empty() {
        let statuses = if statuses.is_empty() { Status::ALL } else { statuses.as_slice() };
        let codes = statuses.iter().map(|status| status_code(*status)).collect();
        (transaction.open_table(BY_TIME)?, codes)
    } else {
        (transaction.open_table(BY_KIND)?, kinds.iter().map(|kind| kind_code(*kind)).collect())
    };
    let mut ranges = Vec::new();
    for namespace in namespaces {
        let Some(number) = namespace_number(&numbers, namespace)? else { continue };
        for tag in tags {
            let tag = tag.as_str();
            let range = (number, tag, first.0, first.1)..=(number, tag, last.0, last.1);
            let rows = by_tag.range(range)?;
            ranges.push(places(rows, listing.newest_first, |(_, _, time, id)| (time, id)));
        }
        for code in codes.iter().copied().filter(|_| tags.is_empty()) {
            let range = (number, code, first.0, first.1)..=(number, code, last.0, last.1);
            let rows = by_code.range(range)?;
            ranges.push(places(rows, listing.newest_first, |(_, _, time, id)| (time, id)));
        }
    }
    Ok(ranges)
}

fn places<K: Key + 'static>(
    rows: Range<'static, K, ()>,
    newest_first: bool,
    place: impl Fn(K::SelfType<'_>) -> Place + 'static,
) -> Places {
    let place = move |row: std::result::Result<(redb::AccessGuard<'static, K>, _), _>| {
        let (key, _): (redb::AccessGuard<'static, K>, redb::AccessGuard<'static, ()>) = row?;
        Ok(place(key.value()))
    };
    if newest_first { Box::new(rows.rev().map(place)) } else { Box::new(rows.map(place)) }
}

/// The first and the last place that can be meant, both included; `None` if there is none.
fn bounds(listing: &Listing) -> Option<(Place, Place)> {
    let mut first = (i64::MIN, 0);
    let mut last = (i64::MAX, u128::MAX);
    if let Some(after) = listing.filter.after {
        first = (after.as_microsecond(), 0);
    }
    if let Some(before) = listing.filter.before {
        last = (before.as_microsecond(), u128::MAX);
    }
    if let Some((time, id)) = listing.after {
        let (time, id) = (time.as_microsecond(), id.as_u128());
        if listing.newest_first {
            let before =
                id.checked_sub(1).map_or((time.saturating_sub(1), u128::MAX), |id| (time, id));
            last = last.min(before);
        } else {
            let after = id.checked_add(1).map_or((time.saturating_add(1), 0), |id| (time, id));
            first = first.max(after);
        }
    }
    (first <= last).then_some((first, last))
}

/// Several ordered ranges as one.
struct Merge {
    ranges: Vec<Places>,
    /// The next place of each range, as a key that grows with its turn, with the range's number.
    heads: BinaryHeap<(Place, usize)>,
    newest_first: bool,
}

impl Merge {
    fn new(ranges: Vec<Places>, newest_first: bool) -> Result<Self> {
        let n_ranges = ranges.len();
        let mut merge = Self { ranges, heads: BinaryHeap::with_capacity(n_ranges), newest_first };
        for range in 0..n_ranges {
            merge.pull(range)?;
        }
        Ok(merge)
    }

    /// The next place of all ranges.
    fn next(&mut self) -> Result<Option<Place>> {
        let Some((turn, range)) = self.heads.pop() else { return Ok(None) };
        self.pull(range)?;
        Ok(Some(self.turn(turn)))
    }

    fn pull(&mut self, range: usize) -> Result<()> {
        if let Some(place) = self.ranges.get_mut(range).and_then(Iterator::next).transpose()? {
            self.heads.push((self.turn(place), range));
        }
        Ok(())
    }

    /// A key whose greatest comes first, and back: complements turn the order round.
    const fn turn(&self, (time, id): Place) -> Place {
        if self.newest_first { (time, id) } else { (!time, !id) }
    }
}
