//! Files as they are kept between requests: small ones in memory, large ones open.

use super::conditions::{Validators, date};
use super::folder::{Folder, Opened, OpenedFile, Stamp};
use sampan_host::request::Coding;
use sampan_http::{FilePart, Precomputed};
use sampan_project::media::content_type;
use sha2::{Digest, Sha256};
use std::cell::{Cell, OnceCell};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of hash digits in a tag.
const HASH_BYTES: usize = 8;

/// The approximate cost of a file beside its content, about, in bytes.
const ENTRY_BYTES: usize = 1024;

/// A file that is served.
pub(crate) struct StoredFile {
    /// The path in the folder.
    pub(super) path: Box<str>,
    pub(super) content_type: String,
    /// Seconds since 1970, and the same as a date. Nothing for a file in an archive.
    modified: Option<u64>,
    pub(super) last_modified: Option<String>,
    pub(super) plain: Form,
    /// The encoded forms that stand beside it, where they are looked for: `app.css.br`.
    pub(super) encoded: Vec<(Coding, Form)>,
    siblings: &'static [(Coding, &'static str)],
    /// The time at which it was last looked at, on the clock of the ticks.
    pub(super) checked: Cell<u64>,
}

/// One form of a file: as it is, or encoded.
pub(super) struct Form {
    stamp: Stamp,
    /// The entity tag, with its quotes.
    pub(super) tag: String,
    pub(super) content: Content,
    /// True if the server has made it itself, so that no file stands for it.
    is_made: bool,
    /// Whole answers, one for each `Freshness`.
    pub(super) answers: [OnceCell<Arc<Precomputed>>; 3],
}

/// The place of the bytes.
pub(super) enum Content {
    Memory(Arc<[u8]>),
    Open(FilePart),
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Open(part) => part.len,
        }
    }
}

impl Form {
    /// Returns the identifier of this form, without quotes.
    pub(super) fn version(&self) -> &str {
        self.tag.trim_matches('"')
    }

    fn load(opened: OpenedFile, memory_bytes_max: u64) -> io::Result<Self> {
        let OpenedFile {
            part,
            stamp,
            checksum,
        } = opened;
        let mut tag = checksum.map(|checksum| digits(&checksum));
        let content = if stamp.len <= memory_bytes_max {
            let bytes = read(&part)?;
            tag.get_or_insert_with(|| digits(&Sha256::digest(&bytes)));
            Content::Memory(bytes.into())
        } else {
            Content::Open(part)
        };
        // To read a large file for its tag would keep the worker from everything else.
        let tag = tag.unwrap_or_else(|| {
            let (seconds, nanos) = stamp.modified.unwrap_or_default();
            format!("{seconds:x}.{nanos:x}-{:x}", stamp.len)
        });
        Ok(Self {
            stamp,
            tag: format!("\"{tag}\""),
            content,
            is_made: false,
            answers: Default::default(),
        })
    }
}

/// The bytes of a file, which may be growing or shrinking meanwhile: the next look sees that it has changed.
pub(super) fn read(part: &FilePart) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; part.len as usize];
    let mut read = 0;
    while read < bytes.len() {
        match part
            .file
            .read_at(&mut bytes[read..], part.start + read as u64)
        {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Returns the part of a checksum that stands in a tag.
fn digits(checksum: &[u8]) -> String {
    sampan_project::archive::format::hex(&checksum[..HASH_BYTES])
}

impl StoredFile {
    /// Takes in a file that was just opened, and the encoded forms beside it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn load(
        folder: &Folder,
        path: &str,
        opened: OpenedFile,
        siblings: &'static [(Coding, &'static str)],
        memory_bytes_max: u64,
        now: u64,
    ) -> io::Result<Self> {
        let stamp = opened.stamp;
        let plain = Form::load(opened, memory_bytes_max)?;
        let mut encoded = Vec::new();
        for (coding, extension) in siblings {
            if let Some(Opened::File(beside)) = folder.find(&format!("{path}.{extension}"))?
                && is_current(&beside.stamp, &stamp)
            {
                let mut form = Form::load(beside, memory_bytes_max)?;
                // Two forms never have the same tag.
                form.tag = format!("\"{}-{extension}\"", form.version());
                encoded.push((*coding, form));
            }
        }
        // No file was changed later than its answer is dated (RFC 9110 section 8.8.2.1).
        let now_seconds = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_seconds = now_seconds.map_or(0, |since| since.as_secs());
        let modified = stamp.modified.map(|(seconds, _)| {
            let seconds = u64::try_from(seconds).unwrap_or(0);
            seconds.min(now_seconds)
        });
        Ok(Self {
            path: path.into(),
            content_type: content_type(path),
            modified,
            last_modified: modified.map(date),
            plain,
            encoded,
            siblings,
            checked: Cell::new(now),
        })
    }

    /// The state in which it was loaded.
    pub(super) fn stamp(&self) -> Stamp {
        self.plain.stamp
    }

    /// Adds encoded forms that the server has made.
    pub(super) fn add_made(&mut self, forms: &[(Coding, Arc<[u8]>)]) {
        for (coding, bytes) in forms {
            let extension = self.siblings.iter().find(|(known, _)| known == coding);
            let extension = extension.map_or("", |(_, extension)| extension);
            let form = Form {
                stamp: self.plain.stamp,
                tag: format!("\"{}-{extension}\"", self.plain.version()),
                content: Content::Memory(Arc::clone(bytes)),
                is_made: true,
                answers: Default::default(),
            };
            self.encoded.push((*coding, form));
        }
    }

    /// Reports whether the file and its encoded forms are what they were.
    pub(super) fn is_unchanged(&self, folder: &Folder) -> bool {
        let plain = self.plain.stamp;
        folder.stamp(&self.path) == Some(plain)
            && self.siblings.iter().all(|(coding, extension)| {
                let known = self.form_in(*coding).filter(|form| !form.is_made);
                let known = known.map(|form| form.stamp);
                let now = folder.stamp(&format!("{}.{extension}", self.path));
                now.filter(|now| is_current(now, &plain)) == known
            })
    }

    pub(super) fn form_in(&self, coding: Coding) -> Option<&Form> {
        let mut encoded = self.encoded.iter();
        encoded
            .find(|(other, _)| *other == coding)
            .map(|(_, form)| form)
    }

    fn forms(&self) -> impl Iterator<Item = &Form> {
        let encoded = self.encoded.iter().map(|(_, form)| form);
        std::iter::once(&self.plain).chain(encoded)
    }

    pub(super) fn validators<'a>(&self, form: &'a Form) -> Validators<'a> {
        Validators {
            tag: &form.tag,
            modified: self.modified,
        }
    }

    /// The memory that it takes, about.
    pub(super) fn memory_bytes(&self) -> usize {
        let forms = self.forms().map(|form| match &form.content {
            // A small body is in its whole answers as well.
            Content::Memory(bytes) => 2 * bytes.len(),
            Content::Open(_) => 0,
        });
        ENTRY_BYTES + forms.sum::<usize>()
    }

    /// Returns the number of files that it keeps open.
    pub(super) fn open_files(&self) -> usize {
        let is_open = |form: &&Form| matches!(form.content, Content::Open(_));
        self.forms().filter(is_open).count()
    }
}

/// Reports whether an encoded form was made of what the file is now: one that is older was made before a change.
fn is_current(encoded: &Stamp, plain: &Stamp) -> bool {
    let seconds = |stamp: &Stamp| stamp.modified.map(|(seconds, _)| seconds);
    seconds(encoded) >= seconds(plain)
}
