//! The state of an isolate, and the way in.

use crate::request::slots::{RequestSlot, Requests};
use crate::sys::{Env, Environment, Failure, Js, Ref, Thrown};
use crate::values::columns::Columns;
use crate::vm::platform::Platform;
use sampan_host::{
    CurrentRun, Error, HandlerId, LocalFuture, Object, RequestView, ScriptLimits, Setup, Watch,
};
use sampan_js_contract::Contract;
use slab::Slab;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{self, Waker};

/// Access to the isolate.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    env: Env<'a>,
    core: &'a Rc<Core>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(core: &'a Rc<Core>, env: Env<'a>) -> Self {
        Self { env, core }
    }

    pub(crate) fn core(self) -> &'a Rc<Core> {
        self.core
    }

    pub(crate) fn env(self) -> Env<'a> {
        self.env
    }

    /// Runs a native function that script calls: in a run that we have begun, or in one of the platform's own, such as
    /// a timer's or a promise's.
    #[inline]
    pub(crate) fn turn<R>(self, body: impl FnOnce() -> R) -> R {
        if self.core.is_entered.get() || self.core.is_loading() {
            return body();
        }
        self.core.outside(self.env, body)
    }

    /// Calls a function of the prelude that is seldom called.
    pub(crate) fn call_own(self, name: &str, args: &[Js<'_>]) -> Result<Js<'a>, Failure> {
        let function = self.env.get(self.core.tables()?.all.get(self.env), name)?;
        Ok(self.env.call(function, args)?)
    }
}

impl<'a> Deref for Cx<'a> {
    type Target = Env<'a>;

    fn deref(&self) -> &Env<'a> {
        &self.env
    }
}

/// Functions of the prelude, there once it has run.
pub(crate) struct Tables {
    /// An object with all of them, for those that are seldom called.
    pub(crate) all: Ref,
    pub(crate) run: Ref,
    pub(crate) take: Ref,
    pub(crate) next: Ref,
    pub(crate) classify: Ref,
    pub(crate) key_of: Ref,
    pub(crate) store: Ref,
    pub(crate) describe: Ref,
}

/// Numbers that prelude and native code exchange beside values: see `meta` in the prelude.
pub(crate) struct Meta {
    place: *mut i32,
    /// Keeps the memory.
    _buffer: Ref,
}

/// The kinds of values in [`Meta::kind`] that came from the prelude; its constants have the same names there.
pub(crate) mod kinds {
    pub(crate) const NOTHING: i32 = 0;
    pub(crate) const TEXT: i32 = 1;
    pub(crate) const JSON: i32 = 2;
    pub(crate) const HTML: i32 = 3;
    pub(crate) const BYTES: i32 = 4;
    pub(crate) const ANSWER: i32 = 5;
    pub(crate) const STREAM: i32 = 6;
    pub(crate) const FILE: i32 = 7;
    pub(crate) const WAITS: i32 = 8;
}

impl Meta {
    pub(crate) const COUNT: usize = 8;

    /// Makes the memory, and the buffer through which the prelude uses it.
    pub(crate) fn new<'a>(env: Env<'a>) -> Result<(Self, Js<'a>), Thrown> {
        let (buffer, place) = env.shared(Self::COUNT * size_of::<i32>())?;
        let meta = Self {
            place: place.cast(),
            _buffer: env.keep(buffer)?,
        };
        Ok((meta, buffer))
    }

    fn read(&self, at: usize) -> i32 {
        assert!(at < Self::COUNT, "a number that there is");
        // SAFETY: the memory is that of the `ArrayBuffer` with `COUNT` numbers that `new` made and keeps. Only the
        // prelude knows the buffer, and does not detach it. `at` is one of the numbers.
        unsafe { self.place.add(at).read_volatile() }
    }

    /// Returns the kind of the value.
    pub(crate) fn kind(&self) -> i32 {
        self.read(0)
    }

    /// The status of an answer.
    pub(crate) fn status(&self) -> u16 {
        u16::try_from(self.read(1)).unwrap_or(500)
    }

    /// The number of what is waited for, or of a stream.
    pub(crate) fn key(&self) -> u32 {
        self.read(2) as u32
    }
}

