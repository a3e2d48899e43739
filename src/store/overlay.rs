//! A redb file as it is, under writes that stay in memory.
//!
//! redb repairs a file that was not closed before it can be read, and its check of all checksums ends
//! with a commit. Through an overlay both can be done to a file that must not change: one that may
//! be refused, and a backup.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// Bytes that are kept together once one of them was written: redb's page.
const BLOCK: usize = 4096;

/// The first bytes of a file, writable without a trace.
#[derive(Debug)]
pub(super) struct Overlay {
    file: File,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    /// Length as the writer sees it.
    len: u64,
    /// Up to here what was not written is read from the file; behind it there are zeros.
    file_len: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
}

impl Overlay {
    /// The first `len` bytes of `file`.
    pub(super) fn new(file: File, len: u64) -> Self {
        Self { file, written: Mutex::new(Written { len, file_len: len, blocks: BTreeMap::new() }) }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    /// What the file holds, zeros behind `file_len`, and over both what was written.
    fn read(&self, file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.check(offset, out.len())?;
        self.read_file(file, offset, out)?;
        if self.blocks.is_empty() {
            return Ok(());
        }
        for Piece { block, start, from, n_bytes } in pieces(offset, out.len()) {
            let Some(block) = self.blocks.get(&block) else { continue };
            let source = block.get(start..start + n_bytes).ok_or_else(out_of_bounds)?;
            out.get_mut(from..from + n_bytes).ok_or_else(out_of_bounds)?.copy_from_slice(source);
        }
        Ok(())
    }

    fn read_file(&self, file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let n_there = usize::try_from(self.file_len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (there, beyond) = out.split_at_mut(n_there.min(out.len()));
        beyond.fill(0);
        file.read_exact_at(there, offset)
    }

    fn write(&mut self, file: &File, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check(offset, data.len())?;
        for Piece { block, start, from, n_bytes } in pieces(offset, data.len()) {
            let mut whole = if let Some(whole) = self.blocks.remove(&block) {
                whole
            } else {
                let mut whole = Box::new([0; BLOCK]);
                self.read_file(file, block * BLOCK as u64, &mut whole[..])?;
                whole
            };
            let target = whole.get_mut(start..start + n_bytes).ok_or_else(out_of_bounds)?;
            target.copy_from_slice(data.get(from..from + n_bytes).ok_or_else(out_of_bounds)?);
            self.blocks.insert(block, whole);
        }
        Ok(())
    }

    fn set_len(&mut self, len: u64) {
        if len < self.len {
            // What is cut off must be zeros if the length grows again.
            drop(self.blocks.split_off(&len.div_ceil(BLOCK as u64)));
            if let Some(block) = self.blocks.get_mut(&(len / BLOCK as u64)) {
                let n_kept = usize::try_from(len % BLOCK as u64).unwrap_or(0);
                block.iter_mut().skip(n_kept).for_each(|byte| *byte = 0);
            }
        }
        self.len = len;
        self.file_len = self.file_len.min(len);
    }

    fn check(&self, offset: u64, n_bytes: usize) -> io::Result<()> {
        let end = offset.checked_add(n_bytes as u64).filter(|end| *end <= self.len);
        end.map(|_| ()).ok_or_else(out_of_bounds)
    }
}

/// Bytes of one block.
struct Piece {
    /// Which block.
    block: u64,
    /// The first of its bytes that is meant.
    start: usize,
    /// Where the bytes lie in the buffer of the caller.
    from: usize,
    /// How many.
    n_bytes: usize,
}

/// The blocks that `n_bytes` from `offset` on touch.
fn pieces(offset: u64, n_bytes: usize) -> impl Iterator<Item = Piece> {
    let mut from = 0;
    std::iter::from_fn(move || {
        if from == n_bytes {
            return None;
        }
        let at = offset + from as u64;
        let start = usize::try_from(at % BLOCK as u64).unwrap_or(0);
        let piece = Piece {
            block: at / BLOCK as u64,
            start,
            from,
            n_bytes: (BLOCK - start).min(n_bytes - from),
        };
        from += piece.n_bytes;
        Some(piece)
    })
}

fn out_of_bounds() -> io::Error {
    ErrorKind::UnexpectedEof.into()
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.written().read(&self.file, offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written().set_len(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.written().write(&self.file, offset, data)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The same steps on the overlay and on a plain vector of bytes.
    #[test]
    fn it_reads_like_the_file_it_stands_for_and_leaves_it_alone() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let original: Vec<u8> = (0..20_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        file.write_all(&original).unwrap();
        let visible = 18_000;
        let overlay = Overlay::new(file.reopen().unwrap(), visible);
        let mut model = original[..18_000].to_vec();
        let mut state = 9_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % below
        };
        for step in 0..2_000 {
            if random(50) == 0 {
                let len = random(30_000);
                model.resize(len, 0);
                overlay.set_len(len as u64).unwrap();
            }
            let at = random(model.len() + 1);
            let n_bytes = random((model.len() - at).min(9_000) + 1);
            if random(2) == 0 {
                let bytes = vec![u8::try_from(random(256)).unwrap(); n_bytes];
                model[at..at + n_bytes].copy_from_slice(&bytes);
                overlay.write(at as u64, &bytes).unwrap();
            }
            let mut read = vec![1; n_bytes];
            overlay.read(at as u64, &mut read).unwrap();
            assert!(read == model[at..at + n_bytes], "step {step}");
        }
        assert!(overlay.read(model.len() as u64, &mut [0]).is_err());
        assert!(std::fs::read(file.path()).unwrap() == original);
    }
}
