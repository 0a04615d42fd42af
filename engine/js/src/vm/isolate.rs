//! One QuickJS runtime with one context: what it keeps, how it is entered and left, and how it ends.

use crate::promises::tasks::Tasks;
use crate::request::object;
use crate::request::object::{ParameterNames, RequestPool};
use crate::values::json_write::MemberNames;
use crate::values::layout::Layout;
use crate::values::rows::Columns;
use crate::values::shapes::Shapes;
use crate::vm::bind::Spellings;
use crate::vm::error;
use crate::vm::hidden::HiddenKeys;
use crate::vm::limits::{self, SCRIPT_STACK_BYTES_MAX, Stopper};
use crate::vm::memory::{Counted, Memory};
use crate::vm::sys::{Cx, RawValue, Thrown, Val, address, class_id};
use rquickjs::qjs;
use sampan_host::json::Tape;
use sampan_host::{
    Context, Error, ErrorKind, HandlerId, LocalFuture, Program, ScriptLimits, Setup, Sources, Watch,
};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// Names that the engine looks up again and again.
pub(crate) struct Atoms {
    /// Under this a native error keeps its kind; no script can name it.
    pub(crate) kind: qjs::JSAtom,
    pub(crate) status: qjs::JSAtom,
    pub(crate) to_json: qjs::JSAtom,
    pub(crate) web_status: qjs::JSAtom,
    pub(crate) web_headers: qjs::JSAtom,
    pub(crate) web_list: qjs::JSAtom,
    pub(crate) web_body: qjs::JSAtom,
    pub(crate) web_used: qjs::JSAtom,
    pub(crate) web_source: qjs::JSAtom,
    pub(crate) web_signal: qjs::JSAtom,
    pub(crate) web_kind: qjs::JSAtom,
}

impl Atoms {
    fn new(cx: Cx<'_>, hidden: &HiddenKeys) -> Result<Self, Thrown> {
        // SAFETY: the context is alive; the symbol is released after the atom took its reference.
        let kind = unsafe {
            let symbol = qjs::JS_NewSymbol(cx.raw(), c"kind".as_ptr(), false);
            let atom = qjs::JS_ValueToAtom(cx.raw(), symbol);
            qjs::JS_FreeValue(cx.raw(), symbol);
            atom
        };
        Ok(Self {
            kind,
            status: cx.atom("status"),
            to_json: cx.atom("toJSON"),
            web_status: hidden.atom(cx, "status")?,
            web_headers: hidden.atom(cx, "headers")?,
            web_list: hidden.atom(cx, "list")?,
            web_body: hidden.atom(cx, "body")?,
            web_used: hidden.atom(cx, "used")?,
            web_source: hidden.atom(cx, "source")?,
            web_signal: hidden.atom(cx, "signal")?,
            web_kind: hidden.atom(cx, "kind")?,
        })
    }

