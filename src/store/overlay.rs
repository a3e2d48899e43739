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

    /// Reads what the file holds, and zeros behind `file_len`.
    fn read_file(&self, offset: u64, out: &mut [u8], file_len: u64) -> io::Result<()> {
        let n_there = usize::try_from(file_len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (there, beyond) = out.split_at_mut(n_there.min(out.len()));
        beyond.fill(0);
        self.file.read_exact_at(there, offset)
    }
}

/// The blocks that `n_bytes` from `offset` on touch, each with the part of it and the part of the
/// bytes that belong together: (block, first byte in it, first byte of ours, number of bytes).
fn pieces(offset: u64, n_bytes: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == n_bytes {
            return None;
        }
        let at = offset + done as u64;
        let start = usize::try_from(at % BLOCK as u64).unwrap_or(0);
        let n_piece = (BLOCK - start).min(n_bytes - done);
        let piece = (at / BLOCK as u64, start, done, n_piece);
        done += n_piece;
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
        let written = self.written();
        let end = offset.checked_add(out.len() as u64).ok_or_else(out_of_bounds)?;
        if end > written.len {
            return Err(out_of_bounds());
        }
        self.read_file(offset, out, written.file_len)?;
        if written.blocks.is_empty() {
            return Ok(());
        }
        for (block, start, from, n_bytes) in pieces(offset, out.len()) {
            let Some(block) = written.blocks.get(&block) else { continue };
            let source = block.get(start..start + n_bytes).ok_or_else(out_of_bounds)?;
            out.get_mut(from..from + n_bytes).ok_or_else(out_of_bounds)?.copy_from_slice(source);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        if len < written.len {
            // What is cut off must be zeros if the length grows again.
            let whole = len.div_ceil(BLOCK as u64);
            drop(written.blocks.split_off(&whole));
            if let Some(block) = written.blocks.get_mut(&(len / BLOCK as u64)) {
                let kept = usize::try_from(len % BLOCK as u64).unwrap_or(0);
                block.iter_mut().skip(kept).for_each(|byte| *byte = 0);
            }
        }
        written.len = len;
        written.file_len = written.file_len.min(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        let end = offset.checked_add(data.len() as u64).ok_or_else(out_of_bounds)?;
        if end > written.len {
            return Err(out_of_bounds());
        }
        let file_len = written.file_len;
        for (number, start, from, n_bytes) in pieces(offset, data.len()) {
            if !written.blocks.contains_key(&number) {
                let mut block = Box::new([0; BLOCK]);
                self.read_file(number * BLOCK as u64, &mut block[..], file_len)?;
                written.blocks.insert(number, block);
            }
            let Some(block) = written.blocks.get_mut(&number) else { return Err(out_of_bounds()) };
            let target = block.get_mut(start..start + n_bytes).ok_or_else(out_of_bounds)?;
            target.copy_from_slice(data.get(from..from + n_bytes).ok_or_else(out_of_bounds)?);
        }
        Ok(())
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
