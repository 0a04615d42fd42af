//! The memory that SQLite takes while a statement runs.
//!
//! Sorts and sets of a statement go to files, and the page cache has a size of its own. But aggregates such as
//! `json_group_array` keep their text in memory, and SQLite looks at its length when it is complete. Its own limits on
//! memory are those of the process, and count behind a lock. So its allocator is wrapped: it counts for each thread,
//! and refuses memory to a statement that has used up its budget. SQLite then ends the statement with `SQLITE_NOMEM`.
//!
//! A program that has used the same SQLite before Sampan keeps its allocator, and statements have no budget.

#![allow(unsafe_code)]

use rusqlite::{Connection, OpenFlags, ffi};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

/// The count of a thread, and the budget of the statement that runs on it.
struct Budget {
    /// The bytes that SQLite has taken on this thread, without those that it gave back there. Below 0 where it gave
    /// back what other threads took.
    taken: Cell<i64>,
    taken_max: Cell<i64>,
    /// True if memory was refused to the statement that ran last.
    has_refused: Cell<bool>,
}

thread_local! {
    static BUDGET: Budget = const {
        Budget {
            taken: Cell::new(0),
            taken_max: Cell::new(i64::MAX),
            has_refused: Cell::new(false),
        }
    };
}

/// SQLite's own allocator.
struct Allocator {
    // SAFETY: a type alone; called by `allocate` alone, with the size that SQLite gave it.
    allocate: unsafe extern "C" fn(c_int) -> *mut c_void,
    // SAFETY: a type alone; called by `free` alone, with the block that SQLite gave it.
    free: unsafe extern "C" fn(*mut c_void),
    // SAFETY: a type alone; called by `resize` alone, with the block and the size that SQLite gave it.
    resize: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    // SAFETY: a type alone; called with blocks that one of the others gave, and that are not freed yet.
    size: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// The allocator that is wrapped. `None` if SQLite did not take the wrapper.
static WRAPPED: OnceLock<Option<Allocator>> = OnceLock::new();

/// Opens a file.
///
/// # Errors
/// The error of SQLite.
pub(crate) fn connect(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    WRAPPED.get_or_init(wrap);
    Connection::open_with_flags(path, flags)
}

/// Opens a database in memory.
///
/// # Errors
/// The error of SQLite.
pub(crate) fn connect_in_memory() -> rusqlite::Result<Connection> {
    WRAPPED.get_or_init(wrap);
    Connection::open_in_memory()
}

/// Opens a file as another program does.
#[cfg(test)]
pub(crate) fn connect_for_test(path: impl AsRef<Path>) -> rusqlite::Result<Connection> {
    connect(path, OpenFlags::default())
}

/// Does `work`, in which SQLite may take as many bytes more on this thread as it gives back.
pub(crate) fn within<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    /// Takes the limit away, after a panic too.
    struct Over(i64);
    impl Drop for Over {
        fn drop(&mut self) {
            BUDGET.with(|budget| budget.taken_max.set(self.0));
        }
    }
    let _over = BUDGET.with(|budget| {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        budget.has_refused.set(false);
        Over(
            budget
                .taken_max
                .replace(budget.taken.get().saturating_add(bytes)),
        )
    });
    work()
}

/// Reports whether memory was refused in the last call of [`within`] on this thread.
pub(crate) fn was_refused() -> bool {
    BUDGET.with(|budget| budget.has_refused.get())
}

fn may_take(bytes: c_int) -> bool {
    BUDGET.with(|budget| {
        let is_within =
            budget.taken.get().saturating_add(i64::from(bytes)) <= budget.taken_max.get();
        if !is_within {
            budget.has_refused.set(true);
        }
        is_within
    })
}

fn count(bytes: c_int) {
    BUDGET.with(|budget| budget.taken.set(budget.taken.get() + i64::from(bytes)));
}

