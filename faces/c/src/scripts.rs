//! Scripts without a server.

use crate::entries::{
    AnswerParts, Pair, RequestEntry, SAMPAN_CALL, SAMPAN_HANDLE, read_request, write_answer,
};
use crate::handles::{HandleKind, Handles};
use crate::options::{OPTION_NAMES, sampan_log_fn, settings, taker};
use crate::queue::EntryQueue;
use crate::replies::{keep, sampan_reply};
use crate::requests::{pairs, sampan_request};
use crate::signals::without_sigpipe;
use crate::status::{
    CallFault, SAMPAN_ERROR_INTERNAL, SAMPAN_OK, Threads, protect_plain, protect_telling,
    sampan_error, sampan_status, tell,
};
use crate::text;
use sampan::host::Error;
use sampan::{Scripts, Value, from_json, to_json};
use sampan_runtime::{HttpRequest, JobHandle, Outcome, Work, request_bytes};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Scripts: a number. 0 is never one.
pub type sampan_scripts = u64;

/// The options of scripts. Set everything to 0 that is not used.
#[repr(C)]
pub struct sampan_scripts_options {
    /// sizeof(sampan_scripts_options). Later versions add fields at the end.
    pub size: usize,
    /// The file, or the folder of a project; NULL for a text.
    pub path: *const c_char,
    /// The text of the script; NULL for a file.
    pub text: *const c_char,
    /// The length of text, in bytes.
    pub text_len: usize,
    /// The name of the text in errors. Its end tells the language: "hello.lua", "hello.js".
    pub name: *const c_char,
    /// The path of a configuration file; NULL for the sampan.toml beside the script.
    pub config: *const c_char,
    /// Texts like "limits.script_millis_max=100". They win over the file.
    pub settings: *const *const c_char,
    /// The number of settings.
    pub settings_count: usize,
    /// Takes the log; NULL for standard error.
    pub log: sampan_log_fn,
    /// The first argument of log.
    pub log_user: *mut c_void,
    /// The number of isolates, with a thread each; 0 for one for each core.
    pub workers: u32,
    /// The maximum number of requests and calls may wait and run at the same time; 0 for 1024 for each isolate.
    pub queue_max: u32,
    /// The shortest time between two checks, made when work comes, for changes of the script's file, in milliseconds; 0
    /// for each time, -1 for
    /// never.
    pub reload_millis: i32,
}

static SCRIPTS: Handles<Arc<ScriptsEntry>> = Handles::new(HandleKind::Scripts);

/// The entry of a handle.
struct ScriptsEntry {
    scripts: Scripts,
    answers: Arc<EntryQueue>,
    /// The entries under way, by the ids that the program chose.
    jobs: Arc<Mutex<Jobs>>,
}

type Jobs = HashMap<u64, Option<JobHandle>>;

fn lock(jobs: &Mutex<Jobs>) -> MutexGuard<'_, Jobs> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

fn entry(scripts: sampan_scripts) -> Result<Arc<ScriptsEntry>, CallFault> {
    SCRIPTS
        .get(scripts)
        .map_err(|_| CallFault::handle("scripts"))
}

