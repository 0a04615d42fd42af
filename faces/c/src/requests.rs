//! Requests to native routes: shown to a callback or queued, and answered once, by any thread.

use crate::entries::{Pair, RequestParts, write_gone, write_request};
use crate::handles::{HandleKind, Handles, NoHandle};
use crate::inbox::{self, GivenAnswer, Inbox, PendingAnswer};
use crate::options::User;
use crate::queue::EntryQueue;
use crate::status::{
    CallFault, SAMPAN_ERROR_ANSWERED, SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_GONE,
    SAMPAN_ERROR_HANDLE, SAMPAN_ERROR_MISSING, SAMPAN_OK, protect_plain, sampan_status,
};
use crate::text;
use sampan_http::Response;
use sampan_serve::native::{NativeAnswer, NativeRequest};
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

/// A header or a parameter: texts or bytes, without NUL at their ends.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sampan_field {
    /// The name.
    pub name: *const c_char,
    /// The length of name, in bytes.
    pub name_len: usize,
    /// The value.
    pub value: *const c_char,
    /// The length of value, in bytes.
    pub value_len: usize,
}

/// A request. In a callback all pointers are valid until it returns, and no longer: what another thread needs is
/// copied.
#[repr(C)]
pub struct sampan_request {
    /// By which it is answered; of this request only. Not read by sampan_scripts_handle.
    pub id: u64,
    /// The method as sent.
    pub method: *const c_char,
    /// The length of method, in bytes.
    pub method_len: usize,
    /// Path and query as sent.
    pub target: *const c_char,
    /// The length of target, in bytes.
    pub target_len: usize,
    /// The path as sent, percent-encoded. Not read by sampan_scripts_handle.
    pub path: *const c_char,
    /// The length of path, in bytes.
    pub path_len: usize,
    /// The part of target after the first '?' of target; NULL if there is none. Not read by sampan_scripts_handle.
    pub query: *const c_char,
    /// The length of query, in bytes.
    pub query_len: usize,
    /// The client's IP address, or "unix:" over a Unix socket; "X-Forwarded-For" of trusted proxies is believed.
    pub remote: *const c_char,
    /// The length of remote, in bytes.
    pub remote_len: usize,
    /// The parameters of the route's pattern, percent-decoded. Not read by sampan_scripts_handle.
    pub params: *const sampan_field,
    /// The number of params.
    pub param_count: usize,
    /// The headers in their order, names as sent.
    pub headers: *const sampan_field,
    /// The number of headers.
    pub header_count: usize,
    /// The body, whole.
    pub body: *const c_char,
    /// The length of body, in bytes.
    pub body_len: usize,
}

/// Answers the requests of a route. It is called on the thread of a worker, which serves no other request meanwhile:
/// what takes long is answered later, by another thread, with the id. Each request is to be answered once, also if its
/// client has gone; until then the library keeps its place. It may call all functions but sampan_server_stop,
/// sampan_server_free and sampan_server_reload, and must not unwind or jump out.
pub type sampan_handler_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, request: *const sampan_request)>;

/// An answer. Everything is copied before the function returns that it is passed to.
#[repr(C)]
pub struct sampan_response {
    /// 200 to 999.
    pub status: u32,
    /// The headers. Those about framing (Content-Length, Transfer-Encoding, Connection and the like) are the server's:
    /// they are left out.
    pub headers: *const sampan_field,
    /// The number of headers.
    pub header_count: usize,
    /// The body.
    pub body: *const c_char,
    /// The length of body, in bytes.
    pub body_len: usize,
}

/// Requests that are to be answered, of all servers of the process.
pub(crate) static REQUESTS: Requests = Requests(Handles::new(HandleKind::Request));

pub(crate) struct Requests(Handles<OpenRequest>);

/// A request that is to be answered.
struct OpenRequest {
    /// The server that it belongs to.
    server: u64,
    state: RequestState,
}

enum RequestState {
    /// The callback has not returned.
    Called(Option<GivenAnswer>),
    /// The client waits.
    Waiting(Arc<Inbox>),
    /// Its client has gone.
    Gone,
}

