//! The arguments of a call, as the body of a row gets them.

use super::module::{Context, Function, RowOwner, Type};
use crate::{Callback, Error, Handle, Object, RequestView, Value, Words};
use std::fmt;
use std::rc::Rc;

/// The arguments of one call.
#[derive(Default)]
pub struct Args {
    values: Vec<Value>,
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
    /// Checks `values` against the row's parameters, in the words of the tables. Missing optional arguments become
    /// [`Value::Null`], further ones are dropped.
    ///
    /// # Errors
    /// A value of another type than the row wants.
    pub fn check(module: &str, function: &Function, values: Vec<Value>) -> Result<Self, Error> {
        let owner = RowOwner {
            name: module,
            is_class: false,
        };
        Self::check_in(&Words::default(), owner, function, values, |_| "nothing")
    }

    /// Checks the arguments in the words of a language. `nothing` says what the argument of that index is where it is
    /// [`Value::Null`]:
    /// `nil`, `undefined` or `null`.
    ///
    /// # Errors
    /// A value of another type than the row wants.
    pub fn check_in(
        words: &Words,
        owner: RowOwner<'_>,
        function: &Function,
        mut values: Vec<Value>,
        nothing: impl Fn(usize) -> &'static str,
    ) -> Result<Self, Error> {
        values.truncate(function.params.len());
        values.resize(function.params.len(), Value::Null);
        for (index, (param, value)) in function.params.iter().zip(&mut values).enumerate() {
            if param.optional && *value == Value::Null {
                continue;
            }
            if !param.ty.accepts(value) {
                let found = words.found(value, nothing(index));
                return Err(Self::wrong(words, owner, function, index, &found));
            }
        }
        Ok(Self {
            values,
            ..Self::default()
        })
    }

    /// Returns the error for an argument of an argument of a wrong type: `found` is what it is, with its article.
    #[cold]
    pub fn wrong(
        words: &Words,
        owner: RowOwner<'_>,
        function: &Function,
        index: usize,
        found: &str,
    ) -> Error {
        let param = function.params.get(index);
        let ty = param.map_or(Type::Any, |param| param.ty);
        Error::script(format!(
            "{} must be {}, not {found}",
            words.argument(owner, function, index),
            words.expected(ty),
        ))
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

    /// Takes the `index`th argument.
    pub fn take(&mut self, index: usize) -> Value {
        self.values
            .get_mut(index)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The `index`th argument, of [`Type::InPlace`], for the reader of the call.
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

    /// The `index`th argument as a number; `None` if it was left out.
    pub fn number(&self, index: usize) -> Option<f64> {
        match self.values.get(index) {
            Some(Value::Int(value)) => Some(*value as f64),
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        }
    }
}
