//! Guards: middleware in Rust. A capability gives a script a native object that holds one, and `app.use` takes it.
//! `app` asks it about each request of its paths before any script runs.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::request::RequestView;
use crate::tables::module::Context;
use crate::tables::objects::{Class, Lifetime, Object, Objects};
use crate::value::{Callback, Value};
use crate::whole_answer::WholeAnswer;
use std::rc::Rc;
use std::sync::Arc;

/// Middleware in Rust. It belongs to one isolate.
pub trait Guard {
    /// Looks at a request. What the guard adds to the answer, it adds to the request: [`RequestView::add_header`] and
    /// [`RequestView::default_header`]. A check that passes without that allocates nothing.
    ///
    /// # Errors
    /// The request is refused: with a status from 400 to 499, and a message that its client sees. Or it cannot be
    /// answered now ([`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable)).
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error>;

    /// Asks a server about a request, or waits for another request. Returns the wait for the decision, which takes the
    /// place of [`Guard::check`]; `None` from a guard that decides at once.
    fn ask(&self, _: &dyn RequestView) -> Option<LocalFuture<GuardDecision>> {
        None
    }

    /// Returns the header field whose value is the key by which the guard counts requests: then requests that wait for
    /// their turn take turns by it. `None` from a guard that counts none, or counts by another key.
    fn counted_field(&self) -> Option<&str> {
        None
    }

    /// Reports whether it passes every GET, HEAD and OPTIONS, so that it need not be asked about them.
    fn only_checks_changes(&self) -> bool {
        false
    }

    /// Returns the function that made it, where it answers in the place of handlers: all that runs behind it is left
    /// out then.
    fn replaces_handlers(&self) -> Option<&'static str> {
        None
    }
}

/// The decision about a request of a guard that has waited; its errors are those of [`Guard::check`].
pub type GuardDecision = Box<dyn FnOnce(&dyn RequestView) -> Result<GuardStep, Error>>;

/// The decision of a guard that does not refuse.
#[derive(Debug, PartialEq, Eq)]
pub enum GuardStep {
    /// The request goes on.
    Pass,
    /// This is its answer: a status without a body.
    Answer(u16),
    /// This is its answer, to which come the header fields that guards have added.
    Whole(Arc<WholeAnswer>),
}

/// A guard that cannot decide without a function of the script. It stands among the middleware of the script and runs
/// in its order.
pub trait AskingGuard {
    /// The function. It may wait.
    fn function(&self) -> Callback;

    /// The arguments for the function, behind which it gets the request.
    ///
    /// # Errors
    /// The request is refused.
    fn ask(&self, request: &dyn RequestView) -> Result<Vec<Value>, Error>;

    /// Decides by what the function returned. Returns true where the request has its answer already, by
    /// [`AnswerPlans::replay`](crate::request::AnswerPlans::replay): no handler runs.
    ///
    /// # Errors
    /// The request is refused.
    fn decide(&self, request: &dyn RequestView, returned: Value) -> Result<bool, Error>;

    /// Returns the function that made it, where it needs the whole bodies of requests: it wraps no route that reads
    /// them as they come.
    fn needs_whole_bodies(&self) -> Option<&'static str> {
        None
    }
}

/// The content of a native object that `app.use` takes.
#[derive(Clone)]
pub enum NativeMiddleware {
    /// A guard that decides by itself.
    Guard(Rc<dyn Guard>),
    /// A guard that asks the script.
    Asking(Rc<dyn AskingGuard>),
}

/// The class of native objects that `app.use` takes.
pub static MIDDLEWARE: Class = Class {
    name: "NativeMiddleware",
    variable: "middleware",
    doc: "Ready middleware, for `app.use`.",
    methods: &[],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

impl NativeMiddleware {
    /// Makes a guard an object of a script.
    pub fn guard(context: &Context, guard: impl Guard + 'static) -> Value {
        Self::Guard(Rc::new(guard)).into_object(context)
    }

    /// Makes a guard that asks the script an object of it.
    pub fn asking(context: &Context, guard: impl AskingGuard + 'static) -> Value {
        Self::Asking(Rc::new(guard)).into_object(context)
    }

    /// Returns the function that made it, where it wraps no route that reads the bodies of requests as they come.
    pub fn needs_whole_bodies(&self) -> Option<&'static str> {
        match self {
            Self::Guard(_) => None,
            Self::Asking(asking) => asking.needs_whole_bodies(),
        }
    }

    fn into_object(self, context: &Context) -> Value {
        Value::Object(context.objects().add(&MIDDLEWARE, self))
    }
}

impl Objects {
    /// The middleware that an object is, if it is any.
    pub fn middleware(&self, object: Object) -> Option<NativeMiddleware> {
        let held = self.get::<NativeMiddleware>(object)?;
        Some((*held).clone())
    }
}