    fn release(&self, cx: Cx<'_>) {
        let all = [
            self.kind,
            self.status,
            self.to_json,
            self.web_status,
            self.web_headers,
            self.web_list,
            self.web_body,
            self.web_used,
            self.web_source,
            self.web_signal,
            self.web_kind,
        ];
        for atom in all {
            // SAFETY: each atom is owned and not used any more.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
    }
}

/// The numbers of classes that the engine asks for.
pub(crate) struct Classes {
    pub(crate) object: qjs::JSClassID,
    pub(crate) array: qjs::JSClassID,
    pub(crate) request: qjs::JSClassID,
    pub(crate) async_function: qjs::JSClassID,
    pub(crate) generator_function: qjs::JSClassID,
    pub(crate) async_generator_function: qjs::JSClassID,
    /// What a generator function returns.
    pub(crate) generator: qjs::JSClassID,
    pub(crate) async_generator: qjs::JSClassID,
}

/// Functions and prototypes of the isolate, there once it is set up.
pub(crate) struct Tables {
    /// Runs middleware around a handler; see `prelude.js`.
    pub(crate) run_handler: Val,
    /// Runs middleware around an empty answer.
    pub(crate) run_empty: Val,
    /// `Headers.prototype`.
    pub(crate) headers_prototype: Val,
    /// `Request.prototype`.
    pub(crate) request_prototype: Val,
    /// The prototype of the requests that a `fetch` export gets.
    pub(crate) fetch_prototype: Val,
    /// The next chunk of a body stream, as a promise.
    pub(crate) next_chunk: Val,
    /// Tells a body stream that nobody reads it.
    pub(crate) cancel_stream: Val,
    /// What an object of the Web surface is as a body: `[content, type]`, or nothing.
    pub(crate) as_body: Val,
    /// Aborts a request's signal.
    pub(crate) abort_signal: Val,
    /// The fields of a form that the Web surface parses.
    pub(crate) form: Val,
    /// Makes a handler of a default export that has `fetch`.
    pub(crate) serve: Val,
    /// What `import ... from "sampan"` gives.
    pub(crate) exports: Val,
}

/// The isolate's own state. Everything that keeps a script's value keeps this too.
pub(crate) struct Core {
    pub(crate) atoms: Atoms,
    pub(crate) classes: Classes,
    pub(crate) member_names: MemberNames,
    pub(crate) shapes: Shapes,
    pub(crate) columns: Columns,
    /// Where objects keep their values, if that is known.
    pub(crate) layout: Cell<Option<Layout>>,
    /// Names of route parameters.
    pub(crate) parameter_names: ParameterNames,
    /// The keys under which the Web surface keeps what scripts must not see.
    pub(crate) hidden: HiddenKeys,
    /// Reused from one JSON text to the next.
    pub(crate) tape: RefCell<Tape>,
    /// The address of `Object.prototype`: most objects are told from responses by it.
    pub(crate) object_prototype: *mut c_void,
    pub(crate) tables: OnceCell<Tables>,
    pub(crate) handlers: RefCell<Vec<Val>>,
    /// The handler of unknown paths.
    pub(crate) not_found: Cell<Option<HandlerId>>,
    /// The handler that is the `fetch` of a default export.
    pub(crate) fetch: Cell<Option<HandlerId>>,
    /// The timers of the module top level.
    pub(crate) top_level: RefCell<Option<Rc<Tasks>>>,
    /// The names of records as JavaScript spells them.
    pub(crate) spellings: Spellings,
    /// What the project declares while it loads; `None` afterwards.
    pub(crate) declared: RefCell<Option<Program>>,
    pub(crate) modules: &'static [&'static sampan_host::Module],
    /// The rows of the bound modules, by the number that their native functions carry.
    pub(crate) rows: RefCell<Vec<crate::vm::bind::Row>>,
    pub(crate) context_of_capabilities: Rc<Context>,
    pub(crate) sources: Arc<dyn Sources>,
    /// The project's files that were compiled, in that order.
    pub(crate) compiled: RefCell<Vec<String>>,
    pub(crate) limits: ScriptLimits,
    pub(crate) report: Rc<dyn Fn(Error)>,
    pub(crate) console: sampan_host::Console,
    pub(crate) sleep: sampan_host::Sleep,
    pub(crate) spawn: Rc<dyn Fn(LocalFuture<()>)>,
    /// Which request's tasks each running timer is among.
    pub(crate) timers: RefCell<HashMap<i64, Weak<Tasks>>>,
    /// How many requests have work left over.
    pub(crate) background: Cell<usize>,
    /// Those who wait for a promise that another request may settle.
    pub(crate) waiters: RefCell<slab::Slab<Rc<crate::promises::suspend::Waiter>>>,
    /// The last exception that became an error, for the error handler that may be called with it.
    pub(crate) failure: RefCell<Option<(Val, Error)>>,
    /// The tasks of the request whose script runs, once it has any.
    current: RefCell<Option<Rc<Tasks>>>,
    /// Rejected promises that nobody handles so far.
    rejections: RefCell<Vec<(Val, Val)>>,
    /// Where the run that is being stopped was.
    stopped_at: RefCell<Option<Error>>,
    dropping_jobs: Cell<bool>,
    worn_out: Cell<bool>,
    watch: Arc<Watch>,
    stopper: Stopper,
    ctx: *mut qjs::JSContext,
    is_entered: Cell<bool>,
    memory: Rc<Memory>,
    // Last, in this order: the context goes before its runtime, and request objects give their boxes back to the end.
    context: rquickjs::Context,
    runtime: rquickjs::Runtime,
    pub(crate) pool: RequestPool,
}

/// What came of entering the isolate.
pub(crate) struct Ran<R> {
    /// What the body returned, or why that counts for nothing.
    pub(crate) value: Result<R, Error>,
    /// The tasks that the run left, if it made any.
    pub(crate) tasks: Option<Rc<Tasks>>,
}

/// The isolate is entered; a panic leaves it too.
struct Entered<'a>(&'a Core);

impl<'a> Entered<'a> {
    #[inline]
    fn new(core: &'a Core, handler: HandlerId) -> Self {
        core.is_entered.set(true);
        core.watch.enter(handler);
        Self(core)
    }

