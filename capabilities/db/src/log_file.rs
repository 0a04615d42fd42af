//! The write-ahead log, written with one system call for each frame instead of two.
//!
//! SQLite writes a frame in two pieces, its header of 24 bytes and then its page, and on most disks the first costs as much as the
//! second. This VFS lies over the platform's own and leaves everything to it; only in the log it keeps a header back until the
//! page comes, and hands on both together. A page always comes next (`walWriteOneFrame` in SQLite's `wal.c`), and its write
//! tells what became of both, so an error is told to the same statement as without this. Whatever else is asked of the file in
//! between, the header is written first.
#![allow(unsafe_code)]

use rusqlite::ffi;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// The header of a frame, and what the log begins with; see section 4 of SQLite's file format.
const FRAME_HEADER_BYTES: usize = 24;
const LOG_HEADER_BYTES: i64 = 32;

const NAME: &CStr = c"sampan";

/// The name of the VFS, which is registered at the first call; the platform's own one, if that is not possible.
pub(crate) fn vfs() -> Option<&'static CStr> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    REGISTERED.get_or_init(register).then_some(NAME)
}

fn register() -> bool {
    // SAFETY: the default VFS is never taken away. Ours is a copy of it, so that its methods find what they expect, with room in
    // each file for ours in front; it is leaked, as SQLite keeps it until the process ends.
    unsafe {
        let below = ffi::sqlite3_vfs_find(std::ptr::null());
        if below.is_null() || (*below).xOpen.is_none() {
            return false;
        }
        let mut ours = below.read();
        ours.szOsFile += size_of::<LogFile>() as c_int;
        ours.pNext = std::ptr::null_mut();
        ours.zName = NAME.as_ptr();
        ours.pAppData = below.cast();
        ours.xOpen = Some(open);
        ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 0) == ffi::SQLITE_OK
    }
}

/// A log that is open. The platform's own file follows it in memory.
#[repr(C)]
struct LogFile {
    base: ffi::sqlite3_file,
    frames: *mut Frames,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    // Of later versions, which SQLite does not ask of a log.
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The headers that are kept back.
#[derive(Default)]
struct Frames {
    /// A header and where it belongs, until its page comes; then both.
    kept: Vec<u8>,
    at: i64,
    /// Where the last write ended; 0 before the first.
    end: i64,
    /// The size of a page, once the log has been begun here; 0 before.
    page_bytes: i64,
}

impl Frames {
    /// Takes a header that follows what was written last. One that lies before that is written anew, without its page; and 24
    /// bytes elsewhere may be the end of a page that a sync has split.
    fn keep(&mut self, bytes: &[u8], offset: i64) -> bool {
        if offset == 0 && bytes.len() == LOG_HEADER_BYTES as usize {
            let size = [bytes[8], bytes[9], bytes[10], bytes[11]];
            self.page_bytes = i64::from(u32::from_be_bytes(size));
        }
        let frame_bytes = FRAME_HEADER_BYTES as i64 + self.page_bytes;
        let is_next = bytes.len() == FRAME_HEADER_BYTES
            && self.page_bytes > 0
            && offset == self.end
            && offset >= LOG_HEADER_BYTES
            && (offset - LOG_HEADER_BYTES) % frame_bytes == 0
            && self.kept.is_empty();
        if is_next {
            self.kept.extend_from_slice(bytes);
            self.at = offset;
        }
        is_next
    }

    /// Adds the page to the header that is kept, if it is the one that follows it.
    fn join(&mut self, page: &[u8], offset: i64) -> bool {
        let follows =
            self.kept.len() == FRAME_HEADER_BYTES && offset == self.at + FRAME_HEADER_BYTES as i64;
        if follows {
            self.kept.extend_from_slice(page);
        }
        follows
    }
}

/// The platform's own file.
///
/// # Safety
/// `file` must have been opened by [`open`] as a log.
unsafe fn below(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the VFS asks for room for both.
    unsafe { file.cast::<LogFile>().add(1).cast() }
}

/// Calls a method of the platform's own file. Only between [`open`] and [`close`], when it has them all.
macro_rules! call {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let file = below($file);
        match (*(*file).pMethods).$method {
            Some(method) => method(file $(, $argument)*),
            None => ffi::SQLITE_IOERR,
        }
    }};
}

