//! Our objects within minijinja's values.

use crate::program::{LoopField, Program};
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State, Value};
use sampan_host::reader::Name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A macro of a template.
pub(crate) struct Macro {
    pub(crate) name: Value,
    /// The names of its parameters.
    pub(crate) params: Arc<[Name]>,
    pub(crate) program: Arc<Program>,
    /// The start of its operations.
    pub(crate) offset: u32,
    /// The rendering that it belongs to: what it encloses goes with that.
    pub(crate) render: u64,
    pub(crate) closure: Option<usize>,
    pub(crate) uses_caller: bool,
    pub(crate) takes_varargs: bool,
    pub(crate) takes_kwargs: bool,
    /// True if the data of the script is seen in it: not if it was imported without context.
    pub(crate) sees_data: bool,
}

thread_local! {
    /// The macro that minijinja wanted to call: only the machine can.
    static WANTED: RefCell<Option<Arc<Macro>>> = const { RefCell::new(None) };
}

impl Macro {
    /// The macro that minijinja failed to call, if that is why it failed.
    pub(crate) fn wanted() -> Option<Arc<Self>> {
        WANTED.take()
    }
}

impl fmt::Debug for Macro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<macro {}>", self.name)
    }
}

impl Object for Macro {
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["name", "arguments", "caller"])
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(match key.as_str()? {
            "name" => self.name.clone(),
            "arguments" => self
                .params
                .iter()
                .map(|name| Value::from(name.text()))
                .collect(),
            "caller" => Value::from(self.uses_caller),
            "catch_varargs" => Value::from(self.takes_varargs),
            "catch_kwargs" => Value::from(self.takes_kwargs),
            _ => return None,
        })
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        WANTED.replace(Some(Arc::clone(self)));
        Err(Error::new(
            ErrorKind::InvalidOperation,
            "a macro cannot be called here",
        ))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<macro {}>", self.name)
    }
}

/// The exports of an imported template.
#[derive(Debug)]
pub(crate) struct TemplateModule {
    pub(crate) values: Vec<(Value, Value)>,
    pub(crate) text: Value,
}

impl Object for TemplateModule {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let mut values = self.values.iter();
        values
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.values.iter().map(|(name, _)| name.clone()).collect())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}

/// The result of `namespace()`: the one value that a template can change.
#[derive(Debug, Default)]
pub(crate) struct Namespace(Mutex<BTreeMap<Arc<str>, Value>>);

impl Namespace {
    pub(crate) fn set(&self, name: &str, value: Value) {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.insert(name.into(), value);
    }
}

impl Object for Namespace {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(key.as_str()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Enumerator::Values(values.keys().cloned().map(Value::from).collect())
    }
}

/// The function `namespace`, as minijinja has it.
pub(crate) fn namespace(defaults: Option<ValueOrKwargs>) -> Result<Value, Error> {
    let namespace = Namespace::default();
    if let Some(defaults) = defaults {
        let defaults = defaults.into_value();
        let pairs = defaults
            .as_object()
            .filter(|object| object.repr() == ObjectRepr::Map)
            .and_then(|object| object.try_iter_pairs());
        let Some(pairs) = pairs else {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!(
                    "expected object or keyword arguments, got {}",
                    defaults.kind()
                ),
            ));
        };
        for (name, value) in pairs {
            if let Some(name) = name.as_str() {
                namespace.set(name, value);
            }
        }
    }
    Ok(Value::from_object(namespace))
}

/// The variable `loop`, as it was when it was passed on.
#[derive(Clone, Debug)]
pub(crate) struct LoopSnapshot {
    /// `None` before the first item.
    pub(crate) index: Option<usize>,
    pub(crate) length: Option<usize>,
    pub(crate) depth: usize,
    pub(crate) previous: Value,
    pub(crate) next: Value,
}

impl LoopSnapshot {
    pub(crate) fn field(&self, field: LoopField) -> Value {
        let Some(index) = self.index else {
            return Value::UNDEFINED;
        };
        let known = |number: Option<usize>| number.map_or(Value::UNDEFINED, Value::from);
        match field {
            LoopField::Index => Value::from(index + 1),
            LoopField::Index0 => Value::from(index),
            LoopField::Length => known(self.length),
            LoopField::RevIndex => known(self.length.map(|length| length.saturating_sub(index))),
            LoopField::RevIndex0 => known(
                self.length
                    .map(|length| length.saturating_sub(index).saturating_sub(1)),
            ),
            LoopField::First => Value::from(index == 0),
            LoopField::Last => Value::from(
                self.length
                    .is_some_and(|length| length == 0 || index == length - 1),
            ),
            LoopField::Depth => Value::from(self.depth + 1),
            LoopField::Depth0 => Value::from(self.depth),
            LoopField::Previous => self.previous.clone(),
            LoopField::Next => self.next.clone(),
        }
    }
}

impl Object for LoopSnapshot {
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&[
            "index0",
            "index",
            "length",
            "revindex",
            "revindex0",
            "first",
            "last",
            "depth",
            "depth0",
            "previtem",
            "nextitem",
        ])
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(self.field(LoopField::of(key.as_str()?)?))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length: &dyn fmt::Display = match &self.length {
            Some(length) => length,
            None => &"?",
        };
        write!(f, "<loop {}/{length}>", self.index.unwrap_or(usize::MAX))
    }
}

/// A list that the template has made and can change. What it holds is shared with those that look at it, so that no
/// look holds the lock.
#[derive(Debug, Default)]
pub(crate) struct ChangingList(Mutex<Arc<Vec<Value>>>);

impl ChangingList {
    pub(crate) fn new(items: Vec<Value>) -> Self {
        Self(Mutex::new(Arc::new(items)))
    }

    /// Returns its items as they are now.
    pub(crate) fn items(&self) -> Arc<Vec<Value>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes its items. `change` must not compare them: an item may be compared with the list itself.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Vec<Value>) -> R) -> R {
        let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut items))
    }
}

impl Object for ChangingList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items().get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items().to_vec())
    }
}

/// A map that the template has made and can change. See [`ChangingList`].
#[derive(Debug, Default)]
pub(crate) struct ChangingMap(Mutex<Arc<Vec<(Value, Value)>>>);

impl ChangingMap {
    pub(crate) fn new(pairs: Vec<(Value, Value)>) -> Self {
        let map = Self::default();
        for (key, value) in pairs {
            map.set(key, value);
        }
        map
    }

    /// Returns its members as they are now.
    pub(crate) fn pairs(&self) -> Arc<Vec<(Value, Value)>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<(Value, Value)>) -> R) -> R {
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut pairs))
    }

    fn place(&self, key: &Value) -> Option<usize> {
        self.pairs().iter().position(|(known, _)| known == key)
    }

    pub(crate) fn get(&self, key: &Value) -> Option<Value> {
        let place = self.place(key)?;
        self.pairs().get(place).map(|(_, value)| value.clone())
    }

    pub(crate) fn set(&self, key: Value, value: Value) {
        match self.place(&key) {
            Some(place) => self.change(|pairs| pairs[place].1 = value),
            None => self.change(|pairs| pairs.push((key, value))),
        }
    }

    pub(crate) fn remove(&self, key: &Value) -> Option<Value> {
        let place = self.place(key)?;
        Some(self.change(|pairs| pairs.remove(place)).1)
    }

    pub(crate) fn clear(&self) {
        self.change(Vec::clear);
    }
}

impl Object for ChangingMap {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.pairs().iter().map(|(key, _)| key.clone()).collect())
    }
}
