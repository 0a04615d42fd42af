//! Servers.

use crate::entries::{read_answer, write_code};
use crate::options::{OPTION_NAMES, User, sampan_log_fn, settings, taker};
use crate::requests::{MALFORMED, REQUESTS, by_callback, by_queue, checked, sampan_handler_fn};
use crate::server_state::{NOT_RUNNING, SERVERS, ServerEntry, ServerState, entry};
use crate::signals::without_sigpipe;
use crate::status::{
    CallFault, SAMPAN_ERROR_INTERNAL, SAMPAN_OK, protect_plain, protect_telling, sampan_error,
    sampan_status,
};
use crate::text;
use sampan::App;
use sampan_http::BodyRule;
use sampan_serve::check_native_routes;
use sampan_serve::native::{NativeHandler, NativeRoute};
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::task::Waker;

/// A server: a number. 0 is never one.
pub type sampan_server = u64;

/// The options of a server. Set everything to 0 that is not used.
#[repr(C)]
pub struct sampan_server_options {
    /// sizeof(sampan_server_options). Later versions add fields at the end.
    pub size: usize,
    /// The folder, or the file, of a Lua or JavaScript project; NULL for native routes alone.
    pub project: *const c_char,
    /// "127.0.0.1:8080", with port 0 for a free one, "unix:/run/app.sock", or several with commas between; NULL as
    /// configured.
    pub listen: *const c_char,
    /// The path of a configuration file; NULL for the project's sampan.toml.
    pub config: *const c_char,
    /// Texts like "limits.body_bytes_max=1MB", as `sampan run --set` takes them. They win over the file.
    pub settings: *const *const c_char,
    /// The number of settings.
    pub settings_count: usize,
    /// Takes the log; NULL for standard error.
    pub log: sampan_log_fn,
    /// The first argument of log.
    pub log_user: *mut c_void,
    /// The number of serving threads; 0 as configured, which is one for each core unless said otherwise.
    pub workers: u32,
}

/// Makes a server, which does not listen yet. *server is its handle, to be given to sampan_server_free.
///
/// Errors: SAMPAN_ERROR_ARGUMENT. Settings are looked at by sampan_server_start.
///
/// # Safety
/// All memory behind `options` must live as long as the call; `log` as long as the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_new(
    options: *const sampan_server_options,
    server: *mut sampan_server,
    error: *mut sampan_error,
) -> sampan_status {
    let make = || {
        // SAFETY: `server` is NULL or the caller's for this call, by this function's contract.
        let mut server = unsafe { text::place(server, "server") }?;
        server.write(0);
        // SAFETY: by this function's contract the options begin with their size, and live as long as the call.
        let options = unsafe { text::sized(options, "sampan_server_options") }?;
        let mut app = App::new().option_names(OPTION_NAMES);
        // SAFETY: the caller keeps all that the options point to alive during the call, and `log` with the server.
        unsafe {
            if let Some(project) = text::optional(options.project, "project")? {
                app = app.project(project);
            }
            if let Some(listen) = text::optional(options.listen, "listen")? {
                app = app.listen(listen);
            }
            if let Some(config) = text::optional(options.config, "config")? {
                app = app.config(config);
            }
            for setting in settings(options.settings, options.settings_count)? {
                app = app.set(setting);
            }
        }
        if options.workers > 0 {
            app = app.workers(options.workers as usize);
        }
        // SAFETY: by this function's contract `log` and what it is given outlive the server.
        if let Some(take) = unsafe { taker(options.log, options.log_user) } {
            app = app.log(take);
        }
        let make =
            Box::new(move |routes: Vec<NativeRoute>| routes.into_iter().fold(app, App::native));
        let entry = Arc::new(ServerEntry::new(make));
        let full = || CallFault::new(SAMPAN_ERROR_INTERNAL, "there are too many servers");
        server.write(SERVERS.insert(0, entry).ok_or_else(full)?);
        Ok(SAMPAN_OK)
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, make) }
}

/// Adds a route to a server that has not started.
///
/// # Safety
/// The texts must live as long as the call.
unsafe fn add_route(
    server: sampan_server,
    method: *const c_char,
    pattern: *const c_char,
    handler: impl FnOnce(&ServerEntry) -> Result<NativeHandler, CallFault>,
) -> Result<sampan_status, CallFault> {
    const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    // SAFETY: the caller keeps both texts alive during the call; NULL is allowed.
    let (method, pattern) = unsafe {
        (
            text::optional(method, "method")?,
            text::required(pattern, "pattern")?,
        )
    };
    if let Some(method) = method.filter(|method| !METHODS.contains(method)) {
        let known = METHODS.join(", ");
        return Err(CallFault::argument(format!(
            "{method:?} is none of {known}; NULL stands for all"
        )));
    }
    let entry = entry(server)?;
    let handler = handler(&entry)?;
    match &mut *entry.lock() {
        ServerState::New(routes, _) => {
            routes.push(NativeRoute {
                body: BodyRule::default(),
                method: method.map(str::to_owned),
                pattern: pattern.to_owned(),
                handler,
                place: None,
            });
            if let Err(error) = check_native_routes(routes) {
                routes.pop();
                return Err(CallFault::argument(error.message()));
            }
        }
        _ => return Err(CallFault::state("routes are added before the start")),
    }
    Ok(SAMPAN_OK)
}

