//! Answers of scripts in memory of the library.

use crate::handles::{HandleKind, Handles};
use crate::requests::sampan_field;
use crate::status::{CallFault, SAMPAN_ERROR_INTERNAL, SAMPAN_OK, protect_plain, sampan_status};
use std::ffi::c_char;
use std::sync::Arc;

/// An answer of scripts. Its texts are the library's, until sampan_reply_free.
#[repr(C)]
pub struct sampan_reply {
    /// The handle for sampan_reply_free.
    pub handle: u64,
    /// The status; 200 for the result of a call.
    pub status: u32,
    /// The headers, in their order.
    pub headers: *const sampan_field,
    /// The number of headers.
    pub header_count: usize,
    /// The body; the result of a call as JSON.
    pub body: *const c_char,
    /// The length in bytes.
    pub body_len: usize,
}

/// The content of a reply.
struct ReplyData {
    /// Read by C through `fields`.
    _headers: Vec<(String, Vec<u8>)>,
    _body: Vec<u8>,
    _fields: Vec<sampan_field>,
}

// SAFETY: the pointers in it are to memory that it owns and never changes.
unsafe impl Send for ReplyData {}
// SAFETY: no thread can change what it holds: the pointers are to memory that it owns and never changes.
unsafe impl Sync for ReplyData {}

static REPLIES: Handles<Arc<ReplyData>> = Handles::new(HandleKind::Reply);

/// Keeps an answer for C.
pub(crate) fn keep(
    status: u32,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
) -> Result<sampan_reply, CallFault> {
    let field = |(name, value): &(String, Vec<u8>)| sampan_field {
        name: name.as_ptr().cast(),
        name_len: name.len(),
        value: value.as_ptr().cast(),
        value_len: value.len(),
    };
    // Moving the lists does not move what they point to.
    let fields: Vec<sampan_field> = headers.iter().map(field).collect();
    let mut reply = sampan_reply {
        handle: 0,
        status,
        headers: fields.as_ptr(),
        header_count: fields.len(),
        body: body.as_ptr().cast(),
        body_len: body.len(),
    };
    let data = Arc::new(ReplyData {
        _headers: headers,
        _body: body,
        _fields: fields,
    });
    let full = || CallFault::new(SAMPAN_ERROR_INTERNAL, "there are too many replies");
    reply.handle = REPLIES.insert(0, data).ok_or_else(full)?;
    Ok(reply)
}

/// Gives back the memory of a reply, by its handle. What the reply points to is gone. Doing so again is
/// SAMPAN_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn sampan_reply_free(handle: u64) -> sampan_status {
    protect_plain(|| {
        let removed = REPLIES.remove(handle);
        removed
            .map(|_| SAMPAN_OK)
            .map_err(|_| CallFault::handle("reply"))
    })
}