/// Loads a script into isolates. It is an app file as for `sampan run`, with routes or a fetch export, or has functions
/// to be called by name: global ones, or those of the table that it returns, in Lua; exported ones in JavaScript.
/// *scripts is the handle, for sampan_scripts_free.
///
/// Errors: SAMPAN_ERROR_LOAD with file and line, SAMPAN_ERROR_CONFIG, SAMPAN_ERROR_ARGUMENT.
///
/// # Safety
/// All memory behind `options` must live as long as the call; `log` as long as the scripts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_scripts_new(
    options: *const sampan_scripts_options,
    scripts: *mut sampan_scripts,
    error: *mut sampan_error,
) -> sampan_status {
    let make = || {
        // SAFETY: `scripts` is NULL or the caller's for this call, by this function's contract.
        let mut scripts = unsafe { text::place(scripts, "scripts") }?;
        scripts.write(0);
        // SAFETY: by this function's contract the options begin with their size, and live as long as the call.
        let options = unsafe { text::sized(options, "sampan_scripts_options") }?;
        // SAFETY: the caller keeps all that the options point to alive during the call, and `log` with the scripts.
        let builder = unsafe {
            let path = text::optional(options.path, "path")?;
            let name = text::optional(options.name, "name")?;
            let mut builder = match (path, name) {
                (Some(_), _) if !options.text.is_null() => {
                    return Err(CallFault::argument(
                        "path and text: one of them is to be NULL",
                    ));
                }
                (Some(path), _) => Scripts::file(path),
                (None, Some(name)) => {
                    Scripts::text(name, text::utf8(options.text, options.text_len, "text")?)
                }
                (None, None) if options.text.is_null() => {
                    return Err(CallFault::argument(
                        "path and text are NULL: there is no script",
                    ));
                }
                (None, None) => {
                    return Err(CallFault::argument(
                        "name is NULL: its end tells the language of text, as in \"hello.lua\"",
                    ));
                }
            };
            builder = builder.option_names(OPTION_NAMES);
            if let Some(config) = text::optional(options.config, "config")? {
                builder = builder.config(config);
            }
            for setting in settings(options.settings, options.settings_count)? {
                builder = builder.set(setting);
            }
            builder
        };
        let mut builder = builder;
        if options.workers > 0 {
            builder = builder.workers(options.workers as usize);
        }
        if options.queue_max > 0 {
            builder = builder.queue_max(options.queue_max as usize);
        }
        if let Ok(millis) = u64::try_from(options.reload_millis) {
            builder = builder.reload_every(Duration::from_millis(millis));
        }
        // SAFETY: by this function's contract `log` and what it is given outlive the scripts.
        if let Some(take) = unsafe { taker(options.log, options.log_user) } {
            builder = builder.log(take);
        }
        let entry = Arc::new(ScriptsEntry {
            scripts: without_sigpipe(|| builder.load())?,
            answers: Arc::default(),
            jobs: Arc::default(),
        });
        let full = || CallFault::new(SAMPAN_ERROR_INTERNAL, "there are too many scripts");
        scripts.write(SCRIPTS.insert(0, entry).ok_or_else(full)?);
        Ok(SAMPAN_OK)
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, make) }
}

