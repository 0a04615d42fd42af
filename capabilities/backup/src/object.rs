//! The format of the objects that a copy consists of.
//!
//! An object has three lines, and a body behind them:
//!
//! ```text
//! sampan backup 1
//! {"kind":"log","generation":"00000001-5f0c…","sequence":12,…}
//! the SHA-256 of the line above
//! ```
//!
//! The body has the numbers of the pages, four bytes each, and the pages, compressed by zstd and then encrypted if
//! there is a key. The line of JSON has the SHA-256 of the body and that of the line of the object before, so that
//! damage and gaps are found.

use crate::cipher::Cipher;
use aws_lc_rs::digest::{SHA256, digest};
use sampan_host::page_log::LogPosition;
use serde::{Deserialize, Serialize};

/// The first line: the name of the format and its version.
const FIRST_LINE: &[u8] = b"sampan backup 1\n";
/// The level of compression: the quickest that still finds the repetitions of a database.
const LEVEL: i32 = 1;
/// The most bytes of a body, unpacked.
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The SHA-256 of an object's line of JSON, in hex. It stands for the whole object.
pub(crate) type Hash = String;

/// The hash before the first object of a chain.
pub(crate) const NO_HASH: &str = "";

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Pages that commits have written.
    Log,
    /// A part of a whole copy.
    Part,
    /// The end of a whole copy, without pages.
    End,
}

/// The line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) generation: String,
    /// The number in the log of the generation, from 1; of a whole copy the last number that it contains.
    pub(crate) sequence: u64,
    /// The number of a part, from 0; in the end of a whole copy the number of its parts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) part: u32,
    /// The time in milliseconds since 1970 that the name has: all commits in the object are older.
    pub(crate) time: u64,
    /// The time until which no commit is missing, here and in the objects before.
    pub(crate) until: u64,
    pub(crate) page_bytes: u32,
    /// The number of pages in the body.
    pub(crate) pages: u32,
    pub(crate) commits: u32,
    /// The size of the database in pages, where a commit ends with this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) database_pages: Option<u32>,
    pub(crate) place: LogPlace,
    /// The hash of the object before: in the log, or among the parts of a whole copy.
    pub(crate) previous: Hash,
    /// In the end of a whole copy, the hash of the object of the log that it contains last.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) log: Hash,
    /// In the end of a whole copy, the mark of the database's file ([`crate::closing::file_mark`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) file: String,
    /// The SHA-256 of the body as it lies there.
    #[serde(default)]
    pub(crate) body: Hash,
    /// True if the body is encrypted.
    #[serde(default)]
    pub(crate) encrypted: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A place in the write-ahead log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPlace {
    salts: [u32; 2],
    frame: u32,
    checksum: [u32; 2],
}

impl From<LogPosition> for LogPlace {
    fn from(position: LogPosition) -> Self {
        Self {
            salts: position.salts,
            frame: position.frame,
            checksum: position.checksum,
        }
    }
}

impl From<LogPlace> for LogPosition {
    fn from(place: LogPlace) -> Self {
        Self {
            salts: place.salts,
            frame: place.frame,
            checksum: place.checksum,
        }
    }
}

/// The reason why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Damage.
    Damaged(String),
    /// No key for it, or another one.
    Key(String),
}

impl From<String> for Unreadable {
    fn from(fault: String) -> Self {
        Self::Damaged(fault)
    }
}

impl From<&str> for Unreadable {
    fn from(fault: &str) -> Self {
        Self::Damaged(fault.to_owned())
    }
}

/// Pages with their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) numbers: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
}

/// Makes an object of a header and its pages. Returns its hash too.
///
/// # Errors
/// There is no memory to compress with.
pub(crate) fn encode(
    mut header: Header,
    pages: &Pages,
    cipher: Option<&Cipher>,
) -> Result<(Vec<u8>, Hash), String> {
    let mut plain = Vec::with_capacity(pages.numbers.len() * 4 + pages.bytes.len());
    for number in &pages.numbers {
        plain.extend_from_slice(&number.to_le_bytes());
    }
    plain.extend_from_slice(&pages.bytes);
    let mut body = zstd::bulk::compress(&plain, LEVEL)
        .map_err(|error| format!("cannot compress pages: {error}"))?;
    drop(plain);
    if let Some(cipher) = cipher {
        body = cipher.encrypt(body)?;
    }
    header.encrypted = cipher.is_some();
    header.body = hash(&body);
    let line = serde_json::to_string(&header).map_err(|error| error.to_string())?;
    let hash = hash(line.as_bytes());
    let mut object =
        Vec::with_capacity(FIRST_LINE.len() + line.len() + hash.len() + 2 + body.len());
    object.extend_from_slice(FIRST_LINE);
    object.extend_from_slice(line.as_bytes());
    object.push(b'\n');
    object.extend_from_slice(hash.as_bytes());
    object.push(b'\n');
    object.append(&mut body);
    Ok((object, hash))
}

