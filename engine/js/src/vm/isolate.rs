//! One QuickJS runtime with one context: what it keeps, how it begins and how it ends.

mod atoms;
mod classes;
pub(crate) mod collections;
pub(crate) mod run;
pub(crate) mod samples;

use crate::promises::tasks::{Tasks, Waiter};
use crate::request::fields::ParameterNames;
use crate::request::made::ResponseMaker;
use crate::request::object::RequestPool;
use crate::values::json_write::strings::MemberNames;
use crate::values::layout::Layout;
use crate::values::layout::text::TextLayout;
use crate::values::reader::intrinsics::Intrinsics;
use crate::values::reader::list::SpareValues;
use crate::values::reader::names::ReaderNames;
use crate::values::reader::places::Places;
use crate::values::reader::state::Innermost;
use crate::values::rows::Columns;
use crate::values::shapes::Shapes;
use crate::vm::hidden::HiddenKeys;
use crate::vm::interrupts::{self, PollCounter};
use crate::vm::isolate::collections::Collections;
use crate::vm::limits::{self, SCRIPT_STACK_BYTES_MAX};
use crate::vm::memory::{CountingAllocator, Memory};
use crate::vm::modules::stacks::Stacks;
use crate::vm::sys::{Cx, Thrown, Val};
use atoms::Atoms;
use classes::Classes;
use rquickjs::qjs;
use sampan_host::json::Tape;
use sampan_host::{Error, ErrorKind, HandlerId, LocalFuture, ScriptLimits, Setup, Watch};
use sampan_js_contract::{BoundRow, Contract};
use sampan_js_modules::Modules;
use samples::Sampler;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::{Rc, Weak};
use std::sync::Arc;

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
    /// The methods that modules add to requests.
    pub(crate) added_methods: Val,
    /// The prototype of the requests that a `fetch` export gets.
    pub(crate) fetch_prototype: Val,
    /// Calls a method of an object once a promise is fulfilled.
    pub(crate) after: Val,
    /// A stream of a request's body that is read as it comes.
    pub(crate) body_stream: Val,
    /// Locks a body stream, and gives a function for its chunks.
    pub(crate) open_stream: Val,
    /// Tells a body stream that it will not be read.
    pub(crate) cancel_stream: Val,
    /// Returns an object of the Web surface as a body: `[content, type]`, or nothing.
    pub(crate) as_body: Val,
    /// Aborts a request's signal.
    pub(crate) abort_signal: Val,
    /// The fields of a form that the Web surface parses.
    pub(crate) form: Val,
    /// Makes a handler of a default export that has `fetch`.
    pub(crate) serve: Val,
    /// The functions that read a `Map`.
    pub(crate) intrinsics: Intrinsics,
    /// The exports of `"sampan"`.
    pub(crate) exports: Val,
}

