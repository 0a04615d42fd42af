//! The write-ahead log, written with one system call for each commit instead of two for each frame.
//!
//! SQLite writes a frame in two pieces, its header of 24 bytes and then its page, and on most disks the first costs as much as the
//! second. This VFS lies over the platform's own and leaves everything to it; only in the log it keeps a header back until the
//! page comes, and hands on both together. A page always comes next (`walWriteOneFrame` in SQLite's `wal.c`), and its write
//! tells what became of both, so an error is told to the same statement as without this. Whatever else is asked of the file in
//! between, the header is written first.
//!
//! While a transaction is committed (see [`commit`]) whole frames are kept as well, until the one that ends the commit, which tells
//! what became of all. Nobody reads them before: what makes them valid is that last frame. If the commit fails on the way, what is
//! left of them is forgotten, because another process may write there next.
#![allow(unsafe_code)]

use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// The header of a frame, and what the log begins with; see section 4 of SQLite's file format.
const FRAME_HEADER_BYTES: usize = 24;
const LOG_HEADER_BYTES: i64 = 32;

/// The most bytes that are kept back before they are written, but for the last frame.
const KEPT_BYTES_MAX: usize = 64 * 1024;

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

thread_local! {
    /// While this thread commits: where frames are kept back, null before the first.
    static COMMIT: Cell<Option<*mut Frames>> = const { Cell::new(None) };
}

/// Runs `work`, which commits on this thread, with as few writes to the log as possible.
pub(crate) fn commit<T>(work: impl FnOnce() -> T) -> T {
    struct Commit;
    impl Drop for Commit {
        fn drop(&mut self) {
            if let Some(frames) = COMMIT.take()
                && !frames.is_null()
            {
                // SAFETY: the log is open, because a commit does not close it, and nobody uses it now.
                let frames = unsafe { &mut *frames };
                if !frames.kept.is_empty() {
                    frames.forget();
                }
            }
        }
    }
    COMMIT.set(Some(std::ptr::null_mut()));
    let _commit = Commit;
    work()
}

/// What is kept back.
#[derive(Default)]
struct Frames {
    /// Whole frames, and a header whose page is still to come.
    kept: Vec<u8>,
    /// Where that belongs.
    at: i64,
    /// Where the last of these headers stands in `kept`.
    header: usize,
    /// Where the last write ended; 0 before the first.
    end: i64,
    /// The size of a page, once the log has been begun here; 0 before.
    page_bytes: usize,
}

impl Frames {
    /// Takes a header that follows what was written last. One that lies before that is written anew, without its page; and 24
    /// bytes elsewhere may be the end of a page that a sync has split.
    fn keep(&mut self, bytes: &[u8], offset: i64) -> bool {
        if offset == 0 && bytes.len() == LOG_HEADER_BYTES as usize {
            let size = [bytes[8], bytes[9], bytes[10], bytes[11]];
            self.page_bytes = u32::from_be_bytes(size) as usize;
        }
        let frame_bytes = FRAME_HEADER_BYTES + self.page_bytes;
        let is_next = bytes.len() == FRAME_HEADER_BYTES
            && self.page_bytes > 0
            && offset == self.next()
            && offset >= LOG_HEADER_BYTES
            && (offset - LOG_HEADER_BYTES) % frame_bytes as i64 == 0
            && self.kept.len().is_multiple_of(frame_bytes);
        if is_next {
            if self.kept.is_empty() {
                self.at = offset;
            }
            self.header = self.kept.len();
            self.kept.extend_from_slice(bytes);
        }
        is_next
    }

    /// Adds the page to the last header, if it is the one that follows it.
    fn join(&mut self, page: &[u8], offset: i64) -> bool {
        let is_awaited = self.kept.len() == self.header + FRAME_HEADER_BYTES;
        let follows = is_awaited && offset == self.next();
        if follows {
            self.kept.extend_from_slice(page);
        }
        follows
    }

    /// Where the next frame or page begins.
    fn next(&self) -> i64 {
        if self.kept.is_empty() {
            return self.end;
        }
        self.at + self.kept.len() as i64
    }

    /// Whether nothing more is to be kept: the last frame ends a commit (it tells the size of the database, others 0), or there is
    /// much already, or a part of a page only.
    fn is_full(&self) -> bool {
        let size = &self.kept[self.header + 4..self.header + 8];
        let frame_bytes = FRAME_HEADER_BYTES + self.page_bytes;
        size != [0; 4]
            || self.kept.len() >= KEPT_BYTES_MAX
            || self.kept.len() - self.header != frame_bytes
    }

    /// Nothing is kept, and what follows is not known.
    fn forget(&mut self) {
        self.kept.clear();
        self.header = 0;
        self.end = 0;
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
        frames.forget();
        if result == ffi::SQLITE_OK {
            frames.end = at + length as i64;
        }
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
        let commits = COMMIT.get().is_some();
        if (*frames).keep(bytes, offset) {
            if commits {
                COMMIT.set(Some(frames));
            }
            return ffi::SQLITE_OK;
        }
        if (*frames).join(bytes, offset) {
            if commits && !(*frames).is_full() {
                return ffi::SQLITE_OK;
            }
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
mod tests;
