//! The files of exports: written beside their name and renamed when they are whole, read line by line
//! within a limit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::CliError;
use crate::domain::limits::IMPORT_LINE_BYTES_MAX;

/// Where an export goes.
pub(super) struct Target {
    writer: Box<dyn Write>,
    file: Option<Partial>,
}

/// A file that is removed unless it is finished.
struct Partial {
    path: PathBuf,
    to: PathBuf,
    is_finished: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            let _is_removed = fs::remove_file(&self.path).is_ok();
        }
    }
}

fn data(path: &Path, error: &io::Error) -> CliError {
    CliError::Data(format!("{}: {error}", path.display()))
}

impl Target {
    /// `file`, which must not exist; standard output for none and for `-`.
    pub(super) fn create(file: Option<&Path>) -> Result<Self, CliError> {
        let Some(to) = file.filter(|file| *file != Path::new("-")) else {
            return Ok(Self { writer: Box::new(BufWriter::new(io::stdout())), file: None });
        };
        if to.exists() {
            let reason = format!("{} exists already: name another file", to.display());
            return Err(CliError::Data(reason));
        }
        let name = to.file_name().ok_or_else(|| CliError::Usage("name a file".to_owned()))?;
        let mut name = name.to_owned();
        name.push(".partial");
        let path = to.with_file_name(name);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| data(&path, &error))?;
        let partial = Partial { path, to: to.to_owned(), is_finished: false };
        Ok(Self { writer: Box::new(BufWriter::new(file)), file: Some(partial) })
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: &str) -> Result<(), CliError> {
        let write = |writer: &mut dyn Write| {
            writer.write_all(line.as_bytes())?;
            writer.write_all(b"\n")
        };
        write(&mut *self.writer).map_err(|error| self.named(&error))
    }

    /// Brings the file to the disk under its name, which is given.
    pub(super) fn finish(mut self) -> Result<Option<String>, CliError> {
        self.writer.flush().map_err(|error| self.named(&error))?;
        let Some(mut partial) = self.file.take() else { return Ok(None) };
        let finish = || {
            File::open(&partial.path)?.sync_all()?;
            fs::rename(&partial.path, &partial.to)?;
            let dir = partial.to.parent().filter(|dir| !dir.as_os_str().is_empty());
            File::open(dir.unwrap_or_else(|| Path::new(".")))?.sync_all()
        };
        finish().map_err(|error| data(&partial.to, &error))?;
        partial.is_finished = true;
        Ok(Some(partial.to.to_string_lossy().into_owned()))
    }

    fn named(&self, error: &io::Error) -> CliError {
        let path = self.file.as_ref().map_or(Path::new("standard output"), |file| &file.path);
        data(path, error)
    }
}

/// A file to import, read more than once.
pub(super) struct Source {
    /// How it is called in messages.
    pub(super) name: String,
    file: File,
}

impl Source {
    /// `file`; for `-` what standard input holds, kept in a file without a name.
    pub(super) fn open(file: &Path) -> Result<Self, CliError> {
        if file == Path::new("-") {
            let mut kept = tempfile::tempfile()?;
            io::copy(&mut io::stdin().lock(), &mut kept)?;
            return Ok(Self { name: "standard input".to_owned(), file: kept });
        }
        let opened = File::open(file).map_err(|error| data(file, &error))?;
        Ok(Self { name: file.display().to_string(), file: opened })
    }

    /// The lines from the first on, each with its number.
    pub(super) fn lines(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u64, String), CliError>> + use<'_>, CliError> {
        let mut file = &self.file;
        file.rewind()?;
        let mut reader = BufReader::new(file);
        let mut number = 0;
        Ok(std::iter::from_fn(move || {
            number += 1;
            self.next_line(&mut reader, number).transpose()
        }))
    }

    fn next_line(
        &self,
        reader: &mut BufReader<&File>,
        number: u64,
    ) -> Result<Option<(u64, String)>, CliError> {
        let wrong =
            |reason: &str| CliError::Data(format!("{}, line {number}: {reason}", self.name));
        let mut bytes = Vec::new();
        let limit = IMPORT_LINE_BYTES_MAX as u64 + 1;
        let read = reader.by_ref().take(limit).read_until(b'\n', &mut bytes);
        read.map_err(|error| CliError::Data(format!("{}: {error}", self.name)))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() as u64 == limit {
            return Err(wrong(&format!("it is longer than {IMPORT_LINE_BYTES_MAX} bytes")));
        }
        let line = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
        Ok(Some((number, line)))
    }
}