/// Gives SQLite the wrapper, before it is used for the first time.
fn wrap() -> Option<Allocator> {
    let mut methods = ffi::sqlite3_mem_methods {
        xMalloc: None,
        xFree: None,
        xRealloc: None,
        xSize: None,
        xRoundup: None,
        xInit: None,
        xShutdown: None,
        pAppData: std::ptr::null_mut(),
    };
    // SAFETY: the only call of SQLite in this process, because all others of this crate come after it, which is run
    // once; where other code has initialized SQLite, the function says so and does nothing. It writes the methods.
    let known = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, &raw mut methods) };
    if known != ffi::SQLITE_OK {
        return None;
    }
    let wrapped = Allocator {
        allocate: methods.xMalloc?,
        free: methods.xFree?,
        resize: methods.xRealloc?,
        size: methods.xSize?,
    };
    methods.xMalloc = Some(allocate);
    methods.xFree = Some(free);
    methods.xRealloc = Some(resize);
    // SAFETY: as for the call above. SQLite copies the methods; the functions that are not replaced are its own, and
    // the replaced ones work as these do.
    let taken = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw mut methods) };
    (taken == ffi::SQLITE_OK).then_some(wrapped)
}

/// Returns the allocator, which is known when SQLite calls: the first call comes after [`wrap`].
fn wrapped() -> Option<&'static Allocator> {
    WRAPPED.get().and_then(Option::as_ref)
}

/// `xMalloc`
// SAFETY: called by SQLite alone, with a size above 0.
unsafe extern "C" fn allocate(size: c_int) -> *mut c_void {
    let Some(own) = wrapped().filter(|_| may_take(size)) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the size is the caller's; the size of a block is asked where there is one.
    unsafe {
        let block = (own.allocate)(size);
        if !block.is_null() {
            count((own.size)(block));
        }
        block
    }
}

/// `xFree`
// SAFETY: called by SQLite alone, with a block of `allocate` or `resize` that it does not use any more.
unsafe extern "C" fn free(block: *mut c_void) {
    let Some(own) = wrapped() else { return };
    // SAFETY: the block is the caller's, and alive until the second call.
    unsafe {
        count(-(own.size)(block));
        (own.free)(block);
    }
}

/// `xRealloc`
// SAFETY: called by SQLite alone, with a block of `allocate` or `resize` and a size above 0.
unsafe extern "C" fn resize(block: *mut c_void, size: c_int) -> *mut c_void {
    let Some(own) = wrapped() else {
        return std::ptr::null_mut();
    };
    // SAFETY: the block is the caller's, and alive until it is resized; then the new one is, if there is one.
    unsafe {
        let before = (own.size)(block);
        if size > before && !may_take(size - before) {
            return std::ptr::null_mut();
        }
        let resized = (own.resize)(block, size);
        if !resized.is_null() {
            count((own.size)(resized) - before);
        }
        resized
    }
}

#[cfg(test)]
mod tests {
    //! Statements that take more memory than they may.

    use super::*;

    const AGGREGATES: [&str; 4] = [
        "json_group_array(hex(zeroblob(50000)))",
        "json_group_object(i, hex(zeroblob(50000)))",
        "jsonb_group_array(hex(zeroblob(50000)))",
        "group_concat(hex(zeroblob(50000)))",
    ];

    fn aggregate(sqlite: &Connection, aggregate: &str, rows: usize) -> rusqlite::Result<i64> {
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) SELECT length({aggregate}) \
             FROM n"
        );
        sqlite.query_row(&sql, (), |row| row.get(0))
    }

    #[test]
    fn an_aggregate_ends_with_its_budget() {
        let sqlite = connect_in_memory().expect("opened");
        for text in AGGREGATES {
            let few = within(8 << 20, || aggregate(&sqlite, text, 10));
            assert!(few.is_ok_and(|length| length > 1_000_000), "{text}");
            assert!(!was_refused());
            let many = within(8 << 20, || aggregate(&sqlite, text, 200));
            let code = many.expect_err("too large").sqlite_error_code();
            assert_eq!(code, Some(rusqlite::ErrorCode::OutOfMemory), "{text}");
            assert!(was_refused());
            // What the statement took is given back: it does not count for the next one.
            assert!(within(8 << 20, || aggregate(&sqlite, text, 10)).is_ok());
            assert!(aggregate(&sqlite, text, 100).is_ok());
        }
    }

    #[test]
    fn the_count_ends_where_it_began() {
        let before = BUDGET.with(|budget| budget.taken.get());
        let sqlite = connect_in_memory().expect("opened");
        let open = BUDGET.with(|budget| budget.taken.get());
        assert!(open > before);
        for text in AGGREGATES {
            assert!(aggregate(&sqlite, text, 20).is_ok());
        }
        drop(sqlite);
        assert_eq!(BUDGET.with(|budget| budget.taken.get()), before);
    }
}
