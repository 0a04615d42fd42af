//! Isolation per request: the worlds that `worlds.lua` makes, and which of them runs.
//!
//! A request's world lives as long as something of the request can run: its handler, its stream, a function that a
//! capability keeps, or its `on_error`. Each of them enters it before it runs.

use crate::libraries::chunk;
use crate::vm::isolate::{Core, current, live};
use crate::vm::random::{Numbers, Random};
use crate::vm::state::{State, push_mark, push_ref, push_text};
use mlua_sys::lua51::*;
use sampan_host::Rerun;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int};
use std::rc::{Rc, Weak};

const WORLDS: &str = include_str!("worlds.lua");

/// The globals and modules of one request, or those in which the project was loaded.
pub(crate) struct World {
    anchor: c_int,
    /// The functions that its run of the file gave to capabilities.
    given: RefCell<Vec<c_int>>,
    /// The chosen random numbers, while another runs.
    random: Cell<Option<Numbers>>,
    core: Weak<Core>,
}

/// The home of a function that a capability keeps.
pub(crate) enum Home {
    /// All scripts of the isolate run in the same.
    Isolate,
    /// This, which the function keeps alive.
    World(Rc<World>),
    /// This, which keeps the function. Else native objects that the file makes, which live until the collector finds
    /// them, would keep all worlds until then.
    Rerun(Weak<World>),
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            for reference in self.given.take().into_iter().chain([self.anchor]) {
                // SAFETY: `luaL_unref` writes to two existing integer slots of the registry; it neither allocates nor
                // raises.
                unsafe { luaL_unref(core.state, LUA_REGISTRYINDEX, reference) };
            }
        }
    }
}

/// The worlds of an isolate whose requests have worlds of their own. The numbers are references of the registry.
pub(crate) struct Worlds {
    load: c_int,
    open: c_int,
    finish: c_int,
    /// The list that holds the world that runs, the metatable of strings, and the name of the field that changes with
    /// the world.
    place: c_int,
    string_meta: c_int,
    index_name: c_int,
    random: Random,
    rerun: Rc<Rerun>,
    /// The world whose scripts run, or ran last.
    here: RefCell<Option<Rc<World>>>,
    /// The anchor of that one; 0 for none.
    entered: Cell<c_int>,
    /// True if the project is loaded.
    is_ready: Cell<bool>,
    /// The number of functions that capabilities have been given in this run of the project's file.
    given: Cell<usize>,
}

/// Makes the worlds of an isolate of what the prelude returned, at `prelude`. The other indices are of the host's
/// table, LuaJIT's own globals and those of scripts. May raise; under protection.
pub(crate) unsafe fn install(state: State, core: &Core, [host, own, env, prelude]: [c_int; 4]) {
    // SAFETY: under protection; what has a destructor is made when nothing raises any more.
    unsafe {
        let random = Random::of(state, own);
        chunk::push(state, WORLDS, c"=[worlds]");
        for index in [own, host, env, prelude] {
            lua_pushvalue(state, index);
        }
        lua_call(state, 4, 1);
        let names: [&CStr; 5] = [c"load", c"open", c"finish", c"here", c"string_meta"];
        let [load, open, finish, place, string_meta] = names.map(|name| {
            lua_getfield(state, -1, name.as_ptr());
            luaL_ref(state, LUA_REGISTRYINDEX)
        });
        push_text(state, b"__index");
        let index_name = luaL_ref(state, LUA_REGISTRYINDEX);
        lua_pop(state, 1);
        core.context.put(Rerun::default());
        let _ = core.worlds.set(Worlds {
            load,
            open,
            finish,
            place,
            string_meta,
            index_name,
            random,
            rerun: core.context.get().unwrap_or_default(),
            here: RefCell::default(),
            entered: Cell::new(0),
            is_ready: Cell::new(false),
            given: Cell::new(0),
        });
    }
}

impl Worlds {
    /// Pushes a new world and the project's file as a function in it, for the project to be loaded; that world runs
    /// from now on. May raise; under protection.
    pub(crate) unsafe fn open_first(&self, state: State, file: &[u8], text: &[u8]) {
        // SAFETY: under protection; nothing here has a destructor.
        unsafe {
            push_ref(state, self.load);
            push_text(state, file);
            push_text(state, text);
            lua_call(state, 2, 2);
            self.keep(state);
        }
    }

    /// Opens the world of a request.
    pub(crate) unsafe fn open(&self, state: State) {
        self.leave();
        // SAFETY: under protection, with room for three values; nothing on this frame has a destructor.
        unsafe {
            push_ref(state, self.open);
            lua_call(state, 0, 2);
            self.keep(state);
        }
    }

    /// Anchors the world below the function on top, which runs now.
    unsafe fn keep(&self, state: State) {
        // SAFETY: under protection; a reference is a number, and nothing raises behind it.
        let anchor = unsafe {
            lua_pushvalue(state, -2);
            luaL_ref(state, LUA_REGISTRYINDEX)
        };
        let world = World {
            anchor,
            given: RefCell::default(),
            random: Cell::default(),
            core: current().me(),
        };
        self.here.replace(Some(Rc::new(world)));
        self.entered.set(anchor);
        self.given.set(0);
    }

