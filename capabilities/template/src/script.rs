//! Filters and functions that the script and the server have given to templates, and the request's fields in templates.

use crate::fault::TemplateFault;
use crate::globals::Globals;
use minijinja::value::{Enumerator, Object, ObjectRepr, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use sampan_host as host;
use sampan_host::pages::{ForRequest, PageFunction, RequestField};
use sampan_host::reader::Name;
use sampan_host::{Callback, RequestView};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// The greatest depth to which a value that is passed to the script may nest.
const DEPTH_MAX: usize = 64;

/// Computes a variable from a request.
type OfRequest = dyn Fn(&Rc<dyn RequestView>) -> Result<Value, host::Error>;
/// Computes a variable for a request or for none.
type OfAny = dyn Fn(ForRequest<'_>) -> Result<Value, host::Error>;

/// A variable in Rust, as templates have it.
#[derive(Clone)]
pub(crate) enum Variable {
    /// One of templates that are rendered for a request.
    OfRequest(Rc<OfRequest>),
    /// One of all templates.
    Any(Rc<OfAny>),
}

impl Variable {
    /// Computes the value; `None` where there is no request and the variable needs one.
    pub(crate) fn value(&self, request: ForRequest<'_>) -> Result<Option<Value>, host::Error> {
        match self {
            Self::OfRequest(variable) => request.map(|request| variable(request)).transpose(),
            Self::Any(variable) => variable(request).map(Some),
        }
    }
}

/// The callee of a template's call.
#[derive(Clone)]
enum GivenFunction {
    Script(Callback),
    Native(PageFunction),
}

/// A rendering that goes on.
struct Rendering {
    functions: Rc<ScriptFunctions>,
    request: Option<Rc<dyn RequestView>>,
}

/// The functions that one isolate has given to its templates, and minijinja with them.
pub(crate) struct ScriptFunctions {
    environment: RefCell<Rc<Environment<'static>>>,
    functions: RefCell<Vec<GivenFunction>>,
    variables: RefCell<Vec<(Name, Variable)>>,
    /// The meanings of all these names, once that is needed.
    globals: RefCell<Option<Rc<Globals>>>,
    /// True if one of them stands in the place of a filter that has a way of its own.
    hides_known: Cell<bool>,
    /// The filters of the script, whose arguments are not known.
    filters: RefCell<HashSet<String>>,
}

thread_local! {
    /// Those of the renderings that are going on, innermost last. What minijinja calls must be `Send`, which a callback
    /// is not.
    static CURRENT: RefCell<Vec<Rendering>> = const { RefCell::new(Vec::new()) };
}

impl ScriptFunctions {
    pub(crate) fn new(environment: Environment<'static>) -> Rc<Self> {
        Rc::new(Self {
            environment: RefCell::new(Rc::new(environment)),
            functions: RefCell::default(),
            variables: RefCell::default(),
            globals: RefCell::default(),
            hides_known: Cell::new(false),
            filters: RefCell::default(),
        })
    }

    /// The environment as it is now.
    pub(crate) fn environment(&self) -> Rc<Environment<'static>> {
        Rc::clone(&self.environment.borrow())
    }

    /// The variables that templates have now.
    pub(crate) fn globals(&self) -> Rc<Globals> {
        let mut globals = self.globals.borrow_mut();
        let globals = globals.get_or_insert_with(|| {
            let environment = self.environment.borrow();
            Rc::new(Globals::new(&environment, &self.variables.borrow()))
        });
        Rc::clone(globals)
    }

    pub(crate) fn hides_known(&self) -> bool {
        self.hides_known.get()
    }

    /// Reports whether the script has given a filter.
    pub(crate) fn has_filter(&self, name: &str) -> bool {
        self.filters.borrow().contains(name)
    }

    /// Returns the names of the script's filters.
    pub(crate) fn filters(&self) -> Vec<String> {
        self.filters.borrow().iter().cloned().collect()
    }

    /// Reports whether templates that are rendered for a request see a variable of it with this name.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        let variables = self.variables.borrow();
        variables.iter().any(|(known, _)| known.text() == name)
    }

    pub(crate) fn add_filter(&self, name: String, function: Callback) {
        self.filters.borrow_mut().insert(name.clone());
        let number = self.keep(GivenFunction::Script(function));
        let is_known = crate::program::KnownFilter::of(&name).is_some();
        self.hides_known.set(self.hides_known.get() || is_known);
        self.change(|environment| add_filter(environment, name, number));
    }

    pub(crate) fn add_function(&self, name: String, function: Callback) {
        self.add_global(name, GivenFunction::Script(function));
    }

    pub(crate) fn add_native(&self, name: &str, function: PageFunction) {
        self.add_global(name.to_owned(), GivenFunction::Native(function));
    }

    pub(crate) fn add_native_filter(&self, name: &str, function: PageFunction) {
        let number = self.keep(GivenFunction::Native(function));
        self.change(|environment| add_filter(environment, name.to_owned(), number));
    }

    pub(crate) fn add_variable(&self, name: &str, variable: Variable) {
        self.variables
            .borrow_mut()
            .push((Name::new(name), variable));
        self.globals.take();
    }

    fn add_global(&self, name: String, function: GivenFunction) {
        let number = self.keep(function);
        let shown = name.clone();
        self.change(|environment| {
            environment.add_global(
                name,
                Value::from_object(ScriptGlobal {
                    number,
                    name: shown,
                }),
            );
        });
    }

    /// The function that a variable means, if it is one in Rust.
    pub(crate) fn native(&self, global: &ScriptGlobal) -> Option<PageFunction> {
        match self.functions.borrow().get(global.number) {
            Some(GivenFunction::Native(function)) => Some(Rc::clone(function)),
            _ => None,
        }
    }

    fn keep(&self, function: GivenFunction) -> usize {
        let mut functions = self.functions.borrow_mut();
        functions.push(function);
        functions.len() - 1
    }

    /// A rendering that goes on keeps the environment that it has.
    fn change(&self, change: impl FnOnce(&mut Environment<'static>)) {
        change(Rc::make_mut(&mut self.environment.borrow_mut()));
        self.globals.take();
    }

    /// Has `body` call these, for a request or for none.
    pub(crate) fn during<R>(
        self: &Rc<Self>,
        request: Option<Rc<dyn RequestView>>,
        body: impl FnOnce() -> R,
    ) -> R {
        struct Entered;
        impl Drop for Entered {
            fn drop(&mut self) {
                CURRENT.with_borrow_mut(|current| drop(current.pop()));
            }
        }
        let functions = Rc::clone(self);
        CURRENT.with_borrow_mut(|current| {
            current.push(Rendering { functions, request });
        });
        let _entered = Entered;
        body()
    }
}

fn add_filter(environment: &mut Environment<'static>, name: String, number: usize) {
    environment.add_filter(name, move |args: Rest<ValueOrKwargs>| {
        let args: Vec<Value> = args.iter().map(|arg| arg.clone().into_value()).collect();
        call(number, &args)
    });
}

/// A map of fields of the request for which the current rendering is, each computed once, when it is read.
pub(crate) struct RequestFields {
    fields: &'static [(&'static str, RequestField)],
    values: Box<[OnceLock<Value>]>,
}