/// The isolate's own state. Everything that keeps a script's value keeps this too.
pub(crate) struct Core {
    /// Itself, for what may outlive it.
    me: Weak<Self>,
    pub(crate) atoms: Atoms,
    pub(crate) classes: Classes,
    pub(crate) member_names: MemberNames,
    pub(crate) shapes: Shapes,
    pub(crate) responses: ResponseMaker,
    pub(crate) columns: Columns,
    /// The places of objects' values, if that is known.
    pub(crate) layout: Cell<Option<Layout>>,
    /// The places of strings' characters, if that is known.
    pub(crate) text_layout: Cell<Option<TextLayout>>,
    /// The bytes of strings that are being sent from where they are.
    pub(crate) lent_bytes: Cell<usize>,
    /// Names that readers ask for.
    pub(crate) reader_names: ReaderNames,
    /// The places of members that readers asked for.
    pub(crate) reader_places: Places,
    pub(crate) innermost_reader: Innermost,
    /// Reused from one reader to the next.
    pub(crate) spare_values: SpareValues,
    /// Names of route parameters.
    pub(crate) parameter_names: ParameterNames,
    /// The keys under which the Web surface keeps what scripts must not see.
    pub(crate) hidden: HiddenKeys,
    /// Reused from one JSON text to the next.
    pub(crate) tape: RefCell<Tape>,
    /// The address of `Object.prototype`: most objects are told from responses by it.
    pub(crate) object_prototype: *mut c_void,
    pub(crate) tables: OnceCell<Tables>,
    pub(crate) collections: Rc<Collections>,
    pub(crate) handlers: RefCell<Vec<Val>>,
    /// The functions that capabilities keep.
    pub(crate) callbacks: RefCell<slab::Slab<Val>>,
    /// The handler of unknown paths.
    pub(crate) not_found: Cell<Option<HandlerId>>,
    /// The handler that is the `fetch` of a default export.
    pub(crate) fetch: Cell<Option<HandlerId>>,
    /// The timers of the module top level.
    pub(crate) top_level: RefCell<Option<Rc<Tasks>>>,
    /// The tables and declarations that all engines of JavaScript have.
    pub(crate) contract: Contract,
    /// The rows of the bound modules, by the number that their native functions carry.
    pub(crate) rows: RefCell<Vec<BoundRow>>,
    /// The prototypes of the promises of rows, by the rows' indices.
    pub(crate) promise_prototypes: RefCell<Vec<Option<Val>>>,
    /// The modules of the project and its packages.
    pub(crate) scripts: Arc<Modules>,
    /// The scripts whose lines stand for lines of a source.
    pub(crate) stacks: Stacks,
    /// Takes samples, if any are wanted.
    pub(crate) sampler: OnceCell<Sampler>,
    /// Loads modules of CommonJS, once there is one.
    pub(crate) commonjs: OnceCell<Val>,
    /// The project's files that were compiled, in that order.
    pub(crate) compiled: RefCell<Vec<String>>,
    pub(crate) limits: ScriptLimits,
    pub(crate) console: sampan_host::Console,
    pub(crate) sleep: sampan_host::Sleep,
    pub(crate) spawn: Rc<dyn Fn(LocalFuture<()>)>,
    /// The request's tasks that each running timer is among.
    pub(crate) timers: RefCell<HashMap<i64, Weak<Tasks>>>,
    /// The number of requests that have work left over.
    pub(crate) background: Cell<usize>,
    /// Those who wait for a promise that another request may settle.
    pub(crate) waiters: RefCell<slab::Slab<Rc<Waiter>>>,
    /// The last exception that became an error, for the error handler that may be called with it.
    pub(crate) failure: RefCell<Option<(Val, Error)>>,
    /// The tasks of the request whose script runs, once it has any.
    current: RefCell<Option<Rc<Tasks>>>,
    /// The tasks of the request whose futures are polled: functions of the script that those call run for it.
    pub(crate) polled: RefCell<Option<Rc<Tasks>>>,
    /// Rejected promises that have no handler so far.
    rejections: RefCell<Vec<(Val, Val)>>,
    /// The place at which the run was that is being stopped.
    stopped_at: RefCell<Option<Error>>,
    dropping_jobs: Cell<bool>,
    worn_out: Cell<bool>,
    watch: Arc<Watch>,
    /// Makes the next poll ask whether to stop, where its place is known.
    counter: Option<PollCounter>,
    ctx: *mut qjs::JSContext,
    is_entered: Cell<bool>,
    /// From how many bytes in use on cyclic garbage is looked for, as it was set last.
    gc_threshold: Cell<usize>,
    pub(crate) memory: Rc<Memory>,
    // Last, in this order: the context goes before its runtime, and request objects give their boxes back to the end.
    context: rquickjs::Context,
    runtime: rquickjs::Runtime,
    pub(crate) pool: RequestPool,
}

