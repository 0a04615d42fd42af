//! One Lua state: what it keeps, how it is entered, the coroutines that handlers run in, and how it ends.

pub(crate) mod samples;

use crate::request::lent::LentText;
use crate::request::object;
use crate::values::json_write::Member;
use crate::values::layout::StackSlot;
use crate::values::objects::BoundClass;
use crate::values::reader::ReaderTools;
use crate::values::rows::RowShapes;
use crate::vm::bind::BoundRow;
use crate::vm::bind::bracket::OpenBracket;
use crate::vm::error::{self, Raised, UncaughtError};
use crate::vm::limits;
use crate::vm::memory::{Memory, allocate};
use crate::vm::state::{FixedValues, RegistryRefs, Scratch, State};
use crate::vm::worlds::{World, Worlds};
use mlua_sys::lua51::*;
use sampan_host::{
    Context, Error, ErrorKind, LocalFuture, Module, Object, RequestObjects, RequestView,
    ScriptLimits, Sources, Value, Watch, json::Tape,
};
use slab::Slab;
use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::Arc;

thread_local! {
    /// The isolate whose script runs on this thread now. Constant-initialised and without a destructor, so that the
    /// signal handler may read it.
    static CURRENT: Cell<*const Core> = const { Cell::new(ptr::null()) };
}

/// The isolate that runs now. C functions are only ever called while one does.
pub(crate) fn current<'a>() -> &'a Core {
    // SAFETY: `protected` sets the pointer for the time of the call, and `Core` lives in an `Rc` that its caller holds.
    unsafe { &*CURRENT.get() }
}

/// The isolate that runs now, if one does: for the signal handler.
pub(crate) fn current_or_null() -> *const Core {
    CURRENT.get()
}

/// A coroutine that a handler runs in, kept alive by an entry in the registry.
pub(crate) struct Thread {
    pub(crate) state: State,
    anchor: c_int,
}

/// The wait of a handler that yielded to the host.
pub(crate) enum Wait {
    /// An asynchronous function.
    Operation(LocalFuture<Result<Value, Error>>),
    /// The next read of the stream that the handler produces; the chunk it wrote.
    Chunk(Vec<u8>),
    /// A long text, which stays where it is.
    Lent(LentText),
}

/// A request that scripts may ask about.
pub(crate) struct LiveRequest {
    /// None for a run without a request.
    pub(crate) view: Option<Rc<dyn RequestView>>,
    pub(crate) serial: u64,
    /// The objects that live as long as the request.
    pub(crate) objects: RequestObjects,
    /// The world of its scripts, if that is its own.
    pub(crate) world: Option<Rc<World>>,
}

/// Everything that belongs to one Lua state.
pub(crate) struct Core {
    pub(crate) state: State,
    /// Itself, for what may outlive it.
    me: Weak<Self>,
    // Shared with LuaJIT, which has its address.
    memory: Rc<Memory>,
    pub(crate) modules: &'static [&'static Module],
    pub(crate) context: Rc<Context>,
    pub(crate) limits: ScriptLimits,
    pub(crate) watch: Arc<Watch>,
    pub(crate) sources: Arc<dyn Sources>,
    pub(crate) refs: Cell<RegistryRefs>,
    pub(crate) fixed: Cell<FixedValues>,
    pub(crate) requests: RefCell<Slab<LiveRequest>>,
    pub(crate) serial: Cell<u64>,
    /// The number of the request that runs; 0 while none does.
    pub(crate) request: Cell<u64>,
    /// The classes of the modules, in their order.
    pub(crate) classes: RefCell<Vec<BoundClass>>,
    idle: RefCell<Vec<Thread>>,
    pub(crate) wait: RefCell<Option<Wait>>,
    /// The brackets that are open, innermost last. No script waits inside one, so they belong to the run at hand.
    pub(crate) brackets: RefCell<Vec<OpenBracket>>,
    /// The last error raised inside a bracket, until it has become the error of the run.
    pub(crate) raised: RefCell<Option<Raised>>,
    /// The output of `print`.
    pub(crate) console: sampan_host::Console,
    /// For what cannot be told to any script.
    pub(crate) report: Rc<dyn Fn(Error)>,
    /// The coroutine of the handler that runs; null while none does.
    pub(crate) running: Cell<State>,
    /// The coroutine that has called the row that runs; null while none does.
    pub(crate) calling: Cell<State>,
    /// The row whose callback runs, if one does.
    pub(crate) called_back_by: Cell<Option<BoundRow>>,
    /// Registry references of the handlers, by their number, once they are declared: errors look for them on the stack.
    pub(crate) handlers: OnceCell<Rc<[c_int]>>,
    /// True if the project's files have been run: routes cannot be declared any more, and waiting is possible.
    pub(crate) is_loaded: Cell<bool>,
    /// The worlds, if each request has globals of its own.
    pub(crate) worlds: OnceCell<Worlds>,
    /// True if any route reads bodies as they come.
    pub(crate) has_streams: Cell<bool>,
    /// Between the stages of a C function: what is to be pushed.
    pub(crate) result: UnsafeCell<Option<Result<Value, Error>>>,
    pub(crate) scratch: UnsafeCell<Scratch>,
    pub(crate) tape: UnsafeCell<Tape>,
    /// Reused by the writer of JSON.
    pub(crate) members: UnsafeCell<Vec<Member>>,
    /// The tools of rows that read values where they lie.
    pub(crate) reader_tools: ReaderTools,
    /// The shapes of rows, by their columns.
    pub(crate) shapes: UnsafeCell<RowShapes>,
    pub(crate) worn_out: Cell<bool>,
    /// The number of coroutines of the script that are inside of one another.
    pub(crate) nested: Cell<f64>,
    /// True if the registry's `last_error` is what the request at hand raised.
    pub(crate) has_raised: Cell<bool>,
    collect_at: Cell<usize>,
    /// The lowest address of the thread's stack that recursion through native functions may reach.
    pub(crate) stack_end: usize,
}

