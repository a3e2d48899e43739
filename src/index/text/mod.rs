//! The text arm: BM25 over tantivy's postings and over the tail it has not committed.
