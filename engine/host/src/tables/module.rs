//! Tables of functions that scripts can call.
//!
//! A capability is a [`Module`]: rows with a name, parameters, a doc text and a body in plain Rust over [`Value`]. Each
//! engine has one binder that walks any table; type definitions and reference pages come from the same rows.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::request::RequestView;
use crate::settings::AllSettings;
pub use crate::tables::args::Context;
use crate::tables::args::{Args, Prompt};
use crate::tables::names::CLIENT;
use crate::tables::objects::Class;
use crate::tables::reader::Reader;
use crate::value::Value;

/// The name of modules whose functions declare routes.
pub const ROUTE_KINDS: &str = "route_kinds";

/// The name of modules whose functions make answers that a function of the script feeds.
pub const STREAM_KINDS: &str = "stream_kinds";

/// Sets a field of a request to a value of the script's.
pub type FieldSetter = fn(&Context, &dyn RequestView, Value) -> Result<(), Error>;

/// A table of functions under one name.
pub struct Module {
    /// The name under which scripts find it: `app.<name>` in Lua, `import { <name> } from "sampan"` in JavaScript.
    pub name: &'static str,
    /// The purpose, in one sentence.
    pub doc: &'static str,
    /// The functions.
    pub functions: &'static [Function],
    /// The classes of the objects that its functions give.
    pub classes: &'static [&'static Class],
    /// The fields that it adds to every request as a field: rows of kind `Sync` without parameters. A row is called
    /// when a script asks for its field, once for each request.
    pub request_fields: &'static [Function],
    /// The functions that scripts call by assigning a field of `request_fields`, by its name. Other fields keep what is
    /// assigned in the place of their value.
    pub request_setters: &'static [(&'static str, FieldSetter)],
    /// The methods that it adds to every request as a method. Brackets and tags are not for requests.
    pub request_methods: &'static [Function],
    /// These rows over another backend, where some wait that return at once here. An isolate gets one of both.
    pub elsewhere: Option<&'static Module>,
    /// Tells by the settings whether those rows are wanted; always where it is left out.
    pub elsewhere_if: Option<fn(&AllSettings) -> bool>,
    /// The function that reads a form of `multipart/form-data` when a script asks a request for its form. It gives a
    /// map of the fields: texts, native objects, and lists of both.
    pub read_multipart: Option<AsyncBody>,
}

impl Module {
    /// Has nothing: a table says what it has and leaves the rest to this.
    pub const EMPTY: Self = Self {
        name: "",
        doc: "",
        functions: &[],
        classes: &[],
        request_fields: &[],
        request_setters: &[],
        request_methods: &[],
        elsewhere: None,
        elsewhere_if: None,
        read_multipart: None,
    };

    /// Returns the function that takes what scripts assign to a field of requests.
    pub fn setter(&self, field: &str) -> Option<FieldSetter> {
        let setters = self.request_setters.iter();
        let mut named = setters.filter(|(name, _)| *name == field);
        named.next().map(|(_, setter)| *setter)
    }

    /// Reports whether its functions declare routes: `ws` is the function `app.ws(pattern, declaration)`, also of
    /// groups. The engine calls it with the pattern and the options of the declaration, calls `on(event, fn)` of the
    /// object that it returns for each function of the declaration but `upgrade`, and answers requests by the method of
    /// requests that is called `answer_ws`, with the object and what `upgrade` returned. Before that it gives `keep_ws`
    /// each field that the script has set on the request. Where `upgrade_ws` is, the function `upgrade` of the Web
    /// calls it. Scripts see nothing of this.
    pub fn declares_routes(&self) -> bool {
        self.name == ROUTE_KINDS
    }

    /// Reports whether its functions make answers that a function of the script feeds: `sse` is the answer
    /// `app.sse(fn, options)` of any handler, and the route `app.sse(pattern, options, fn)`, also of groups. The engine
    /// calls it with the options but `headers` when the answer is made; it gives header fields, the content type among
    /// them. When the body is read, the engine calls the function `begin_sse` in a run of the request, and then that of
    /// the script with the object that this gave. Scripts see nothing of this.
    pub fn feeds_answers(&self) -> bool {
        self.name == STREAM_KINDS
    }

    /// Reports whether its functions send requests to other servers: engines make `fetch` of them, unseen by scripts.
    pub fn sends_requests(&self) -> bool {
        self.name == CLIENT
    }

    /// Reports whether scripts see its functions.
    pub fn is_seen(&self) -> bool {
        !self.declares_routes() && !self.feeds_answers() && !self.sends_requests()
    }

    /// Returns the owner of its functions.
    pub fn owner(&self) -> RowOwner<'_> {
        RowOwner {
            name: self.name,
            is_class: false,
        }
    }
}

