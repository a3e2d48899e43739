//! The vector arm: exact int8 scan with f32 rescoring, `hnsw_rs` for namespaces that outgrew it.
