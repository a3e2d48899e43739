//! Everything out, page by page, and back in, memory by memory.

use redb::{ReadTransaction, ReadableTable as _};

use crate::domain::change::Operation;
use crate::domain::id::MemoryId;
use crate::domain::limits::SCAN_PAGE;
use crate::domain::memory::{Memory, Metadata};
use crate::domain::session::{Session, SessionKey};
use crate::domain::transfer::{ExportPlace, ForgottenItem, Group, ImportOutcome, Item, Version};
use crate::ports::ExportPage;

use super::batch::{Batch, By, NewText, StoredMemory, load};
use super::codec::{decode, encode};
use super::errors::{Result, damaged};
use super::forget::ForgottenRecord;
use super::records::{IdText, MemoryRecord, Unknown, UsageRecord, id_texts, time};
use super::reminders;
use super::sessions;
use super::staging::Staging;
use super::tables::{FORGOTTEN, MEMORIES, USAGE, VERSIONS};
use super::withdraw;

/// What follows `after`, up to about `bytes_max` bytes of text and at least one item while there is
/// one.
pub(super) fn export(
    transaction: &ReadTransaction,
    after: ExportPlace,
    bytes_max: usize,
) -> Result<ExportPage> {
    let mut page = Page { items: Vec::new(), place: after, n_bytes_left: bytes_max };
    let is_whole = match after {
        ExportPlace::Start => page.add_memories(transaction, 0)?,
        ExportPlace::Memory(id, version) => {
            page.add_versions(transaction, id, version)?
                && page.add_memories(transaction, id.as_u128().saturating_add(1))?
        }
        ExportPlace::Memories
        | ExportPlace::Forgotten(_)
        | ExportPlace::Session(..)
        | ExportPlace::Reminder(_) => true,
    };
    if is_whole && matches!(after, ExportPlace::Start | ExportPlace::Memory(..)) {
        page.place = ExportPlace::Memories;
    }
    let is_last = is_whole
        && match after {
            ExportPlace::Reminder(_) => true,
            ExportPlace::Session(key, turn) => {
                page.add_turns_and_sessions(transaction, key, turn)?
            }
            ExportPlace::Forgotten(id) => {
                page.add_forgotten(transaction, id.as_u128().saturating_add(1))?
                    && page.add_sessions(transaction, None)?
            }
            ExportPlace::Start | ExportPlace::Memory(..) | ExportPlace::Memories => {
                page.add_forgotten(transaction, 0)? && page.add_sessions(transaction, None)?
            }
        };
    let last_reminder = if let ExportPlace::Reminder(id) = after { Some(id) } else { None };
    let is_last = is_last && page.add_reminders(transaction, last_reminder)?;
    Ok(ExportPage { items: page.items, next: (!is_last).then_some(page.place) })
}