/// The owner of a function: what stands in front of its name.
#[derive(Clone, Copy, Debug)]
pub struct RowOwner<'a> {
    /// The module's name, or what an object of the class is called.
    pub name: &'a str,
    /// True if it is a class.
    pub is_class: bool,
}

impl RowOwner<'_> {
    /// The owner of the fields and methods that modules add to requests belong to.
    pub const REQUEST: RowOwner<'static> = RowOwner {
        name: "req",
        is_class: true,
    };
}

/// One row: a function that scripts can call.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The name in snake_case; JavaScript sees it in camelCase.
    pub name: &'static str,
    /// The parameters, in order.
    pub params: &'static [Param],
    /// The type of the result.
    pub returns: Type,
    /// The effect, the units and its errors.
    pub doc: &'static str,
    /// The kind of call.
    pub kind: FunctionKind,
}

impl Function {
    /// Reports whether it gives an object that has keys of the script's own.
    pub fn gives_keyed(&self) -> bool {
        matches!(self.returns, Type::Object(class) if class.is_keyed)
    }
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Param {
    /// The name.
    pub name: &'static str,
    /// The accepted type.
    pub ty: Type,
    /// True if it may be left out.
    pub optional: bool,
    /// The meaning.
    pub doc: &'static str,
}

/// The type that a parameter accepts or a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// No value: only as a result.
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
    /// Text, or bytes that are not UTF-8: only as a result.
    TextOrBytes,
    /// Bytes, or nothing: only as a result.
    BytesOrNothing,
    /// A table or object with these members, named in snake_case: only as a result.
    Record(&'static [(&'static str, Type)]),
    /// A record, or nothing: only as a result.
    RecordOrNothing(&'static [(&'static str, Type)]),
    /// Several results, each of which may be nothing; the body gives a list of them: only as a result. Lua has them one
    /// after the other, JavaScript as the members of an object.
    Results(&'static [(&'static str, Type)]),
    /// Anything that JSON has; the body gets its text. The engine writes it by the rules of an answer.
    Json,
    /// Text, bytes, or anything else that JSON has, of which the body gets the text as the only member of a map: see
    /// [`Payload::of_argument`](crate::topics::Payload::of_argument).
    Message,
    /// Anything, for people to read: what cannot be passed on is named, and reading it never fails. An error is a map
    /// with `error` (its name and message), `stack`, and where it has them `cause` and `errors`.
    Shown,
    /// An object of this class.
    Object(&'static Class),
    /// A function of the script, which the capability may call now or later: only as a parameter.
    Function,
    /// Text, or a function of the script as for `Function`: only as a parameter.
    TextOrFunction,
    /// A table or object, or a function as for `Function`: only as a parameter.
    MapOrFunction,
    /// Anything, read where it lies: only as a parameter of a row of kind `Reading`, `ReadingPrompt` or
    /// `ReadingWaiting`.
    InPlace,
    /// An answer, as the builders of answers make them: only as a result. The body gives what
    /// [`answer::rendered`](crate::answer::rendered) makes; the engine takes the options of a builder as one argument
    /// more.
    Answer,
}

/// The body of a synchronous function.
pub type SyncBody = fn(&Context, Args) -> Result<Value, Error>;
/// The body of a function that reads values of the script where they lie.
pub type ReadingBody = fn(&Context, Args, &dyn Reader) -> Result<Value, Error>;
/// The body of an asynchronous function: suspends a Lua coroutine, gives JavaScript a promise.
pub type AsyncBody = fn(&Context, Args) -> LocalFuture<Result<Value, Error>>;
/// The end of a bracket: receives what `enter` returned and whether the function inside succeeded.
pub type LeaveBody = fn(&Context, Value, bool) -> Result<(), Error>;
/// The `leave` function of a bracket that waits.
pub type AsyncLeaveBody = fn(&Context, Value, bool) -> LocalFuture<Result<(), Error>>;

/// The body of a function that returns at once or waits: a Lua coroutine is suspended then, JavaScript gets a promise.
/// Where the caller cannot wait ([`Args::may_wait`]), a body that waits is an error of the script.
pub type WaitingBody = fn(&Context, Args) -> Result<Prompt, Error>;
/// The end of a row of kind [`FunctionKind::WaitingBracket`]: receives what `enter` returned and how the function has
/// ended. It is over at once where it gives nothing to wait for.
pub type WaitingLeaveBody =
    fn(&Context, Value, BracketEnd) -> Result<Option<LocalFuture<Result<(), Error>>>, Error>;

/// The way in which the function of a bracket has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BracketEnd {
    /// True if the function has returned, false if it has thrown.
    pub succeeded: bool,
    /// True if the caller can wait.
    pub may_wait: bool,
}

/// The end of a row of kind [`FunctionKind::Fill`]: receives what `enter` gave as `filling`, and what the function
/// returned, as an argument of [`Type::Message`]; nothing if it failed.
pub type FillBody = fn(&Context, Value, Option<Value>) -> LocalFuture<Result<Value, Error>>;

