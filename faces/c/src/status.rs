//! The results of functions, and the texts of faults.

use sampan::{Error, ErrorKind};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a function: SAMPAN_OK, what is not done but no fault (positive), or a fault (negative).
pub type sampan_status = i32;

/// Done.
pub const SAMPAN_OK: sampan_status = 0;
/// The time was over before anything came.
pub const SAMPAN_TIMEOUT: sampan_status = 1;
/// The first entry does not fit into the buffer. *len says how many bytes it needs. Nothing was taken.
pub const SAMPAN_SMALL_BUFFER: sampan_status = 2;
/// The handle does not exist, or not any more, or it is of another kind.
pub const SAMPAN_ERROR_HANDLE: sampan_status = -1;
/// NULL where it must not be, a text that is not UTF-8, an entry that is none, a header that cannot be sent.
pub const SAMPAN_ERROR_ARGUMENT: sampan_status = -2;
/// Not now: a route after the start, a second start, a stop or a reload in a callback.
pub const SAMPAN_ERROR_STATE: sampan_status = -3;
/// A setting is wrong.
pub const SAMPAN_ERROR_CONFIG: sampan_status = -4;
/// The script does not load, or a route is there twice. File and line are told where there are any.
pub const SAMPAN_ERROR_LOAD: sampan_status = -5;
/// The address cannot be listened on: the port is in use, or not allowed.
pub const SAMPAN_ERROR_ADDRESS: sampan_status = -6;
/// The request has been answered before.
pub const SAMPAN_ERROR_ANSWERED: sampan_status = -7;
/// This answer is not needed any more: the client has gone, the time is over, the server has stopped.
pub const SAMPAN_ERROR_GONE: sampan_status = -8;
/// The server or the scripts were stopped: nothing comes any more.
pub const SAMPAN_ERROR_STOPPED: sampan_status = -9;
/// The script raised an error. File and line are told where they are known.
pub const SAMPAN_ERROR_SCRIPT: sampan_status = -10;
/// A limit was passed: time or memory of the script, the length of the queue.
pub const SAMPAN_ERROR_LIMIT: sampan_status = -11;
/// The work was given up: by sampan_scripts_cancel, or because the caller's time was over.
pub const SAMPAN_ERROR_CANCELLED: sampan_status = -12;
/// The script has no function of this name; the request has no header or parameter of this name.
pub const SAMPAN_ERROR_MISSING: sampan_status = -13;
/// Stopped or freed, but a thread was left behind in a callback or a script: user and log_user must stay.
pub const SAMPAN_ERROR_BUSY: sampan_status = -14;
/// A fault of Sampan itself.
pub const SAMPAN_ERROR_INTERNAL: sampan_status = -99;

/// The bytes that the name of a file has room in.
pub const SAMPAN_FILE_BYTES: usize = 256;
/// The bytes that a message has room in.
pub const SAMPAN_MESSAGE_BYTES: usize = 2048;

/// A fault, in the caller's memory. Texts end with NUL, and are cut where they are longer than their room.
#[repr(C)]
pub struct sampan_error {
    /// The status as the function returned it; of sampan_scripts_handle also what failed behind an answer.
    pub code: sampan_status,
    /// The line of file, from 1; 0 if it is not known.
    pub line: u32,
    /// The file in which it happened, relative to the project; empty if it is not known.
    pub file: [c_char; SAMPAN_FILE_BYTES],
    /// The words for people. They may have several lines: of the source, of the stack.
    pub message: [c_char; SAMPAN_MESSAGE_BYTES],
}

/// A fault on its way to C.
pub(crate) struct CallFault {
    pub(crate) code: sampan_status,
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

impl CallFault {
    pub(crate) fn new(code: sampan_status, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            file: String::new(),
            line: 0,
        }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(SAMPAN_ERROR_ARGUMENT, message)
    }

    pub(crate) fn state(message: &str) -> Self {
        Self::new(SAMPAN_ERROR_STATE, message)
    }

    pub(crate) fn handle(what: &str) -> Self {
        Self::new(SAMPAN_ERROR_HANDLE, format!("there is no such {what}"))
    }
}

/// The end of a server's or of scripts' threads.
#[must_use]
pub(crate) enum Threads {
    Ended,
    /// A thread still runs, and may use the memory of the program.
    LeftBehind,
}