impl RequestFields {
    pub(crate) fn new(fields: &'static [(&'static str, RequestField)]) -> Self {
        let values = fields.iter().map(|_| OnceLock::new()).collect();
        Self { fields, values }
    }
}

impl fmt::Debug for RequestFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestFields").finish_non_exhaustive()
    }
}

impl Object for RequestFields {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let at = self.fields.iter().position(|(name, _)| *name == key)?;
        if let Some(value) = self.values[at].get() {
            return Some(value.clone());
        }
        let request = CURRENT.with_borrow(|current| current.last()?.request.clone())?;
        let (_, field) = self.fields[at];
        let value = self.values[at].get_or_init(|| from_host(field(&*request)));
        Some(value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(
            self.fields
                .iter()
                .map(|(name, _)| Value::from(*name))
                .collect(),
        )
    }
}

/// A function among the variables.
pub(crate) struct ScriptGlobal {
    number: usize,
    name: String,
}

impl fmt::Debug for ScriptGlobal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<function {}>", self.name)
    }
}

impl Object for ScriptGlobal {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        call(self.number, args)
    }
}

/// Calls the function with this number.
fn call(number: usize, args: &[Value]) -> Result<Value, Error> {
    let known = CURRENT.with_borrow(|current| {
        let rendering = current.last()?;
        let functions = rendering.functions.functions.borrow();
        Some((functions.get(number).cloned()?, rendering.request.clone()))
    });
    let Some((function, request)) = known else {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "this function is gone",
        ));
    };
    let args: Result<Vec<host::Value>, Error> = args.iter().map(argument).collect();
    let result = match function {
        GivenFunction::Script(function) => function.call(&args?),
        GivenFunction::Native(function) => function(request.as_ref(), &args?),
    };
    let result = result.map_err(TemplateFault::note)?;
    Ok(from_host(result))
}

/// A value of a template for a function.
pub(crate) fn argument(value: &Value) -> Result<host::Value, Error> {
    to_host(value, DEPTH_MAX)
}

/// A value of a template for the script.
fn to_host(value: &Value, depth_left: usize) -> Result<host::Value, Error> {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "the value is nested too deeply",
        ));
    };
    Ok(match value.kind() {
        ValueKind::Undefined | ValueKind::None => host::Value::Null,
        ValueKind::Bool => host::Value::Bool(value.is_true()),
        ValueKind::Number => match value.as_i64().filter(|_| value.is_integer()) {
            Some(whole) => host::Value::Int(whole),
            None => host::Value::Float(f64::try_from(value.clone())?),
        },
        ValueKind::Bytes => host::Value::Bytes(value.as_bytes().unwrap_or_default().to_vec()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.checked();
            let items = items.map(|item| to_host(&item?, depth_left));
            host::Value::List(items.collect::<Result<_, Error>>()?)
        }
        ValueKind::Map => {
            let mut members = Vec::new();
            for key in value.try_iter()? {
                let member = to_host(&value.get_item(&key)?, depth_left)?;
                members.push((key.to_string(), member));
            }
            host::Value::Map(members)
        }
        ValueKind::String => host::Value::Text(value.as_str().unwrap_or_default().to_owned()),
        _ => host::Value::Text(value.to_string()),
    })
}

/// Converts a value of the script for a template.
pub(crate) fn from_host(value: host::Value) -> Value {
    match value {
        host::Value::Null | host::Value::Object(_) => Value::from(()),
        host::Value::Bool(value) => Value::from(value),
        host::Value::Int(value) => Value::from(value),
        host::Value::Float(value) => Value::from(value),
        host::Value::Text(text) => Value::from(text),
        host::Value::Bytes(bytes) => Value::from_bytes(bytes),
        host::Value::List(items) => items.into_iter().map(from_host).collect(),
        host::Value::Map(members) => Value::from_pairs(
            members
                .into_iter()
                .map(|(name, member)| (name, from_host(member))),
        ),
        // A script gives its rows as lists and maps.
        host::Value::Rows(_) | host::Value::Row(_) => Value::from(()),
    }
}
