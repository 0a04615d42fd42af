//! An engine as the contract needs it.

use crate::row::BoundRow;
use crate::state::Contract;
use sampan_host::{Callback, Error, LocalFuture, Object, Place, Reader, RequestView, Value};
use std::borrow::Cow;
use std::rc::Rc;

/// A script's exception is pending in the engine.
#[derive(Debug)]
pub struct Thrown;

/// The reason for which a native function gives no result.
#[derive(Debug)]
pub enum Failure {
    /// An exception is pending already.
    Thrown,
    /// This error is to be thrown.
    Error(Error),
}

impl From<Thrown> for Failure {
    fn from(_: Thrown) -> Self {
        Self::Thrown
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The kind of a JavaScript value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool,
    /// A number.
    Number,
    /// A string.
    Text,
    /// A symbol.
    Symbol,
    /// An object that is no function; arrays too.
    Object,
    /// A function.
    Function,
    /// A BigInt.
    BigInt,
}

/// Access to an isolate of an engine.
pub trait Vm<'a>: Copy {
    /// A value that is held for `'v` by something else: by the engine, until a native function that was given it
    /// returns, or by a [`Self::Val`].
    type Raw<'v>: Copy;
    /// A value that is held.
    type Val: Clone;

    /// Returns the state of the contract.
    fn contract(self) -> &'a Contract;