    /// Whether the run was told to stop.
    #[inline]
    fn leave(self) -> bool {
        let core = self.0;
        std::mem::forget(self);
        core.is_entered.set(false);
        core.watch.leave()
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.is_entered.set(false);
        self.0.watch.leave();
    }
}

impl Core {
    /// A fresh runtime with everything but the project in it.
    pub(crate) fn new(setup: &Setup) -> Result<Rc<Self>, Error> {
        let no_memory = |_| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate");
        let memory = Memory::new(setup.limits.memory_bytes_max, setup.watch.clone());
        let runtime =
            rquickjs::Runtime::new_with_alloc(Counted(memory.clone())).map_err(no_memory)?;
        runtime.set_max_stack_size(SCRIPT_STACK_BYTES_MAX);
        let context = rquickjs::Context::full(&runtime).map_err(no_memory)?;
        let ctx = context.as_raw().as_ptr();
        // SAFETY: the context is alive, and stays so as long as what is made here.
        let (cx, stopper) = unsafe { (Cx::from_raw(ctx), Stopper::new(ctx, &setup.watch)) };
        memory.stop_with(stopper.counter());
        let hidden = HiddenKeys::default();
        let atoms = Atoms::new(cx, &hidden)
            .map_err(|Thrown| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate"))?;
        let core = Rc::new(Self {
            memory,
            atoms,
            hidden,
            classes: classes(cx)?,
            member_names: MemberNames::new(),
            shapes: Shapes::new(),
            columns: Columns::new(),
            layout: Cell::new(None),
            parameter_names: ParameterNames::default(),
            tape: RefCell::default(),
            object_prototype: object_prototype(cx)?,
            tables: OnceCell::new(),
            handlers: RefCell::default(),
            not_found: Cell::new(None),
            fetch: Cell::new(None),
            top_level: RefCell::default(),
            spellings: Spellings::default(),
            declared: RefCell::new(Some(Program::default())),
            modules: setup.modules,
            rows: RefCell::default(),
            context_of_capabilities: setup.context.clone(),
            sources: setup.sources.clone(),
            compiled: RefCell::default(),
            limits: setup.limits.clone(),
            report: setup.report.clone(),
            console: setup.console.clone(),
            sleep: setup.sleep.clone(),
            spawn: setup.spawn.clone(),
            timers: RefCell::default(),
            background: Cell::new(0),
            waiters: RefCell::default(),
            failure: RefCell::default(),
            current: RefCell::default(),
            rejections: RefCell::default(),
            stopped_at: RefCell::default(),
            dropping_jobs: Cell::new(false),
            worn_out: Cell::new(false),
            watch: setup.watch.clone(),
            stopper,
            ctx,
            is_entered: Cell::new(false),
            context,
            runtime,
            pool: RequestPool::default(),
        });
        core.attach(cx);
        Ok(core)
    }

    /// Gives the runtime its callbacks, which find the core by its address.
    fn attach(self: &Rc<Self>, cx: Cx<'_>) {
        let address = Rc::as_ptr(self).cast_mut().cast::<c_void>();
        // SAFETY: the core does not move and outlives the runtime; the callbacks only read it.
        unsafe {
            qjs::JS_SetContextOpaque(cx.raw(), address);
            qjs::JS_SetInterruptHandler(cx.runtime(), Some(limits::interrupt), address);
            qjs::JS_SetHostPromiseRejectionTracker(cx.runtime(), Some(track_rejection), address);
        }
    }

    /// Access to the context.
    #[inline]
    pub(crate) fn cx(&self) -> Cx<'_> {
        // SAFETY: the context lives as long as the core.
        unsafe { Cx::from_raw(self.ctx) }
    }

