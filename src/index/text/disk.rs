//! The files: the schema, opening without trust, wiping, and commits that carry the watermark.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::ManagedDirectory;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use super::document::Document;
use super::segments::Segments;
use crate::domain::id::MemoryId;
use crate::domain::limits::TEXT_BUFFER_BYTES_MIN;
use crate::domain::text::TOKENS_VERSION;
use crate::ports::IndexError;

/// The file that makes a directory an index, written last in each commit.
const META_FILE: &str = "meta.json";
/// How the library names a file that it has not finished, as `tempfile` does.
const UNFINISHED: &str = ".tmp";
/// Version of the schema and of what is written to it.
pub(super) const FORMAT_VERSION: u32 = 1;
/// Share of deleted documents from which a segment is merged, so that the words of what was removed
/// do not stay in the files for ever (guessed).
const DELETED_SHARE_MAX: f32 = 0.25;

/// The columns kept beside the words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    IdHigh,
    IdLow,
    Namespace,
    Length,
    Sequence,
}

impl Column {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::IdHigh => "id_high",
            Self::IdLow => "id_low",
            Self::Namespace => "namespace",
            Self::Length => "length",
            Self::Sequence => "sequence",
        }
    }
}

/// The fields of the schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// Key by which documents are replaced, 16 bytes.
    id: Field,
    /// Terms as [`super::document::NamespaceKey::term`] makes them, with frequencies.
    pub(super) words: Field,
    id_high: Field,
    id_low: Field,
    namespace: Field,
    length: Field,
    sequence: Field,
}

impl Fields {
    fn schema() -> (Schema, Self) {
        let mut schema = Schema::builder();
        // No positions (no phrase queries), no norms (the length column is exact), nothing stored.
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(false);
        let fields = Self {
            id: schema.add_bytes_field("id", INDEXED),
            words: schema
                .add_text_field("words", TextOptions::default().set_indexing_options(indexing)),
            id_high: schema.add_u64_field(Column::IdHigh.name(), FAST),
            id_low: schema.add_u64_field(Column::IdLow.name(), FAST),
            namespace: schema.add_u64_field(Column::Namespace.name(), FAST),
            length: schema.add_u64_field(Column::Length.name(), FAST),
            sequence: schema.add_u64_field(Column::Sequence.name(), FAST),
        };
        (schema.build(), fields)
    }

    fn key(self, id: MemoryId) -> Term {
        Term::from_field_bytes(self.id, &id.as_u128().to_be_bytes())
    }

    fn document(self, id: MemoryId, sequence: u64, document: &Document) -> TantivyDocument {
        let bits = id.as_u128();
        let mut written = TantivyDocument::new();
        written.add_bytes(self.id, &bits.to_be_bytes());
        written.add_u64(self.id_high, (bits >> 64) as u64);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        written.add_u64(self.id_low, bits as u64);
        written.add_u64(self.namespace, document.namespace.0);
        written.add_u64(self.length, u64::from(document.length));
        written.add_u64(self.sequence, sequence);
        let tokens = document
            .words()
            .flat_map(|(token, frequency)| {
                let text = document.namespace.term(token);
                std::iter::repeat_n(text, frequency as usize)
            })
            .enumerate()
            .map(|(position, text)| Token { position, text, ..Token::default() })
            .collect();
        let words = PreTokenizedString { text: String::new(), tokens };
        written.add_pre_tokenized_text(self.words, words);
        written
    }
}

/// What a commit says of itself, in its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Everything up to this log entry is in it.
    Complete(u64),
    /// A rebuild was under way: it holds some memories.
    Partial,
}

impl Stamp {
    fn write(self) -> String {
        let state = match self {
            Self::Complete(sequence) => sequence.to_string(),
            Self::Partial => "partial".to_owned(),
        };
        format!("{FORMAT_VERSION}:{TOKENS_VERSION}:{state}")
    }

    /// The log entry up to which it is, 0 while a rebuild is under way.
    pub(super) const fn watermark(self) -> u64 {
        match self {
            Self::Complete(sequence) => sequence,
            Self::Partial => 0,
        }
    }

    /// The watermark in a payload; `None` if it is of another version or of an unfinished rebuild.
    fn read(payload: &str) -> Option<u64> {
        payload.strip_prefix(&format!("{FORMAT_VERSION}:{TOKENS_VERSION}:"))?.parse().ok()
    }
}

/// One change to be written.
pub(super) struct Write {
    pub(super) id: MemoryId,
    pub(super) sequence: u64,
    /// `None`: the memory is removed.
    pub(super) document: Option<Arc<Document>>,
}

/// An open index directory.
pub(super) struct Disk {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    buffer_bytes: usize,
    /// Opened by the first commit; dropped when one failed.
    writer: Option<IndexWriter>,
}

