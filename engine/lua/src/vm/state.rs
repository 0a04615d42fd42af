//! The Lua state from Rust: what the engine keeps in its registry, and how values get off its stack and onto it.

use mlua_sys::lua51::*;
use sampan_host::error::MARKED_KINDS;
use sampan_host::{Error, ErrorKind};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A Lua thread, as the C API passes it.
pub(crate) type State = *mut lua_State;

/// The number of metatables of errors, so that an error keeps its kind when a script catches and raises it again: one
/// for each kind
/// that needs a mark, and the first for all others.
pub(crate) const METAS: usize = MARKED_KINDS.len() + 1;

/// Registry references of values that the engine needs again and again.
#[derive(Clone, Copy, Default)]
pub(crate) struct RegistryRefs {
    pub(crate) run: c_int,
    pub(crate) request_meta: c_int,
    pub(crate) response_meta: c_int,
    pub(crate) array_meta: c_int,
    pub(crate) object_meta: c_int,
    /// Of error tables, by the mark of their kind.
    pub(crate) error_metas: [c_int; METAS],
    pub(crate) chain: c_int,
    pub(crate) traced_chain: c_int,
    pub(crate) stream: c_int,
    pub(crate) make_int64: c_int,
    pub(crate) row_maker: c_int,
    pub(crate) last_error: c_int,
    pub(crate) raised: c_int,
    pub(crate) program: c_int,
    pub(crate) keys: [c_int; key::NAMES.len()],
}

/// Indices into `RegistryRefs::keys`: names that are looked up in tables without making a string.
pub(crate) mod key {
    pub(crate) const STATUS: usize = 0;
    pub(crate) const HEADERS: usize = 1;
    pub(crate) const BODY: usize = 2;
    pub(crate) const KIND: usize = 3;
    pub(crate) const MESSAGE: usize = 4;
    pub(crate) const CODE: usize = 5;
    pub(crate) const TABLE: usize = 6;
    pub(crate) const COLUMNS: usize = 7;
    pub(crate) const CONSTRAINT: usize = 8;
    pub(crate) const PLACE: usize = 9;
    pub(crate) const STACK: usize = 10;
    pub(crate) const TOSTRING: usize = 11;
    pub(crate) const FILE: usize = 12;
    pub(crate) const URL: usize = 13;
    pub(crate) const NAMES: [&str; 14] = [
        "status",
        "headers",
        "body",
        "kind",
        "message",
        "code",
        "table",
        "columns",
        "constraint",
        "place",
        "stack",
        "__tostring",
        "file",
        "url",
    ];
}

/// Pieces of text between the two stages of a C function: strings as spans of one buffer.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) text: Vec<u8>,
    pub(crate) spans: Vec<(u32, u32)>,
}

impl Scratch {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    pub(crate) fn add(&mut self, text: &[u8]) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        self.spans.push((start, self.text.len() as u32));
    }

    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let (start, end) = self.spans[index];
        &self.text[start as usize..end as usize]
    }

    /// The first text, if there is one.
    pub(crate) fn first(&self) -> Option<&[u8]> {
        (!self.spans.is_empty()).then(|| self.get(0))
    }
}

/// The data that `protected` passed to the C function that runs.
pub(crate) unsafe fn data<'a, T>(state: State) -> &'a mut T {
    // SAFETY: the caller names the type that it passed to `protected`; argument 1 is that pointer.
    unsafe { &mut *lua_touserdata(state, 1).cast::<T>() }
}

/// First stage of a C function: plain Rust. A panic becomes an error of kind `Internal`.
pub(crate) fn guard<T>(body: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(Error::new(ErrorKind::Internal, format!("panic: {text}")))
    })
}

/// Pushes the value of one of the fixed registry entries.
pub(crate) unsafe fn push_ref(state: State, reference: c_int) {
    // SAFETY: reading the registry does not raise; the caller has made room.
    unsafe { lua_rawgeti(state, LUA_REGISTRYINDEX, i64::from(reference)) };
}

/// The address that marks a yield that is meant for the host.
static MARK: u8 = 0;

/// Pushes the mark of the host's yields.
pub(crate) unsafe fn push_mark(state: State) {
    // SAFETY: a light pointer, which is only compared and never followed. Callers have room for one value.
    unsafe { lua_pushlightuserdata(state, (&raw const MARK).cast_mut().cast::<c_void>()) };
}

/// Pushes a string. May raise for lack of memory.
pub(crate) unsafe fn push_text(state: State, text: &[u8]) {
    // SAFETY: the slice is alive during the call, in which Lua copies its bytes.
    unsafe { lua_pushlstring(state, text.as_ptr().cast(), text.len()) };
}

/// The bytes of the string at `index`; empty if it is no string. They live as long as the string stays on the stack.
pub(crate) unsafe fn text_at<'a>(state: State, index: c_int) -> &'a [u8] {
    // SAFETY: for a value of type string `lua_tolstring` converts nothing, allocates nothing and does not raise.
    unsafe {
        if lua_type(state, index) != LUA_TSTRING {
            return &[];
        }
        let mut length = 0;
        let start = lua_tolstring(state, index, &raw mut length);
        std::slice::from_raw_parts(start.cast(), length)
    }
}