/// Adds a route that a function answers. method: "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", or NULL for all.
/// pattern: as in scripts, with :name for a part and *name for the rest at the end. Only before the start. What user
/// points to must live as long as the server.
///
/// Errors: SAMPAN_ERROR_HANDLE, SAMPAN_ERROR_ARGUMENT, also for a pattern that cannot be and a route that is there
/// twice, SAMPAN_ERROR_STATE. A route that a script has too is an error of sampan_server_start.
///
/// # Safety
/// `handler` may be called on any thread, on several at the same time, until the server has stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_route(
    server: sampan_server,
    method: *const c_char,
    pattern: *const c_char,
    handler: sampan_handler_fn,
    user: *mut c_void,
    error: *mut sampan_error,
) -> sampan_status {
    let user = User(user);
    let add = || {
        let handler = handler.ok_or_else(|| CallFault::argument("handler is NULL"))?;
        let native = |_: &ServerEntry| {
            // SAFETY: by this function's contract the handler may be called until the server has stopped, which keeps
            // the result. `user` is only given to the handler.
            let answer = unsafe { by_callback(server, handler, user) };
            Ok(Arc::new(answer) as NativeHandler)
        };
        // SAFETY: by this function's contract the texts end with NUL and live as long as the call.
        unsafe { add_route(server, method, pattern, native) }
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, add) }
}

/// Adds a route whose requests are taken in batches, by sampan_server_next. Each has the tag, which must not be
/// SAMPAN_TAG_GONE. Else as sampan_server_route.
///
/// # Safety
/// The texts must live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_queue_route(
    server: sampan_server,
    method: *const c_char,
    pattern: *const c_char,
    tag: u32,
    error: *mut sampan_error,
) -> sampan_status {
    let add = || {
        if tag == crate::entries::SAMPAN_TAG_GONE {
            return Err(CallFault::argument("tag is SAMPAN_TAG_GONE"));
        }
        let native = |entry: &ServerEntry| {
            Ok(Arc::new(by_queue(server, tag, Arc::clone(&entry.queue))) as NativeHandler)
        };
        // SAFETY: by this function's contract the texts end with NUL and live as long as the call.
        unsafe { add_route(server, method, pattern, native) }
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, add) }
}

/// Loads the project on each worker, listens, and serves on threads of the library. Returns when it serves. A server
/// starts once: after an error it can only be freed.
///
/// Errors: SAMPAN_ERROR_CONFIG, SAMPAN_ERROR_LOAD with file and line, SAMPAN_ERROR_ADDRESS, SAMPAN_ERROR_STATE,
/// SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `error` is NULL or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_start(
    server: sampan_server,
    error: *mut sampan_error,
) -> sampan_status {
    let start = || {
        let entry = entry(server)?;
        let before = {
            let mut state = entry.lock();
            match &*state {
                ServerState::New(..) => std::mem::replace(&mut *state, ServerState::Busy),
                _ => return Err(CallFault::state("the server has been started before")),
            }
        };
        let ServerState::New(routes, make) = before else {
            return Err(CallFault::state("the server has been started before"));
        };
        match without_sigpipe(|| make(routes).start()) {
            Ok(running) => {
                *entry.lock() = ServerState::Running(Arc::new(running));
                Ok(SAMPAN_OK)
            }
            Err(error) => {
                *entry.lock() = ServerState::Ended {
                    is_thread_left: false,
                };
                entry.queue.close();
                Err(error.into())
            }
        }
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, start) }
}

/// Writes an address that the server listens on, as "127.0.0.1:8080" and NUL. at counts from 0.
///
/// Errors: SAMPAN_ERROR_ARGUMENT if there is no such address or it does not fit, SAMPAN_ERROR_STATE,
/// SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `text` points to `size` bytes of the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_address(
    server: sampan_server,
    at: usize,
    text: *mut c_char,
    size: usize,
) -> sampan_status {
    protect_plain(|| {
        let address = match &*entry(server)?.lock() {
            ServerState::Running(running) => running.addresses().get(at).copied(),
            _ => return Err(CallFault::state(NOT_RUNNING)),
        };
        let none = || CallFault::argument("there is no such address");
        let address = address.ok_or_else(none)?.to_string();
        if text.is_null() || address.len() >= size {
            return Err(CallFault::argument("the address does not fit"));
        }
        // SAFETY: `text` has room for `size` bytes, which are more than those of the address.
        unsafe {
            text.cast::<u8>()
                .copy_from_nonoverlapping(address.as_ptr(), address.len());
            text.add(address.len()).write(0);
        }
        Ok(SAMPAN_OK)
    })
}