/// The kind of a function's call.
#[derive(Clone, Copy, Debug)]
pub enum FunctionKind {
    /// Returns at once.
    Sync(SyncBody),
    /// A function with a reader for its parameters of [`Type::InPlace`].
    Reading(ReadingBody),
    /// Waits without blocking the worker.
    Async(AsyncBody),
    /// Returns at once where it can. Where `body` fails with [`ErrorKind::TooLong`](crate::ErrorKind::TooLong), a
    /// script that can wait in the middle of a call (Lua) waits for `later`, called with the same arguments; elsewhere
    /// the error is the script's, and its engine adds what to call instead.
    Prompt {
        /// Tries at once.
        body: SyncBody,
        /// Does the same without blocking the worker.
        later: AsyncBody,
        /// The row of the module that always waits, if there is one: what scripts call that cannot wait in the middle
        /// of a call.
        awaited: Option<&'static str>,
    },
    /// Does what `Reading` does, but a script that can wait in the middle of a call (Lua) waits for what the body
    /// leaves undone.
    ReadingPrompt(fn(&Context, Args, &dyn Reader) -> Result<Prompt, Error>),
    /// Returns at once or waits, as the body decides.
    Waiting(WaitingBody),
    /// Does what `Waiting` does, with a reader for its parameters of [`Type::InPlace`].
    ReadingWaiting(fn(&Context, Args, &dyn Reader) -> Result<Prompt, Error>),
    /// A template tag as `Tag` whose body returns at once or waits.
    WaitingTag(WaitingBody),
    /// A JavaScript template tag: the body gets the list of the strings around the values, and the list of the values.
    /// Lua has no such thing and does not get the row.
    Tag(SyncBody),
    /// Calls a function of the script between `enter` and `leave`. The function is the last argument; it is not among
    /// `params`. Its results are passed on, its errors too, after `leave`.
    Bracket {
        /// Runs first; what it returns is passed to the function and to `leave`.
        enter: SyncBody,
        /// The function that is waited for instead where `enter` fails with
        /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong) and the script can wait in the middle of a call.
        later: Option<AsyncBody>,
        /// Runs last, also after an error.
        leave: LeaveBody,
    },
    /// A bracket around a function that does not wait, with an end that may. In JavaScript the result is a promise
    /// where the end waits.
    WaitingBracket {
        /// Runs first; what it returns is passed to the function and to `leave`.
        enter: SyncBody,
        /// Runs last, also after an error.
        leave: WaitingLeaveBody,
    },
    /// A bracket around a function that may wait. In JavaScript the result is a promise.
    AsyncBracket {
        /// The argument of the function.
        gives: Type,
        /// Runs first; what it gives is passed to the function and to `leave`.
        enter: AsyncBody,
        /// Runs last, if the function ended; not if the request was given up meanwhile.
        leave: AsyncLeaveBody,
    },
    /// Gives a value that is there, or has a function of the script make it first, which may wait. The function is the
    /// last argument; it is not among `params`, and gets no arguments. In JavaScript the result is a promise.
    Fill {
        /// Gives a map: `value` if it is there, else `filling`, an object of the request that is dropped if the
        /// request is given up.
        enter: AsyncBody,
        /// Runs when the function has ended, and gives the value; not if the request was given up meanwhile.
        leave: FillBody,
    },
}

impl Type {
    /// Reports whether a function of the script may be an argument of this type.
    pub fn takes_function(self) -> bool {
        matches!(self, Self::Function | Self::TextOrFunction) || self == Self::MapOrFunction
    }

    /// Reports whether an argument of this type may be `value`. A whole number given as a float is an integer, an empty
    /// table is a list as well as a map.
    pub(super) fn accepts(self, value: &mut Value) -> bool {
        if let (Self::Int, Value::Float(number)) = (self, &*value)
            && number.fract() == 0.0
            && number.abs() < 9.0e15
        {
            *value = Value::Int(*number as i64);
        }
        match self {
            Self::Any | Self::Shown | Self::InPlace | Self::Message => true,
            // What the engine puts in the place of a function.
            Self::Function => matches!(value, Value::Bool(true)),
            Self::TextOrFunction => matches!(value, Value::Bool(true) | Value::Text(_)),
            Self::MapOrFunction => Self::Map.accepts(value) || Self::Function.accepts(value),
            Self::Nothing
            | Self::Rows
            | Self::RowOrNothing
            | Self::TextOrNothing
            | Self::TextOrBytes
            | Self::BytesOrNothing
            | Self::Record(_)
            | Self::RecordOrNothing(_)
            | Self::Results(_)
            | Self::Answer => false,
            Self::Object(class) => matches!(value, Value::Object(it) if it.class() == class),
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