thread_local! {
    /// The part of the table that this thread uses.
    static SHARD: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
    static IS_IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Reports whether this thread runs a callback of the program.
pub(crate) fn is_in_callback() -> bool {
    IS_IN_CALLBACK.get()
}

impl Requests {
    fn open(&self, server: u64, state: RequestState) -> Option<u64> {
        SHARD.with(|shard| self.0.insert(*shard, OpenRequest { server, state }))
    }

    /// Takes an answer. What it gives beside is to be woken afterwards.
    pub(crate) fn answer(
        &self,
        request: u64,
        answer: GivenAnswer,
    ) -> (sampan_status, Option<Waker>) {
        let taken = self.0.with(request, |open| match &mut open.state {
            RequestState::Called(Some(_)) => ((SAMPAN_ERROR_ANSWERED, None), None),
            RequestState::Called(slot) => {
                *slot = Some(answer);
                ((SAMPAN_OK, None), None)
            }
            RequestState::Waiting(inbox) => {
                let waker = inbox.put(request, answer);
                ((SAMPAN_OK, waker), Some(SAMPAN_ERROR_ANSWERED))
            }
            RequestState::Gone => ((SAMPAN_ERROR_GONE, None), Some(SAMPAN_ERROR_ANSWERED)),
        });
        taken.unwrap_or_else(|none| match none {
            NoHandle::Ended(end) => (end, None),
            NoHandle::Unknown => (SAMPAN_ERROR_HANDLE, None),
        })
    }

    /// The client of a request that waits has gone. False if the request has been answered.
    pub(crate) fn client_has_gone(&self, request: u64) -> bool {
        let gone = |open: &mut OpenRequest| {
            open.state = RequestState::Gone;
            ((), None)
        };
        self.0.with(request, gone).is_ok()
    }

    /// A server has ended: none of its answers has a waiting client.
    pub(crate) fn end_of(&self, server: u64) {
        self.0
            .end_where(|open| open.server == server, SAMPAN_ERROR_GONE);
    }
}

fn out_of_room() -> NativeAnswer {
    NativeAnswer::Now(Response::new(503))
}

/// Creates the handler of a route that is answered by a callback.
///
/// # Safety
/// For as long as the result exists, `handler` may be called on any thread, with `user` and a request that lives as
/// long as the call. It does not unwind.
pub(crate) unsafe fn by_callback(
    server: u64,
    handler: unsafe extern "C" fn(*mut c_void, *const sampan_request),
    user: User,
) -> impl Fn(NativeRequest) -> NativeAnswer + Send + Sync + 'static {
    move |request| {
        let Some(id) = REQUESTS.open(server, RequestState::Called(None)) else {
            return out_of_room();
        };
        // SAFETY: by this function's contract, for as long as this closure exists.
        unsafe { call(id, handler, user, &request) };
        let taken = REQUESTS.0.with(id, |open| match &mut open.state {
            RequestState::Called(answer @ Some(_)) => (answer.take(), Some(SAMPAN_ERROR_ANSWERED)),
            state => {
                *state = RequestState::Waiting(inbox::of_this_worker());
                // Under the lock of the request: an answer from now on finds a waiting client.
                (None, None)
            }
        });
        match taken {
            Ok(Some(answer)) => NativeAnswer::Now(answer.into_response(Box::new(|| ()))),
            Ok(None) => NativeAnswer::Later(Box::pin(PendingAnswer::new(id, Box::new(|| ())))),
            // The server was freed meanwhile.
            Err(_) => NativeAnswer::Now(Response::new(503)),
        }
    }
}

/// Shows a request to a callback.
///
/// # Safety
/// `handler` may be called on this thread, with `user` and a request that lives as long as the call. It does not
/// unwind.
unsafe fn call(
    id: u64,
    handler: unsafe extern "C" fn(*mut c_void, *const sampan_request),
    user: User,
    request: &NativeRequest,
) {
    let field = |name: &str, value: &[u8]| sampan_field {
        name: name.as_ptr().cast(),
        name_len: name.len(),
        value: value.as_ptr().cast(),
        value_len: value.len(),
    };
    let params: Vec<_> = request.params().collect();
    let params = params.iter();
    let params: Vec<sampan_field> = params
        .map(|(name, value)| field(name, value.as_bytes()))
        .collect();
    let headers: Vec<sampan_field> = request
        .headers()
        .map(|(name, value)| field(name, value))
        .collect();
    let remote = request.ip();
    let (method, target, path) = (request.method(), request.target(), request.path());
    let (query, body) = (request.query(), request.body());
    let shown = sampan_request {
        id,
        method: method.as_ptr().cast(),
        method_len: method.len(),
        target: target.as_ptr().cast(),
        target_len: target.len(),
        path: path.as_ptr().cast(),
        path_len: path.len(),
        query: query.map_or(std::ptr::null(), |query| query.as_ptr().cast()),
        query_len: query.map_or(0, str::len),
        remote: remote.as_ptr().cast(),
        remote_len: remote.len(),
        params: params.as_ptr(),
        param_count: params.len(),
        headers: headers.as_ptr(),
        header_count: headers.len(),
        body: body.as_ptr().cast(),
        body_len: body.len(),
    };
    let before = IS_IN_CALLBACK.replace(true);
    // SAFETY: by this function's contract. All memory that the request shows lives until the end of this function.
    unsafe { handler(user.get(), &raw const shown) };
    IS_IN_CALLBACK.set(before);
}

