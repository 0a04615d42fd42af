//! Sequences of calls of the C interface with handles that are alive, freed, of another kind, or none at all. Each call
//! returns the status that a simple model of the handles says. Each entry that was taken is answered once, and what
//! the interface writes lies within the places that it was given.

// The functions of C's interface, called as a program in C calls them: each block says why its pointers are sound.
#![allow(unsafe_code)]

mod batches;
mod entries;
mod others;

use crate::choices::Choices;
use crate::json::same;
use sampan_c::*;
use serde_json::Value;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

/// Pieces of requests and calls.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"\0", b"\x01", b"\x02", b"\x03", b"\x04", b"\x05", b"\x06", b"\x07", b"\x08", b"\x09", b"\n", b"[1]\n", b"[]", b"[{\"a\":null}]\n", b"[\"\\u0000\"]\n",
    b"GET\n", b"POST\n", b"/echo/a\n", b"/fails\n", b"X-A: b\n", b"\r\n", b"127.0.0.1", b"echo\n", b"fails\n", b"[[[", b"/%zz", b":id", b"/*rest", b"\xff",
];

const LUA: &str = "local app = require 'sampan'\n\
    function echo(value) return value end\n\
    function fails() error('on purpose') end\n\
    app.post('/echo/:x', function(req) return app.text(req.params.x .. req:bytes(), { headers = { ['X-A'] = 'b' } }) end)\n\
    app.get('/fails', fails)\n";

const JS: &str = "import { app, text } from 'sampan';\n\
    export const echo = (value) => value;\n\
    export function fails() { throw new Error('on purpose'); }\n\
    app.post('/echo/:x', async (req) => text(req.params.x + (await req.text()), { headers: { 'X-A': 'b' } }));\n\
    app.get('/fails', fails);\n";

/// The most calls of one input.
const CALLS_MAX: usize = 40;

/// Works that may wait in the queue of the shared scripts.
const QUEUE_MAX: usize = 8;

/// Arguments with more brackets may nest too deeply.
const BRACKETS_MAX: usize = 48;

/// Longer than any call takes, in milliseconds.
const WAIT_MILLIS: i64 = 20_000;

thread_local! {
    /// Scripts that all inputs share: loading is what takes longest.
    static SHARED: [u64; 2] = [load("app.lua", LUA), load("app.js", JS)];
}

pub(crate) fn run(bytes: &[u8]) {
    let shared = SHARED.with(|shared| *shared);
    let mut program = Program {
        choices: Choices::new(bytes),
        scripts: shared.to_vec(),
        freed: vec![0, u64::MAX, 1 << 60, 3 << 60 | 1],
        replies: Vec::new(),
        waiting: [Vec::new(), Vec::new()],
        next_id: 1,
    };
    for _ in 0..CALLS_MAX {
        if program.choices.is_empty() {
            break;
        }
        program.call_one();
    }
    program.end();
}

/// A program in C, with the handles that it knows.
struct Program<'a> {
    choices: Choices<'a>,
    /// Scripts that are alive, those that all inputs share first.
    scripts: Vec<u64>,
    /// Handles that stand for nothing.
    freed: Vec<u64>,
    replies: Vec<u64>,
    /// The entries of the shared scripts that were taken and not answered.
    waiting: [Vec<u64>; 2],
    next_id: u64,
}

fn load(name: &str, text: &str) -> u64 {
    let (mut scripts, name) = (0, CString::new(name).expect("no NUL"));
    let setting = CString::new("limits.script_millis_max=60000").expect("no NUL");
    let settings = [setting.as_ptr()];
    let options = options(&name, text, &settings);
    // SAFETY: all that `options` points to lives until the end of this function, and `scripts` is a place for a number.
    let status = unsafe { sampan_scripts_new(&raw const options, &raw mut scripts, null_mut()) };
    assert_eq!(status, SAMPAN_OK);
    scripts
}

fn options(name: &CString, text: &str, settings: &[*const c_char]) -> sampan_scripts_options {
    sampan_scripts_options {
        size: size_of::<sampan_scripts_options>(),
        path: null(),
        text: text.as_ptr().cast(),
        text_len: text.len(),
        name: name.as_ptr(),
        config: null(),
        settings: settings.as_ptr(),
        settings_count: settings.len(),
        log: Some(ignored),
        log_user: null_mut(),
        workers: 1,
        queue_max: QUEUE_MAX as u32,
        reload_millis: -1,
    }
}

unsafe extern "C" fn ignored(_: *mut c_void, _: i32, _: *const c_char, _: usize) {}

/// Memory that C passes without having written to it.
fn blank<T>() -> T {
    // SAFETY: only used for structs of C, in which zeros are valid: numbers, lengths and pointers.
    unsafe { std::mem::zeroed() }
}