impl Core {
    /// A fresh runtime with everything but the project in it.
    pub(crate) fn new(setup: &Setup) -> Result<Rc<Self>, Error> {
        let no_memory = |_| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate");
        let memory = Memory::new(setup.limits.memory_bytes_max, setup.watch.clone());
        let runtime = rquickjs::Runtime::new_with_alloc(CountingAllocator(memory.clone()))
            .map_err(no_memory)?;
        runtime.set_max_stack_size(SCRIPT_STACK_BYTES_MAX);
        let context = rquickjs::Context::full(&runtime).map_err(no_memory)?;
        let ctx = context.as_raw().as_ptr();
        interrupts::install(&setup.watch)?;
        // SAFETY: the context is alive, and stays so as long as the core that is made here.
        let (cx, counter) = unsafe { (Cx::from_raw(ctx), PollCounter::of(context.as_raw())) };
        let hidden = HiddenKeys::default();
        let atoms = Atoms::new(cx, &hidden)
            .map_err(|Thrown| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate"))?;
        let classes = classes::classes(cx, setup.modules)?;
        let object_prototype = classes::object_prototype(cx)?;
        // All isolates of a process share them, where the application gives them.
        let scripts = setup.context.get::<Arc<Modules>>().map_or_else(
            || Arc::new(Modules::new(Arc::clone(&setup.sources))),
            |shared| Arc::clone(&shared),
        );
        let core = Rc::new_cyclic(|me| Self {
            me: me.clone(),
            memory,
            atoms,
            hidden,
            classes,
            member_names: MemberNames::new(),
            shapes: Shapes::new(),
            responses: ResponseMaker::default(),
            columns: Columns::new(),
            layout: Cell::new(None),
            text_layout: Cell::new(None),
            lent_bytes: Cell::new(0),
            reader_names: ReaderNames::default(),
            reader_places: Places::default(),
            innermost_reader: Innermost::default(),
            spare_values: SpareValues::default(),
            parameter_names: ParameterNames::default(),
            tape: RefCell::default(),
            object_prototype,
            tables: OnceCell::new(),
            handlers: RefCell::default(),
            callbacks: RefCell::default(),
            not_found: Cell::new(None),
            fetch: Cell::new(None),
            top_level: RefCell::default(),
            contract: Contract::new(setup),
            rows: RefCell::default(),
            promise_prototypes: RefCell::default(),
            scripts,
            stacks: Stacks::default(),
            sampler: OnceCell::new(),
            commonjs: OnceCell::new(),
            compiled: RefCell::default(),
            limits: setup.limits.clone(),
            console: setup.console.clone(),
            sleep: setup.sleep.clone(),
            spawn: setup.spawn.clone(),
            timers: RefCell::default(),
            background: Cell::new(0),
            waiters: RefCell::default(),
            failure: RefCell::default(),
            current: RefCell::default(),
            polled: RefCell::default(),
            rejections: RefCell::default(),
            stopped_at: RefCell::default(),
            dropping_jobs: Cell::new(false),
            worn_out: Cell::new(false),
            collections: Rc::default(),
            watch: setup.watch.clone(),
            counter,
            ctx,
            is_entered: Cell::new(false),
            gc_threshold: Cell::new(0),
            context,
            runtime,
            pool: RequestPool::default(),
        });
        core.attach(cx);
        Ok(core)
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

    /// Reports whether the script that runs must stop.
    #[inline]
    pub(crate) fn must_stop(&self) -> bool {
        self.dropping_jobs.get() || self.memory.is_exhausted() || self.watch.must_stop()
    }

    /// Returns the error of a run that must stop, and not for lack of memory.
    #[cold]
    pub(crate) fn stopped_error(&self) -> Error {
        self.limits.stopped(self.watch.cause())
    }

    /// Itself, for what may outlive it.
    pub(crate) fn me(&self) -> Weak<Self> {
        self.me.clone()
    }

    /// Reports whether a script runs now.
    pub(crate) fn is_entered(&self) -> bool {
        self.is_entered.get()
    }

    /// The tasks of the request whose script runs.
    pub(crate) fn tasks(&self) -> Rc<Tasks> {
        self.current
            .borrow_mut()
            .get_or_insert_with(Rc::default)
            .clone()
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

    /// Reports whether memory ran out and did not come back.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.worn_out.get()
    }
}

impl<'a> Cx<'a> {
    /// The isolate that the context belongs to.
    ///
    /// # Panics
    /// The context has no isolate: it is that of a probe, or its isolate is still being made.
    #[inline]
    pub(crate) fn core(self) -> &'a Core {
        self.core_if_any().expect("the context of an isolate")
    }

    /// The isolate that the context belongs to, if there is one.
    #[inline]
    fn core_if_any(self) -> Option<&'a Core> {
        // SAFETY: the pointer is null, or `Core::attach` put the core's own address there. The core lives at least as
        // long as the context.
        unsafe { qjs::JS_GetContextOpaque(self.raw()).cast::<Core>().as_ref() }
    }

    /// Returns the layout of strings, if there is a core that knows it.
    #[inline]
    pub(crate) fn text_layout(self) -> Option<TextLayout> {
        self.core_if_any()?.text_layout.get()
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
        drop(self.callbacks.take());
        drop(self.promise_prototypes.take());
        drop(self.rejections.take());
        drop(self.failure.take());
        drop(self.current.take());
        drop(self.polled.take());
        self.waiters.take();
        self.member_names.clear(cx);
        self.reader_places.clear();
        self.responses.clear();
        self.shapes.clear();
        self.columns.clear();
        self.reader_names.clear(cx);
        self.parameter_names.clear(cx);
        self.hidden.clear(cx);
        self.atoms.release(cx);
        self.memory.part();
    }
}