/// Reads the header of an object, which is whole, and its hash. The body is checked too.
///
/// # Errors
/// A fault of the object.
pub(crate) fn header(object: &[u8]) -> Result<(Header, Hash), String> {
    let (header, hash, _) = split(object)?;
    Ok((header, hash))
}

/// Reads an object: its header, its hash and its pages.
///
/// # Errors
/// A fault of the object, or of the key.
pub(crate) fn decode(
    object: &[u8],
    cipher: Option<&Cipher>,
) -> Result<(Header, Hash, Pages), Unreadable> {
    let (header, hash, body) = split(object)?;
    let decrypted;
    let body = match (header.encrypted, cipher) {
        (false, _) => body,
        (true, None) => {
            let fault = "it is encrypted: set the key of [backup]";
            return Err(Unreadable::Key(fault.to_owned()));
        }
        (true, Some(cipher)) => {
            decrypted = cipher.decrypt(body.to_vec()).map_err(Unreadable::Key)?;
            &decrypted[..]
        }
    };
    let count = header.pages as usize;
    let page_bytes = header.page_bytes as usize;
    let bytes = count
        .checked_mul(4 + page_bytes)
        .filter(|bytes| *bytes <= BODY_BYTES_MAX);
    let bytes = bytes.ok_or("it says that it has too many pages")?;
    let mut plain = zstd::bulk::decompress(body, bytes.max(1))
        .map_err(|error| format!("it cannot be decompressed: {error}"))?;
    if plain.len() != bytes {
        return Err("it has not the pages that it says".into());
    }
    let (words, _) = plain[..count * 4].as_chunks::<4>();
    let numbers: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    if numbers.contains(&0) {
        return Err("it has a page without a number".into());
    }
    let bytes = plain.split_off(count * 4);
    Ok((header, hash, Pages { numbers, bytes }))
}

fn split(object: &[u8]) -> Result<(Header, Hash, &[u8]), String> {
    let rest = object.strip_prefix(FIRST_LINE).ok_or_else(|| {
        match object.starts_with(b"sampan backup ") {
            true => "it was written by a newer sampan: use that one",
            false => "it is no object of a backup",
        }
    })?;
    let cut = "it is cut off or damaged";
    let mut lines = rest.splitn(3, |byte| *byte == b'\n');
    let line = lines.next().ok_or(cut)?;
    let written = lines.next().ok_or(cut)?;
    let body = lines.next().ok_or(cut)?;
    let found = hash(line);
    if found.as_bytes() != written {
        return Err("its head is damaged".to_owned());
    }
    let header: Header = serde_json::from_slice(line).map_err(|error| format!("{cut}: {error}"))?;
    if hash(body) != header.body {
        return Err("its body is damaged".to_owned());
    }
    Ok((header, found, body))
}

/// Returns the SHA-256 of bytes.
pub(crate) fn hash(bytes: &[u8]) -> Hash {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Writes bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Header, Pages) {
        let header = Header {
            kind: Kind::Log,
            generation: "00000001-aa".to_owned(),
            sequence: 7,
            part: 0,
            time: 1_000,
            until: 990,
            page_bytes: 512,
            pages: 2,
            commits: 1,
            database_pages: Some(9),
            place: LogPlace::default(),
            previous: NO_HASH.to_owned(),
            log: NO_HASH.to_owned(),
            file: String::new(),
            body: NO_HASH.to_owned(),
            encrypted: false,
        };
        let pages = Pages {
            numbers: vec![3, 9],
            bytes: (0..1024_u32).map(|at| (at / 7) as u8).collect(),
        };
        (header, pages)
    }

    #[test]
    fn an_object_is_read_as_it_was_written() {
        let (written, pages) = sample();
        let cipher = Cipher::of("a key of thirty-two characters at least").expect("long");
        for cipher in [None, Some(&cipher)] {
            let (object, hash) = encode(written.clone(), &pages, cipher).expect("encoded");
            let (read, read_hash, read_pages) = decode(&object, cipher).expect("decoded");
            assert_eq!((read.sequence, read.encrypted), (7, cipher.is_some()));
            assert_eq!((read_hash, read_pages), (hash, pages.clone()));
        }
    }

    #[test]
    fn damage_anywhere_is_found() {
        let (written, pages) = sample();
        let (object, _) = encode(written, &pages, None).expect("encoded");
        for at in 0..object.len() {
            let mut damaged = object.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged, None).is_err(), "at {at}");
            assert!(decode(&object[..at], None).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn another_key_and_none_are_refused() {
        let (written, pages) = sample();
        let key = |text: &str| Cipher::of(text).expect("long");
        let right = key("a key of thirty-two characters at least");
        let (object, _) = encode(written, &pages, Some(&right)).expect("encoded");
        let wrong = key("another key of thirty-two characters");
        let fault = decode(&object, Some(&wrong)).expect_err("another key");
        assert!(matches!(fault, Unreadable::Key(_)), "{fault:?}");
        let fault = decode(&object, None).expect_err("no key");
        assert!(matches!(fault, Unreadable::Key(_)), "{fault:?}");
        assert!(header(&object).is_ok());
    }
}
