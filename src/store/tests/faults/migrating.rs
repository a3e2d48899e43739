//! Storage fails, or the power is cut, while the format of a file is brought up to date: the file has
//! its old format or the new one, whole either way.

use std::io::ErrorKind;

use redb::{Builder, Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::disk::{Disk, Fault, Lasting, Random, seed};
use super::dump::{Dump, add, difference, dump_all};
use crate::ports::StoreError;
use crate::store::migrations::{Migration, migrate, stored_version};
use crate::store::tables::{LOG, MEMORIES, VERSIONS};

const SIZES: TableDefinition<'_, u128, u64> = TableDefinition::new("sizes");

/// Three that could be real: a new table, every row of a table rewritten, rows removed.
const MIGRATIONS: &[Migration] = &[
    |transaction| {
        let memories = transaction.open_table(MEMORIES)?;
        let mut sizes = transaction.open_table(SIZES)?;
        for row in memories.iter()? {
            let (id, record) = row?;
            sizes.insert(id.value(), record.value().len() as u64)?;
        }
        Ok(())
    },
    |transaction| {
        let mut memories = transaction.open_table(MEMORIES)?;
        let rows: Vec<(u128, Vec<u8>)> = memories
            .iter()?
            .map(|row| row.map(|(id, record)| (id.value(), record.value().repeat(200))))
            .collect::<Result<_, _>>()?;
        for (id, record) in rows {
            memories.insert(id, record.as_slice())?;
        }
        Ok(())
    },
    |transaction| {
        transaction.open_table(LOG)?.retain(|_, _| false)?;
        transaction.open_table(VERSIONS)?.retain(|_, _| false)?;
        Ok(())
    },
];
/// The version after all of them.
const TARGET: u32 = 4;

fn open(disk: &Disk) -> Result<Database, StoreError> {
    Ok(Builder::new().create_with_backend(disk.clone())?)
}

fn open_and_migrate(disk: &Disk) -> Result<(), StoreError> {
    let database = open(disk)?;
    migrate(&database, stored_version(&database)?, MIGRATIONS)
}

/// The version of what is left, and its rows.
fn state_of(image: Vec<u8>) -> (u32, Dump) {
    let database = open(&Disk::new(image)).unwrap();
    let version = stored_version(&database).unwrap();
    let transaction = database.begin_read().unwrap();
    let mut dump = dump_all(&transaction).unwrap();
    if version == TARGET {
        add(&transaction, SIZES, &mut dump).unwrap();
    }
    (version, dump)
}

struct Files {
    old: Vec<u8>,
    before: Dump,
    after: Dump,
}

impl Files {
    fn new() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/store-v1.redb");
        let old = std::fs::read(path).unwrap();
        let disk = Disk::new(old.clone());
        open_and_migrate(&disk).unwrap();
        let ((1, before), (TARGET, after)) = (state_of(old.clone()), state_of(disk.image())) else {
            panic!("the versions are wrong");
        };
        assert!(difference(&before, &after).is_some());
        Self { old, before, after }
    }

    /// What an interruption left is one of the two, and the next start makes it the new one.
    #[track_caller]
    fn check(&self, image: Vec<u8>) {
        let (version, dump) = state_of(image.clone());
        let expected = if version == TARGET { &self.after } else { &self.before };
        assert_eq!(difference(&dump, expected), None, "of version {version}");
        let disk = Disk::new(image);
        open_and_migrate(&disk).unwrap();
        let (version, dump) = state_of(disk.image());
        assert_eq!((version, difference(&dump, &self.after)), (TARGET, None));
    }
}

#[test]
fn each_operation_of_a_migration_may_fail() {
    let files = Files::new();
    for lasting in [Lasting::Once, Lasting::FromThenOn] {
        for at in 1.. {
            let fault = Fault { at, lasting, kind: ErrorKind::StorageFull };
            let disk = Disk::failing(files.old.clone(), fault);
            // What closing cannot write, it reports to nobody: only then is the outcome good.
            let _outcome = open_and_migrate(&disk).is_ok();
            files.check(disk.image());
            if !disk.has_failed() {
                assert!(at > 30, "{at} operations");
                break;
            }
        }
    }
}

#[test]
fn the_power_may_be_cut_at_each_operation_of_a_migration() {
    let files = Files::new();
    let mut random = Random::new(seed("cuts while migrating"));
    let disk = Disk::new(files.old.clone());
    open_and_migrate(&disk).unwrap();
    let mut cuts = disk.cuts();
    for at in 0..=disk.n_ops() {
        cuts.advance(at);
        for _ in 0..3 {
            files.check(cuts.cut(&mut random));
        }
    }
}