/// The isolate.
pub(crate) struct Core {
    pub(crate) me: Weak<Self>,
    pub(crate) env: Environment,
    pub(crate) platform: Rc<Platform>,
    pub(crate) tables: OnceCell<Tables>,
    pub(crate) meta: OnceCell<Meta>,
    /// The tables and declarations that all engines of JavaScript have.
    pub(crate) contract: Contract,
    pub(crate) current_run: Option<Rc<CurrentRun>>,
    pub(crate) limits: ScriptLimits,
    pub(crate) console: sampan_host::Console,
    pub(crate) spawn: Rc<dyn Fn(LocalFuture<()>)>,
    /// The number of requests that are answered and have work that goes on.
    pub(crate) background: Cell<usize>,
    watch: Arc<Watch>,
    pub(crate) not_found: Cell<Option<HandlerId>>,
    pub(crate) fetch: Cell<Option<HandlerId>>,
    pub(crate) requests: Requests,
    /// Native objects that scripts hold, by the number that the prelude keeps for each.
    pub(crate) objects: RefCell<Slab<Object>>,
    /// Functions that capabilities keep.
    pub(crate) callbacks: RefCell<Slab<Ref>>,
    pub(crate) columns: Columns,
    /// The wakers of futures that wait for a value of the prelude, by its number; `None` where it is there already.
    waits: RefCell<HashMap<u32, Option<Waker>>>,
    /// The last error that a handler raised, for the error handler that may be called with it.
    pub(crate) failure: RefCell<Option<Error>>,
    /// The request whose script runs, where that is known.
    current: RefCell<Option<Rc<RequestSlot>>>,
    is_entered: Cell<bool>,
    /// True if something will look at what ran outside of any turn.
    is_followed: Cell<bool>,
}

impl Core {
    pub(crate) fn new(platform: Rc<Platform>, setup: Setup) -> Rc<Self> {
        Rc::new_cyclic(|me| Self {
            me: me.clone(),
            env: platform.env,
            platform,
            tables: OnceCell::new(),
            meta: OnceCell::new(),
            contract: Contract::new(&setup),
            current_run: setup.context.get::<CurrentRun>(),
            limits: setup.limits,
            console: setup.console,
            spawn: setup.spawn,
            background: Cell::new(0),
            watch: setup.watch,
            not_found: Cell::new(None),
            fetch: Cell::new(None),
            requests: Requests::default(),
            objects: RefCell::default(),
            callbacks: RefCell::default(),
            columns: Columns::default(),
            waits: RefCell::default(),
            failure: RefCell::default(),
            current: RefCell::default(),
            is_entered: Cell::new(false),
            is_followed: Cell::new(false),
        })
    }

    pub(crate) fn tables(&self) -> Result<&Tables, Error> {
        let missing = || {
            Error::new(
                sampan_host::ErrorKind::Internal,
                "the isolate is not set up",
            )
        };
        self.tables.get().ok_or_else(missing)
    }

    pub(crate) fn meta(&self) -> Result<&Meta, Error> {
        let missing = || {
            Error::new(
                sampan_host::ErrorKind::Internal,
                "the isolate is not set up",
            )
        };
        self.meta.get().ok_or_else(missing)
    }

    /// Reports whether the project is still loading: nothing can wait then.
    pub(crate) fn is_loading(&self) -> bool {
        self.contract.is_loading()
    }

