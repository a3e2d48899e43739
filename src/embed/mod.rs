//! Adapters to embedding models: the bundled one, its queue and the query cache.