impl Disk {
    /// Opens what lies in `dir`, and tells up to which log entry it is. `None`: nothing, an
    /// unfinished rebuild, or the work of another version.
    ///
    /// Every checksum is verified first: the library trusts its files, and damage met by its
    /// background threads would end the process.
    ///
    /// # Errors
    /// [`IndexError::Failed`] if the files are damaged or cannot be read.
    pub(super) fn open(dir: &Path, buffer_bytes: usize) -> Result<Option<(Self, u64)>, IndexError> {
        guarded(|| {
            if !dir.join(META_FILE).is_file() {
                return Ok(None);
            }
            sweep(dir)?;
            let index = Index::open_in_dir(dir)?;
            let metas = index.load_metas()?;
            let Some(watermark) = metas.payload.as_deref().and_then(Stamp::read) else {
                return Ok(None);
            };
            let (schema, fields) = Fields::schema();
            if index.schema() != schema {
                return Ok(None);
            }
            for file in metas.list_segment_files().iter().filter(|file| dir.join(file).exists()) {
                if !ManagedDirectory::validate_checksum(index.directory(), file)? {
                    let path = file.display();
                    return Err(TantivyError::InternalError(format!("{path} is damaged")));
                }
            }
            Ok(Some((Self::of(index, fields, buffer_bytes)?, watermark)))
        })
    }

    /// Makes an empty index in `dir`, removing whatever lies there.
    ///
    /// # Errors
    /// [`IndexError::Failed`] if the directory cannot be emptied or written.
    pub(super) fn create(dir: &Path, buffer_bytes: usize) -> Result<Self, IndexError> {
        guarded(|| {
            empty(dir)?;
            let (schema, fields) = Fields::schema();
            Self::of(Index::create_in_dir(dir, schema)?, fields, buffer_bytes)
        })
    }

    fn of(index: Index, fields: Fields, buffer_bytes: usize) -> tantivy::Result<Self> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let buffer_bytes = buffer_bytes.max(TEXT_BUFFER_BYTES_MIN);
        Ok(Self { index, reader, fields, buffer_bytes, writer: None })
    }

    /// The segments of the last commit; what `previous` holds of them is taken over.
    pub(super) fn segments(&self, previous: &Segments) -> tantivy::Result<Segments> {
        self.reader.reload()?;
        Segments::of(&self.reader.searcher(), self.fields, previous)
    }

    /// Writes the changes and the stamp, all or nothing, durable at the return. Changes that are in
    /// it already may come again.
    ///
    /// # Errors
    /// Whatever the library or the file system fails with; the files are as before.
    pub(super) fn commit(&mut self, writes: &[Write], stamp: Stamp) -> tantivy::Result<()> {
        // The writer is put back only if nothing failed: a failed one stays unusable.
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open_writer()?,
        };
        for write in writes {
            writer.delete_term(self.fields.key(write.id));
            if let Some(document) = &write.document {
                writer.add_document(self.fields.document(write.id, write.sequence, document))?;
            }
        }
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&stamp.write());
        commit.commit()?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Lets go of the files after the merges under way, so that nothing writes to them any more.
    pub(super) fn release(self) {
        if let Some(writer) = self.writer
            && let Err(error) = writer.wait_merging_threads()
        {
            tracing::warn!(%error, "text index merge failed");
        }
    }

    fn open_writer(&self) -> tantivy::Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(self.buffer_bytes)
            .build();
        let writer = self.index.writer_with_options(options)?;
        let mut merges = LogMergePolicy::default();
        merges.set_del_docs_ratio_before_merge(DELETED_SHARE_MAX);
        writer.set_merge_policy(Box::new(merges));
        Ok(writer)
    }
}

/// Removes the files that the library was still writing when the process ended: it renames each
/// when it is whole, and knows nothing of the others.
fn sweep(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Runs what reads or writes index files: the library answers damage with errors and with panics.
pub(super) fn guarded<T>(work: impl FnOnce() -> tantivy::Result<T>) -> Result<T, IndexError> {
    let reason = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
            .unwrap_or_else(|| "the index library panicked".to_owned()),
    };
    Err(IndexError::Failed { arm: super::ARM, reason })
}

/// Bytes of the files in `dir`.
pub(super) fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Makes `dir` an empty directory, whatever is there.
fn empty(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        let entries: Vec<PathBuf> =
            std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        for path in entries {
            if path.symlink_metadata()?.is_dir() {
                std::fs::remove_dir_all(path)?;
            } else {
                std::fs::remove_file(path)?;
            }
        }
        return Ok(());
    }
    if dir.symlink_metadata().is_ok() {
        std::fs::remove_file(dir)?;
    }
    std::fs::create_dir_all(dir)
}

/// Makes sure that no later start opens the files in `dir`.
pub(super) fn distrust(dir: &Path) {
    if let Err(error) = std::fs::remove_file(dir.join(META_FILE)) {
        tracing::warn!(%error, "text index files not marked as damaged");
    }
}