/// Creates the handler that puts the requests of a route into a queue.
pub(crate) fn by_queue(
    server: u64,
    tag: u32,
    queue: Arc<EntryQueue>,
) -> impl Fn(NativeRequest) -> NativeAnswer + Send + Sync + 'static {
    move |request| {
        let state = RequestState::Waiting(inbox::of_this_worker());
        let Some(id) = REQUESTS.open(server, state) else {
            return out_of_room();
        };
        let gone = Arc::clone(&queue);
        let is_overdue = request.overdue();
        let on_gone = Box::new(move || {
            let limit = match is_overdue() {
                true => "handler_millis_max",
                false => "",
            };
            gone.push(write_gone(id, limit));
        });
        let answer = PendingAnswer::new(id, on_gone);
        let headers: Vec<(&str, &[u8])> = request.headers().collect();
        let params: Vec<_> = request.params().collect();
        let parts = RequestParts {
            method: request.method(),
            target: request.target(),
            remote: &request.ip(),
            headers: &headers,
            params: &params,
            body: request.body(),
        };
        queue.push_with_turn(write_request(id, tag, &parts));
        NativeAnswer::Later(Box::pin(answer))
    }
}

/// An answer that can be sent.
pub(crate) fn checked(
    status: u32,
    headers: &[Pair<'_>],
    body: Vec<u8>,
) -> Result<GivenAnswer, CallFault> {
    /// All headers together, as the server limits them, in bytes.
    const HEADERS_BYTES_MAX: usize = 64 * 1024;
    let status = u16::try_from(status).ok();
    let status = status.filter(|status| (200..=999).contains(status));
    let status = status.ok_or_else(|| CallFault::argument("status must be 200 to 999"))?;
    let mut bytes = 0;
    let mut kept = Vec::with_capacity(headers.len());
    for &(name, value) in headers {
        let is_token =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        let is_value = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
        bytes += name.len() + value.len() + 4;
        let is_sound = !name.is_empty() && name.iter().all(is_token) && value.iter().all(is_value);
        if !is_sound || bytes > HEADERS_BYTES_MAX {
            let name = String::from_utf8_lossy(name);
            return Err(CallFault::argument(format!(
                "the header {name:?} cannot be sent"
            )));
        }
        if !name.eq_ignore_ascii_case(b"content-length") {
            kept.push((name.into(), value.into()));
        }
    }
    Ok(GivenAnswer {
        status,
        headers: kept,
        body,
        stream: None,
    })
}

/// Headers that C passes.
///
/// # Safety
/// `fields` is NULL or points to `count` fields, whose texts live as long as `'a`.
pub(crate) unsafe fn pairs<'a>(
    fields: *const sampan_field,
    count: usize,
) -> Result<Vec<Pair<'a>>, CallFault> {
    // SAFETY: `fields` is NULL or points to `count` fields that live as long as `'a`, by this function's contract.
    let fields = unsafe { text::slice(fields, count, "headers") }?.iter();
    let pair = |field: &sampan_field| {
        // SAFETY: by this function's contract; a `c_char` is a byte.
        unsafe {
            Ok((
                text::slice(field.name.cast(), field.name_len, "name of a header")?,
                text::slice(field.value.cast(), field.value_len, "value of a header")?,
            ))
        }
    };
    fields.map(pair).collect()
}

pub(crate) fn give(request: u64, answer: GivenAnswer) -> sampan_status {
    let (status, waker) = REQUESTS.answer(request, answer);
    if let Some(waker) = waker {
        waker.wake();
    }
    status
}

