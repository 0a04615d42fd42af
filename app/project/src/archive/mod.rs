//! A project in an archive behind this executable: what `sampan build` appends, and how it is read.
//!
//! Nothing is unpacked. Small files are read from the executable into memory when they are needed, large ones are sent
//! from where the system keeps the executable. [`Archive::open`] checks every byte once, at start.

pub mod format;
mod packed;

use format::{Appended, Checksum, INDEX_BYTES_MAX, Index, TRAILER_BYTES, Trailer};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// This program, as the system keeps it open.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// The project that an executable carries.
#[derive(Debug)]
pub struct Archive {
    file: Arc<File>,
    /// The start of the archive in the file, and its length with its trailer.
    start: u64,
    len: u64,
    made_by: String,
    version: String,
    executable: Checksum,
    entry: String,
    files: BTreeMap<String, PackedFile>,
    links: BTreeMap<String, String>,
}

/// A file in an archive.
#[derive(Clone, Copy, Debug)]
pub struct PackedFile {
    /// The start of the content in the executable.
    pub start: u64,
    /// The length of the content, in bytes.
    pub len: u64,
    /// The checksum of the content.
    pub checksum: Checksum,
}

/// The report of `--about` on an executable with an archive.
#[derive(Clone, Debug)]
pub struct About {
    /// The version of the executable.
    pub version: String,
    /// The version of Sampan that made the archive.
    pub made_by: String,
    /// The length of the executable without the archive, and its SHA-256 checksum.
    pub executable: (u64, String),
    /// The length of the archive.
    pub archive_bytes: u64,
    /// The file that is run.
    pub entry: String,
    /// The files in it: path, length and SHA-256 checksum.
    pub files: Vec<(String, u64, String)>,
}

impl Archive {
    /// Opens the archive of the running program; `None` if it carries none.
    ///
    /// # Errors
    /// It is damaged: the damaged part, and what to do.
    pub fn of_this_program() -> Result<Option<Arc<Self>>, String> {
        let file = match File::open(THIS_PROGRAM) {
            Ok(file) => file,
            // Without /proc it is not known; then this is a plain `sampan`.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(format!(
                    "this executable cannot be read: {error}; the user who starts it needs the right to read it \
                     too (chmod a+r)"
                ));
            }
        };
        match Self::open(file) {
            Ok(archive) => Ok(archive.map(Arc::new)),
            Err(fault) => Err(format!(
                "this file is damaged: {fault}; copy it again, or build it again"
            )),
        }
    }

    /// Opens the archive of an executable and compares all checksums.
    ///
    /// # Errors
    /// The damaged part.
    pub fn open(file: File) -> Result<Option<Self>, String> {
        let unreadable = |error: io::Error| format!("it cannot be read: {error}");
        let trailer = match format::appended(&file).map_err(unreadable)? {
            None | Some(Appended::Nothing) => return Ok(None),
            Some(Appended::Archive(trailer)) => trailer,
            Some(Appended::Other(len)) => {
                return Err(format!(
                    "behind the executable are {len} bytes that are no complete archive"
                ));
            }
        };
        let file_len = file.metadata().map_err(unreadable)?.len();
        let index = read_index(&file, trailer, file_len)?;
        let mut files = BTreeMap::new();
        let mut checked = HashSet::new();
        for indexed in index.files {
            let path = indexed.path;
            let packed = format::from_hex(&indexed.sha256)
                .and_then(|checksum| {
                    let start = trailer.archive_start.checked_add(indexed.start)?;
                    let end = start.checked_add(indexed.len)?;
                    let (len, is_inside) = (indexed.len, end <= trailer.index_start);
                    is_inside.then_some(PackedFile {
                        start,
                        len,
                        checksum,
                    })
                })
                .ok_or_else(|| format!("the place of {path} in its archive makes no sense"))?;
            if checked.insert((packed.start, packed.len, packed.checksum)) {
                let found = format::checksum_of_part(&file, packed.start, packed.len);
                if found.map_err(unreadable)? != packed.checksum {
                    return Err(format!(
                        "{path} in its archive has another checksum than when it was built"
                    ));
                }
            }
            files.insert(path, packed);
        }
        let executable = format::from_hex(&index.executable)
            .ok_or_else(|| "the index of its archive makes no sense".to_owned())?;
        Ok(Some(Self {
            file: Arc::new(file),
            start: trailer.archive_start,
            len: file_len - trailer.archive_start,
            made_by: index.made_by,
            version: index.version,
            executable,
            entry: index.entry,
            files,
            links: index.links,
        }))
    }

    /// Describes the content. The executable in front of the archive is checked as well.
    ///
    /// # Errors
    /// That is damaged.
    pub fn about(&self) -> Result<About, String> {
        let found = format::checksum_of_part(&self.file, 0, self.start);
        let found = found.map_err(|error| format!("it cannot be read: {error}"))?;
        if found != self.executable {
            return Err(
                "this file is damaged: the executable has another checksum than when it was built; copy it again"
                    .to_owned(),
            );
        }
        let files = self.files.iter();
        let files = files.map(|(path, file)| (path.clone(), file.len, format::hex(&file.checksum)));
        Ok(About {
            version: self.version.clone(),
            made_by: self.made_by.clone(),
            executable: (self.start, format::hex(&self.executable)),
            archive_bytes: self.len,
            entry: self.entry.clone(),
            files: files.collect(),
        })
    }

    /// The file that is run.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// The executable, in which the contents lie.
    pub fn executable(&self) -> &Arc<File> {
        &self.file
    }

    /// A file by its path in the project's folder.
    pub fn file(&self, path: &str) -> Option<&PackedFile> {
        self.files.get(path)
    }

    /// The files below a folder, which is empty for that of the project, in the order of their paths.
    pub fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a PackedFile)> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let from = self.files.range(prefix.clone()..);
        from.map(|(path, file)| (&**path, file))
            .take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// The content of a file.
    pub fn content(&self, file: &PackedFile) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; file.len as usize];
        self.file.read_exact_at(&mut bytes, file.start)?;
        Ok(bytes)
    }
}

fn read_index(file: &File, trailer: Trailer, file_len: u64) -> Result<Index, String> {
    let damaged =
        || "the index of its archive has another checksum than when it was built".to_owned();
    let end = file_len - TRAILER_BYTES as u64;
    let len = end.checked_sub(trailer.index_start).ok_or_else(damaged)?;
    if len > INDEX_BYTES_MAX || trailer.index_start < trailer.archive_start {
        return Err(damaged());
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, trailer.index_start)
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if format::checksum(&bytes) != trailer.index_checksum {
        return Err(damaged());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| format!("the index of its archive makes no sense: {error}"))
}
