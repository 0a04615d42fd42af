//! Tables of functions that scripts can call.
//!
//! A capability is a [`Module`]: rows with a name, parameters, a doc text and a body in plain Rust over [`Value`]. Each
//! engine has one binder that walks any table; type definitions and reference pages come from the same rows.

use crate::{
    Callback, Class, Error, Handle, LocalFuture, Object, Objects, Reader, RequestView, Store,
    Value, Words,
};
use std::fmt;
use std::rc::Rc;

/// A table of functions under one name.
#[derive(Debug)]
pub struct Module {
    /// The name under which scripts find it: `app.<name>` in Lua, `import { <name> } from "sampan"` in JavaScript.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub doc: &'static str,
    /// Its functions.
    pub functions: &'static [Function],
    /// The classes of the objects that its functions give.
    pub classes: &'static [&'static Class],
    /// What it adds to every request as a field: rows of kind `Sync` without parameters. A row is called when a script asks for its
    /// field, once for each request.
    pub request_fields: &'static [Function],
    /// What it adds to every request as a method. Brackets and tags are not for requests.
    pub request_methods: &'static [Function],
}

impl Module {
    /// Has nothing: a table says what it has and leaves the rest to this.
    pub const EMPTY: Self = Self {
        name: "",
        doc: "",
        functions: &[],
        classes: &[],
        request_fields: &[],
        request_methods: &[],
    };

    /// What its functions belong to.
    pub fn owner(&self) -> RowOwner<'_> {
        RowOwner {
            name: self.name,
            is_class: false,
        }
    }
}

/// What a function belongs to: what stands in front of its name.
#[derive(Clone, Copy, Debug)]
pub struct RowOwner<'a> {
    /// The module's name, or what an object of the class is called.
    pub name: &'a str,
    /// Whether it is a class.
    pub is_class: bool,
}

impl RowOwner<'_> {
    /// What the fields and methods that modules add to requests belong to.
    pub const REQUEST: RowOwner<'static> = RowOwner {
        name: "req",
        is_class: true,
    };
}

/// One row: a function that scripts can call.
#[derive(Debug)]
pub struct Function {
    /// The name in snake_case; JavaScript sees it in camelCase.
    pub name: &'static str,
    /// The parameters, in order.
    pub params: &'static [Param],
    /// What it returns.
    pub returns: Type,
    /// What it does, its units and its errors.
    pub doc: &'static str,
    /// How it runs.
    pub kind: FunctionKind,
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Param {
    /// The name.
    pub name: &'static str,
    /// What is accepted.
    pub ty: Type,
    /// Whether it may be left out.
    pub optional: bool,
    /// What it means.
    pub doc: &'static str,
}

/// What a parameter accepts or a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing: only as a result.
    Nothing,
    /// A boolean.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Number,
    /// Text.
    Text,
    /// Bytes or text.
    Bytes,
    /// A list.
    List,
    /// A table or object.
    Map,
    /// Anything.
    Any,
    /// The rows of a query: only as a result.
    Rows,
    /// A row of a query, or nothing: only as a result.
    RowOrNothing,
    /// Text, or nothing: only as a result.
    TextOrNothing,
    /// A table or object with these members, named in snake_case: only as a result.
    Record(&'static [(&'static str, Type)]),
    /// Anything that JSON has; the body gets its text. The engine writes it by the rules of an answer.
    Json,
    /// Anything, for people to read: what cannot be passed on is named, and reading it never fails. An error is a map with `error`
    /// (its name and message), `stack`, and where it has them `cause` and `errors`.
    Shown,
    /// An object of this class.
    Object(&'static Class),
    /// A function of the script, which the capability may call now or later: only as a parameter.
    Function,
    /// Anything, read where it lies: only as a parameter of a row of kind `Reading`.
    InPlace,
}

/// The body of a synchronous function.
pub type SyncBody = fn(&Context, Args) -> Result<Value, Error>;
/// The body of a function that reads values of the script where they lie.
pub type ReadingBody = fn(&Context, Args, &dyn Reader) -> Result<Value, Error>;
/// The body of an asynchronous function: suspends a Lua coroutine, gives JavaScript a promise.
pub type AsyncBody = fn(&Context, Args) -> LocalFuture<Result<Value, Error>>;
/// The end of a bracket: receives what `enter` returned and whether the function inside succeeded.
pub type LeaveBody = fn(&Context, Value, bool) -> Result<(), Error>;
/// The same for a bracket that waits.
pub type AsyncLeaveBody = fn(&Context, Value, bool) -> LocalFuture<Result<(), Error>>;