    /// The context as the Web surface wants it.
    pub(crate) fn with_context<R>(&self, body: impl FnOnce(&rquickjs::Ctx<'_>) -> R) -> R {
        self.context.with(|ctx| body(&ctx))
    }

    /// The tables; they are there once the isolate is set up.
    #[inline]
    pub(crate) fn tables(&self) -> Result<&Tables, Error> {
        self.tables
            .get()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the isolate is not set up"))
    }

    /// Whether the script that runs must stop.
    #[inline]
    pub(crate) fn must_stop(&self) -> bool {
        self.dropping_jobs.get() || self.memory.is_exhausted() || self.watch.must_stop()
    }

    /// Whether the project is still loading: nothing can wait then.
    pub(crate) fn is_loading(&self) -> bool {
        self.declared.borrow().is_some()
    }

    /// The tasks of the request whose script runs.
    pub(crate) fn tasks(&self) -> Rc<Tasks> {
        self.current
            .borrow_mut()
            .get_or_insert_with(Rc::default)
            .clone()
    }

    /// Runs `body` as a part of one request, then all jobs that it caused.
    #[inline]
    pub(crate) fn enter<R>(
        &self,
        handler: HandlerId,
        tasks: Option<Rc<Tasks>>,
        body: impl FnOnce(Cx<'_>) -> R,
    ) -> Ran<R> {
        if self.is_entered.get() {
            return self.enter_again(tasks, body);
        }
        let cx = self.cx();
        self.prepare(cx);
        *self.current.borrow_mut() = tasks;
        let entered = Entered::new(self, handler);
        let value = body(cx);
        self.drain(cx);
        if !self.rejections.borrow().is_empty() {
            self.report_rejections(cx);
        }
        let stopped = entered.leave();
        let tasks = self.current.borrow_mut().take();
        if stopped || self.memory.is_exhausted() {
            return Ran {
                value: Err(self.stopped(cx)),
                tasks,
            };
        }
        Ran {
            value: Ok(value),
            tasks,
        }
    }

    /// Something below a running script is dropped or asked for: a part of that run, with other tasks.
    #[cold]
    fn enter_again<R>(&self, tasks: Option<Rc<Tasks>>, body: impl FnOnce(Cx<'_>) -> R) -> Ran<R> {
        let outer = self.current.replace(tasks);
        let value = Ok(body(self.cx()));
        Ran {
            value,
            tasks: self.current.replace(outer),
        }
    }

    /// The stack is counted from here, and cyclic garbage is looked for before memory runs out.
    #[inline]
    fn prepare(&self, cx: Cx<'_>) {
        self.memory.begin();
        let limit = self.limits.memory_bytes_max;
        // SAFETY: the runtime is alive and runs nothing.
        unsafe {
            let runtime = cx.runtime();
            qjs::JS_UpdateStackTop(runtime);
            let threshold = qjs::JS_GetGCThreshold(runtime) as usize;
            let wanted = threshold.max(limits::GARBAGE_BYTES_MIN).min(limit / 8 * 7);
            if threshold != wanted {
                qjs::JS_SetGCThreshold(runtime, wanted as _);
            }
        }
    }

    /// Runs jobs until there are none, or drops them if the run must stop.
    #[inline]
    pub(crate) fn drain(&self, cx: Cx<'_>) {
        // SAFETY: the runtime is alive.
        while unsafe { qjs::JS_IsJobPending(cx.runtime()) } {
            if self.must_stop() {
                return self.drop_jobs(cx);
            }
            self.run_job(cx);
        }
    }

    fn run_job(&self, cx: Cx<'_>) {
        let mut ctx = std::ptr::null_mut();
        // SAFETY: the runtime is alive, `ctx` is writable.
        let status = unsafe { qjs::JS_ExecutePendingJob(cx.runtime(), &raw mut ctx) };
        if status < 0 {
            if self.dropping_jobs.get() {
                return drop(cx.exception());
            }
            let failure = error::take(cx);
            if !self.must_stop() {
                (self.report)(failure);
            }
        }
    }

    /// Runs down the job queue with every call interrupted, so that no script runs: an interrupted async function never
    /// settles its promise.
    #[cold]
    fn drop_jobs(&self, cx: Cx<'_>) {
        /// More than a memory limit leaves room for.
        const JOBS_MAX: usize = 10_000_000;
        self.dropping_jobs.set(true);
        for _ in 0..JOBS_MAX {
            // SAFETY: the runtime is alive.
            if !unsafe { qjs::JS_IsJobPending(cx.runtime()) } {
                break;
            }
            self.stopper.expire_here();
            self.run_job(cx);
        }
        self.dropping_jobs.set(false);
    }

    /// Remembers where an interrupted run was.
    pub(crate) fn note_interrupt(&self, error: &Error) {
        self.stopped_at
            .borrow_mut()
            .get_or_insert_with(|| error.clone());
    }

    #[cold]
    fn stopped(&self, cx: Cx<'_>) -> Error {
        drop(cx.exception());
        self.rejections.borrow_mut().clear();
        let error = if self.memory.is_exhausted() {
            self.limits.out_of_memory()
        } else {
            self.limits.stopped()
        };
        match self.stopped_at.borrow_mut().take() {
            Some(at) => error
                .at(at.place().cloned())
                .with_stack(at.stack().unwrap_or_default()),
            None => error,
        }
    }

    /// A promise was rejected and nobody has handled that (or just did).
    fn rejection(&self, cx: Cx<'_>, promise: RawValue, reason: RawValue, is_handled: bool) {
        let mut rejections = self.rejections.borrow_mut();
        if is_handled {
            rejections.retain(|(other, _)| address(other.raw()) != address(promise));
        } else {
            rejections.push((cx.dup(promise), cx.dup(reason)));
        }
    }

    /// Takes a promise whose rejection the engine handles itself off the list.
    pub(crate) fn handled(&self, cx: Cx<'_>, promise: RawValue) {
        // SAFETY: the promise is alive.
        unsafe { qjs::JS_PromiseMarkAsHandled(cx.raw(), promise) };
        let mut rejections = self.rejections.borrow_mut();
        if !rejections.is_empty() {
            rejections.retain(|(other, _)| address(other.raw()) != address(promise));
        }
    }

    #[cold]
    fn report_rejections(&self, cx: Cx<'_>) {
        let rejections = std::mem::take(&mut *self.rejections.borrow_mut());
        for (_, reason) in rejections {
            let error = error::describe(cx, reason.raw());
            if self.must_stop() {
                return;
            }
            let text = format!("unhandled rejection: {}", error.message());
            (self.report)(error.with_message(text));
        }
    }

    /// The memory that the runtime has allocated, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.used()
    }

    /// Collects cyclic garbage.
    pub(crate) fn collect_garbage(&self) {
        self.runtime.run_gc();
    }

    /// After memory ran out: collects, and says whether that helped.
    pub(crate) fn recover(&self) {
        self.collect_garbage();
        if self.memory_bytes() > self.limits.memory_bytes_max / 4 * limits::WORN_OUT_QUARTERS {
            self.worn_out.set(true);
        }
    }

    /// Whether memory ran out and did not come back.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.worn_out.get()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        drop(self.tables.take());
        let cx = self.cx();
        // Everything that refers to values goes before the context; destructors of values may not find them half gone.
        if let Some(tasks) = self.top_level.take() {
            tasks.abandon(self);
        }
        drop(self.handlers.take());
        drop(self.rejections.take());
        drop(self.failure.take());
        drop(self.current.take());
        self.waiters.take();
        self.member_names.clear(cx);
        self.shapes.clear();
        self.columns.clear();
        self.parameter_names.clear(cx);
        self.hidden.clear(cx);
        self.atoms.release(cx);
    }
}

/// QuickJS calls this when a promise is rejected without a handler, and when it gets one after all.
unsafe extern "C" fn track_rejection(
    ctx: *mut qjs::JSContext,
    promise: RawValue,
    reason: RawValue,
    is_handled: bool,
    opaque: *mut c_void,
) {
    // SAFETY: the core outlives the runtime; QuickJS passes a live context.
    let (core, cx) = unsafe { (&*opaque.cast::<Core>(), Cx::from_raw(ctx)) };
    // A panic must not cross C; what could panic here is a borrow, and then there is nothing to note.
    let noted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        core.rejection(cx, promise, reason, is_handled)
    }));
    drop(noted);
}

