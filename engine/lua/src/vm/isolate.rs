//! One Lua state: what it keeps, how it is entered, the coroutines that handlers run in, and how it ends.

pub(crate) mod collections;
pub(crate) mod enter;
pub(crate) mod room;
pub(crate) mod samples;

use crate::coroutines::gathered::Gathered;
use crate::request::lent::LentText;
use crate::values::layout::{FixedValues, StackSlot};
use crate::values::member::Member;
use crate::values::reader::slots::ReaderTools;
use crate::values::row_shapes::RowShapes;
use crate::vm::bind::row::{BoundClass, BoundRow, OpenBracket};
use crate::vm::error::raised::Raised;
use crate::vm::isolate::collections::Collections;
use crate::vm::memory::{Memory, allocate};
use crate::vm::state::{RegistryRefs, Scratch, State};
use crate::vm::worlds::{World, Worlds};
use mlua_sys::lua51::*;
use sampan_host::{
    Context, Error, ErrorKind, LocalFuture, Module, Object, RequestObjects, RequestView,
    ScriptLimits, Sources, Value, Watch, json::Tape,
};
use slab::Slab;
use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use std::ffi::c_int;
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
    /// The view of the request; `None` for a run without a request.
    pub(crate) view: Option<Rc<dyn RequestView>>,
    pub(crate) serial: u64,
    /// The objects that live as long as the request.
    pub(crate) objects: RequestObjects,
    /// The world of its scripts, if that is its own.
    pub(crate) world: Option<Rc<World>>,
    /// The waits of each `app.gather` that is open.
    pub(crate) gathered: Slab<Rc<Gathered>>,
}

/// The bits of a request's number that are its place in the slab; the others tell it from its predecessors there.
pub(crate) const PLACE_BITS: u32 = 20;

/// The request of this number, if it lives.
pub(crate) fn live(requests: &Slab<LiveRequest>, number: u64) -> Option<&LiveRequest> {
    let live = requests.get((number & ((1 << PLACE_BITS) - 1)) as usize)?;
    (live.serial == number >> PLACE_BITS).then_some(live)
}

/// Returns a live request to change it.
pub(crate) fn live_mut(requests: &mut Slab<LiveRequest>, number: u64) -> Option<&mut LiveRequest> {
    let live = requests.get_mut((number & ((1 << PLACE_BITS) - 1)) as usize)?;
    (live.serial == number >> PLACE_BITS).then_some(live)
}

/// Everything that belongs to one Lua state.
pub(crate) struct Core {
    pub(crate) state: State,
    /// Itself, for what may outlive it.
    me: Weak<Self>,
    // Shared with LuaJIT, which has its address.
    pub(crate) memory: Rc<Memory>,
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
    /// Takes the errors that cannot be told to any script.
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
    collections: Collections,
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

/// The part of a thread's stack is left alone by recursion that [`stack_end`] bounds, in bytes: for the functions in C
/// below it.
const STACK_RESERVE_BYTES: usize = 1024 * 1024;

/// Reports whether recursion of scripts through native functions has used the thread's stack up: each level has a frame
/// of ours on it.
pub(crate) fn is_stack_used_up() -> bool {
    let marker = 0_u8;
    let core = current_or_null();
    // SAFETY: the pointer is null or names the isolate that runs on this thread.
    !core.is_null() && (&raw const marker as usize) < unsafe { (*core).stack_end }
}

/// The lowest address of the calling thread's stack that scripts may reach; zero if the system does not say.
fn stack_end() -> usize {
    // SAFETY: the attributes are initialised by the first call, read by the second and destroyed by the third.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0;
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        let status =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        if status != 0 {
            return 0;
        }
        start as usize + STACK_RESERVE_BYTES.min(size / 2)
    }
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
            collections: Collections::default(),
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
            stack_end: stack_end(),
        }))
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
        if let Some(live) = live_mut(&mut requests, self.request.get()) {
            live.objects.own(self.context.objects(), object);
        }
    }

    /// Reports whether the request that runs owns the object.
    pub(crate) fn owns(&self, object: Object) -> bool {
        let requests = self.requests.borrow();
        let request = live(&requests, self.request.get());
        request.is_some_and(|request| request.objects.owns(object))
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

    /// Leaves a coroutine that failed, or that will not be resumed, to the collector.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the thread must not be used after this"
    )]
    pub(crate) fn drop_thread(&self, thread: Thread) {
        // SAFETY: `luaL_unref` writes to two existing integer slots of the registry; it neither allocates nor raises.
        unsafe { luaL_unref(self.state, LUA_REGISTRYINDEX, thread.anchor) };
    }
}