/// Coroutines that wait for their next request; more are given back to the collector.
const IDLE_THREADS_MAX: usize = 256;

impl Core {
    /// A state with nothing in it but the standard libraries.
    pub(crate) fn new(setup: &sampan_host::Setup) -> Result<Rc<Self>, Error> {
        let memory = Rc::new(Memory::new(setup.limits.memory_bytes_max));
        // SAFETY: the allocator's data outlives the state: both belong to `Core`, which closes the state in `drop`. The
        // data is only used through shared references.
        let state = unsafe { lua_newstate(allocate, Rc::as_ptr(&memory).cast_mut().cast()) };
        if state.is_null() {
            return Err(Error::new(ErrorKind::Memory, "no memory for a Lua state"));
        }
        let collect_at = Cell::new(setup.limits.memory_bytes_max / 2);
        Ok(Rc::new_cyclic(|me| Self {
            state,
            me: me.clone(),
            memory,
            modules: setup.modules,
            context: setup.context.clone(),
            limits: setup.limits.clone(),
            watch: setup.watch.clone(),
            sources: setup.sources.clone(),
            refs: Cell::default(),
            fixed: Cell::new(FixedValues {
                null: StackSlot::NIL,
                mark: StackSlot::NIL,
                array_meta: ptr::null(),
                request_meta: ptr::null(),
            }),
            requests: RefCell::default(),
            serial: Cell::new(1),
            request: Cell::new(0),
            classes: RefCell::default(),
            idle: RefCell::default(),
            wait: RefCell::default(),
            brackets: RefCell::default(),
            raised: RefCell::default(),
            console: setup.console.clone(),
            report: setup.report.clone(),
            running: Cell::new(ptr::null_mut()),
            calling: Cell::new(ptr::null_mut()),
            called_back_by: Cell::new(None),
            handlers: OnceCell::new(),
            is_loaded: Cell::new(false),
            worlds: OnceCell::new(),
            has_streams: Cell::new(setup.has_streams),
            result: UnsafeCell::default(),
            scratch: UnsafeCell::default(),
            tape: UnsafeCell::default(),
            members: UnsafeCell::default(),
            reader_tools: ReaderTools::default(),
            shapes: UnsafeCell::default(),
            worn_out: Cell::new(false),
            nested: Cell::new(0.0),
            has_raised: Cell::new(false),
            collect_at,
            stack_end: limits::stack_end(),
        }))
    }

    /// Calls `function` with a pointer to `data` under protection: the only way from Rust into Lua. `handler` names
    /// what runs, for the log of a runaway.
    pub(crate) fn protected<T>(
        &self,
        handler: u32,
        function: lua_CFunction,
        data: &mut T,
    ) -> Result<(), UncaughtError> {
        let outer = CURRENT.replace(self);
        self.watch.enter(handler);
        self.calling.set(ptr::null_mut());
        let state = self.state;
        // SAFETY: the main thread's stack is empty between calls and `LUA_MINSTACK` deep.
        let (top, status) = unsafe { (lua_gettop(state), self.pcall(state, function, data)) };
        let stopped = self.watch.leave();
        if stopped {
            // SAFETY: the state lives as long as `self`. A hook may be removed at any time, also within another call.
            unsafe { limits::clear(state) };
        }
        let result = if stopped {
            Err(UncaughtError(self.limits.stopped(self.watch.cause())))
        } else if status == LUA_OK {
            Ok(())
        } else {
            // SAFETY: after a failed `lua_pcall` the error value is on top.
            Err(unsafe { error::from_top(state, state, status) })
        };
        // SAFETY: shrinking the stack back to where it was.
        unsafe { lua_settop(state, top) };
        CURRENT.set(outer);
        result
    }

    /// Calls `function` with a pointer to `data` on `state`, which has room for three values: the status, with the
    /// error on top if it failed.
    pub(crate) unsafe fn pcall<T>(
        &self,
        state: State,
        function: lua_CFunction,
        data: &mut T,
    ) -> c_int {
        // SAFETY: pushes a function and a light pointer. `lua_pcall` catches whatever is raised. Before the prelude has
        // run there is no registry entry for `call_data` and the closure is made on the spot; that can raise only on
        // lack of memory at start.
        unsafe {
            if self.refs.get().run == 0 {
                lua_pushcfunction(state, call_data);
            } else {
                lua_rawgeti(state, LUA_REGISTRYINDEX, i64::from(self.refs.get().run));
            }
            let mut packed = PackedCall {
                function,
                data: (&raw mut *data).cast(),
            };
            lua_pushlightuserdata(state, (&raw mut packed).cast());
            lua_pcall(state, 1, 0, 0)
        }
    }

