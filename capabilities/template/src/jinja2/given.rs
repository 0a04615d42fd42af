//! The arguments of a filter.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};

/// The arguments of a call in the order of the parameters. Those that were not given are undefined.
pub(super) struct Given<'a> {
    pub(super) params: &'a [&'static str],
    pub(super) values: Vec<Value>,
    pub(super) count: usize,
}

impl Given<'_> {
    /// Returns an argument, if it was given and is not `none`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let at = self.params.iter().position(|param| *param == name)?;
        let value = self.values.get(at)?;
        (!value.is_undefined() && !value.is_none()).then_some(value)
    }

    /// Returns how many were given, with those before them.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns an argument as it was given; undefined if it was not.
    pub(super) fn raw(&self, name: &str) -> Value {
        let at = self.params.iter().position(|param| *param == name);
        let value = at.and_then(|at| self.values.get(at));
        value.cloned().unwrap_or_default()
    }

    /// Reports whether an argument is true.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(Value::is_true)
    }

    /// Returns a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Error> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let text = value.as_str();
        text.map(Some).ok_or_else(|| wrong(name, "a text"))
    }

    /// Returns a whole number from 0 on.
    pub(super) fn count(&self, name: &str) -> Result<Option<usize>, Error> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let count = value.as_usize().filter(|_| value.is_integer());
        count
            .map(Some)
            .ok_or_else(|| wrong(name, "a whole number from 0 on"))
    }

    /// Returns all that were given with their names.
    pub(super) fn named(&self) -> Kwargs {
        let pairs = self.params.iter().zip(&self.values);
        let pairs = pairs.filter(|(_, value)| !value.is_undefined() && !value.is_none());
        pairs.map(|(name, value)| (*name, value.clone())).collect()
    }
}

/// Returns an argument of a filter by its place or its name, or an undefined value.
pub(crate) fn argument(args: &[Value], at: usize, name: &str) -> Value {
    let by_place = args.get(at).filter(|value| !value.is_kwargs());
    let named = args.last().filter(|value| value.is_kwargs());
    match by_place {
        Some(value) => value.clone(),
        None => named.map_or(Value::UNDEFINED, |named| {
            named.get_attr(name).unwrap_or_default()
        }),
    }
}

fn wrong(name: &str, wanted: &str) -> Error {
    Error::new(
        ErrorKind::InvalidOperation,
        format!("the argument {name:?} must be {wanted}"),
    )
}
