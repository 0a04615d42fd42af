//! The arguments of a filter.

use super::kinds::{self, FilterParam};
use minijinja::Value;
use minijinja::value::Kwargs;

/// The arguments of a call in the order of the parameters, each of its parameter's kind. Those that were not given are
/// undefined.
pub(super) struct Given<'a> {
    pub(super) params: &'a [FilterParam],
    pub(super) values: Vec<Value>,
    pub(super) count: usize,
}

impl Given<'_> {
    /// Returns an argument, if it was given and is not `none`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let at = self.params.iter().position(|(param, _)| *param == name)?;
        let value = self.values.get(at)?;
        (!value.is_undefined() && !value.is_none()).then_some(value)
    }

    /// Returns how many were given, with those before them.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns an argument as it was given; undefined if it was not.
    pub(super) fn raw(&self, name: &str) -> Value {
        let at = self.params.iter().position(|(param, _)| *param == name);
        let value = at.and_then(|at| self.values.get(at));
        value.cloned().unwrap_or_default()
    }

    /// Reports whether an argument is true.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(Value::is_true)
    }

    /// Returns a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns a whole number from 0 on.
    pub(super) fn count(&self, name: &str) -> Option<usize> {
        kinds::count(self.get(name)?)
    }

    /// Returns all that were given with their names.
    pub(super) fn named(&self) -> Kwargs {
        let pairs = self.params.iter().zip(&self.values);
        let pairs = pairs.filter(|(_, value)| !value.is_undefined() && !value.is_none());
        pairs
            .map(|((name, _), value)| (*name, value.clone()))
            .collect()
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