/// How a function runs.
#[derive(Clone, Copy, Debug)]
pub enum FunctionKind {
    /// Returns at once.
    Sync(SyncBody),
    /// The same with a reader for its parameters of [`Type::InPlace`].
    Reading(ReadingBody),
    /// Waits without blocking the worker.
    Async(AsyncBody),
    /// Returns at once where it can. Where `body` fails with [`ErrorKind::TooLong`](crate::ErrorKind::TooLong), a script that can wait in the
    /// middle of a call (Lua) waits for `later`, called with the same arguments; elsewhere the error is the script's, and its
    /// engine adds what to call instead.
    Prompt {
        /// Tries at once.
        body: SyncBody,
        /// Does the same without blocking the worker.
        later: AsyncBody,
        /// The row of the module that always waits, if there is one: what scripts call that cannot wait in the middle of a call.
        awaited: Option<&'static str>,
    },
    /// A JavaScript template tag: the body gets the list of the strings around the values, and the list of the values. Lua has
    /// no such thing and does not get the row.
    Tag(SyncBody),
    /// Calls a function of the script between `enter` and `leave`. The function is the last argument; it is not among
    /// `params`. Its results are passed on, its errors too, after `leave`.
    Bracket {
        /// Runs first; what it returns is passed to the function and to `leave`.
        enter: SyncBody,
        /// What is waited for instead where `enter` fails with [`ErrorKind::TooLong`](crate::ErrorKind::TooLong) and the script can
        /// wait in the middle of a call.
        later: Option<AsyncBody>,
        /// Runs last, whatever happened.
        leave: LeaveBody,
    },
    /// The same for a function that may wait. In JavaScript the result is a promise.
    AsyncBracket {
        /// What is passed to the function.
        gives: Type,
        /// Runs first; what it gives is passed to the function and to `leave`.
        enter: AsyncBody,
        /// Runs last, if the function ended; not if the request was given up meanwhile.
        leave: AsyncLeaveBody,
    },
}

/// The arguments of one call.
#[derive(Default)]
pub struct Args {
    values: Vec<Value>,
    /// The functions among the arguments, by their index; `true` stands in their place.
    functions: Vec<(usize, Callback)>,
    may_wait: bool,
    /// Whose method is called.
    this: Option<Object>,
    /// Whose field is read or whose method is called.
    request: Option<Rc<dyn RequestView>>,
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Args").field(&self.values).finish()
    }
}

impl Args {
    /// Checks `values` against the row's parameters, in the words of the tables. Missing optional arguments become [`Value::Null`],
    /// further ones are dropped.
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

    /// The same in the words of a language. `nothing` says what the argument of that index is where it is [`Value::Null`]:
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

    /// What is said of an argument of a wrong type: `found` is what it is, with its article.
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

    /// The same arguments with the functions among them, by their index.
    #[must_use]
    pub fn with_functions(mut self, functions: Vec<(usize, Callback)>) -> Self {
        self.functions = functions;
        self
    }

    /// The same arguments for a field or a method of this request.
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

    /// The same arguments for a method of `this`.
    #[must_use]
    pub fn on(mut self, this: Option<Object>) -> Self {
        self.this = this;
        self
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

    /// The same arguments for a caller that can wait for the row's `later`, see [`FunctionKind::Prompt`].
    #[must_use]
    pub fn waiting(mut self, may_wait: bool) -> Self {
        self.may_wait = may_wait;
        self
    }

    /// Whether the row's `later` is called if its `body` takes too long.
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

impl Type {
    /// Whether an argument of this type may be `value`. A whole number given as a float is an integer, an empty
    /// table is a list as well as a map.
    fn accepts(self, value: &mut Value) -> bool {
        if let (Self::Int, Value::Float(number)) = (self, &*value)
            && number.fract() == 0.0
            && number.abs() < 9.0e15
        {
            *value = Value::Int(*number as i64);
        }
        match self {
            Self::Any | Self::Shown | Self::InPlace => true,
            // What the engine puts in the place of a function.
            Self::Function => matches!(value, Value::Bool(true)),
            Self::Nothing
            | Self::Rows
            | Self::RowOrNothing
            | Self::TextOrNothing
            | Self::Record(_) => false,
            Self::Object(class) => {
                matches!(value, Value::Object(object) if object.class() == class)
            }
            Self::Bool => matches!(value, Value::Bool(_)),
            Self::Int => matches!(value, Value::Int(_)),
            Self::Number => matches!(value, Value::Int(_) | Value::Float(_)),
            Self::Text | Self::Json => matches!(value, Value::Text(_)),
            Self::Bytes => matches!(value, Value::Text(_) | Value::Bytes(_)),
            Self::List => match value {
                Value::List(_) => true,
                Value::Map(members) => members.is_empty(),
                _ => false,
            },
            Self::Map => match value {
                Value::Map(_) => true,
                Value::List(items) => items.is_empty(),
                _ => false,
            },
        }
    }
}

/// What the capabilities of one isolate keep between calls: one value per type, put there by `app`.
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