    /// Itself, for what may outlive it.
    pub(crate) fn me(&self) -> Weak<Self> {
        self.me.clone()
    }

    /// Forgets what a run before left open: it was stopped, or ran out of memory.
    #[inline]
    pub(crate) fn begin(&self) {
        self.brackets.borrow_mut().clear();
        if self.raised.borrow().is_some() {
            self.raised.take();
        }
    }

    /// A native object that a row gives goes with the request that runs, if its class says so.
    pub(crate) fn own(&self, object: Object) {
        let mut requests = self.requests.borrow_mut();
        if let Some(live) = object::live_mut(&mut requests, self.request.get()) {
            live.objects.own(self.context.objects(), object);
        }
    }

    /// Reports whether the request that runs owns the object.
    pub(crate) fn owns(&self, object: Object) -> bool {
        let requests = self.requests.borrow();
        let live = object::live(&requests, self.request.get());
        live.is_some_and(|live| live.objects.owns(object))
    }

    /// Called after each request: collects everything once half of the memory is in use, because LuaJIT would not when
    /// it runs out of it.
    #[inline]
    pub(crate) fn after_run(&self) {
        self.request.set(0);
        self.context.objects().sweep();
        if self.memory.used() >= self.collect_at.get() {
            self.collect();
        }
    }

    /// Collects all garbage, and says how much must be in use before that is worth doing again.
    pub(crate) fn collect(&self) {
        unsafe extern "C-unwind" fn run(state: State) -> c_int {
            // SAFETY: called under protection with a valid state.
            unsafe { lua_gc(state, LUA_GCCOLLECT, 0) };
            0
        }
        if self.protected(u32::MAX, run, &mut ()).is_err() {
            self.worn_out.set(true);
        }
        let used = self.memory.used();
        let max = self.limits.memory_bytes_max;
        self.collect_at.set((used + used / 2).max(max / 2));
    }

    /// Called after an error for lack of memory.
    pub(crate) fn after_memory_error(&self) {
        self.request.set(0);
        self.idle.borrow_mut().clear();
        self.collect();
        if self.memory.used() > self.limits.memory_bytes_max / 4 * 3 {
            self.worn_out.set(true);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.used()
    }

    /// A coroutine with an empty stack. May raise; called under protection.
    pub(crate) unsafe fn take_thread(&self) -> Thread {
        if let Some(thread) = self.idle.borrow_mut().pop() {
            return thread;
        }
        // SAFETY: the caller is under protection; the new thread is anchored before anything else can collect it.
        unsafe {
            let state = lua_newthread(self.state);
            let anchor = luaL_ref(self.state, LUA_REGISTRYINDEX);
            Thread { state, anchor }
        }
    }

    /// Takes back a coroutine that has ended normally.
    pub(crate) fn give_thread(&self, thread: Thread) {
        // SAFETY: the thread is alive (anchored) and does not run.
        unsafe { lua_settop(thread.state, 0) };
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE_THREADS_MAX {
            idle.push(thread);
        } else {
            drop(idle);
            self.drop_thread(thread);
        }
    }

    /// Leaves a coroutine that failed, or that nobody will resume, to the collector.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the thread must not be used after this"
    )]
    pub(crate) fn drop_thread(&self, thread: Thread) {
        // SAFETY: `luaL_unref` writes to two existing integer slots of the registry; it neither allocates nor raises.
        unsafe { luaL_unref(self.state, LUA_REGISTRYINDEX, thread.anchor) };
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: the state was made by `lua_newstate` on this thread, as `Core` is not `Send`. Nothing uses it any
        // more: suspended calls hold an `Rc` of the core.
        unsafe {
            samples::release(self.state);
            lua_close(self.state);
        }
    }
}

struct PackedCall {
    function: lua_CFunction,
    data: *mut c_void,
}

/// The function behind [`Core::protected`]: unpacks the light pointer and calls what it names, with the data as its
/// only argument.
unsafe extern "C-unwind" fn call_data(state: State) -> c_int {
    // SAFETY: the argument is the pointer that `protected` pushed, alive until it returns.
    unsafe {
        let packed = lua_touserdata(state, 1).cast::<PackedCall>();
        lua_settop(state, 0);
        lua_pushlightuserdata(state, (*packed).data);
        ((*packed).function)(state)
    }
}

/// Makes the registry entry that `protected` uses. Called once, under protection.
pub(crate) unsafe fn anchor_entry(state: State) -> c_int {
    // SAFETY: under protection.
    unsafe {
        lua_pushcfunction(state, call_data);
        luaL_ref(state, LUA_REGISTRYINDEX)
    }
}