/// The work that a request is.
fn request_work(
    method: &str,
    target: &str,
    remote: &str,
    headers: &[Pair<'_>],
    body: &[u8],
) -> Result<Work, CallFault> {
    let bytes = request_bytes(method, target, headers.iter().copied(), body);
    let bytes =
        bytes.map_err(|what| CallFault::argument(format!("{what:?} cannot stand in a request")))?;
    let mut request = HttpRequest::new(bytes);
    // A server's request of a Unix socket is as one without an address.
    if !remote.is_empty() && remote != "unix:" {
        let address = remote.parse::<SocketAddr>();
        let address = address.or_else(|_| Ok(SocketAddr::new(remote.parse::<IpAddr>()?, 0)));
        let none = |_: std::net::AddrParseError| CallFault::argument("remote is no IP address");
        request.peer = address.map_err(none)?;
    }
    Ok(Work::Handle(request))
}

/// The work that a call is.
fn call_work(function: &str, arguments: &[u8]) -> Result<Work, CallFault> {
    let arguments = match arguments {
        [] => Vec::new(),
        text => match from_json(text) {
            Ok(Value::List(arguments)) => arguments,
            Ok(_) => return Err(CallFault::argument("arguments must be a JSON array")),
            Err(error) => return Err(CallFault::argument(format!("arguments: {error}"))),
        },
    };
    Ok(Work::Call {
        function: function.to_owned(),
        arguments,
    })
}

/// The parts of a result.
struct OutcomeParts {
    status: u32,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    /// The failure, where the answer says no more than that something did.
    fault: Option<CallFault>,
}

fn parts(outcome: Result<Outcome, Error>) -> Result<OutcomeParts, CallFault> {
    match outcome.map_err(sampan::Error::from)? {
        Outcome::Answer { answer, error } => {
            let fault = error.map(|error| CallFault::from(sampan::Error::from(error)));
            if answer.is_cut {
                let cut = || CallFault::new(SAMPAN_ERROR_INTERNAL, "the body of the answer failed");
                return Err(fault.unwrap_or_else(cut));
            }
            Ok(OutcomeParts {
                status: answer.status.into(),
                headers: answer.headers,
                body: answer.body,
                fault,
            })
        }
        Outcome::Value(value) => Ok(OutcomeParts {
            status: 200,
            headers: Vec::new(),
            body: to_json(&value)?.into_bytes(),
            fault: None,
        }),
    }
}

/// Has a work done, and waits for it. The fault is what failed beside an answer.
fn wait(
    entry: &ScriptsEntry,
    work: Work,
    timeout_millis: i64,
) -> Result<(sampan_reply, Option<CallFault>), CallFault> {
    let (sender, outcome) = sync_channel(1);
    let done = Box::new(move |outcome| drop(sender.send(outcome)));
    let job = entry.scripts.pool().submit(work, done);
    let job = job.map_err(sampan::Error::from)?;
    let lost = |_| CallFault::new(SAMPAN_ERROR_INTERNAL, "a work was lost");
    let outcome = match u64::try_from(timeout_millis) {
        Err(_) => outcome.recv().map_err(lost)?,
        Ok(millis) => match outcome.recv_timeout(Duration::from_millis(millis)) {
            Err(RecvTimeoutError::Timeout) => {
                job.cancel();
                outcome.recv().map_err(lost)?
            }
            told => told.map_err(|_| CallFault::new(SAMPAN_ERROR_INTERNAL, "a work was lost"))?,
        },
    };
    let parts = parts(outcome)?;
    Ok((keep(parts.status, parts.headers, parts.body)?, parts.fault))
}

/// Has the script answer a request, and waits for the answer, at most timeout_millis (-1: as long as the limits let
/// it). Of request only method, target, remote (which may be empty), headers and body are read. *reply is to be given
/// to sampan_reply_free by its handle. The error of a handler is an answer too, with a status from 400. Where the
/// script has not handled it and it is no fault of the client, *error says what and where it was, beside SAMPAN_OK: its
/// code is that of sampan_scripts_call for such an error.
///
/// Errors: SAMPAN_ERROR_CANCELLED if the time is up, SAMPAN_ERROR_LIMIT if the queue is full, SAMPAN_ERROR_STOPPED,
/// SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// All memory behind `request` must live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_scripts_handle(
    scripts: sampan_scripts,
    request: *const sampan_request,
    timeout_millis: i64,
    reply: *mut sampan_reply,
    error: *mut sampan_error,
) -> sampan_status {
    let mut beside = None;
    let handle = || {
        let entry = entry(scripts)?;
        // SAFETY: the caller keeps `request` and its memory alive during the call, and owns `reply`; each may be NULL.
        unsafe {
            let mut reply = text::place(reply, "reply")?;
            let request = request.as_ref();
            let request = request.ok_or_else(|| CallFault::argument("request is NULL"))?;
            let work = request_work(
                text::utf8(request.method, request.method_len, "method")?,
                text::utf8(request.target, request.target_len, "target")?,
                text::utf8(request.remote, request.remote_len, "remote")?,
                &pairs(request.headers, request.header_count)?,
                text::slice(request.body.cast(), request.body_len, "body")?,
            )?;
            let (answer, fault) = wait(&entry, work, timeout_millis)?;
            reply.write(answer);
            beside = fault;
        }
        Ok(SAMPAN_OK)
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe {
        let status = protect_telling(error, handle);
        if let Some(fault) = &beside {
            tell(error, fault);
        }
        status
    }
}

/// Calls a function by its name with the arguments of a JSON array (NULL: none), and waits as sampan_scripts_handle.
/// The body of *reply is what it returned, as JSON.
///
/// Errors: SAMPAN_ERROR_SCRIPT with file and line, SAMPAN_ERROR_MISSING, and those of sampan_scripts_handle.
///
/// # Safety
/// The texts must live as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_scripts_call(
    scripts: sampan_scripts,
    function: *const c_char,
    arguments: *const c_char,
    arguments_len: usize,
    timeout_millis: i64,
    reply: *mut sampan_reply,
    error: *mut sampan_error,
) -> sampan_status {
    let call = || {
        let entry = entry(scripts)?;
        // SAFETY: the caller keeps the texts alive during the call, and owns `reply`; each may be NULL.
        unsafe {
            let mut reply = text::place(reply, "reply")?;
            let function = text::required(function, "function")?;
            let arguments = text::slice(arguments.cast(), arguments_len, "arguments")?;
            let work = call_work(function, arguments)?;
            reply.write(wait(&entry, work, timeout_millis)?.0);
        }
        Ok(SAMPAN_OK)
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, call) }
}

