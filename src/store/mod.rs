//! The redb store: the one truth. Bytes on disk, keys, migrations, the writer thread.
