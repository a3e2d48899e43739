//! The index on disk: the schema, opening without trust, and commits that carry the watermark.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::ManagedDirectory;
use tantivy::directory::error::OpenReadError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError,
    Term,
};

use super::document::Document;
use super::files::{Files, META_FILE, empty, sweep};
use super::seal::Identities;
use super::segments::Segments;
use crate::domain::id::MemoryId;
use crate::domain::limits::TEXT_BUFFER_BYTES_MIN;
use crate::domain::text::TOKENS_VERSION;
use crate::ports::IndexError;

/// Version of the schema and of what is written to it.
pub(super) const FORMAT_VERSION: u32 = 2;
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
pub(super) struct Stamp {
    /// The store that it was made from.
    pub(super) identity: u64,
    /// The log entry up to which everything is in it; `None`: a rebuild was under way, and some
    /// memories are in it.
    pub(super) watermark: Option<u64>,
}

impl Stamp {
    fn write(self) -> String {
        let state = self.watermark.map_or_else(|| "partial".to_owned(), |at| at.to_string());
        format!("{FORMAT_VERSION}:{TOKENS_VERSION}:{:x}:{state}", self.identity)
    }

    /// Reads a payload; `None` if it is of another version.
    fn read(payload: &str) -> Option<Self> {
        let rest = payload.strip_prefix(&format!("{FORMAT_VERSION}:{TOKENS_VERSION}:"))?;
        let (identity, state) = rest.split_once(':')?;
        let identity = u64::from_str_radix(identity, 16).ok()?;
        Some(Self { identity, watermark: state.parse().ok() })
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
    files: Files,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    buffer_bytes: usize,
    /// Opened by the first commit.
    writer: Option<IndexWriter>,
    /// The files whose checksums are still to be verified; nothing is written before.
    unproven: Option<Identities>,
}

/// What was found in a directory.
pub(super) enum Found {
    /// An index that can be used, made from the store of that identity and up to that log entry.
    Usable(Box<Disk>, u64, u64),
    /// Nothing that can be used, and why not.
    Unusable(&'static str),
}

impl Disk {
    /// Opens what lies in `dir`.
    ///
    /// Every checksum is verified first, unless the seal says that nobody has touched the files:
    /// the library trusts them, and damage met by its background threads, or read as the size of
    /// something, would end the process. [`Self::prove`] is to follow.
    ///
    /// # Errors
    /// [`IndexError::Failed`] if the files are damaged or cannot be read.
    pub(super) fn open(dir: &Path, buffer_bytes: usize) -> Result<Found, IndexError> {
        guarded(|| {
            if !dir.join(META_FILE).is_file() {
                return Ok(Found::Unusable("there was none"));
            }
            sweep(dir)?;
            let files = Files::open(dir)?;
            let index = Index::open(files.clone())?;
            let (schema, fields) = Fields::schema();
            let stamp = index.load_metas()?.payload.as_deref().and_then(Stamp::read);
            let Some(Stamp { identity, watermark }) = stamp.filter(|_| index.schema() == schema)
            else {
                return Ok(Found::Unusable("it was made by another version"));
            };
            let Some(watermark) = watermark else {
                return Ok(Found::Unusable("a rebuild was not finished"));
            };
            let found = files.seal.look(segment_files(&index)?.into_iter())?;
            let unproven = if files.seal.take(&found)? {
                Some(found)
            } else {
                prove(&index)?;
                files.seal.put(found);
                None
            };
            let disk = Self::of(files, index, fields, buffer_bytes)?;
            let disk = Self { unproven, ..disk };
            Ok(Found::Usable(Box::new(disk), identity, watermark))
        })
    }

    /// Whether checksums are still to be verified.
    pub(super) fn is_unproven(&self) -> bool {
        self.unproven.is_some()
    }

    /// Verifies the checksums, unless that was done, and has the files sealed again.
    ///
    /// # Errors
    /// If a file is damaged.
    pub(super) fn prove(&mut self) -> tantivy::Result<()> {
        if let Some(found) = self.unproven.take() {
            prove(&self.index)?;
            self.files.seal.put(found);
        }
        Ok(())
    }

    /// Reads every file of the index in `dir` again, which may be in use, and compares checksums.
    ///
    /// # Errors
    /// [`IndexError::Failed`] if a file has changed since it was written.
    pub(super) fn verify(dir: &Path) -> Result<(), IndexError> {
        guarded(|| match damaged_file(&Index::open(Files::open(dir)?)?) {
            // A merge that has just ended removes the files it has merged.
            Ok(None) | Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_))) => {
                Ok(())
            }
            Ok(Some(damaged)) => {
                Err(TantivyError::InternalError(format!("{damaged} has changed on the disk")))
            }
            Err(error) => Err(error),
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
            let files = Files::open(dir)?;
            files.seal.put(Identities::new());
            let index = Index::create(files.clone(), schema, IndexSettings::default())?;
            Self::of(files, index, fields, buffer_bytes)
        })
    }

    fn of(
        files: Files,
        index: Index,
        fields: Fields,
        buffer_bytes: usize,
    ) -> tantivy::Result<Self> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let buffer_bytes = buffer_bytes.max(TEXT_BUFFER_BYTES_MIN);
        Ok(Self { files, index, reader, fields, buffer_bytes, writer: None, unproven: None })
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
    /// Whatever the library or the file system fails with; the files are as before, and the writer
    /// stays unusable: the directory is to be released and opened again.
    pub(super) fn commit(&mut self, writes: &[Write], stamp: Stamp) -> tantivy::Result<()> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open_writer()?,
        };
        let committed = self.write(&mut writer, writes, stamp);
        self.writer = Some(writer);
        committed
    }

    fn write(
        &self,
        writer: &mut IndexWriter,
        writes: &[Write],
        stamp: Stamp,
    ) -> tantivy::Result<()> {
        for write in writes {
            writer.delete_term(self.fields.key(write.id));
            if let Some(document) = &write.document {
                writer.add_document(self.fields.document(write.id, write.sequence, document))?;
            }
        }
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&stamp.write());
        commit.commit()?;
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

/// The first file of the segments whose bytes do not agree with its checksum.
fn damaged_file(index: &Index) -> tantivy::Result<Option<String>> {
    for file in segment_files(index)? {
        if !ManagedDirectory::validate_checksum(index.directory(), &file)? {
            return Ok(Some(file.display().to_string()));
        }
    }
    Ok(None)
}

/// The files of the segments.
fn segment_files(index: &Index) -> tantivy::Result<Vec<PathBuf>> {
    // The library names each file that a segment may have; those it has written are managed.
    let written = index.directory().list_managed_files();
    Ok(index.load_metas()?.list_segment_files().intersection(&written).cloned().collect())
}

fn prove(index: &Index) -> tantivy::Result<()> {
    match damaged_file(index)? {
        Some(damaged) => Err(TantivyError::InternalError(format!("{damaged} is damaged"))),
        None => Ok(()),
    }
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