impl ScriptsEntry {
    /// Hands over one entry.
    fn submit(&self, request: &RequestEntry<'_>) -> Result<(), CallFault> {
        let text = |bytes, name: &str| {
            let text = std::str::from_utf8(bytes);
            text.map_err(|_| CallFault::argument(format!("{name} is not UTF-8")))
        };
        let target = text(request.target, "target")?;
        let work = match request.tag {
            SAMPAN_HANDLE => request_work(
                text(request.method, "method")?,
                target,
                text(request.remote, "remote")?,
                &request.headers,
                request.body,
            )?,
            SAMPAN_CALL => call_work(target, request.body)?,
            _ => {
                return Err(CallFault::argument(
                    "tag is neither SAMPAN_HANDLE nor SAMPAN_CALL",
                ));
            }
        };
        let id = request.id;
        if lock(&self.jobs).insert(id, None).is_some() {
            return Err(CallFault::argument("an entry with this id is under way"));
        }
        let (jobs, answers) = (Arc::clone(&self.jobs), Arc::clone(&self.answers));
        let done = Box::new(move |outcome| {
            lock(&jobs).remove(&id);
            answers.push(answer_entry(id, outcome));
        });
        match self.scripts.pool().submit(work, done) {
            Ok(job) => {
                // It may have ended already.
                if let Some(place) = lock(&self.jobs).get_mut(&id) {
                    *place = Some(job);
                }
                Ok(())
            }
            Err(refused) => {
                lock(&self.jobs).remove(&id);
                Err(sampan::Error::from(refused).into())
            }
        }
    }
}

fn answer_entry(id: u64, outcome: Result<Outcome, Error>) -> Vec<u8> {
    let (parts, fault) = match parts(outcome) {
        Ok(mut parts) => {
            let fault = parts.fault.take();
            (Some(parts), fault)
        }
        Err(fault) => (None, Some(fault)),
    };
    let (parts, fault) = (parts.as_ref(), fault.as_ref());
    let written = AnswerParts {
        status: parts.map_or(0, |parts| parts.status),
        headers: parts.map_or(&[], |parts| &parts.headers),
        body: parts.map_or(&[], |parts| &parts.body),
        code: fault.map_or(SAMPAN_OK, |fault| fault.code),
        line: fault.map_or(0, |fault| fault.line),
        file: fault.map_or("", |fault| &fault.file),
        message: fault.map_or("", |fault| &fault.message),
    };
    write_answer(id, &written)
}