    /// Runs `body`, which calls script, as a part of one request. A panic leaves the isolate too.
    pub(crate) fn enter<R: 'static>(
        self: &Rc<Self>,
        handler: HandlerId,
        slot: Option<Rc<RequestSlot>>,
        body: impl FnOnce(Cx<'_>) -> R,
    ) -> R {
        // SAFETY: `body` gets an environment of this scope, and gives no handle back.
        let scope = unsafe { self.env.scope() };
        let outer = self.current.replace(slot);
        let was_entered = self.is_entered.replace(true);
        if !was_entered {
            self.watch.enter(handler);
        }
        let _left = Left {
            core: self,
            outer: Some(outer),
            was_entered,
        };
        body(Cx::new(self, scope.env()))
    }

    fn outside<R>(self: &Rc<Self>, env: Env<'_>, body: impl FnOnce() -> R) -> R {
        let slot = self.stored(env);
        let view = slot.as_ref().map(|slot| Rc::clone(&slot.view));
        let guard = Outside {
            core: self,
            before: self.current_run.as_ref().map(|run| run.set(view)),
            outer: Some(self.current.replace(slot)),
        };
        self.is_entered.set(true);
        let result = body();
        drop(guard);
        if !self.is_followed.replace(true) {
            // The application looks at the database after each poll of such a task: it commits what was written, and
            // ends the read.
            let core = self.me.clone();
            (self.spawn)(Box::pin(async move {
                if let Some(core) = core.upgrade() {
                    core.is_followed.set(false);
                }
            }));
            (self.platform.ring)();
        }
        result
    }

    /// The request in whose asynchronous context we are, by the platform's own bookkeeping.
    fn stored(&self, env: Env<'_>) -> Option<Rc<RequestSlot>> {
        let tables = self.tables.get()?;
        let key = env.call(tables.store.get(env), &[]).ok()?;
        let key = env.number_of(key)?;
        self.requests.get(key)
    }

    /// Returns the request whose script runs, where that is known.
    pub(crate) fn current(&self) -> Option<Rc<RequestSlot>> {
        self.current.borrow().clone()
    }

    /// Wakes who waits for something in the prelude.
    pub(crate) fn wake(&self, key: u32) {
        let waker = self.waits.borrow_mut().insert(key, None);
        if let Some(Some(waker)) = waker {
            waker.wake();
            (self.platform.ring)();
        }
    }

    /// Reports whether what is waited for has come; if not, the task is woken then.
    pub(crate) fn poll_wait(&self, key: u32, cx: &task::Context<'_>) -> bool {
        match self.waits.borrow_mut().entry(key) {
            Entry::Occupied(entry) if entry.get().is_none() => {
                entry.remove();
                true
            }
            entry => {
                entry.insert_entry(Some(cx.waker().clone()));
                false
            }
        }
    }

    /// Forgets the waker for a number: its future was dropped.
    pub(crate) fn forget_wait(&self, key: u32) {
        self.waits.borrow_mut().remove(&key);
    }

    /// Reports whether a script runs that we have called.
    pub(crate) fn is_entered(&self) -> bool {
        self.is_entered.get()
    }
}

/// Ends a native call outside of our runs; a panic ends it too.
struct Outside<'a> {
    core: &'a Core,
    before: Option<Option<Rc<dyn RequestView>>>,
    outer: Option<Option<Rc<RequestSlot>>>,
}

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        let core = self.core;
        core.is_entered.set(false);
        if let Some(outer) = self.outer.take() {
            drop(core.current.replace(outer));
        }
        if let (Some(run), Some(before)) = (&core.current_run, self.before.take()) {
            run.set(before);
        }
        core.contract.context.objects().sweep();
    }
}

/// Leaves the isolate.
struct Left<'a> {
    core: &'a Rc<Core>,
    outer: Option<Option<Rc<RequestSlot>>>,
    was_entered: bool,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.take() {
            drop(self.core.current.replace(outer));
        }
        self.core.is_entered.set(self.was_entered);
        if !self.was_entered {
            self.core.watch.leave();
            self.core.contract.context.objects().sweep();
        }
    }
}
