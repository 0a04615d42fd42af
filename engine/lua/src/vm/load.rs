//! Loading a project: the state, its globals, the `sampan` module, the project's file, and what it declared.

use crate::builtin_limits;
use crate::libraries::{self, chunk};
use crate::request::guards;
use crate::values::layout::check::check;
use crate::values::layout::{FixedValues, Table};
use crate::vm::bind::call_site;
use crate::vm::error::{UncaughtError, from_top};
use crate::vm::host_table;
use crate::vm::isolate::enter::anchor_entry;
use crate::vm::isolate::{Core, current, samples};
use crate::vm::limits;
use crate::vm::stack;
use crate::vm::state::{RegistryRefs, State, data, push_mark, push_ref, text_at};
use crate::vm::worlds;
use mlua_sys::lua51::*;
use sampan_host::{
    BodyOptions, Error, ErrorKind, GuardDef, HandlerId, Isolation, LaneRule, MiddlewareDef,
    NativeMiddleware, Place, Program, RouteDef, Setup,
};
use std::ffi::{CStr, c_int};
use std::rc::Rc;

/// The memory in use, in percent of what was after the last collection, before the next one begins. LuaJIT's own
/// 200 walks what lives twice as often, for the sake of a heap that is small here anyway.
const GC_PAUSE_PERCENT: c_int = 300;

const SANDBOX: &str = include_str!("load/sandbox.lua");
const CHAIN: &str = include_str!("load/chain.lua");
const ERRORS: &str = include_str!("load/errors.lua");
const FETCH: &str = include_str!("load/fetch.lua");
const GATHER: &str = include_str!("load/gather.lua");
const NESTED: &str = include_str!("load/nested.lua");
const PRELUDE: &str = include_str!("load/prelude.lua");

/// A project that is loaded: its isolate, what it declared, and the registry references of its handlers, by their
/// number.
type LoadedProject = (Rc<Core>, Program, Rc<[c_int]>);

/// Loads the project of `setup`.
pub(crate) fn load(setup: &Setup) -> Result<LoadedProject, Error> {
    limits::install(&setup.watch)?;
    limits::probe()?;
    let core = Core::new(setup)?;
    let mut is_isolated = setup.isolation == Isolation::Request;
    core.protected(u32::MAX, boot, &mut is_isolated)
        .map_err(|fault| fault.0)?;
    samples::install(&core);
    call_site::install(&core);
    let bytes = setup.sources.read_script(&setup.entry);
    let source = bytes.ok_or_else(|| {
        Error::new(
            ErrorKind::Load,
            format!("there is no file '{}'", setup.entry),
        )
    })?;
    let mut run = EntryFile {
        source,
        name: format!("@{}\0", setup.entry),
        error: None,
    };
    let ran = core.protected(u32::MAX, run_file, &mut run);
    if let Err(UncaughtError(error)) = ran {
        // The error that the stop raised knows where the file was.
        let raised = run.error.unwrap_or_else(|| Error::script(""));
        let error = error.at(raised.place().cloned());
        return Err(error.with_stack(raised.stack().unwrap_or_default()));
    }
    if let Some(error) = run.error {
        let kind = if error.kind() == ErrorKind::Script {
            ErrorKind::Load
        } else {
            error.kind()
        };
        return Err(error.with_kind(kind));
    }
    let mut declared = Declared::default();
    core.protected(u32::MAX, read_program, &mut declared)
        .map_err(|fault| fault.0)?;
    core.is_loaded.set(true);
    let handlers: Rc<[c_int]> = declared.handlers.into();
    let _ = core.handlers.set(handlers.clone());
    Ok((core, declared.program, handlers))
}

