//! The content of one file of a form: in memory while it is small, then in a file without a name.

use crate::limits::{PIECE_BYTES, SPOOLED_FILES_MAX, share_of_descriptors};
use crate::pool;
use crate::storage::{Storage, fault};
use sampan_host::{Error, ErrorKind};
use std::fs::File;
use std::io::Write;
use std::mem::take;
use std::sync::{Arc, LazyLock};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Counts the files on the disk.
static SPOOLED: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(share_of_descriptors(SPOOLED_FILES_MAX)));

/// The received part of a file.
#[derive(Default)]
pub(crate) struct Spool {
    /// The bytes not yet written to the disk.
    bytes: Vec<u8>,
    /// The rest, in front of that.
    file: Option<SpooledFile>,
    length: u64,
}

/// A file that has come whole.
pub(crate) enum Content {
    Memory(Arc<[u8]>),
    Disk(SpooledFile),
}

/// A file without a name.
pub(crate) struct SpooledFile {
    pub(crate) file: File,
    _counted: SemaphorePermit<'static>,
}

impl SpooledFile {
    fn new(storage: &Storage) -> Result<Self, Error> {
        let counted = SPOOLED.try_acquire().map_err(|_| {
            let text = "too many files of forms at once: try again";
            Error::new(ErrorKind::Unavailable, text)
        })?;
        Ok(Self {
            file: storage.unnamed()?,
            _counted: counted,
        })
    }
}

impl Spool {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of bytes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Writes what is in memory to the disk, if there is more than may stay.
    pub(crate) async fn settle(
        &mut self,
        storage: &Arc<Storage>,
        memory_bytes_max: usize,
    ) -> Result<(), Error> {
        let bytes_max = match self.file {
            Some(_) => PIECE_BYTES,
            None => memory_bytes_max,
        };
        if self.bytes.len() <= bytes_max {
            return Ok(());
        }
        self.flush(storage).await
    }

    async fn flush(&mut self, storage: &Arc<Storage>) -> Result<(), Error> {
        let (file, bytes, storage) = (self.file.take(), take(&mut self.bytes), storage.clone());
        let (file, mut bytes) = pool::run(move || {
            let mut spooled = file.map_or_else(|| SpooledFile::new(&storage), Ok)?;
            write(&mut spooled.file, &bytes)?;
            Ok((spooled, bytes))
        })
        .await?;
        bytes.clear();
        (self.file, self.bytes) = (Some(file), bytes);
        Ok(())
    }

    /// All of it has come.
    pub(crate) async fn end(mut self, storage: &Arc<Storage>) -> Result<(Content, u64), Error> {
        if self.file.is_some() && !self.bytes.is_empty() {
            self.flush(storage).await?;
        }
        let content = match self.file {
            Some(file) => Content::Disk(file),
            None => Content::Memory(self.bytes.into()),
        };
        Ok((content, self.length))
    }
}

fn write(file: &mut File, bytes: &[u8]) -> Result<(), Error> {
    let written = file.write_all(bytes);
    written.map_err(|error| fault("a temporary file", &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FormLimits;
    use crate::storage::{Durability, FilesConfig};

    #[test]
    fn a_full_disk_is_said_to_be_full() {
        let mut full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full disk");
        let error = write(&mut full, b"x").expect_err("no room");
        assert_eq!(error.code(), Some("full"));
        assert_eq!(error.kind().status(), 507);
    }

    #[tokio::test]
    async fn files_on_the_disk_are_counted() {
        let root = tempfile::tempdir().expect("a folder");
        let storage = Arc::new(Storage::new(FilesConfig {
            project: root.path().to_owned(),
            packed: None,
            storage: root.path().join("storage"),
            temp: None,
            durability: Durability::Normal,
            forms: FormLimits::default(),
        }));
        let spool = async || {
            let mut spool = Spool::default();
            spool.add(b"hello");
            spool.settle(&storage, 4).await?;
            spool.end(&storage).await
        };
        let left = SPOOLED.available_permits() as u32;
        let others = SPOOLED.acquire_many(left - 1).await;
        let last = spool().await.expect("one more");
        let error = spool().await.err().expect("none more");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        drop(last);
        drop(spool().await.expect("one more again"));
        drop(others);
    }
}
