//! The table `host`: what the parts of the engine that are written in Lua get from Rust.

use crate::coroutines::gather;
use crate::libraries;
use crate::request::added;
use crate::request::beside;
use crate::request::body;
use crate::request::declarations;
use crate::request::guards;
use crate::request::object;
use crate::request::response;
use crate::request::spans;
use crate::vm::bind;
use crate::vm::bind::bracket;
use crate::vm::bind::wait::CANNOT_WAIT;
use crate::vm::error;
use crate::vm::isolate::{Core, current};
use crate::vm::state::{RegistryRefs, State, guard, key, push_mark, push_text, text_at};
use crate::vm::worlds;
use mlua_sys::lua51::*;
use sampan_host::answer::AnswerKind;
use sampan_host::{WorkerPlace, clock};
use std::ffi::{CStr, c_int};

/// The most coroutines that may be inside of one another.
const NESTED_MAX: f64 = 190.0;

/// Fills the host's table, which is on top of the stack: what the Lua parts get from here.
pub(crate) unsafe fn push(state: State, core: &Core, refs: &mut RegistryRefs) {
    // SAFETY: the caller runs under protection; what an error would skip here has no destructor.
    unsafe {
        let host = lua_gettop(state);
        let set = |name: &CStr| lua_setfield(state, host, name.as_ptr());
        push_mark(state);
        set(c"mark");
        lua_pushlightuserdata(state, std::ptr::null_mut());
        set(c"null");
        push_text(state, env!("CARGO_PKG_VERSION").as_bytes());
        set(c"version");
        let worker = core.context.get::<WorkerPlace>();
        let worker = worker.map_or_else(WorkerPlace::default, |place| *place);
        lua_createtable(state, 0, 2);
        for (name, number) in [(c"index", worker.index), (c"count", worker.count)] {
            lua_pushnumber(state, number as f64);
            lua_setfield(state, -2, name.as_ptr());
        }
        set(c"worker");
        lua_pushnumber(state, core.limits.memory_bytes_max as f64);
        set(c"memory_bytes_max");
        lua_pushstring(state, CANNOT_WAIT.as_ptr());
        set(c"cannot_wait");
        lua_createtable(state, 0, 5);
        for (name, kind) in [
            (c"json", AnswerKind::Json),
            (c"text", AnswerKind::Text),
            (c"html", AnswerKind::Html),
            (c"stream", AnswerKind::Bytes),
        ] {
            push_text(state, kind.content_type().unwrap_or_default().as_bytes());
            lua_setfield(state, -2, name.as_ptr());
        }
        set(c"types");
        lua_pushnumber(state, f64::from(AnswerKind::Nothing.status(200)));
        set(c"status_of_nothing");
        let functions: [(&CStr, lua_CFunction); 33] = [
            (c"print", print),
            (c"interpreted", libraries::interpreted),
            (c"traceback", libraries::traceback::traceback),
            (c"check_status", response::check_status),
            (c"check_redirect", response::check_redirect),
            (c"check", response::check),
            (c"check_pattern", declarations::check_pattern),
            (c"check_host", declarations::check_host),
            (c"check_loading", declarations::check_loading),
            (c"unknown_option", response::unknown_option),
            (c"location", response::location),
            (c"no_answer", response::no_answer),
            (c"check_beside", beside::check_beside),
            (c"check_header", response::check_header),
            (c"open_body", body::open),
            (c"read_chunk", body::read_chunk),
            (c"read_whole", body::read_whole),
            (c"native_middleware", guards::function),
            (c"ask", guards::ask),
            (c"decide", guards::decide),
            (c"assign", added::assign),
            (c"open_gather", gather::open),
            (c"close_gather", gather::close),
            (c"keep_wait", gather::keep),
            (c"drop_wait", gather::drop_wait),
            (c"wait_gather", gather::wait),
            (c"ended_wait", gather::ended),
            (c"gather_cancelled", gather::cancelled),
            (c"enter_span", spans::enter),
            (c"leave_span", spans::leave),
            (c"is_multipart", object::is_multipart),
            (c"entropy", entropy),
            (c"choose_random", worlds::choose_random),
        ];
        for (name, function) in functions {
            lua_pushcfunction(state, function);
            set(name);
        }
        if clock::is_settable() {
            lua_pushcfunction(state, now);
            set(c"now");
        }
        lua_pushcfunction(state, bracket::check_yield);
        set(c"check_yield");
        lua_pushcfunction(state, error::note_raised);
        set(c"note_raised");
        lua_pushcfunction(state, error::take_raised);
        set(c"take_raised");
        lua_pushcfunction(state, error::give_raised);
        set(c"give_raised");
        lua_pushcfunction(state, nest);
        set(c"nest");
        lua_pushnumber(state, NESTED_MAX);
        set(c"nested_max");
        lua_pushnumber(state, gather::GATHERED_FUNCTIONS_MAX as f64);
        set(c"gathered_max");
        lua_pushcfunction(state, must_stop);
        set(c"must_stop");
        lua_pushcfunction(state, read_source);
        set(c"read");
        // The world of the script that runs, see `worlds.lua`.
        lua_createtable(state, 1, 0);
        lua_createtable(state, 0, 4);
        lua_rawseti(state, -2, 1);
        set(c"here");
        bind::push_modules(state, core.modules);
        set(c"rows");
        bind::push_classes(state, core);
        set(c"classes");
        core.reader_tools.install(state);
        for (name, slot) in [
            (c"request_meta", &mut refs.request_meta),
            (c"response_meta", &mut refs.response_meta),
            (c"array_meta", &mut refs.array_meta),
            (c"object_meta", &mut refs.object_meta),
        ] {
            lua_createtable(state, 0, 2);
            lua_pushvalue(state, -1);
            *slot = luaL_ref(state, LUA_REGISTRYINDEX);
            set(name);
        }
        lua_createtable(state, refs.error_metas.len() as c_int, 0);
        for (at, slot) in (1..).zip(&mut refs.error_metas) {
            lua_createtable(state, 0, 2);
            lua_pushvalue(state, -1);
            *slot = luaL_ref(state, LUA_REGISTRYINDEX);
            lua_rawseti(state, -2, at);
        }
        set(c"error_metas");
        object::push_keyed(state, core.modules);
        set(c"keyed");
        lua_createtable(state, 0, 16);
        object::fill_names(state, core.modules);
        lua_pushvalue(state, -1);
        set(c"fields");
        lua_createtable(state, 0, 4);
        lua_pushvalue(state, -1);
        set(c"streamed");
        lua_pushcclosure(state, object::index, 2);
        set(c"index");
        for (slot, name) in refs.keys.iter_mut().zip(key::NAMES) {
            push_text(state, name.as_bytes());
            *slot = luaL_ref(state, LUA_REGISTRYINDEX);
        }
        lua_pushboolean(state, 0);
        refs.last_error = luaL_ref(state, LUA_REGISTRYINDEX);
        lua_pushboolean(state, 0);
        refs.raised = luaL_ref(state, LUA_REGISTRYINDEX);
    }
}