/// Under protection: libraries, globals and the `sampan` module.
unsafe extern "C-unwind" fn boot(state: State) -> c_int {
    // SAFETY: under protection; no destructors on this frame.
    unsafe {
        let core = current();
        let is_isolated = *data::<bool>(state);
        lua_settop(state, 0);
        let mut refs = RegistryRefs {
            run: anchor_entry(state),
            ..RegistryRefs::default()
        };
        luaL_openlibs(state);
        keep_messages(state);
        lua_createtable(state, 0, 0);
        host_table::push(state, core, &mut refs);
        lua_pushboolean(state, c_int::from(is_isolated));
        lua_setfield(state, 1, c"is_isolated".as_ptr());
        core.refs.set(refs);
        // 1: host; 2: LuaJIT's globals; 3: those of scripts.
        lua_pushvalue(state, LUA_GLOBALSINDEX);
        seed_random(state);
        builtin_limits::install(state, 2);
        chunk::push(state, SANDBOX, c"=[sandbox]");
        lua_pushvalue(state, 2);
        lua_pushvalue(state, 1);
        lua_call(state, 2, 1);
        libraries::open(state, 2, 1, 3);
        chunk::push(state, ERRORS, c"=[sampan]");
        lua_pushvalue(state, 2);
        lua_pushvalue(state, 1);
        lua_pushvalue(state, 3);
        lua_call(state, 3, 0);
        chunk::push(state, PRELUDE, c"=[sampan]");
        lua_pushvalue(state, 2);
        lua_pushvalue(state, 1);
        lua_pushvalue(state, 3);
        chunk::push(state, CHAIN, stack::CHAIN);
        chunk::push(state, FETCH, c"=[sampan]");
        chunk::push(state, NESTED, c"=[sampan]");
        chunk::push(state, GATHER, c"=[sampan]");
        lua_call(state, 7, 1);
        for (name, slot) in [
            (c"chain", &mut refs.chain),
            (c"traced_chain", &mut refs.traced_chain),
            (c"stream", &mut refs.stream),
            (c"make_int64", &mut refs.make_int64),
            (c"row_maker", &mut refs.row_maker),
            (c"program", &mut refs.program),
        ] {
            lua_getfield(state, -1, name.as_ptr());
            *slot = luaL_ref(state, LUA_REGISTRYINDEX);
        }
        core.refs.set(refs);
        if is_isolated {
            let prelude = lua_gettop(state);
            worlds::install(state, core, [1, 2, 3, prelude]);
        }
        // From here on every new coroutine, and the main thread, sees only the allowed globals.
        lua_pushvalue(state, 3);
        lua_replace(state, LUA_GLOBALSINDEX);
        check_layout(state, core);
        core.count_collections(state);
        lua_gc(state, LUA_GCSETPAUSE, GC_PAUSE_PERCENT);
        0
    }
}

/// The messages for which LuaJIT makes a text when the frame of `coroutine.resume` has a result in the place of its
/// function already (`ffh_resume` in its sources). Without memory for the text it would look at that function, and
/// crash.
const RESUME_MESSAGES: [&CStr; 2] = [
    c"cannot resume running coroutine",
    c"cannot resume dead coroutine",
];

/// Makes these texts once, so that they are there when memory runs out.
unsafe fn keep_messages(state: State) {
    // SAFETY: the caller runs under protection, with room for a value; this frame has nothing to be dropped.
    unsafe {
        for message in RESUME_MESSAGES {
            lua_pushstring(state, message.as_ptr());
            luaL_ref(state, LUA_REGISTRYINDEX);
        }
    }
}

/// LuaJIT seeds its random numbers alike in every state; scripts should not all draw the same.
unsafe fn seed_random(state: State) {
    // SAFETY: the caller runs under protection; this frame has nothing but the stack of Lua.
    unsafe {
        lua_getfield(state, 2, c"math".as_ptr());
        lua_getfield(state, -1, c"randomseed".as_ptr());
        lua_getfield(state, 1, c"entropy".as_ptr());
        lua_call(state, 0, 1);
        lua_call(state, 1, 0);
        lua_pop(state, 1);
    }
}