/// Writes what is kept, alone or with its page.
///
/// # Safety
/// As for [`below`].
unsafe fn settle(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite uses a file from one thread at a time and does not come back here from the file below.
    unsafe {
        let frames = &mut *(*file.cast::<LogFile>()).frames;
        if frames.kept.is_empty() {
            return ffi::SQLITE_OK;
        }
        let (start, length, at) = (frames.kept.as_ptr(), frames.kept.len(), frames.at);
        let result = call!(file, xWrite, start.cast(), length as c_int, at);
        frames.kept.clear();
        frames.end = if result == ffi::SQLITE_OK {
            at + length as i64
        } else {
            0
        };
        result
    }
}

// SAFETY: called by SQLite on the VFS of `register`, with room for a file of `szOsFile` bytes.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives as much room as `szOsFile` says, and closes a file only if it has methods after this.
    unsafe {
        let platform: *mut ffi::sqlite3_vfs = (*vfs).pAppData.cast();
        let Some(open) = (*platform).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        if flags & ffi::SQLITE_OPEN_WAL == 0 {
            return open(platform, name, file, flags, out_flags);
        }
        (*file).pMethods = std::ptr::null();
        let real = below(file);
        (*real).pMethods = std::ptr::null();
        let result = open(platform, name, real, flags, out_flags);
        if result == ffi::SQLITE_OK {
            file.cast::<LogFile>().write(LogFile {
                base: ffi::sqlite3_file {
                    pMethods: &raw const METHODS,
                },
                frames: Box::into_raw(Box::default()),
            });
        } else if !(*real).pMethods.is_null() {
            call!(file, xClose);
        }
        result
    }
}

// SAFETY of all that follow: SQLite calls them on a file that `open` has opened and `close` has not closed, with buffers as large as it
// says.

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: as above; the box is freed once, because SQLite closes a file once.
    unsafe {
        let settled = settle(file);
        let closed = call!(file, xClose);
        drop(Box::from_raw((*file.cast::<LogFile>()).frames));
        (*file).pMethods = std::ptr::null();
        if closed == ffi::SQLITE_OK {
            settled
        } else {
            closed
        }
    }
}

// SAFETY: called by SQLite on a log that is open, with `length` bytes from `start`.
unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    start: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let frames = (*file.cast::<LogFile>()).frames;
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
        if (*frames).keep(bytes, offset) {
            return ffi::SQLITE_OK;
        }
        if (*frames).join(bytes, offset) {
            return settle(file);
        }
        let settled = settle(file);
        if settled != ffi::SQLITE_OK {
            return settled;
        }
        let result = call!(file, xWrite, start, length, offset);
        (*frames).end = if result == ffi::SQLITE_OK {
            offset + i64::from(length)
        } else {
            0
        };
        result
    }
}

/// The methods that pass on what they are asked when nothing is kept any more.
macro_rules! pass_on {
    ($($name:ident as $method:ident ($($argument:ident: $kind:ty),*);)*) => {$(
        // SAFETY: called by SQLite on a log that is open.
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $argument: $kind)*) -> c_int {
            // SAFETY: as above.
            unsafe {
                match settle(file) {
                    ffi::SQLITE_OK => call!(file, $method $(, $argument)*),
                    fault => fault,
                }
            }
        }
    )*};
}

pass_on! {
    read as xRead (start: *mut c_void, length: c_int, offset: ffi::sqlite3_int64);
    truncate as xTruncate (size: ffi::sqlite3_int64);
    sync as xSync (flags: c_int);
    file_size as xFileSize (size: *mut ffi::sqlite3_int64);
    lock as xLock (level: c_int);
    unlock as xUnlock (level: c_int);
    check_reserved_lock as xCheckReservedLock (result: *mut c_int);
    file_control as xFileControl (what: c_int, argument: *mut c_void);
}

// SAFETY: called by SQLite on a log that is open.
unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: as above.
    unsafe { call!(file, xSectorSize) }
}