struct Page {
    items: Vec<Item>,
    place: ExportPlace,
    n_bytes_left: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        (self.n_bytes_left == 0 && !self.items.is_empty()) || self.items.len() >= SCAN_PAGE
    }

    fn add(&mut self, item: Item, place: ExportPlace, n_bytes: usize) {
        self.items.push(item);
        self.place = place;
        self.n_bytes_left = self.n_bytes_left.saturating_sub(n_bytes);
    }

    /// Adds the memories from `first` on, each with its versions; `false` if the page is full before.
    fn add_memories(&mut self, transaction: &ReadTransaction, first: u128) -> Result<bool> {
        let memories = transaction.open_table(MEMORIES)?;
        let usage = transaction.open_table(USAGE)?;
        for row in memories.range(first..)? {
            if self.is_full() {
                return Ok(false);
            }
            let (key, row) = row?;
            let id = MemoryId::from_u128(key.value());
            let n_bytes = row.value().len();
            let stored = load(&memories, &usage, id)?
                .ok_or_else(|| damaged(format!("the memory {id} is gone")))?;
            let item = Item::Memory {
                version: Box::new(version(stored.memory()?, &stored.record)),
                usage_later: texts(&stored.usage.unknown),
            };
            self.add(item, ExportPlace::Memory(id, 0), n_bytes);
            if !self.add_versions(transaction, id, 0)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the earlier versions of a memory after `version`; `false` if the page is full before.
    fn add_versions(
        &mut self,
        transaction: &ReadTransaction,
        id: MemoryId,
        after: u64,
    ) -> Result<bool> {
        let versions = transaction.open_table(VERSIONS)?;
        let bits = id.as_u128();
        for row in versions.range((bits, after.saturating_add(1))..=(bits, u64::MAX))? {
            if self.is_full() {
                return Ok(false);
            }
            let (key, row) = row?;
            let record: MemoryRecord = decode(row.value())?;
            let none = UsageRecord::unused(record.importance, record.created_at);
            let earlier = version(record.to_memory(id, &none)?, &record);
            let place = ExportPlace::Memory(id, key.value().1);
            self.add(Item::Earlier(Box::new(earlier)), place, row.value().len());
        }
        Ok(true)
    }

    /// Adds the forgotten memories from `first` on; `false` if the page is full before.
    fn add_forgotten(&mut self, transaction: &ReadTransaction, first: u128) -> Result<bool> {
        for row in transaction.open_table(FORGOTTEN)?.range(first..)? {
            if self.is_full() {
                return Ok(false);
            }
            let (key, row) = row?;
            let id = MemoryId::from_u128(key.value());
            let record: ForgottenRecord = decode(row.value())?;
            let item = ForgottenItem {
                id,
                namespace: record.namespace.parse().map_err(damaged)?,
                version: record.version,
                forgotten_at: time(record.forgotten_at)?,
            };
            self.add(Item::Forgotten(item), ExportPlace::Forgotten(id), row.value().len());
        }
        Ok(true)
    }
}

impl Page {
    /// Adds the turns of a session after this one, and the sessions after it; `false` if the page is
    /// full before.
    fn add_turns_and_sessions(
        &mut self,
        transaction: &ReadTransaction,
        key: SessionKey,
        turn: u64,
    ) -> Result<bool> {
        if let Some(session) = sessions::transfer::head(transaction, key)?
            && !self.add_turns(transaction, &session, turn)?
        {
            return Ok(false);
        }
        self.add_sessions(transaction, Some(key))
    }

    /// Adds the sessions after `after`, each with its turns; `false` if the page is full before.
    fn add_sessions(
        &mut self,
        transaction: &ReadTransaction,
        after: Option<SessionKey>,
    ) -> Result<bool> {
        let mut after = after;
        while let Some(session) = sessions::transfer::next_session(transaction, after)? {
            if self.is_full() {
                return Ok(false);
            }
            let key = session.key();
            after = Some(key);
            let parts = session.summary.iter().flat_map(|summary| &summary.parts);
            let n_bytes = parts.map(|part| part.text.len()).sum();
            self.add(
                Item::Session(Box::new(session.clone())),
                ExportPlace::Session(key, 0),
                n_bytes,
            );
            if !self.add_turns(transaction, &session, 0)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add_turns(
        &mut self,
        transaction: &ReadTransaction,
        session: &Session,
        after: u64,
    ) -> Result<bool> {
        let (key, mut after) = (session.key(), after);
        while let Some((item, n_bytes)) =
            sessions::transfer::next_turn(transaction, session, after)?
        {
            if self.is_full() {
                return Ok(false);
            }
            after = item.turn.number;
            self.add(Item::Turn(Box::new(item)), ExportPlace::Session(key, after), n_bytes);
        }
        Ok(true)
    }
}

impl Page {
    /// Adds the reminders after `after`; `false` if the page is full before.
    fn add_reminders(
        &mut self,
        transaction: &ReadTransaction,
        after: Option<MemoryId>,
    ) -> Result<bool> {
        let mut after = after;
        while let Some((entry, n_bytes)) = reminders::transfer::next_entry(transaction, after)? {
            if self.is_full() {
                return Ok(false);
            }
            after = Some(entry.id);
            let place = ExportPlace::Reminder(entry.id);
            self.add(Item::Reminder(Box::new(entry)), place, n_bytes);
        }
        Ok(true)
    }
}

fn version(memory: Memory, record: &MemoryRecord) -> Version {
    Version { memory, content_version: record.content_version, later: texts(&record.unknown) }
}

fn texts(unknown: &Unknown) -> Metadata {
    unknown.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// Takes in each group that is not there yet; with `is_dry` only says what would become of it.
pub(super) fn import(
    batch: &mut Batch<'_>,
    groups: &[Group],
    by: By<'_>,
    is_dry: bool,
) -> Result<Vec<ImportOutcome>> {
    groups.iter().map(|group| import_group(batch, group, by, is_dry)).collect()
}

fn import_group(
    batch: &mut Batch<'_>,
    group: &[Item],
    by: By<'_>,
    is_dry: bool,
) -> Result<ImportOutcome> {
    match group {
        [Item::Memory { version, usage_later }, earlier @ ..] => {
            let outcome = import_memory(batch, version, usage_later, by, is_dry)?;
            if is_dry || !matches!(outcome, ImportOutcome::Added | ImportOutcome::Same) {
                return Ok(outcome);
            }
            add_versions(batch, version.memory.id, earlier)?;
            if withdraw_of_forgotten(batch, version.memory.id, by)? {
                return Ok(ImportOutcome::ForgottenHere);
            }
            Ok(outcome)
        }
        [Item::Earlier(version), ..] => {
            let id = version.memory.id;
            if !is_dry && batch.load(id)?.is_none() {
                return Ok(ImportOutcome::WithoutMemory);
            }
            if !is_dry {
                add_versions(batch, id, group)?;
                if withdraw_of_forgotten(batch, id, by)? {
                    return Ok(ImportOutcome::ForgottenHere);
                }
            }
            Ok(ImportOutcome::Same)
        }
        [Item::Forgotten(item), ..] => import_forgotten(batch, item, is_dry),
        [Item::Session(session), ..] => sessions::transfer::import_session(batch, session, is_dry),
        [Item::Turn(item), ..] => sessions::transfer::import_turn(batch, item, is_dry),
        [Item::Reminder(entry), ..] => {
            reminders::transfer::import_entry(batch, entry, by.at, is_dry)
        }
        [] => Ok(ImportOutcome::Same),
    }
}

fn import_memory(
    batch: &mut Batch<'_>,
    version: &Version,
    usage_later: &Metadata,
    by: By<'_>,
    is_dry: bool,
) -> Result<ImportOutcome> {
    let id = version.memory.id;
    let record = record(version)?;
    if let Some(present) = batch.load(id)? {
        let is_same = present.record == record;
        return Ok(if is_same { ImportOutcome::Same } else { ImportOutcome::Different });
    }
    if batch.forgotten(id)?.is_some() {
        return Ok(ImportOutcome::ForgottenHere);
    }
    if is_dry {
        for source in &record.derived_from {
            if batch.forgotten(source.0)?.is_some() {
                return Ok(ImportOutcome::ForgottenHere);
            }
        }
        return Ok(ImportOutcome::Added);
    }
    let usage = version.memory.usage;
    let usage = UsageRecord {
        last_recalled_at: usage.last_recalled_at.map(jiff::Timestamp::as_microsecond),
        recalls: usage.recalls,
        anchor: usage.anchor.value,
        anchor_at: usage.anchor.at.as_microsecond(),
        unknown: values(usage_later)?,
    };
    let stored = StoredMemory { id, record, usage };
    batch.insert(&stored)?;
    batch.announce(by, Operation::Store, &stored, &[], NewText::Yes(None))?;
    Ok(ImportOutcome::Added)
}

/// Adds those earlier versions that are not there yet.
fn add_versions(batch: &mut Batch<'_>, id: MemoryId, earlier: &[Item]) -> Result<()> {
    for item in earlier {
        let Item::Earlier(version) = item else { continue };
        let key = (id.as_u128(), version.memory.version);
        if batch.tables().versions.get(key)?.is_none() {
            let record = record(version)?;
            let bytes = encode(&record)?;
            batch.change().versions.insert(key, bytes.as_slice())?;
            batch.note_sources(id, &record)?;
        }
    }
    Ok(())
}

/// Withdraws a memory some version of which was made of what is forgotten here, with all that was
/// made of it. Returns whether it did.
fn withdraw_of_forgotten(batch: &mut Batch<'_>, id: MemoryId, by: By<'_>) -> Result<bool> {
    let mut is_of_forgotten = false;
    for source in batch.sources(id)? {
        is_of_forgotten |= batch.forgotten(source)?.is_some();
    }
    if is_of_forgotten {
        let mut made = withdraw::made_of(batch, std::iter::once(id))?;
        made.insert(id);
        let mut gone = Vec::new();
        withdraw::withdraw(batch, &made, by, &mut gone)?;
        let mut staging = Staging::default();
        withdraw::unlink(batch, &mut staging, &gone)?;
        staging.write(batch, by, None)?;
    }
    Ok(is_of_forgotten)
}

fn import_forgotten(
    batch: &mut Batch<'_>,
    item: &ForgottenItem,
    is_dry: bool,
) -> Result<ImportOutcome> {
    if batch.load(item.id)?.is_some() {
        return Ok(ImportOutcome::RememberedHere);
    }
    if batch.forgotten(item.id)?.is_some() {
        return Ok(ImportOutcome::Same);
    }
    if !is_dry {
        let forgotten_at = item.forgotten_at.as_microsecond();
        let bytes = encode(&ForgottenRecord {
            namespace: item.namespace.to_string(),
            version: item.version,
            forgotten_at,
            erase_by: forgotten_at,
            restorable_until: None,
            erased_at: Some(forgotten_at),
            usage: None,
            unknown: Unknown::new(),
        })?;
        batch.change().forgotten.insert(item.id.as_u128(), bytes.as_slice())?;
    }
    Ok(ImportOutcome::Added)
}

/// The record of a version.
fn record(version: &Version) -> Result<MemoryRecord> {
    let memory = &version.memory;
    Ok(MemoryRecord {
        namespace: memory.namespace.to_string(),
        content: memory.content.to_string(),
        kind: memory.kind.to_string(),
        tags: memory.tags.clone(),
        metadata: memory.metadata.clone(),
        session: memory.session.clone(),
        agent: memory.agent.clone(),
        occurred_at: memory.occurred_at.map(jiff::Timestamp::as_microsecond),
        created_at: memory.created_at.as_microsecond(),
        updated_at: memory.updated_at.as_microsecond(),
        importance: memory.importance,
        pinned: memory.pinned,
        status: memory.status.to_string(),
        supersedes: memory.supersedes.map(IdText),
        superseded_by: memory.superseded_by.map(IdText),
        valid_to: memory.valid_to.map(jiff::Timestamp::as_microsecond),
        derived_from: id_texts(&memory.derived_from),
        consolidated_into: memory.consolidated_into.map(IdText),
        contradicts: id_texts(&memory.contradicts),
        origin: memory.origin.to_string(),
        version: memory.version,
        content_version: version.content_version,
        unknown: values(&version.later)?,
    })
}

fn values(texts: &Metadata) -> Result<Unknown> {
    texts
        .iter()
        .map(|(name, text)| Ok((name.clone(), serde_json::from_str(text).map_err(damaged)?)))
        .collect()
}
