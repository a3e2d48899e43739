//! A disk in memory, so that a year of commits is over in seconds.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// What is written stays while somebody holds it; a copy is another disk.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<Vec<u8>>>);

impl Disk {
    /// Another one with the same bytes.
    pub fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let start = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.0.lock().unwrap()[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.lock().unwrap().resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let start = usize::try_from(offset).unwrap();
        self.0.lock().unwrap()[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }
}