// SAFETY: called by SQLite on a log that is open.
unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: as above.
    unsafe { call!(file, xDeviceCharacteristics) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::testing::scratch;
    use crate::connection::{Connection, Role};
    use std::path::Path;

    const PAGE: [u8; 512] = [1; 512];

    fn header(byte: u8) -> [u8; FRAME_HEADER_BYTES] {
        [byte; FRAME_HEADER_BYTES]
    }

    #[test]
    fn a_header_waits_for_its_page_alone() {
        let at = |end| Frames {
            end,
            page_bytes: 512,
            ..Frames::default()
        };
        // The first frame behind the header of the log, which tells how large a page is.
        let mut frames = Frames::default();
        let mut log_header = [0; LOG_HEADER_BYTES as usize];
        log_header[10] = 2;
        assert!(!frames.keep(&log_header, 0));
        frames.end = 32;
        assert!(frames.keep(&header(2), 32));
        assert!(!frames.keep(&header(3), 56), "one at a time");
        assert!(!frames.join(&PAGE, 55) && !frames.join(&PAGE, 57));
        assert!(frames.join(&PAGE, 56));
        assert_eq!((frames.at, frames.kept.len()), (32, 24 + 512));
        assert_eq!(
            (frames.kept[0], frames.kept[23], frames.kept[24]),
            (2, 2, 1)
        );
        assert!(!frames.join(&PAGE, 32 + 24 + 512), "it has its page");
        // The next one; and what is no header, or not at the end: a new checksum of an older frame.
        let second = 32 + 24 + 512;
        assert!(at(second).keep(&header(2), second));
        assert!(!at(second).keep(&PAGE, second));
        assert!(!at(second).keep(&header(2), 32) && !at(second + 536).keep(&header(2), second));
        assert!(!at(0).keep(&header(2), 0));
        assert!(!at(second).join(&PAGE, second + 24));
        // The last bytes of a page, and a log that was begun elsewhere.
        assert!(!at(second - 24).keep(&header(2), second - 24));
        let mut elsewhere = at(second);
        elsewhere.page_bytes = 0;
        assert!(!elsewhere.keep(&header(2), second));
    }

    /// How many rows there are after a crash: in a copy of the two files, without what connections share in memory.
    fn recovered(path: &Path) -> i64 {
        let log = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push("-wal");
            name
        };
        let copy = path.with_extension("copy");
        std::fs::copy(path, &copy).unwrap();
        std::fs::copy(log(path), log(&copy)).unwrap();
        let plain = rusqlite::Connection::open(&copy).unwrap();
        plain
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn the_log_is_what_sqlite_would_have_written() {
        let (_folder, mut config, db) = scratch();
        drop(db);
        assert!(vfs().is_some());
        // A cache of a few pages: they go to the log in the middle of a transaction, are read back, changed, written anew
        // with their checksums, and some are taken back.
        config.cache_kib = 20;
        let db = Connection::open(&config, Role::Writer).unwrap();
        db.control("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
            .unwrap();
        db.control("CREATE INDEX i ON t(a)").unwrap();
        for round in 0..20 {
            db.control("BEGIN IMMEDIATE").unwrap();
            for part in 0..4 {
                db.control("SAVEPOINT part").unwrap();
                db.done(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
                     INSERT INTO t(a, b) SELECT abs(random() % 1000), hex(zeroblob(100 + i)) FROM n",
                );
                db.done("UPDATE t SET b = b || 'x' WHERE id % 7 = 0");
                if part == round % 4 {
                    db.control("ROLLBACK TO part").unwrap();
                }
                db.control("RELEASE part").unwrap();
            }
            let end = if round % 5 == 4 { "ROLLBACK" } else { "COMMIT" };
            db.control(end).unwrap();
            // Another connection, over the platform's file.
            let plain = rusqlite::Connection::open(&config.path).unwrap();
            let seen = |sql: &str| plain.query_row(sql, [], |row| row.get::<_, i64>(0));
            let rows = 300 * (round + 1 - (round + 1) / 5);
            assert_eq!(seen("SELECT count(*) FROM t").unwrap(), rows);
            let check: String = plain
                .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .unwrap();
            assert_eq!(check, "ok");
            assert_eq!(recovered(&config.path), rows, "what the log alone tells");
            if round % 6 == 5 {
                // The log starts over.
                plain
                    .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                    .unwrap();
            }
        }
    }
}