/// Loads the project anew, with its configuration. Requests in flight end in the old one. On an error that goes on.
///
/// Errors: SAMPAN_ERROR_LOAD, SAMPAN_ERROR_CONFIG; SAMPAN_ERROR_STATE if it does not run, and in a callback;
/// SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `error` is NULL or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_reload(
    server: sampan_server,
    error: *mut sampan_error,
) -> sampan_status {
    let reload = || {
        entry(server)?.reload()?;
        Ok(SAMPAN_OK)
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, reload) }
}

/// Stops accepting, lets requests in flight end within limits.shutdown_millis_max, and ends the threads; blocks until
/// then. Threads in sampan_server_next get what is left, and then SAMPAN_ERROR_STOPPED. Requests that are not answered
/// by then need no answer any more.
///
/// Errors: SAMPAN_ERROR_STATE if it does not run, and in a callback; SAMPAN_ERROR_HANDLE; SAMPAN_ERROR_BUSY: it has
/// stopped, but a thread still runs a callback or a script, so the memory behind each user and log_user must stay.
///
/// # Safety
/// `error` is NULL or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_stop(
    server: sampan_server,
    error: *mut sampan_error,
) -> sampan_status {
    let stop = || entry(server)?.stop(server, true)?.into_status();
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, stop) }
}

/// Stops a server if it runs, and forgets it. The handle stands for nothing from then on: freeing it again is
/// SAMPAN_ERROR_HANDLE.
///
/// Errors: SAMPAN_ERROR_HANDLE; SAMPAN_ERROR_STATE in a callback, and while another thread starts or stops it;
/// SAMPAN_ERROR_BUSY: it is freed, but a thread still runs a callback or a script, so the memory behind each user and
/// log_user must stay.
#[unsafe(no_mangle)]
pub extern "C" fn sampan_server_free(server: sampan_server) -> sampan_status {
    protect_plain(|| {
        let threads = entry(server)?.stop(server, false)?;
        let removed = SERVERS.remove(server);
        removed.map_err(|_| CallFault::handle("server"))?;
        threads.into_status()
    })
}

/// Moves requests of the routes of sampan_server_queue_route into a buffer: sampan_request_entry, one behind the other,
/// as many as there are and fit. *len is what they have in bytes. Waits for the first, at most timeout_millis: any
/// negative number is for ever, 0 not at all. Several threads may do so at the same time. Each request is to be
/// answered once, by sampan_server_answer; also one that an entry with SAMPAN_TAG_GONE names.
///
/// Gives SAMPAN_TIMEOUT; SAMPAN_SMALL_BUFFER: *len is what the first entry needs, nothing is taken;
/// SAMPAN_ERROR_STOPPED: none comes any more; SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `buffer` points to `capacity` bytes of the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_next(
    server: sampan_server,
    timeout_millis: i64,
    buffer: *mut c_void,
    capacity: usize,
    len: *mut usize,
) -> sampan_status {
    protect_plain(|| {
        let entry = entry(server)?;
        // SAFETY: by this function's contract `buffer` is a place for `capacity` bytes and `len` one for a number.
        unsafe { entry.queue.take(timeout_millis, buffer, capacity, len) }
    })
}

/// Answers requests by entries, sampan_answer_entry one behind the other. Never waits. The code of each entry is
/// overwritten with what came of it: SAMPAN_OK, SAMPAN_ERROR_ANSWERED, SAMPAN_ERROR_GONE, SAMPAN_ERROR_HANDLE, or
/// SAMPAN_ERROR_ARGUMENT for a status or a header that cannot be sent: such a request is still to be answered.
///
/// Errors: SAMPAN_ERROR_ARGUMENT for bytes that are no entry: those before it have been answered. SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `entries` points to `len` bytes of the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_server_answer(
    server: sampan_server,
    entries: *mut c_void,
    len: usize,
) -> sampan_status {
    protect_plain(|| {
        entry(server)?;
        if len == 0 {
            return Ok(SAMPAN_OK);
        }
        if entries.is_null() {
            return Err(CallFault::argument("entries is NULL, its length is not 0"));
        }
        // SAFETY: it is not NULL, so the caller promises `len` bytes that only this call uses meanwhile.
        let mut rest = unsafe { std::slice::from_raw_parts_mut(entries.cast::<u8>(), len) };
        let mut wakers: Vec<Waker> = Vec::new();
        let mut outcome = Ok(SAMPAN_OK);
        while !rest.is_empty() {
            let (id, answer, size) = match read_answer(rest) {
                Ok((read, size)) => {
                    let answer = checked(read.status, &read.headers, read.body.to_vec());
                    (read.id, answer, size)
                }
                Err(_) => {
                    outcome = Err(CallFault::argument("not an entry of an answer"));
                    break;
                }
            };
            let code = match answer {
                Ok(answer) => {
                    let (code, waker) = REQUESTS.answer(id, answer);
                    wakers.extend(waker);
                    code
                }
                Err(_) => MALFORMED,
            };
            let (entry, behind) = rest.split_at_mut(size);
            write_code(entry, code);
            rest = behind;
        }
        // After all have been put in: each worker is woken once.
        wakers.into_iter().for_each(Waker::wake);
        outcome
    })
}
