//! A whole copy on its way to the target, in parts.

use crate::cipher::Cipher;
use crate::names;
use crate::object::{self, Hash, Header, Kind, NO_HASH, Pages};
use crate::pending::WholeMark;
use crate::targets::{Target, TargetFault};
use sampan_host::page_log::PageLog;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// The bytes of pages in one part.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// A whole copy, of which some parts have been written.
pub(crate) struct WholeUpload {
    /// The copy. It has no name any more, so it goes with the process.
    file: File,
    /// The mark of the database's own file.
    file_mark: String,
    pub(crate) mark: WholeMark,
    page_bytes: u32,
    database_pages: u32,
    /// The number of the next part, and the number of its first page.
    part: u32,
    page: u32,
    previous: Hash,
    /// The next object, if the target has not taken it yet.
    object: Option<(String, Vec<u8>)>,
    is_ended: bool,
}

/// Copies the database to `scratch`, and makes the copy ready to be written. `file_mark` is that of the database's
/// file.
///
/// # Errors
/// The database cannot be copied.
pub(crate) fn begin(
    log: &dyn PageLog,
    scratch: &Path,
    file_mark: String,
    take_mark: impl FnOnce() -> Option<WholeMark>,
) -> Result<WholeUpload, String> {
    let copied = log.copy_whole(scratch);
    copied.map_err(|error| format!("cannot copy the database: {error}"))?;
    let failed = |error| format!("cannot read {}: {error}", scratch.display());
    let mut file = File::open(scratch).map_err(failed)?;
    fs::remove_file(scratch).map_err(failed)?;
    let mut head = [0; 18];
    let length = file.metadata().map_err(failed)?.len();
    file.read_exact(&mut head).map_err(failed)?;
    // Two bytes of the database's header; 1 stands for 65,536.
    let page_bytes = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65_536,
        bytes => u32::from(bytes),
    };
    let database_pages = u32::try_from(length / u64::from(page_bytes.max(512)));
    Ok(WholeUpload {
        file,
        file_mark,
        mark: take_mark().ok_or("the copy was given up")?,
        page_bytes: page_bytes.max(512),
        database_pages: database_pages.map_err(|error| error.to_string())?,
        part: 0,
        page: 0,
        previous: NO_HASH.to_owned(),
        object: None,
        is_ended: false,
    })
}

/// A failure to go on with a whole copy.
pub(crate) enum WholeFault {
    /// The target does not take it now.
    Target(TargetFault),
    /// The copy itself cannot be read.
    Copy(String),
}

impl WholeUpload {
    /// Writes the next object. True when all are written.
    ///
    /// # Errors
    /// The target does not take it now, or the copy cannot be read.
    pub(crate) fn step(
        &mut self,
        target: &mut dyn Target,
        cipher: Option<&Cipher>,
    ) -> Result<bool, WholeFault> {
        if self.object.is_none() {
            self.object = Some(self.make(cipher).map_err(WholeFault::Copy)?);
        }
        if let Some((name, bytes)) = &self.object {
            target.put(name, bytes).map_err(WholeFault::Target)?;
        }
        self.object = None;
        Ok(self.is_ended)
    }

    fn make(&mut self, cipher: Option<&Cipher>) -> Result<(String, Vec<u8>), String> {
        let page_bytes = self.page_bytes as usize;
        let per_part = u32::try_from((PART_BYTES / page_bytes).max(1)).unwrap_or(1);
        let count = per_part.min(self.database_pages - self.page);
        let mut pages = Pages {
            numbers: (self.page + 1..=self.page + count).collect(),
            bytes: vec![0; count as usize * page_bytes],
        };
        use std::os::unix::fs::FileExt;
        let start = u64::from(self.page) * u64::from(self.page_bytes);
        let read = self.file.read_exact_at(&mut pages.bytes, start);
        read.map_err(|error| format!("cannot read the copy of the database: {error}"))?;
        let is_end = count == 0;
        let mark = &self.mark;
        let header = Header {
            kind: if is_end { Kind::End } else { Kind::Part },
            generation: mark.generation.clone(),
            sequence: mark.sequence,
            part: self.part,
            time: mark.time,
            until: mark.time,
            page_bytes: self.page_bytes,
            pages: count,
            commits: 0,
            database_pages: Some(self.database_pages),
            place: mark.place,
            previous: self.previous.clone(),
            log: mark.log.clone(),
            file: match is_end {
                true => self.file_mark.clone(),
                false => String::new(),
            },
            body: NO_HASH.to_owned(),
            encrypted: false,
        };
        pages.bytes.truncate(count as usize * page_bytes);
        let (object, hash) = object::encode(header, &pages, cipher)?;
        let part = (!is_end).then_some(self.part);
        let name = names::whole(&mark.generation, mark.sequence, mark.time, part);
        self.previous = hash;
        self.part += 1;
        self.page += count;
        self.is_ended = is_end;
        Ok((name, object))
    }
}
