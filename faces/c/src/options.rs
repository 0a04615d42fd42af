//! The options common to servers and scripts.

use crate::status::CallFault;
use crate::text;
use sampan::Level;
use sampan_project::config::OptionNames;
use std::ffi::{c_char, c_void};

/// The option names used in error messages.
pub(crate) const OPTION_NAMES: OptionNames = OptionNames {
    listen: "listen",
    workers: "workers",
    set: "settings",
};

/// Takes one line of the log, without its end; it is valid during the call. level: 0 debug, 1 info, 2 warning, 3 error.
/// With "log.format=json" among the settings each line is a JSON object. Called on threads of the library, on several
/// at the same time. It must not wait for long, and must not call the library.
pub type sampan_log_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, level: i32, line: *const c_char, len: usize)>;

/// A pointer of the program's, which this library only gives back.
#[derive(Clone, Copy)]
pub(crate) struct User(pub(crate) *mut c_void);

// SAFETY: it is never read here. The program that passes it says, by passing it, that its functions may have it on any
// thread.
unsafe impl Send for User {}
// SAFETY: sharing it shares a number: the pointer is never followed here.
unsafe impl Sync for User {}

impl User {
    pub(crate) fn get(self) -> *mut c_void {
        self.0
    }
}

/// Returns the function that receives the lines of the log.
///
/// # Safety
/// For as long as the result exists, `log` may be called on any thread, with `user` and a line that lives as long as
/// the call. It does not unwind.
pub(crate) unsafe fn taker(
    log: sampan_log_fn,
    user: *mut c_void,
) -> Option<impl Fn(Level, &str) + Send + Sync + 'static> {
    let (log, user) = (log?, User(user));
    Some(move |level: Level, line: &str| {
        let level = match level {
            Level::Debug => 0,
            Level::Info => 1,
            Level::Warn => 2,
            Level::Error => 3,
        };
        // SAFETY: by the contract of `taker`, for as long as this closure exists. The line lives as long as the call.
        unsafe { log(user.get(), level, line.as_ptr().cast(), line.len()) }
    })
}

/// The settings of a list of texts.
///
/// # Safety
/// `settings` is NULL or points to `count` texts that end with NUL.
pub(crate) unsafe fn settings<'a>(
    settings: *const *const c_char,
    count: usize,
) -> Result<Vec<&'a str>, CallFault> {
    // SAFETY: `settings` is NULL or points to `count` pointers, by this function's contract.
    let texts = unsafe { text::slice(settings, count, "settings") }?.iter();
    // SAFETY: by this function's contract each of them ends with NUL.
    let texts = texts.map(|text| unsafe { text::required(*text, "one of settings") });
    texts.collect()
}