fn classes(cx: Cx<'_>) -> Result<Classes, Error> {
    let failed = |_| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate");
    let object = cx.object().map_err(failed)?;
    let array = cx.array(Vec::new()).map_err(failed)?;
    // The numbers of these classes are no part of QuickJS's API, so each is read from a sample. No script has run yet.
    let class_of = |sample| {
        let sample = cx.eval(sample, c"<probe>").map_err(failed)?;
        Ok(class_id(sample.raw()))
    };
    Ok(Classes {
        object: class_id(object.raw()),
        array: class_id(array.raw()),
        request: object::register_class(cx).map_err(failed)?,
        async_function: class_of(c"async () => {}")?,
        generator_function: class_of(c"(function* () {})")?,
        async_generator_function: class_of(c"(async function* () {})")?,
        generator: class_of(c"(function* () {})()")?,
        async_generator: class_of(c"(async function* () {})()")?,
    })
}

fn object_prototype(cx: Cx<'_>) -> Result<*mut c_void, Error> {
    let object = cx
        .object()
        .map_err(|_| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate"))?;
    // SAFETY: the object is alive; its prototype lives as long as the context.
    let prototype = unsafe { cx.own(qjs::JS_GetPrototype(cx.raw(), object.raw())) };
    Ok(address(prototype.raw()))
}
