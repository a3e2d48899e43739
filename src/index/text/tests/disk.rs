//! A disk with little room: how many more bytes may be written below a directory.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use super::super::seal::Seal;
use tantivy::directory::{AntiCallToken, TerminatingWrite, WritePtr};

/// Bytes left, for the directories of which little is left.
static ROOM: LazyLock<Mutex<HashMap<PathBuf, usize>>> = LazyLock::new(Mutex::default);

/// Leaves room for that many bytes in `dir`; `None`: for as many as one likes.
pub(in crate::index) fn leave_room(dir: &Path, bytes: Option<usize>) {
    let mut room = ROOM.lock().unwrap();
    match bytes {
        Some(bytes) => room.insert(dir.to_owned(), bytes),
        None => room.remove(dir),
    };
    drop(room);
}

/// Seals the files in `dir` as they are, as if they had always been so.
pub(in crate::index) fn reseal(dir: &Path) {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into());
    let seal = Seal::of(dir);
    seal.put(seal.look(names).unwrap());
}

/// Takes room for bytes that are to be written.
pub(in crate::index::text) fn take_room(dir: &Path, bytes: usize) -> io::Result<()> {
    let mut room = ROOM.lock().unwrap();
    let Some(left) = room.get_mut(dir) else { return Ok(()) };
    let Some(rest) = left.checked_sub(bytes) else {
        *left = 0;
        return Err(ErrorKind::StorageFull.into());
    };
    *left = rest;
    drop(room);
    Ok(())
}

/// `file`, which takes only what there is room for.
pub(in crate::index::text) fn limited(dir: &Path, file: WritePtr) -> WritePtr {
    let Ok(file) = file.into_inner() else { unreachable!("nothing was written yet") };
    WritePtr::new(Box::new(Limited { dir: dir.to_owned(), file }))
}

struct Limited {
    dir: PathBuf,
    file: Box<dyn TerminatingWrite + Send + Sync>,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        take_room(&self.dir, bytes.len())?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for Limited {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        self.file.terminate_ref(token)
    }
}
