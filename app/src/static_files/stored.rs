//! Files as they are kept between requests: small ones in memory, large ones open.

use super::conditions::{Validators, date};
use super::folder::{Folder, Opened, Stamp};
use sampan_host::request::Coding;
use sampan_http::{FilePart, Precomputed};
use sha2::{Digest, Sha256};
use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The names of the ready-made encoded forms of a file, by their coding.
pub(super) const SIBLINGS: &[(Coding, &str)] = &[
    (Coding::Brotli, "br"),
    (Coding::Zstd, "zst"),
    (Coding::Gzip, "gz"),
];

/// How many digits of a hash tell one content from another.
const HASH_BYTES: usize = 8;

/// What a file costs beside its content, about, in bytes.
const ENTRY_BYTES: usize = 1024;

/// A file that is served.
pub(crate) struct StoredFile {
    /// Its path in the folder.
    pub(super) path: Box<str>,
    pub(super) content_type: String,
    /// Seconds since 1970, and the same as a date.
    modified: u64,
    pub(super) last_modified: String,
    pub(super) plain: Form,
    /// The encoded forms that stand beside it, where they are looked for: `app.css.br`.
    pub(super) encoded: Vec<(Coding, Form)>,
    siblings: &'static [(Coding, &'static str)],
    /// When it was last looked at, on the clock of the ticks.
    pub(super) checked: Cell<u64>,
}

/// One form of a file: as it is, or encoded.
pub(super) struct Form {
    stamp: Stamp,
    /// The entity tag, with its quotes.
    pub(super) tag: String,
    pub(super) content: Content,
    /// Whole answers: with the ordinary `Cache-Control`, and with that of content that never changes.
    pub(super) answers: [OnceCell<Arc<Precomputed>>; 2],
}

/// Where the bytes are.
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
    /// What tells this form from another, without quotes.
    pub(super) fn version(&self) -> &str {
        self.tag.trim_matches('"')
    }

    fn load(mut file: File, stamp: Stamp, memory_bytes_max: u64) -> io::Result<Self> {
        let mut tag = None;
        let content = if stamp.len <= memory_bytes_max {
            let mut bytes = Vec::with_capacity(stamp.len as usize);
            // It may be growing meanwhile: the next look sees that it has changed.
            (&mut file).take(stamp.len).read_to_end(&mut bytes)?;
            tag = Some(hash(&bytes));
            Content::Memory(bytes.into())
        } else {
            Content::Open(FilePart {
                file: Arc::new(file),
                start: 0,
                len: stamp.len,
            })
        };
        // To read a large file for its tag would keep the worker from everything else.
        let tag = tag.unwrap_or_else(|| {
            let (seconds, nanos) = stamp.modified;
            format!("{seconds:x}.{nanos:x}-{:x}", stamp.len)
        });
        Ok(Self {
            stamp,
            tag: format!("\"{tag}\""),
            content,
            answers: Default::default(),
        })
    }
}

fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..HASH_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl StoredFile {
    /// Takes in a file that was just opened, and the encoded forms beside it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn load(
        folder: &Folder,
        path: &str,
        (file, stamp): (File, Stamp),
        siblings: &'static [(Coding, &'static str)],
        memory_bytes_max: u64,
        now: u64,
    ) -> io::Result<Self> {
        let plain = Form::load(file, stamp, memory_bytes_max)?;
        let mut encoded = Vec::new();
        for (coding, extension) in siblings {
            if let Some(Opened::File(file, beside)) = folder.find(&format!("{path}.{extension}"))?
                && is_current(&beside, &stamp)
            {
                let mut form = Form::load(file, beside, memory_bytes_max)?;
                // Two forms never have the same tag.
                form.tag = format!("\"{}-{extension}\"", form.version());
                encoded.push((*coding, form));
            }
        }
        // No file was changed later than its answer is dated (RFC 9110 section 8.8.2.1).
        let now_seconds = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_seconds = now_seconds.map_or(0, |since| since.as_secs());
        let modified = u64::try_from(stamp.modified.0).unwrap_or(0);
        let modified = modified.min(now_seconds);
        Ok(Self {
            path: path.into(),
            content_type: content_type(path),
            modified,
            last_modified: date(modified),
            plain,
            encoded,
            siblings,
            checked: Cell::new(now),
        })
    }

    /// Whether the file and its encoded forms are what they were.
    pub(super) fn is_unchanged(&self, folder: &Folder) -> bool {
        let plain = self.plain.stamp;
        folder.stamp(&self.path) == Some(plain)
            && self.siblings.iter().all(|(coding, extension)| {
                let known = self.form_in(*coding).map(|form| form.stamp);
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
            modified: Some(self.modified),
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

    /// How many files it keeps open.
    pub(super) fn open_files(&self) -> usize {
        let is_open = |form: &&Form| matches!(form.content, Content::Open(_));
        self.forms().filter(is_open).count()
    }
}

/// Whether an encoded form was made of what the file is now: one that is older was made before a change.
fn is_current(encoded: &Stamp, plain: &Stamp) -> bool {
    encoded.modified.0 >= plain.modified.0
}

/// The content type of a file, by its name. Text is UTF-8.
fn content_type(path: &str) -> String {
    let Some(known) = mime_guess::from_path(path).first_raw() else {
        return "application/octet-stream".to_owned();
    };
    match known {
        "application/javascript" => "text/javascript; charset=utf-8".to_owned(),
        text if text.starts_with("text/") => format!("{text}; charset=utf-8"),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_content_types() {
        for (path, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/app.CSS", "text/css; charset=utf-8"),
            ("app.js", "text/javascript; charset=utf-8"),
            ("app.mjs", "text/javascript; charset=utf-8"),
            ("data.json", "application/json"),
            ("logo.svg", "image/svg+xml"),
            ("photo.avif", "image/avif"),
            ("font.woff2", "font/woff2"),
            ("code.wasm", "application/wasm"),
            ("site.webmanifest", "application/manifest+json"),
            ("README", "application/octet-stream"),
            ("a.b/README", "application/octet-stream"),
        ] {
            assert_eq!(content_type(path), expected, "{path}");
        }
    }
}