/// Hands over requests and calls: sampan_request_entry, one behind the other. Never waits. *taken is how many of them
/// were taken, of which each gets one answer by sampan_scripts_next. The first that cannot be taken ends it, and is
/// what the function returns. Those behind it have not been looked at, and can be handed over by another call: behind
/// one that was refused with SAMPAN_ERROR_ARGUMENT at once.
///
/// Errors: SAMPAN_ERROR_LIMIT if the queue is full, SAMPAN_ERROR_STOPPED, SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `entries` points to `len` bytes that stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_scripts_submit(
    scripts: sampan_scripts,
    entries: *const c_void,
    len: usize,
    taken: *mut usize,
) -> sampan_status {
    protect_plain(|| {
        // SAFETY: `taken` is NULL or a number of the caller's for this call.
        let mut taken = unsafe { text::place(taken, "taken") }?;
        taken.write(0);
        let entry = entry(scripts)?;
        // SAFETY: `entries` points to `len` bytes that stay as they are during the call, by this function's contract.
        let mut rest: &[u8] = unsafe { text::slice(entries.cast(), len, "entries") }?;
        let mut count = 0;
        while !rest.is_empty() {
            let read = read_request(rest);
            let (request, behind) =
                read.map_err(|_| CallFault::argument("not an entry of a request"))?;
            entry.submit(&request)?;
            count += 1;
            taken.write(count);
            rest = behind;
        }
        Ok(SAMPAN_OK)
    })
}

/// Moves answers into a buffer, as sampan_server_next does with requests: sampan_answer_entry, in the order in which
/// they became ready. Each entry that was taken is answered once, one that was given up too.
///
/// # Safety
/// `buffer` points to `capacity` bytes of the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_scripts_next(
    scripts: sampan_scripts,
    timeout_millis: i64,
    buffer: *mut c_void,
    capacity: usize,
    len: *mut usize,
) -> sampan_status {
    protect_plain(|| {
        let entry = entry(scripts)?;
        // SAFETY: by this function's contract `buffer` is a place for `capacity` bytes and `len` one for a number.
        unsafe { entry.answers.take(timeout_millis, buffer, capacity, len) }
    })
}

/// Gives up an entry by its id: one that waits does not begin, one that runs is stopped. Its answer has
/// SAMPAN_ERROR_CANCELLED, and is ready at once. SAMPAN_ERROR_HANDLE: no entry with this id is under way, or there are
/// no such scripts.
#[unsafe(no_mangle)]
pub extern "C" fn sampan_scripts_cancel(scripts: sampan_scripts, id: u64) -> sampan_status {
    protect_plain(|| {
        let entry = entry(scripts)?;
        let job = lock(&entry.jobs).get(&id).cloned().flatten();
        match job {
            Some(job) if job.cancel() => Ok(SAMPAN_OK),
            _ => Err(CallFault::handle("entry")),
        }
    })
}

/// Loads the script anew in all isolates. What runs ends in the old ones. On an error those go on.
///
/// Errors: SAMPAN_ERROR_LOAD with file and line, SAMPAN_ERROR_HANDLE.
///
/// # Safety
/// `error` is NULL or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sampan_scripts_reload(
    scripts: sampan_scripts,
    error: *mut sampan_error,
) -> sampan_status {
    let reload = || {
        entry(scripts)?.scripts.reload()?;
        Ok(SAMPAN_OK)
    };
    // SAFETY: `error` is NULL or the caller's for this call, by this function's contract.
    unsafe { protect_telling(error, reload) }
}

/// Gives up what waits and runs, ends the threads, and forgets the scripts. Threads in sampan_scripts_next get what is
/// left, and then SAMPAN_ERROR_STOPPED or SAMPAN_ERROR_HANDLE. Freeing the handle again is SAMPAN_ERROR_HANDLE.
///
/// Errors: SAMPAN_ERROR_HANDLE; SAMPAN_ERROR_BUSY: the scripts are freed, but a thread still runs one of them, so the
/// memory behind log_user must stay.
#[unsafe(no_mangle)]
pub extern "C" fn sampan_scripts_free(scripts: sampan_scripts) -> sampan_status {
    protect_plain(|| {
        let removed = SCRIPTS.remove(scripts);
        let entry = removed.map_err(|_| CallFault::handle("scripts"))?;
        let threads = match entry.scripts.stop() {
            true => Threads::Ended,
            false => Threads::LeftBehind,
        };
        entry.answers.close();
        threads.into_status()
    })
}