    /// The project is loaded, in the world that runs. May raise; under protection.
    pub(crate) unsafe fn finish(&self, state: State) {
        // SAFETY: the caller runs under protection, and an error skips no destructor: this frame has none.
        unsafe {
            push_ref(state, self.finish);
            lua_call(state, 0, 0);
        }
        self.is_ready.set(true);
    }

    /// The world that runs gives way to another.
    fn leave(&self) {
        if let Some(numbers) = self.random.leave()
            && let Some(here) = &*self.here.borrow()
        {
            here.random.set(Some(numbers));
        }
    }

    /// The world that runs.
    pub(crate) fn here(&self) -> Option<Rc<World>> {
        self.here.borrow().clone()
    }

    /// Makes a world the one that runs; gives the one before. Raises nothing.
    pub(crate) fn enter(&self, core: &Core, world: &Rc<World>) -> Option<Rc<World>> {
        let state = core.state;
        if self.entered.replace(world.anchor) != world.anchor {
            self.leave();
            self.random.enter(world.random.take());
            // SAFETY: raw reads, and writes to fields that are there: nothing allocates. C functions have room for
            // these, and so has the main thread where none runs.
            unsafe {
                push_ref(state, self.place);
                push_ref(state, world.anchor);
                lua_rawseti(state, -2, 1);
                push_ref(state, self.string_meta);
                push_ref(state, self.index_name);
                push_ref(state, world.anchor);
                lua_rawgeti(state, -1, 0);
                lua_remove(state, -2);
                lua_rawset(state, -3);
                lua_pop(state, 2);
            }
        }
        self.here.replace(Some(Rc::clone(world)))
    }

    /// Pushes the function that stands for a handler in the world that runs; nil if its file has not declared it.
    /// Raises nothing; the caller has room for two.
    pub(crate) unsafe fn push_handler(&self, state: State, handler: u32) {
        // SAFETY: the table of the world is in the registry; raw reads raise nothing, and the caller has room for two.
        unsafe {
            push_ref(state, self.entered.get());
            lua_rawgeti(state, -1, i64::from(handler) + 1);
            lua_remove(state, -2);
        }
    }

    /// A function that a capability is given: the world that it runs in, and its number if the project's file gives it.
    /// In another run of the file the same function has the same number.
    pub(crate) fn given(&self, reference: c_int) -> (Home, Option<usize>) {
        let Some(here) = self.here() else {
            return (Home::Isolate, None);
        };
        if current().is_loaded.get() {
            return (Home::World(here), None);
        }
        let number = self.given.get();
        self.given.set(number + 1);
        if !self.is_ready.get() {
            return (Home::World(here), Some(number));
        }
        here.given.borrow_mut().push(reference);
        (Home::Rerun(Rc::downgrade(&here)), Some(number))
    }

    /// Returns the reference that the running world has given under this number.
    pub(crate) fn given_here(&self, number: usize) -> Option<c_int> {
        let here = self.here.borrow();
        let given = here.as_ref()?.given.borrow();
        given.get(number).copied()
    }
}

impl Core {
    /// Enters the world of the request at hand, if it has one.
    #[inline]
    pub(crate) fn enter_world(&self) {
        if let Some(worlds) = self.worlds.get() {
            let requests = self.requests.borrow();
            let request = live(&requests, self.request.get());
            let world = request.and_then(|request| request.world.clone());
            drop(requests);
            if let Some(world) = world {
                worlds.enter(self, &world);
            }
        }
    }

    /// The project's file runs for a request, or has run.
    pub(crate) fn set_rerunning(&self, worlds: &Worlds, is_on: bool) {
        worlds.rerun.set(is_on);
        self.is_loaded.set(!is_on);
    }
}

/// `host.choose_random()`: the request that runs is about to choose its random numbers.
// SAFETY: called by Lua alone, while the isolate is entered.
pub(super) unsafe extern "C-unwind" fn choose_random(state: State) -> c_int {
    let worlds = current().worlds.get();
    if worlds.is_some_and(|worlds| !worlds.random.choose()) {
        // SAFETY: called by Lua alone; nothing on this frame has a destructor.
        unsafe {
            let fault = b"math.randomseed: with isolation = \"request\" this LuaJIT cannot keep a seed for one request";
            push_text(state, fault);
            lua_error(state);
        }
    }
    0
}

/// Reports whether the table at `index` is a module of a world, which is a copy. Raises nothing; the caller has room
/// for three.
pub(crate) unsafe fn is_own_module(state: State, index: c_int) -> bool {
    if current().worlds.get().is_none() {
        return false;
    }
    // SAFETY: raw reads and comparisons raise nothing, and the caller has room for three.
    unsafe {
        if lua_getmetatable(state, index) == 0 {
            return false;
        }
        lua_rawgeti(state, -1, 1);
        push_mark(state);
        let is_marked = lua_rawequal(state, -1, -2) != 0;
        lua_pop(state, 3);
        is_marked
    }
}