/// `host.print(text)`: a line of the log.
unsafe extern "C-unwind" fn print(state: State) -> c_int {
    // SAFETY: reads the argument; a panic of the log is of no use to the script.
    unsafe {
        let _ = guard(|| {
            (current().console)("info", &String::from_utf8_lossy(text_at(state, 1)));
            Ok(())
        });
        0
    }
}

/// `host.now()`: the time of day in whole seconds since 1970.
unsafe extern "C-unwind" fn now(state: State) -> c_int {
    // SAFETY: a C function has room for a value, and pushing a number raises nothing.
    unsafe { lua_pushnumber(state, clock::since_1970().as_secs() as f64) };
    1
}

/// `host.entropy()`: an unpredictable number, for the seed of random numbers.
unsafe extern "C-unwind" fn entropy(state: State) -> c_int {
    let mut seed = [0_u8; 4];
    // SAFETY: fills the four bytes; on failure they stay zero, which is only less random.
    unsafe {
        libc::getrandom(seed.as_mut_ptr().cast(), seed.len(), 0);
        lua_pushnumber(state, f64::from(u32::from_ne_bytes(seed)));
    }
    1
}

/// `host.nest(by)`: how many coroutines are inside of one another now, after one more or less.
unsafe extern "C-unwind" fn nest(state: State) -> c_int {
    // SAFETY: reading the number of an argument raises nothing, nor does pushing one, for which a C function has room.
    unsafe {
        let depth = &current().nested;
        depth.set(depth.get() + lua_tonumber(state, 1));
        lua_pushnumber(state, depth.get());
    }
    1
}

/// `host.must_stop()`: whether this run has been told to stop.
unsafe extern "C-unwind" fn must_stop(state: State) -> c_int {
    // SAFETY: a C function has room for a value, and pushing a boolean raises nothing.
    unsafe { lua_pushboolean(state, c_int::from(current().watch.must_stop())) };
    1
}

/// `host.read(path)`: the text of a project file, or nil.
unsafe extern "C-unwind" fn read_source(state: State) -> c_int {
    // SAFETY: the bytes are moved into the isolate's scratch before they are pushed.
    unsafe {
        let scratch = &mut *current().scratch.get();
        scratch.clear();
        let found = guard(|| {
            let path = String::from_utf8_lossy(text_at(state, 1)).into_owned();
            Ok(current()
                .sources
                .read_script(&path)
                .map(|bytes| scratch.add(&bytes))
                .is_some())
        });
        match found {
            Ok(true) => push_text(state, scratch.get(0)),
            _ => lua_pushnil(state),
        }
        1
    }
}
