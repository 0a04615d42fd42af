//! The file of the write-ahead log, see section 4 of SQLite's file format.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The first word of the header: checksums are over little-endian words, or over big-endian ones.
const MAGIC: [u32; 2] = [0x377f_0682, 0x377f_0683];
/// The bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;

/// The file, and the header of the log that is in it.
///
/// SQLite holds no locks on this file, so closing it takes none away from the process.
pub(super) struct WalFile {
    file: File,
    is_big_endian: bool,
    pub(super) page_bytes: u32,
    pub(super) salts: [u32; 2],
    /// The checksum of the header, with which that of the first frame begins.
    pub(super) checksum: [u32; 2],
}

/// The header of a frame.
pub(super) struct FrameHeader {
    /// The number of the page.
    pub(super) number: u32,
    /// The size of the database in pages, if the frame ends a commit.
    pub(super) database_pages: Option<u32>,
}

impl WalFile {
    /// Opens the log at `path`. `None` if there is no file, or no whole header in it.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut header = [0; HEADER_BYTES];
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let word = |at: usize| word(&header, at);
        let is_big_endian = match word(0) {
            magic if magic == MAGIC[0] => false,
            magic if magic == MAGIC[1] => true,
            _ => return Ok(None),
        };
        let wal = Self {
            file,
            is_big_endian,
            page_bytes: word(8),
            salts: [word(16), word(20)],
            checksum: [word(24), word(28)],
        };
        let is_whole = wal.sum([0, 0], &header[..24]) == wal.checksum
            && (512..=65_536).contains(&wal.page_bytes)
            && wal.page_bytes.is_power_of_two();
        Ok(is_whole.then_some(wal))
    }

    fn frame_start(&self, frame: u32) -> u64 {
        let frame_bytes = FRAME_HEADER_BYTES as u64 + u64::from(self.page_bytes);
        HEADER_BYTES as u64 + u64::from(frame) * frame_bytes
    }

    /// Returns the running checksum behind the first `frames` frames, as the last of them has it. `None` if that frame
    /// does not belong to this log.
    pub(super) fn checksum_behind(&self, frames: u32) -> io::Result<Option<[u32; 2]>> {
        if frames == 0 {
            return Ok(Some(self.checksum));
        }
        let mut header = [0; FRAME_HEADER_BYTES];
        match self
            .file
            .read_exact_at(&mut header, self.frame_start(frames - 1))
        {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let word = |at: usize| word(&header, at);
        let is_of_log = [word(8), word(12)] == self.salts;
        Ok(is_of_log.then(|| [word(16), word(20)]))
    }

    /// Reads frames in order, behind the first `frames`, whose running checksum is `checksum`.
    pub(super) fn behind(self, frames: u32, checksum: [u32; 2]) -> io::Result<Frames> {
        let start = self.frame_start(frames);
        let mut reader = BufReader::with_capacity(READ_BYTES, self.file.try_clone()?);
        reader.seek(SeekFrom::Start(start))?;
        Ok(Frames {
            page: vec![0; self.page_bytes as usize],
            wal: self,
            reader,
            checksum,
        })
    }

    /// Continues a checksum over `bytes`, whose length is a multiple of eight.
    fn sum(&self, [mut first, mut second]: [u32; 2], bytes: &[u8]) -> [u32; 2] {
        let (pairs, _) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in pairs {
            let (left, right) = match self.is_big_endian {
                true => (
                    u32::from_be_bytes([a, b, c, d]),
                    u32::from_be_bytes([e, f, g, h]),
                ),
                false => (
                    u32::from_le_bytes([a, b, c, d]),
                    u32::from_le_bytes([e, f, g, h]),
                ),
            };
            first = first.wrapping_add(left).wrapping_add(second);
            second = second.wrapping_add(right).wrapping_add(first);
        }
        [first, second]
    }
}

/// Frames that are read one after the other.
pub(super) struct Frames {
    wal: WalFile,
    reader: BufReader<File>,
    /// The running checksum behind the last frame.
    pub(super) checksum: [u32; 2],
    /// The page of the last frame.
    pub(super) page: Vec<u8>,
}

impl Frames {
    /// Reads the next frame. `None` if what stands there does not continue this log.
    pub(super) fn next(&mut self) -> io::Result<Option<FrameHeader>> {
        let mut header = [0; FRAME_HEADER_BYTES];
        let read = self.reader.read_exact(&mut header);
        match read.and_then(|()| self.reader.read_exact(&mut self.page)) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let word = |at: usize| word(&header, at);
        let sum = self.wal.sum(self.checksum, &header[..8]);
        let sum = self.wal.sum(sum, &self.page);
        if [word(8), word(12)] != self.wal.salts || [word(16), word(20)] != sum || word(0) == 0 {
            return Ok(None);
        }
        self.checksum = sum;
        Ok(Some(FrameHeader {
            number: word(0),
            database_pages: Some(word(4)).filter(|pages| *pages > 0),
        }))
    }
}

/// The big-endian word at `at`.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