impl Program<'_> {
    fn call_one(&mut self) {
        match self.choices.below(10) {
            0 => self.call(),
            1 => self.handle(),
            2 => self.submit(),
            3 => self.submit_bytes(),
            4 => self.next(),
            5 => self.cancel(),
            6 => self.free_reply(),
            7 => self.serve(),
            8 => self.ask_nothing(),
            _ => self.load_and_free(),
        }
    }

    /// One of the shared scripts, and which.
    fn shared(&mut self) -> (usize, u64) {
        let index = self.choices.below(2);
        (index, self.scripts[index])
    }

    /// Asserts that a queue that is said to be full can be: the answers to so many entries were not taken.
    fn check_full(&self, index: usize) {
        let waiting = self.waiting[index].len();
        assert!(waiting >= QUEUE_MAX, "a full queue, but {waiting} wait");
    }

    fn call(&mut self) {
        let (index, scripts) = self.shared();
        let names = [c"echo", c"echo", c"fails", c"nothing", c""];
        let name = self.choices.one_of(&names);
        let mut arguments = self.choices.until(b'\n');
        let brackets = arguments.iter().filter(|byte| b"[{".contains(byte));
        if brackets.count() > BRACKETS_MAX {
            arguments = b"[]";
        }
        let (mut reply, mut error) = (blank::<sampan_reply>(), blank::<sampan_error>());
        // SAFETY: the texts live as long as the call, and the places are this function's.
        let status = unsafe {
            let (text, len) = (arguments.as_ptr().cast(), arguments.len());
            sampan_scripts_call(
                scripts,
                name.as_ptr(),
                text,
                len,
                WAIT_MILLIS,
                &raw mut reply,
                &raw mut error,
            )
        };
        assert_eq!(error.code, status);
        if status == SAMPAN_ERROR_LIMIT {
            self.check_full(index);
            return self.keep(status, reply).map_or((), drop);
        }
        let list = match arguments {
            [] => Some(Value::Array(Vec::new())),
            text => serde_json::from_slice::<Value>(text)
                .ok()
                .filter(Value::is_array),
        };
        let Some(list) = list else {
            // Numbers beyond the range of a double are read as they are by other readers.
            assert!(matches!(
                status,
                SAMPAN_ERROR_ARGUMENT | SAMPAN_OK | SAMPAN_ERROR_SCRIPT | SAMPAN_ERROR_MISSING
            ));
            return self.keep(status, reply).map_or((), drop);
        };
        match name.to_bytes() {
            b"echo" => {
                let body = self.keep(status, reply).expect("echo returns what it gets");
                let found: Value = serde_json::from_slice(&body).expect("JSON");
                let expected = list.get(0).unwrap_or(&Value::Null);
                assert!(same(&found, expected), "{found} was {expected}");
            }
            b"fails" => assert!(status == SAMPAN_ERROR_SCRIPT && error.line > 0, "{status}"),
            _ => assert_eq!(status, SAMPAN_ERROR_MISSING),
        }
    }

    /// Reads all of a reply and keeps its handle. Returns its body, if there is one.
    fn keep(&mut self, status: i32, reply: sampan_reply) -> Option<Vec<u8>> {
        if status != SAMPAN_OK {
            assert_eq!(reply.handle, 0, "a reply beside {status}");
            return None;
        }
        self.replies.push(reply.handle);
        // SAFETY: the reply is not freed before the end of this function, and says how long its parts are.
        unsafe {
            let fields = match reply.header_count {
                0 => &[],
                count => std::slice::from_raw_parts(reply.headers, count),
            };
            for field in fields {
                for (text, len) in [(field.name, field.name_len), (field.value, field.value_len)] {
                    assert!(
                        bytes(text, len)
                            .iter()
                            .all(|byte| *byte >= b' ' || *byte == b'\t')
                    );
                }
            }
            Some(bytes(reply.body, reply.body_len).to_vec())
        }
    }

    fn handle(&mut self) {
        let (index, scripts) = self.shared();
        let [method, target, remote, name, value, body] =
            [(); 6].map(|()| self.choices.until(b'\n'));
        let field = sampan_field {
            name: name.as_ptr().cast(),
            name_len: name.len(),
            value: value.as_ptr().cast(),
            value_len: value.len(),
        };
        let request = sampan_request {
            method: method.as_ptr().cast(),
            method_len: method.len(),
            target: target.as_ptr().cast(),
            target_len: target.len(),
            remote: remote.as_ptr().cast(),
            remote_len: remote.len(),
            headers: &raw const field,
            header_count: usize::from(!name.is_empty()),
            body: body.as_ptr().cast(),
            body_len: body.len(),
            ..blank()
        };
        let (mut reply, mut error) = (blank::<sampan_reply>(), blank::<sampan_error>());
        // SAFETY: all that the request points to lives as long as the call, and the places are this function's.
        let status = unsafe {
            sampan_scripts_handle(
                scripts,
                &raw const request,
                WAIT_MILLIS,
                &raw mut reply,
                &raw mut error,
            )
        };
        let answered = reply.status;
        match self.keep(status, reply) {
            Some(_) => assert!((200..=999).contains(&answered), "{answered}"),
            None if status == SAMPAN_ERROR_LIMIT => self.check_full(index),
            None => assert_eq!(status, SAMPAN_ERROR_ARGUMENT),
        }
    }

    fn free_reply(&mut self) {
        if let Some(reply) = self.replies.pop() {
            assert_eq!(sampan_reply_free(reply), SAMPAN_OK);
            assert_eq!(sampan_reply_free(reply), SAMPAN_ERROR_HANDLE);
            self.freed.push(reply);
        }
    }

    /// Takes the answers that are left, each once, and frees all replies.
    fn end(mut self) {
        for index in 0..self.waiting.len() {
            while !self.waiting[index].is_empty() {
                let status = self.take(index, 1 << 20, WAIT_MILLIS);
                assert_eq!(
                    status, SAMPAN_OK,
                    "{:?} are not answered",
                    self.waiting[index]
                );
            }
            assert_eq!(
                self.take(index, 64, 0),
                SAMPAN_TIMEOUT,
                "more answers than entries"
            );
        }
        while !self.replies.is_empty() {
            self.free_reply();
        }
    }
}

/// Bytes that the library says are there.
///
/// # Safety
/// They are there and stay as they are for `'a`.
unsafe fn bytes<'a>(text: *const c_char, len: usize) -> &'a [u8] {
    match len {
        0 => &[],
        // SAFETY: the library has said that there are `len` bytes, which stay as they are for `'a`.
        _ => unsafe { std::slice::from_raw_parts(text.cast(), len) },
    }
}
