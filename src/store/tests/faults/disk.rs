//! A disk in memory that counts its operations, fails the one it is told to, and knows what a power
//! cut could have left of it at any moment.
//!
//! What was written since the last sync may be lost, sector by sector and in any order, as real disks
//! do it (the test of `SQLite` and the one of redb cut in the same way).

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, MutexGuard};

use redb::StorageBackend;

/// What a disk writes whole or not at all, bytes.
const SECTOR: usize = 512;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    /// It fails once; the next one works.
    Once,
    /// It fails and every later one too.
    FromThenOn,
}

/// The operation that fails, counted from 1, and with what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) at: u64,
    pub(super) lasting: Lasting,
    pub(super) kind: ErrorKind,
}

/// A handle on the disk; clones are the same disk.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    image: Vec<u8>,
    base: Vec<u8>,
    journal: Vec<Change>,
    n_ops: u64,
    fault: Option<Fault>,
    /// The defect of a disk that answers every seventh sync without doing it: which of the seven.
    skipped_sync: Option<u64>,
    n_syncs: u64,
}

/// What an operation changed, with the number of the operation.
#[derive(Clone, Debug)]
struct Change {
    at: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Write { offset: usize, data: Vec<u8> },
    Length(usize),
    Sync,
}

impl Disk {
    /// A sound disk with this on it.
    pub(super) fn new(image: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State {
            base: image.clone(),
            image,
            journal: Vec::new(),
            n_ops: 0,
            fault: None,
            skipped_sync: None,
            n_syncs: 0,
        })))
    }

    /// One whose operation fails.
    pub(super) fn failing(image: Vec<u8>, fault: Fault) -> Self {
        let disk = Self::new(image);
        disk.state().fault = Some(fault);
        disk
    }

    /// One that answers every seventh sync without doing it, `phase` being 0..7.
    pub(super) fn lying(image: Vec<u8>, phase: u64) -> Self {
        let disk = Self::new(image);
        disk.state().skipped_sync = Some(phase);
        disk
    }

    /// Lets the operation fail that comes after so many more.
    pub(super) fn fail_after(&self, n_more: u64, lasting: Lasting, kind: ErrorKind) {
        let mut state = self.state();
        state.fault = Some(Fault { at: state.n_ops + n_more + 1, lasting, kind });
    }

    /// Operations so far.
    pub(super) fn n_ops(&self) -> u64 {
        self.state().n_ops
    }

    /// Whether the fault has come.
    pub(super) fn has_failed(&self) -> bool {
        let state = self.state();
        state.fault.is_some_and(|fault| state.n_ops >= fault.at)
    }

    /// What a process that ended in order leaves: everything written.
    pub(super) fn image(&self) -> Vec<u8> {
        self.state().image.clone()
    }

    /// What power cuts could leave.
    pub(super) fn cuts(&self) -> Cuts {
        let state = self.state();
        Cuts { image: state.base.clone(), pending: Vec::new(), journal: state.journal.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Counts an operation and carries it out, unless it is the one that fails.
    fn operate<T>(&self, operation: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let mut state = self.state();
        state.n_ops += 1;
        if state.fails() { Err(state.error()) } else { operation(&mut state) }
    }
}

impl State {
    fn fails(&self) -> bool {
        self.fault.is_some_and(|Fault { at, lasting, .. }| match lasting {
            Lasting::Once => self.n_ops == at,
            Lasting::FromThenOn => self.n_ops >= at,
        })
    }

    fn error(&self) -> Error {
        Error::new(self.fault.map_or(ErrorKind::Other, |fault| fault.kind), "injected fault")
    }

    fn change(&mut self, what: What) {
        apply(&mut self.image, &what);
        self.journal.push(Change { at: self.n_ops, what });
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64> {
        self.operate(|state| Ok(state.image.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).unwrap();
        self.operate(|state| {
            let bytes = state.image.get(start..start + out.len());
            out.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let length = usize::try_from(len).unwrap();
        self.operate(|state| {
            state.change(What::Length(length));
            Ok(())
        })
    }

    fn sync_data(&self) -> Result<()> {
        self.operate(|state| {
            let n_before = state.n_syncs;
            state.n_syncs += 1;
            if state.skipped_sync.is_none_or(|phase| n_before % 7 != phase) {
                state.change(What::Sync);
            }
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let written = self.operate(|state| {
            state.change(What::Write { offset, data: data.to_vec() });
            Ok(())
        });
        // A write that fails may have done its first half.
        if written.is_err() && data.len() >= 2 * SECTOR {
            let half = data.len() / 2 / SECTOR * SECTOR;
            self.state().change(What::Write { offset, data: data[..half].to_vec() });
        }
        written
    }
}

fn apply(image: &mut Vec<u8>, what: &What) {
    match what {
        What::Write { offset, data } => put(image, *offset, data),
        What::Length(length) => image.resize(*length, 0),
        What::Sync => {}
    }
}

fn put(image: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(data);
}

/// The disk as it was at its last sync, and what came after it.
pub(super) struct Cuts {
    image: Vec<u8>,
    pending: Vec<What>,
    journal: Vec<Change>,
}

impl Cuts {
    /// Goes on to right after operation `n_ops`.
    pub(super) fn advance(&mut self, n_ops: u64) {
        let n_done = self.journal.iter().take_while(|change| change.at <= n_ops).count();
        for change in self.journal.drain(..n_done) {
            self.pending.push(change.what);
            if matches!(self.pending.last(), Some(What::Sync)) {
                for what in self.pending.drain(..) {
                    apply(&mut self.image, &what);
                }
            }
        }
    }

    /// What is on the disk, if everything is synced.
    pub(super) fn synced(&self) -> Option<Vec<u8>> {
        self.pending.is_empty().then(|| self.image.clone())
    }

    /// What a power cut now leaves: all that was synced, and of each later sector the flip of a coin.
    pub(super) fn cut(&self, random: &mut Random) -> Vec<u8> {
        let mut image = self.image.clone();
        // Lengths reach the disk in order: the first few of those that wait did.
        let lengths = self.pending.iter().filter_map(|what| match what {
            What::Length(length) => Some(*length),
            What::Write { .. } | What::Sync => None,
        });
        let lengths: Vec<usize> = std::iter::once(image.len()).chain(lengths).collect();
        let length = lengths[random.below(lengths.len())];
        for what in &self.pending {
            let What::Write { offset, data } = what else { continue };
            for (n, sector) in data.chunks(SECTOR).enumerate() {
                if random.below(2) == 0 {
                    put(&mut image, offset + n * SECTOR, sector);
                }
            }
        }
        image.resize(length, 0);
        image
    }
}

/// Numbers that follow from a seed (`SplitMix64`, Steele et al. 2014).
pub(in crate::store::tests) struct Random(u64);

impl Random {
    pub(in crate::store::tests) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(in crate::store::tests) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ z >> 31) % n as u64).unwrap()
    }
}

/// The seed of `RECALLD_SEED`, else one of this process; it is printed.
pub(in crate::store::tests) fn seed(what: &str) -> u64 {
    let given = std::env::var("RECALLD_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("{what}: RECALLD_SEED={seed}");
    seed
}
