//! Hooks of capabilities at the end of a handler, before its answer leaves.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::request::RequestView;
use crate::store::Store;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// The next step of a hook.
pub enum HookStep {
    /// The hook has done all.
    Done,
    /// A wait, after which the hook is called again if that has ended well.
    Waits(LocalFuture<Result<(), Error>>),
}

impl fmt::Debug for HookStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "Done",
            Self::Waits(_) => "Waits",
        })
    }
}

/// Has something to do at the end of a request's handler: a session is written there.
pub trait AnswerHook {
    /// The handler and its middleware have ended well; a stream of the answer has not begun. What this writes belongs
    /// to the same group as the handler's own writes, and header fields can still be added.
    ///
    /// # Errors
    /// The handler counts as failed. After an error of kind [`TooLong`](crate::ErrorKind::TooLong) it is called again
    /// as soon as the database can be written without blocking the worker.
    fn before_answer(self: Rc<Self>, request: &dyn RequestView) -> Result<HookStep, Error>;

    /// The handler failed. An error handler may follow; then [`AnswerHook::before_answer`] is called after that.
    fn handler_failed(&self);
}

/// The hooks of one request, in its store.
#[derive(Default)]
pub struct AnswerHooks(RefCell<Vec<Rc<dyn AnswerHook>>>);

impl AnswerHooks {
    /// Adds a hook to a request.
    pub fn add(request: &dyn RequestView, hook: Rc<dyn AnswerHook>) {
        let hooks = request.store().get::<Self>();
        let hooks = hooks.unwrap_or_else(|| request.store().put(Self::default()));
        hooks.0.borrow_mut().push(hook);
    }

    fn of(request: &dyn RequestView) -> Vec<Rc<dyn AnswerHook>> {
        let hooks = request.store().get::<Self>();
        hooks.map_or_else(Vec::new, |hooks| hooks.0.borrow().clone())
    }

    /// Calls the hooks of a request whose handler has ended well, up to the first that waits.
    ///
    /// # Errors
    /// The first that failed.
    pub fn before_answer(request: &dyn RequestView) -> Result<HookStep, Error> {
        for hook in Self::of(request) {
            match hook.before_answer(request)? {
                HookStep::Done => {}
                waits => return Ok(waits),
            }
        }
        Ok(HookStep::Done)
    }

    /// Tells the hooks of a request that its handler failed.
    pub fn handler_failed(request: &dyn RequestView) {
        Self::of(request)
            .iter()
            .for_each(|hook| hook.handler_failed());
    }
}

/// The values that a request holds until no script runs for it any more, in its store.
#[derive(Default)]
pub struct HeldToEnd(RefCell<Vec<Box<dyn Any>>>);

impl HeldToEnd {
    /// Holds a value until no script runs for the request any more, also none that ends it in order after it was given
    /// up. Drops it at once where none does.
    pub fn hold(request: &dyn RequestView, value: impl Any) {
        if request.is_over() {
            return;
        }
        let held = request.store().get::<Self>();
        let held = held.unwrap_or_else(|| request.store().put(Self::default()));
        held.0.borrow_mut().push(Box::new(value));
    }

    /// Drops what the request with this store holds.
    pub fn end(store: &Store) {
        if let Some(held) = store.get::<Self>() {
            // Nothing is borrowed while they are dropped.
            drop(held.0.take());
        }
    }
}

impl fmt::Debug for HeldToEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.borrow().len();
        f.debug_struct("HeldToEnd").field("values", &count).finish()
    }
}