impl Threads {
    pub(crate) fn into_status(self) -> Result<sampan_status, CallFault> {
        match self {
            Self::Ended => Ok(SAMPAN_OK),
            Self::LeftBehind => Err(CallFault::new(
                SAMPAN_ERROR_BUSY,
                "a thread was left behind: user and log_user must stay",
            )),
        }
    }
}

impl From<Error> for CallFault {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Config => SAMPAN_ERROR_CONFIG,
            ErrorKind::Load => SAMPAN_ERROR_LOAD,
            ErrorKind::Address => SAMPAN_ERROR_ADDRESS,
            ErrorKind::Script => SAMPAN_ERROR_SCRIPT,
            ErrorKind::Missing => SAMPAN_ERROR_MISSING,
            ErrorKind::Limit => SAMPAN_ERROR_LIMIT,
            ErrorKind::Cancelled => SAMPAN_ERROR_CANCELLED,
            ErrorKind::Stopped => SAMPAN_ERROR_STOPPED,
            _ => SAMPAN_ERROR_INTERNAL,
        };
        let message = match error.stack() {
            Some(stack) if !stack.is_empty() => format!("{}\n{stack}", error.message()),
            _ => error.message().to_owned(),
        };
        Self {
            code,
            message,
            file: error.file().unwrap_or_default().to_owned(),
            line: error.line().unwrap_or_default(),
        }
    }
}

/// Runs the body of a function. A panic in it is SAMPAN_ERROR_INTERNAL.
pub(crate) fn protect(
    body: impl FnOnce() -> Result<sampan_status, CallFault>,
) -> Result<sampan_status, CallFault> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = format!("a fault of Sampan itself: {}", text.unwrap_or("panic"));
        Err(CallFault::new(SAMPAN_ERROR_INTERNAL, text))
    })
}

/// Runs the body of a function without a place for the fault's words.
pub(crate) fn protect_plain(
    body: impl FnOnce() -> Result<sampan_status, CallFault>,
) -> sampan_status {
    protect(body).unwrap_or_else(|fault| fault.code)
}

/// Runs the body of a function with a place for the fault, which may be NULL.
///
/// # Safety
/// `error` is NULL, or points to memory for a `sampan_error` that is the caller's for this call, with any content.
pub(crate) unsafe fn protect_telling(
    error: *mut sampan_error,
    body: impl FnOnce() -> Result<sampan_status, CallFault>,
) -> sampan_status {
    let fault = match protect(body) {
        Ok(status) => CallFault::new(status, ""),
        Err(fault) => fault,
    };
    // SAFETY: the caller promises that `error` is NULL, or points to memory for a `sampan_error` that is its own for
    // this call.
    unsafe { tell(error, &fault) };
    fault.code
}

/// Writes a fault where the caller wants to have it.
///
/// # Safety
/// `error` is NULL, or points to memory for a `sampan_error` that is the caller's for this call, with any content.
pub(crate) unsafe fn tell(error: *mut sampan_error, fault: &CallFault) {
    if error.is_null() {
        return;
    }
    // SAFETY: by this function's contract the members may be written. No reference to one of them is made: the old
    // content may be uninitialised.
    unsafe {
        (&raw mut (*error).code).write(fault.code);
        (&raw mut (*error).line).write(fault.line);
        write_text(&raw mut (*error).file, &fault.file);
        write_text(&raw mut (*error).message, &fault.message);
    }
}

/// Writes a text and a NUL, cut at a character if it is too long.
///
/// # Safety
/// `room` points to memory for as many characters, with any content.
unsafe fn write_text<const ROOM: usize>(room: *mut [c_char; ROOM], text: &str) {
    const { assert!(ROOM > 0, "room for the NUL") };
    let mut end = text.len().min(ROOM - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let room = room.cast::<c_char>();
    // SAFETY: `end` is less than `ROOM`, so the text and the NUL behind it fit into the room. A `c_char` is a byte.
    unsafe {
        room.cast::<u8>()
            .copy_from_nonoverlapping(text.as_ptr(), end);
        room.add(end).write(0);
    }
}

/// The version of Sampan, as "0.1.0". The text is there for ever.
#[unsafe(no_mangle)]
pub extern "C" fn sampan_version() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}
