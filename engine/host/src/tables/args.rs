//! The parameters of the body of a row: the arguments of a call, and the state of the isolate's capabilities.

mod check;

use crate::error::Error;
use crate::future::LocalFuture;
use crate::request::RequestView;
use crate::store::Store;
use crate::tables::objects::{Object, Objects};
use crate::tables::reader::Handle;
use crate::value::{Callback, Value};
use std::fmt;
use std::rc::Rc;

/// The state that the capabilities of one isolate keep between calls: one value per type, put there by `app`.
#[derive(Default)]
pub struct Context {
    store: Store,
    objects: Objects,
}

impl Context {
    /// The native objects of the isolate.
    #[inline]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Keeps `value`, replacing an earlier one of the same type.
    pub fn put<T: 'static>(&self, value: T) {
        self.store.put(value);
    }

    /// The value of type `T`, if there is one.
    pub fn get<T: 'static>(&self) -> Option<Rc<T>> {
        self.store.get()
    }
}

/// The result of a row of kind [`FunctionKind::ReadingPrompt`](crate::FunctionKind::ReadingPrompt).
pub enum Prompt {
    /// The row has returned.
    Done(Value),
    /// The row goes on without blocking the worker. Only where the caller can wait
    /// ([`Args::may_wait`](crate::Args::may_wait)).
    Waits(LocalFuture<Result<Value, Error>>),
}

/// The arguments of one call.
#[derive(Default)]
pub struct Args {
    pub(super) values: Vec<Value>,
    /// The number of arguments that the call has for the row's parameters.
    given: usize,
    /// The functions among the arguments, by their index; `true` stands in their place.
    functions: Vec<(usize, Callback)>,
    may_wait: bool,
    /// The object whose method is called.
    this: Option<Object>,
    /// The request whose field is read or whose method is called.
    request: Option<Rc<dyn RequestView>>,
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Args").field(&self.values).finish()
    }
}

impl Args {
    #[cfg(test)]
    pub(super) fn of(values: Vec<Value>) -> Self {
        Self {
            values,
            ..Self::default()
        }
    }

    /// Adds the functions among them, by their index.
    #[must_use]
    pub fn with_functions(mut self, functions: Vec<(usize, Callback)>) -> Self {
        self.functions = functions;
        self
    }

    /// Adds the request of a field or a method.
    #[must_use]
    pub fn of_request(mut self, request: Rc<dyn RequestView>) -> Self {
        self.request = Some(request);
        self
    }

    /// The request whose field is read or whose method is called.
    ///
    /// # Panics
    /// The row is neither among the `request_fields` nor among the `request_methods` of its module.
    pub fn request(&self) -> &Rc<dyn RequestView> {
        self.request
            .as_ref()
            .expect("only fields and methods of requests have one")
    }

    /// Adds the object of a method.
    #[must_use]
    pub fn on(mut self, this: Option<Object>) -> Self {
        self.this = this;
        self
    }

    /// Reports whether a method of an object is called.
    pub fn is_method(&self) -> bool {
        self.this.is_some()
    }

    /// The object whose method is called, and its value.
    ///
    /// # Errors
    /// The object is gone.
    pub fn object<T: 'static>(&self, context: &Context) -> Result<(Object, Rc<T>), Error> {
        let this = self
            .this
            .ok_or_else(|| Error::script("this is not a method"))?;
        let value = context.objects().get(this);
        Ok((this, value.ok_or_else(|| this.class().is_over())?))
    }

    /// Sets that the caller can wait for the row's `later`, see [`FunctionKind::Prompt`](crate::FunctionKind::Prompt).
    #[must_use]
    pub fn waiting(mut self, may_wait: bool) -> Self {
        self.may_wait = may_wait;
        self
    }

    /// Reports whether the row's `later` is called if its `body` takes too long.
    pub fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// Returns the number of arguments that the caller wrote: fewer than the row has parameters where the last are left
    /// out.
    pub fn given(&self) -> usize {
        self.given
    }

    /// Takes the `index`th argument.
    pub fn take(&mut self, index: usize) -> Value {
        self.values
            .get_mut(index)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The `index`th argument, of [`Type::InPlace`](crate::Type::InPlace), for the reader of the call.
    pub fn handle(&self, index: usize) -> Handle {
        Handle::new(index as u32)
    }

    /// The `index`th argument, a function; `None` if it was left out.
    pub fn function(&self, index: usize) -> Option<Callback> {
        let mut functions = self.functions.iter();
        functions
            .find(|(at, _)| *at == index)
            .map(|(_, function)| function.clone())
    }

    /// The `index`th argument as text; empty if it was left out.
    pub fn text(&mut self, index: usize) -> String {
        match self.take(index) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    /// The `index`th argument as bytes; empty if it was left out.
    pub fn bytes(&mut self, index: usize) -> Vec<u8> {
        self.take(index).into_bytes()
    }

    /// The `index`th argument as a number; `None` if it was left out.
    pub fn number(&self, index: usize) -> Option<f64> {
        match self.values.get(index) {
            Some(Value::Int(value)) => Some(*value as f64),
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        }
    }
}