/// Makes sure that values lie in memory as `peek` and `value::int64_at` expect, and notes those that are looked for
/// there.
unsafe fn check_layout(state: State, core: &Core) {
    // SAFETY: the caller runs under protection, and an error skips no destructor: this frame has none. The tables are
    // on the stack while they are looked at.
    unsafe {
        if !check(state) || !core.memory.find_running(state) {
            luaL_error(
                state,
                c"this LuaJIT keeps its values in another way than expected".as_ptr(),
            );
        }
        let top = lua_gettop(state);
        lua_createtable(state, 2, 0);
        lua_pushlightuserdata(state, std::ptr::null_mut());
        lua_rawseti(state, -2, 1);
        push_mark(state);
        lua_rawseti(state, -2, 2);
        let slots = Table::at(state, -1).array();
        push_ref(state, core.refs.get().array_meta);
        push_ref(state, core.refs.get().request_meta);
        core.fixed.set(FixedValues {
            null: slots[1],
            mark: slots[2],
            array_meta: Table::at(state, -2),
            request_meta: Table::at(state, -1),
        });
        lua_settop(state, top);
    }
}

/// The project's file on its way through a protected call.
struct EntryFile {
    source: Vec<u8>,
    name: String,
    error: Option<Error>,
}

/// Under protection: compiles and runs the project's file, in a coroutine so that its stack is still there if it fails.
unsafe extern "C-unwind" fn run_file(state: State) -> c_int {
    // SAFETY: the source belongs to the caller of the protected call.
    unsafe {
        let run = data::<EntryFile>(state);
        let thread = current().take_thread();
        let (source, name) = (run.source.as_ptr().cast(), run.name.as_ptr().cast());
        let mut status = luaL_loadbufferx(state, source, run.source.len(), name, c"t".as_ptr());
        if let (LUA_OK, Some(worlds)) = (status, current().worlds.get()) {
            lua_pop(state, 1);
            let file = run.name.as_bytes();
            worlds.open_first(state, &file[1..file.len() - 1], &run.source);
        }
        lua_xmove(state, thread.state, 1);
        if status == LUA_OK {
            status = lua_resume_(thread.state, 0);
        }
        match status {
            LUA_OK => current().give_thread(thread),
            LUA_YIELD => run.error = Some(Error::script("the file yielded outside of a coroutine")),
            status => run.error = Some(from_top(state, thread.state, status).0),
        }
        0
    }
}

/// The declarations of the project, on its way out of a protected call.
#[derive(Default)]
struct Declared {
    program: Program,
    handlers: Vec<c_int>,
}

impl Declared {
    /// Anchors the function on top of the stack and takes it off.
    unsafe fn handler(&mut self, state: State) -> Option<HandlerId> {
        // SAFETY: under protection; a reference is a number.
        let reference = unsafe {
            if lua_type(state, -1) != LUA_TFUNCTION {
                lua_pop(state, 1);
                return None;
            }
            luaL_ref(state, LUA_REGISTRYINDEX)
        };
        self.handlers.push(reference);
        Some(self.handlers.len() as HandlerId - 1)
    }
}