/// Answers a request of a callback. Any thread, during the callback or later. SAMPAN_ERROR_ANSWERED for a second
/// answer; SAMPAN_ERROR_GONE if its client has gone; SAMPAN_ERROR_ARGUMENT for a status or a header that cannot be
/// sent: then the request is still to be answered. SAMPAN_ERROR_HANDLE for an id that is none.
///
/// # Safety
/// All memory behind `response` must live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_answer(
    request: u64,
    response: *const sampan_response,
) -> sampan_status {
    protect_plain(|| {
        // SAFETY: the caller keeps `response` alive during the call, and NULL gives `None`.
        let response = unsafe { response.as_ref() };
        let response = response.ok_or_else(|| CallFault::argument("response is NULL"))?;
        // SAFETY: the caller keeps the response's list of headers and its texts alive during the call.
        let headers = unsafe { pairs(response.headers, response.header_count) }?;
        // SAFETY: by this function's contract the response's body points to so many bytes.
        let body = unsafe { text::slice(response.body.cast::<u8>(), response.body_len, "body") }?;
        let answer = checked(response.status, &headers, body.to_vec())?;
        Ok(give(request, answer))
    })
}

/// Answers with a body of one content type, which may be NULL: then there is no such header.
///
/// # Safety
/// The texts must live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_answer_text(
    request: u64,
    status: u32,
    content_type: *const c_char,
    body: *const c_char,
    body_len: usize,
) -> sampan_status {
    protect_plain(|| {
        // SAFETY: the caller keeps the text alive during the call; NULL is allowed.
        let content_type = unsafe { text::optional(content_type, "content_type") }?;
        // SAFETY: by this function's contract `body` points to `body_len` bytes.
        let body = unsafe { text::slice(body.cast::<u8>(), body_len, "body") }?;
        let header = content_type.map(|value| (&b"Content-Type"[..], value.as_bytes()));
        let header: Vec<Pair<'_>> = header.into_iter().collect();
        let answer = checked(status, &header, body.to_vec())?;
        Ok(give(request, answer))
    })
}

/// Finds the first header of a name, in any case. SAMPAN_ERROR_MISSING: there is none. Only during the callback.
///
/// # Safety
/// `request` is that of a callback that has not returned, or one of the caller's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_request_header(
    request: *const sampan_request,
    name: *const c_char,
    value: *mut *const c_char,
    len: *mut usize,
) -> sampan_status {
    // SAFETY: by this function's contract the request is alive during the call, and so are its headers. `name`, `value`
    // and `len` are NULL or the caller's for this call.
    unsafe {
        find(name, value, len, || {
            request.as_ref().map(|it| (it.headers, it.header_count))
        })
    }
}

/// Finds a parameter of the route's pattern. SAMPAN_ERROR_MISSING: there is none. Only during the callback.
///
/// # Safety
/// As sampan_request_header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_request_param(
    request: *const sampan_request,
    name: *const c_char,
    value: *mut *const c_char,
    len: *mut usize,
) -> sampan_status {
    // SAFETY: by this function's contract the request is alive during the call, and so are its parameters. `name`,
    // `value` and `len` are NULL or the caller's for this call.
    unsafe {
        find(name, value, len, || {
            request.as_ref().map(|it| (it.params, it.param_count))
        })
    }
}

/// Finds a field by its name.
///
/// # Safety
/// `name`, `value` and `len` are the caller's for this call, and so is what `fields` gives.
unsafe fn find(
    name: *const c_char,
    value: *mut *const c_char,
    len: *mut usize,
    fields: impl FnOnce() -> Option<(*const sampan_field, usize)>,
) -> sampan_status {
    protect_plain(|| {
        // SAFETY: the caller owns `name`, `value`, `len` and what `fields` gives for this call; each may be NULL.
        unsafe {
            let name = text::required(name, "name")?;
            let (mut value, mut len) = (text::place(value, "value")?, text::place(len, "len")?);
            let (fields, count) = fields().ok_or_else(|| CallFault::argument("request is NULL"))?;
            let is_it = |(key, _): &&Pair<'_>| key.eq_ignore_ascii_case(name.as_bytes());
            let all = pairs(fields, count)?;
            let found = all.iter().find(is_it);
            let none = || CallFault::new(SAMPAN_ERROR_MISSING, "there is none");
            let (_, found) = found.ok_or_else(none)?;
            value.write(found.as_ptr().cast());
            len.write(found.len());
            Ok(SAMPAN_OK)
        }
    })
}

/// The status of an entry that could not be taken.
pub(crate) const MALFORMED: sampan_status = SAMPAN_ERROR_ARGUMENT;