    /// Shows a value that is held.
    fn raw<'v>(self, value: &'v Self::Val) -> Self::Raw<'v>;

    /// Holds a value.
    fn hold(self, value: Self::Raw<'_>) -> Self::Val;

    /// Returns the kind of a value.
    fn kind(self, value: Self::Raw<'_>) -> Kind;

    /// Reports whether a value can be called.
    fn is_callable(self, value: Self::Raw<'_>) -> bool {
        self.kind(value) == Kind::Function
    }

    /// Reports whether a value is an array.
    fn is_list(self, value: Self::Raw<'_>) -> bool;

    /// Reports whether a value is `true`.
    fn is_yes(self, value: Self::Raw<'_>) -> bool;

    /// Returns the number that a value is.
    fn number_at(self, value: Self::Raw<'_>) -> Option<f64>;

    /// Returns the text of a string.
    ///
    /// # Errors
    /// There is no memory for it.
    fn text_at(self, value: Self::Raw<'_>) -> Result<String, Thrown>;

    /// Reads a property.
    ///
    /// # Errors
    /// A getter or a proxy has thrown.
    fn member(self, object: Self::Raw<'_>, name: &str) -> Result<Self::Val, Thrown>;

    /// `undefined`.
    fn nothing(self) -> Self::Val;

    /// Creates a value for scripts. Text keys become own properties, rows plain objects, integers that a number cannot
    /// hold BigInts.
    ///
    /// # Errors
    /// There is no memory for it.
    fn give(self, value: Value) -> Result<Self::Val, Thrown>;

    /// Creates a string.
    ///
    /// # Errors
    /// There is no memory for it.
    fn new_text(self, text: &str) -> Result<Self::Val, Thrown>;

    /// Creates an object.
    ///
    /// # Errors
    /// There is no memory for it.
    fn new_object(self) -> Result<Self::Val, Thrown>;

    /// Creates an array.
    ///
    /// # Errors
    /// There is no memory for it.
    fn new_list(self, items: Vec<Self::Val>) -> Result<Self::Val, Thrown>;

    /// Defines a property of an object of ours.
    ///
    /// # Errors
    /// There is no memory for it.
    fn define(self, object: &Self::Val, name: &str, value: Self::Val) -> Result<(), Thrown>;

    /// Creates the response of a body that a row has rendered, or the array of the body and the content type.
    ///
    /// # Errors
    /// There is no memory for it.
    fn rendered(self, body: &[u8], content_type: &str) -> Result<Self::Val, Thrown>;

    /// Creates the native function of a row: it calls [`crate::call`].
    ///
    /// # Errors
    /// There is no memory for it.
    fn row_function(self, name: &str, row: BoundRow) -> Result<Self::Val, Thrown>;

    /// Creates the function of a row whose promises get this prototype.
    ///
    /// # Errors
    /// There is no memory for it.
    fn promise_function(
        self,
        name: &str,
        row: BoundRow,
        prototype: &Self::Val,
    ) -> Result<Self::Val, Thrown> {
        crate::row::wrapped(
            self,
            name,
            row,
            prototype,
            include_str!("prelude/waiting.js"),
        )
    }

    /// Runs a script of ours, and returns its value.
    ///
    /// # Errors
    /// It has thrown.
    fn run_own(self, source: &'static str, name: &str) -> Result<Self::Val, Thrown>;

    /// Calls a function without `this`.
    ///
    /// # Errors
    /// It has thrown.
    fn invoke(self, function: Self::Raw<'_>, args: &[Self::Raw<'_>]) -> Result<Self::Val, Thrown>;

    /// Takes the pending exception, if there is one.
    fn take_exception(self) -> Option<Self::Val>;

    /// Throws a value.
    fn rethrow(self, exception: Self::Val);

    /// Reads a script's value for a capability. Functions, symbols, cycles and objects that hold no plain data are
    /// errors; an object with `toJSON`, such as a date, is the value that returns.
    ///
    /// # Errors
    /// The value cannot be passed on, or reading it has thrown.
    fn read(self, value: Self::Raw<'_>) -> Result<Value, Failure>;

    /// Returns the JSON of a value, by the rules of an answer.
    ///
    /// # Errors
    /// The value has no JSON, or reading it has thrown.
    fn json_at(self, value: Self::Raw<'_>) -> Result<String, Failure>;

    /// Reads a value for people.
    ///
    /// # Errors
    /// There is no memory for it.
    fn shown_at(self, value: Self::Raw<'_>) -> Result<Value, Failure>;

    /// Returns the native object that a value is.
    fn object_at(self, value: Self::Raw<'_>) -> Option<Object>;

    /// Returns the request that a request object stands for.
    ///
    /// # Errors
    /// It is none of ours, or is over.
    fn request_at(self, value: Self::Raw<'_>) -> Result<Rc<dyn RequestView>, Failure>;

    /// Forgets the fields that modules add to a request, so that each is computed again.
    ///
    /// # Errors
    /// It is none of ours.
    fn forget_added(self, request: Self::Raw<'_>) -> Result<(), Failure>;

    /// Keeps a function for a capability.
    ///
    /// # Errors
    /// There is no memory for it.
    fn keep_function(self, function: Self::Raw<'_>, row: BoundRow) -> Result<Callback, Failure>;

    /// Returns the function that a callback stands for.
    ///
    /// # Errors
    /// Its isolate is gone.
    fn kept_function(self, callback: &Callback) -> Result<Self::Val, Error>;

    /// Reads arguments where they lie, for a row.
    fn with_reader<R>(
        self,
        args: &[Self::Raw<'_>],
        row: &BoundRow,
        read: impl FnOnce(&dyn Reader) -> R,
    ) -> R;

    /// Gives a new native object to the request that runs, if its class says so.
    fn own(self, object: Object);

    /// Creates a promise of the result of a row's operation, for the request that runs. A result that is a record is
    /// renamed, see [`crate::renamed`], and errors get the name of the row where they want it.
    ///
    /// # Errors
    /// The request waits for too much.
    fn promise(
        self,
        row: BoundRow,
        operation: LocalFuture<Result<Value, Error>>,
    ) -> Result<Self::Val, Failure>;

    /// Returns the name of a function whose work is not done when it returns, such as "an async function".
    ///
    /// # Errors
    /// Looking at it has thrown.
    fn waiting_function(
        self,
        function: Self::Raw<'_>,
    ) -> Result<Option<Cow<'static, str>>, Failure>;

    /// Returns the name of a result whose work is not done, such as "a promise".
    ///
    /// # Errors
    /// Looking at it has thrown.
    fn unfinished(self, value: &Self::Val) -> Result<Option<Cow<'static, str>>, Failure>;

    /// Returns the innermost place of a stack that is the project's.
    fn place_in(self, stack: &str) -> Option<Place>;

    /// Reports whether a value is `undefined` or `null`.
    fn is_nothing(self, value: Self::Raw<'_>) -> bool {
        matches!(self.kind(value), Kind::Undefined | Kind::Null)
    }
}

/// Returns the name of a value of a wrong type, with its article.
pub fn found<'a, V: Vm<'a>>(vm: V, value: V::Raw<'_>) -> &'static str {
    match vm.kind(value) {
        Kind::Undefined => "undefined",
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Number => "a number",
        Kind::BigInt => "a BigInt",
        Kind::Text => "a string",
        Kind::Symbol => "a symbol",
        Kind::Function => "a function",
        Kind::Object if vm.is_list(value) => "an array",
        Kind::Object => "an object",
    }
}