/// Under protection: reads the declarations of the prelude.
unsafe extern "C-unwind" fn read_program(state: State) -> c_int {
    // SAFETY: `Declared` belongs to the caller; the fields are those that the prelude writes.
    unsafe {
        let declared = data::<Declared>(state);
        push_ref(state, current().refs.get().program);
        let program = lua_gettop(state);
        lua_getfield(state, program, c"routes".as_ptr());
        for at in 1..=lua_objlen(state, -1) {
            lua_rawgeti(state, -1, at as i64);
            let route = lua_gettop(state);
            lua_getfield(state, route, c"handler".as_ptr());
            let handler = declared.handler(state).unwrap_or_default();
            lua_getfield(state, route, c"fixed".as_ptr());
            let fixed = lua_toboolean(state, -1) != 0;
            lua_getfield(state, route, c"uncompressed".as_ptr());
            let uncompressed = lua_toboolean(state, -1) != 0;
            lua_getfield(state, route, c"etag".as_ptr());
            let etag = lua_toboolean(state, -1) != 0;
            lua_getfield(state, route, c"stream".as_ptr());
            let body = BodyOptions {
                stream: lua_toboolean(state, -1) != 0,
                bytes_max: text_field(state, route, c"body_bytes_max"),
                uncompressed,
                etag,
            };
            if body.stream {
                current().has_streams.set(true);
            }
            lua_getfield(state, route, c"slow".as_ptr());
            let slow = (lua_type(state, -1) == LUA_TBOOLEAN).then(|| lua_toboolean(state, -1) != 0);
            lua_getfield(state, route, c"urgent".as_ptr());
            let has_priority = lua_toboolean(state, -1) != 0;
            let method = text_field(state, route, c"method");
            let pattern = text_field(state, route, c"pattern").unwrap_or_default();
            let name = text_field(state, route, c"name");
            let kind = text_field(state, route, c"kind");
            let place = place_field(state, route);
            let handler_file = text_field(state, route, c"handler_file");
            declared.program.routes.push(RouteDef {
                method,
                pattern,
                handler,
                fixed,
                kind,
                body,
                lane: LaneRule::of(slow),
                has_priority,
                name,
                place,
                handler_file,
            });
            lua_settop(state, route - 1);
        }
        lua_getfield(state, program, c"middleware".as_ptr());
        for at in 1..=lua_objlen(state, -1) {
            lua_rawgeti(state, -1, at as i64);
            let item = lua_gettop(state);
            lua_getfield(state, item, c"handler".as_ptr());
            let handler = declared.handler(state).unwrap_or_default();
            let pattern = text_field(state, item, c"pattern").unwrap_or_default();
            let place = place_field(state, item);
            lua_getfield(state, item, c"native".as_ptr());
            let native = guards::at(state, lua_gettop(state));
            let needs_whole_bodies = native.and_then(|native| native.needs_whole_bodies());
            declared.program.middleware.push(MiddlewareDef {
                pattern,
                handler,
                needs_whole_bodies,
                place,
            });
            lua_settop(state, item - 1);
        }
        lua_getfield(state, program, c"guards".as_ptr());
        for at in 1..=lua_objlen(state, -1) {
            lua_rawgeti(state, -1, at as i64);
            let item = lua_gettop(state);
            lua_getfield(state, item, c"guard".as_ptr());
            if let Some(NativeMiddleware::Guard(guard)) = guards::at(state, item + 1) {
                let pattern = text_field(state, item, c"pattern").unwrap_or_default();
                let place = place_field(state, item);
                lua_getfield(state, item, c"behind".as_ptr());
                let behind = lua_tonumber(state, -1) as usize;
                declared.program.guards.push(GuardDef {
                    pattern,
                    guard,
                    behind,
                    place,
                });
            }
            lua_settop(state, item - 1);
        }
        lua_getfield(state, program, c"not_found".as_ptr());
        declared.program.not_found = declared.handler(state);
        lua_getfield(state, program, c"on_error".as_ptr());
        declared.program.on_error = declared.handler(state);
        if let Some(worlds) = current().worlds.get() {
            worlds.finish(state);
        }
        0
    }
}

unsafe fn text_field(state: State, table: c_int, name: &CStr) -> Option<String> {
    // SAFETY: a plain table of the prelude's own; at load time the little that could be leaked by an error does not
    // matter.
    unsafe {
        lua_getfield(state, table, name.as_ptr());
        let is_text = lua_type(state, -1) == LUA_TSTRING;
        let text = is_text.then(|| String::from_utf8_lossy(text_at(state, -1)).into_owned());
        lua_pop(state, 1);
        text
    }
}

unsafe fn place_field(state: State, table: c_int) -> Option<Place> {
    // SAFETY: under protection; there is a table at this place, and room for two values.
    unsafe {
        let file = text_field(state, table, c"file")?;
        lua_getfield(state, table, c"line".as_ptr());
        let line = lua_tonumber(state, -1) as u32;
        lua_pop(state, 1);
        Some(Place { file, line })
    }
}
