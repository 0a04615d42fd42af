//! Values that cross the border between a script and a capability, and functions of the script among them.

use crate::error::{Error, Place};
use crate::future::LocalFuture;
use crate::rows::Rows;
use crate::tables::objects::Object;
use std::any::Any;
use std::rc::Rc;

/// A value of either script language, owned by neither.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `nil`, `null`, `undefined` and a missing argument.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An exact integer: a Lua number without fraction or an `int64_t`, a JavaScript BigInt or a whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text; always UTF-8.
    Text(String),
    /// Bytes: a Lua string that is not UTF-8, a `Uint8Array` or an `ArrayBuffer`.
    Bytes(Vec<u8>),
    /// An array.
    List(Vec<Value>),
    /// A table or object with text keys, in the order in which the script's engine lists them.
    Map(Vec<(String, Value)>),
    /// A list of rows that share their column names.
    Rows(Rows),
    /// One row: the first of these. A batch without rows is [`Value::Null`] to a script.
    Row(Rows),
    /// A native object. Only what an asynchronous row gives may have it inside of a list or map.
    Object(Object),
}

impl Value {
    /// Shows each native object that is in it.
    pub fn each_object(&self, see: &mut dyn FnMut(Object)) {
        match self {
            Self::Object(object) => see(*object),
            Self::List(items) => items.iter().for_each(|item| item.each_object(see)),
            Self::Map(members) => members
                .iter()
                .for_each(|(_, member)| member.each_object(see)),
            _ => {}
        }
    }

    /// A map with the only member `json`: an argument of [`Type::Message`](crate::Type::Message) that is JSON.
    pub fn json_member(json: Value) -> Self {
        Self::Map(vec![("json".to_owned(), json)])
    }

    /// The bytes of a value of [`Type::Bytes`](crate::Type::Bytes) or [`Type::Json`](crate::Type::Json); none of
    /// another.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
            _ => Vec::new(),
        }
    }

    /// Returns about how many bytes a value that a script has passed takes.
    pub(crate) fn size_bytes(&self) -> usize {
        let inside = match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items.iter().map(Self::size_bytes).sum(),
            Self::Map(members) => members
                .iter()
                .map(|(key, member)| size_of::<String>() + key.len() + member.size_bytes())
                .sum(),
            _ => 0,
        };
        size_of::<Self>() + inside
    }

    /// The member called `name`, if this is a map that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// A function of the script. It is given up with its last clone. It may outlive its isolate: each call is an error
/// then.
pub type Callback = Rc<dyn ScriptFunction>;

/// A function of the script.
pub trait ScriptFunction {
    /// Calls it as a part of the run at hand, under that run's limits; as a run of its own where none is. Called by the
    /// future of an asynchronous row, that is a run of the row's request. It cannot wait.
    ///
    /// # Errors
    /// The error that it raised, or that it would have to wait.
    fn call(&self, args: &[Value]) -> Result<Value, Error>;

    /// Calls it as a run of its own, under the limits of a handler; it may wait. What it returns is dropped. Nothing
    /// runs before the future is polled, and dropping the future gives the run up. The code that polls it sees to the
    /// outbox, as for any run.
    fn start(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>>;

    /// Calls it as [`ScriptFunction::start`] does, and waits also for what it began and does not await. Unless `hears`
    /// says that messages from outside may begin other runs of the isolate, it is an error once it awaits what nothing
    /// settles any more, as far as the engine knows. The future must be polled now and then: it is not woken when other
    /// work of the isolate ends.
    fn start_alone(
        self: Rc<Self>,
        args: Vec<Value>,
        _hears: bool,
    ) -> LocalFuture<Result<(), Error>> {
        self.start(args)
    }

    /// Starts a call in globals and modules of its own, where each request has such: a function that the project's file
    /// gave is that of another run
    /// of the file.
    fn start_apart(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>> {
        self.start(args)
    }

    /// Starts a check: a call without arguments as [`ScriptFunction::start_apart`] makes it, which fails with
    /// [`returned_false`] also where the function returns `false`.
    fn start_check(self: Rc<Self>) -> LocalFuture<Result<(), Error>>;

    /// Returns the place where it is defined, while the script that gave it runs; `None` where the engine does not know
    /// it.
    fn place(&self) -> Option<Place> {
        None
    }

    /// Itself, for its engine, which gives it back to a script.
    fn as_any(&self) -> &dyn Any;
}

/// Returns the error of a check that returns `false`.
#[cold]
pub fn returned_false() -> Error {
    Error::script("it returned false")
}

/// Returns the error of a call whose isolate is gone.
#[cold]
pub fn isolate_is_gone() -> Error {
    Error::script("the script that this function belongs to has ended")
}
