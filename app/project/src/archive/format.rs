//! The layout of an archive in an executable: `executable | contents of the files | index | trailer`.
//!
//! The trailer has a fixed size and stands at the end. It says where the archive and its index begin, and has the
//! checksum of the index; the index has those of the files. So each byte behind the executable is covered by a
//! checksum.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The first bytes of a trailer. The digit is the version of the format.
const MAGIC: [u8; 16] = *b"sampan archive 1";

/// The length of a trailer, in bytes.
pub const TRAILER_BYTES: usize = 64;

/// The longest index that is read.
pub const INDEX_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The number of bytes read of the tables in an executable at most: they have some dozens of entries.
const TABLE_BYTES_MAX: usize = 64 * 1024;

/// A SHA-256 checksum.
pub type Checksum = [u8; 32];

/// The index of an archive, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Index {
    /// The version of Sampan that made the archive.
    pub made_by: String,
    /// The version of the executable in front of it.
    pub version: String,
    /// The checksum of that executable.
    pub executable: String,
    /// The file that is run.
    pub entry: String,
    /// In the order of their paths.
    pub files: Vec<IndexedFile>,
    /// Paths that mean other files: links in `node_modules`.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
}

/// A file in an archive.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexedFile {
    /// The path in the project's folder.
    pub path: String,
    /// The start of the content, counted from the beginning of the archive. Equal contents stand there once.
    pub start: u64,
    /// The length of the content, in bytes.
    pub len: u64,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// The end of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// The start of the archive, and so the length of the executable.
    pub archive_start: u64,
    /// The start of the index.
    pub index_start: u64,
    /// The checksum of the index.
    pub index_checksum: Checksum,
}

impl Trailer {
    /// Returns the trailer as it stands in the file.
    pub fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..24].copy_from_slice(&self.archive_start.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.index_start.to_le_bytes());
        bytes[32..].copy_from_slice(&self.index_checksum);
        bytes
    }

    fn read(bytes: &[u8; TRAILER_BYTES]) -> Option<Self> {
        let number = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        if bytes[..16] != MAGIC {
            return None;
        }
        Some(Self {
            archive_start: number(16)?,
            index_start: number(24)?,
            index_checksum: bytes[32..].try_into().ok()?,
        })
    }
}

/// The bytes behind the end of an executable.
#[derive(Debug, PartialEq, Eq)]
pub enum Appended {
    /// No bytes.
    Nothing,
    /// Bytes that end like an archive.
    Archive(Trailer),
    /// Something else, such as the beginning of an archive: this many bytes.
    Other(u64),
}

/// Looks behind the end of an executable. `None` if the file is no executable for Linux with 64 bits.
pub fn appended(file: &File) -> io::Result<Option<Appended>> {
    let len = file.metadata()?.len();
    let Some(end) = executable_end(file)? else {
        return Ok(None);
    };
    if len < end {
        let text = format!("it is cut off: {len} bytes of {end}");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
    }
    if len == end {
        return Ok(Some(Appended::Nothing));
    }
    let mut bytes = [0; TRAILER_BYTES];
    let trailer = match len.checked_sub(TRAILER_BYTES as u64) {
        Some(at) => {
            file.read_exact_at(&mut bytes, at)?;
            Trailer::read(&bytes)
        }
        None => None,
    };
    Ok(Some(match trailer {
        Some(trailer) if trailer.archive_start == end => Appended::Archive(trailer),
        _ => Appended::Other(len - end),
    }))
}

/// Returns the end of an ELF file according to its head and its tables (System V ABI, chapter 4).
fn executable_end(file: &File) -> io::Result<Option<u64>> {
    const HEAD_BYTES: usize = 64;
    const SECTION_WITHOUT_BYTES: u32 = 8;
    let mut head = [0; HEAD_BYTES];
    match file.read_exact_at(&mut head, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    // 64 bits, little endian.
    if head[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let mut end = HEAD_BYTES as u64;
    // For both tables: where it begins, the size of an entry, how many there are, and where an entry has offset and
    // size.
    for (start, entry, count, offset, size) in [(32, 54, 56, 8, 32), (40, 58, 60, 24, 32)] {
        let start = long(&head, start);
        let (entry, count) = (short(&head, entry), short(&head, count));
        let table_bytes = usize::from(entry) * usize::from(count);
        if table_bytes == 0 || table_bytes > TABLE_BYTES_MAX || entry < 56 {
            continue;
        }
        end = end.max(start.saturating_add(table_bytes as u64));
        let mut table = vec![0; table_bytes];
        match file.read_exact_at(&mut table, start) {
            // Cut off within the executable.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            read => read?,
        }
        for one in table.chunks_exact(entry.into()) {
            let is_section = offset == 24;
            if is_section
                && u32::from_le_bytes([one[4], one[5], one[6], one[7]]) == SECTION_WITHOUT_BYTES
            {
                continue;
            }
            end = end.max(long(one, offset).saturating_add(long(one, size)));
        }
    }
    Ok(Some(end))
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

/// The checksum of bytes in memory.
pub fn checksum(bytes: &[u8]) -> Checksum {
    Sha256::digest(bytes).into()
}

/// The checksum of a part of a file.
pub fn checksum_of_part(file: &File, start: u64, len: u64) -> io::Result<Checksum> {
    const PIECE_BYTES: u64 = 256 * 1024;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; len.min(PIECE_BYTES) as usize];
    let (mut at, end) = (start, start.saturating_add(len));
    while at < end {
        let piece = &mut piece[..(end - at).min(PIECE_BYTES) as usize];
        file.read_exact_at(piece, at)?;
        hasher.update(&*piece);
        at += piece.len() as u64;
    }
    Ok(hasher.finalize().into())
}

/// Returns bytes, such as a checksum, in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// A checksum from its hexadecimal digits.
pub fn from_hex(digits: &str) -> Option<Checksum> {
    let mut checksum = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (place, byte) in checksum.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_is_read_as_it_was_written() {
        let trailer = Trailer {
            archive_start: 1 << 40,
            index_start: (1 << 40) + 7,
            index_checksum: checksum(b"index"),
        };
        let mut bytes = trailer.to_bytes();
        assert_eq!(Trailer::read(&bytes), Some(trailer));
        bytes[15] = b'2';
        assert_eq!(Trailer::read(&bytes), None);
    }

    #[test]
    fn checksums_have_digits() {
        // FIPS 180-2, appendix B.1.
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&checksum(b"abc")), digits);
        assert_eq!(from_hex(digits), Some(checksum(b"abc")));
        assert_eq!(from_hex("ba"), None);
        assert_eq!(from_hex(&"g".repeat(64)), None);
    }

    #[test]
    fn the_end_of_this_program_is_its_length() {
        let program = std::env::current_exe().expect("it is there");
        let file = File::open(&program).expect("readable");
        assert_eq!(appended(&file).expect("read"), Some(Appended::Nothing));
        let copy = tempfile::NamedTempFile::new().expect("a file");
        std::fs::copy(&program, copy.path()).expect("copied");
        let mut longer = File::options()
            .append(true)
            .open(copy.path())
            .expect("open");
        io::Write::write_all(&mut longer, b"more").expect("written");
        let file = File::open(copy.path()).expect("readable");
        assert_eq!(appended(&file).expect("read"), Some(Appended::Other(4)));
        let end = file.metadata().expect("known").len() - 4;
        longer.set_len(end - 1).expect("cut");
        let fault = appended(&file).expect_err("cut off");
        assert_eq!(
            fault.to_string(),
            format!("it is cut off: {} bytes of {end}", end - 1)
        );
        let text = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(appended(text.as_file()).expect("read"), None);
    }
}
