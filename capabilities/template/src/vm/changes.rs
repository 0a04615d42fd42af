//! Lists and maps that a template has made and changes: `{% do list.append(x) %}`.

use super::Machine;
use crate::fault::{Outcome, TemplateFault};
use crate::objects::{ChangingList, ChangingMap};
use minijinja::Value;
use minijinja::value::ValueKind;

/// The most items of a list or a map that a template changes.
const ITEMS_MAX: usize = 10_000;

/// Makes a list that can be changed.
pub(super) fn made_list(items: Vec<Value>) -> Value {
    Value::from_object(ChangingList::new(items))
}

impl Machine<'_, '_> {
    /// Makes a map. If templates change some, it can be changed.
    pub(super) fn made_map(&self, pairs: Vec<(Value, Value)>) -> Value {
        match self.changes_values && pairs.len() <= ITEMS_MAX {
            true => Value::from_object(ChangingMap::new(pairs)),
            false => Value::from_pairs(pairs),
        }
    }

    /// Returns a constant; of a list or a map a new one, if templates change some.
    #[inline]
    pub(super) fn made_constant(&self, value: &Value) -> Value {
        if !self.changes_values {
            return value.clone();
        }
        self.changing(value)
    }

    fn changing(&self, value: &Value) -> Value {
        match value.kind() {
            ValueKind::Seq if value.len().is_some_and(|len| len <= ITEMS_MAX) => {
                made_list(value.try_iter().into_iter().flatten().collect())
            }
            ValueKind::Map if !value.is_kwargs() => {
                let keys = value.try_iter().into_iter().flatten();
                let pairs = keys.map(|key| {
                    let member = value.get_item(&key).unwrap_or_default();
                    (key, member)
                });
                self.made_map(pairs.collect())
            }
            _ => value.clone(),
        }
    }

    /// Calls a method that changes a list or a map of the template. `None` if it is another method, or another value.
    pub(super) fn change(
        &mut self,
        value: &Value,
        method: &str,
        args: &[Value],
    ) -> Outcome<Option<Value>> {
        if !self.changes_values {
            return Ok(None);
        }
        if let Some(list) = value.downcast_object_ref::<ChangingList>() {
            return self.change_list(list, method, args);
        }
        match value.downcast_object_ref::<ChangingMap>() {
            Some(map) => self.change_map(map, method, args),
            None => Ok(None),
        }
    }

    fn change_list(
        &mut self,
        list: &ChangingList,
        method: &str,
        args: &[Value],
    ) -> Outcome<Option<Value>> {
        let place = |value: &Value| {
            let place = value.as_i64().filter(|_| value.is_integer());
            place.ok_or_else(|| {
                TemplateFault::new(format!("{method} expects a whole number as a place"))
            })
        };
        match (method, args) {
            ("append", [item]) => {
                let item = self.kept(item)?;
                list.change(|items| items.push(item));
            }
            ("extend", [more]) => {
                let more = self.kept(more)?;
                let more: Vec<Value> = more.try_iter()?.collect();
                list.change(|items| items.extend(more));
            }
            ("insert", [at, item]) => {
                let (at, item) = (place(at)?, self.kept(item)?);
                list.change(|items| {
                    let at = place_in(items.len(), at);
                    items.insert(at, item);
                });
            }
            ("pop", [] | [_]) => {
                let at = args.first().map_or(Ok(-1), place)?;
                let item = list.change(|items| {
                    let at = match usize::try_from(at) {
                        Ok(at) => Some(at),
                        Err(_) => items.len().checked_sub(at.unsigned_abs() as usize),
                    };
                    at.filter(|at| *at < items.len()).map(|at| items.remove(at))
                });
                return match item {
                    Some(item) => Ok(Some(item)),
                    None => Err(TemplateFault::new("pop: the list has no such item")),
                };
            }
            ("remove", [item]) => {
                let Some(at) = list.items().iter().position(|known| known == item) else {
                    return Err(TemplateFault::new("remove: the list has no such item"));
                };
                list.change(|items| drop(items.remove(at)));
            }
            ("clear", []) => list.change(Vec::clear),
            ("reverse", []) => list.change(|items| items.reverse()),
            _ => return Ok(None),
        }
        self.check_changed(list.items().len())?;
        Ok(Some(Value::from(())))
    }

    fn change_map(
        &mut self,
        map: &ChangingMap,
        method: &str,
        args: &[Value],
    ) -> Outcome<Option<Value>> {
        match (method, args) {
            ("update", more) if !more.is_empty() => {
                for more in more {
                    let more = self.kept(more)?;
                    if more.kind() != ValueKind::Map {
                        return Err(TemplateFault::new("update expects a map or named values"));
                    }
                    for key in more.try_iter()? {
                        let member = more.get_item(&key)?;
                        map.set(key, member);
                        self.check_changed(map.pairs().len())?;
                    }
                }
                return Ok(Some(Value::from(())));
            }
            ("setdefault", [key, rest @ ..]) if rest.len() < 2 => {
                if let Some(known) = map.get(key) {
                    return Ok(Some(known));
                }
                let member = match rest.first() {
                    Some(member) => self.kept(member)?,
                    None => Value::from(()),
                };
                let key = self.kept(key)?;
                map.set(key, member.clone());
                self.check_changed(map.pairs().len())?;
                return Ok(Some(member));
            }
            ("pop", [key, rest @ ..]) if rest.len() < 2 => {
                let found = map.remove(key).or_else(|| rest.first().cloned());
                return match found {
                    Some(found) => Ok(Some(found)),
                    None => Err(TemplateFault::new(format!(
                        "pop: the map has no member {key}"
                    ))),
                };
            }
            ("clear", []) => map.clear(),
            _ => return Ok(None),
        }
        Ok(Some(Value::from(())))
    }

    /// Returns a copy of a value that nothing changes any more, so that no value can be a part of itself.
    fn kept(&mut self, value: &Value) -> Outcome<Value> {
        self.check_member(value)?;
        frozen(value)
    }

    fn check_changed(&mut self, items: usize) -> Outcome<()> {
        if items > ITEMS_MAX {
            return Err(TemplateFault::new(format!(
                "too many items: a list or a map that a template changes has at most {ITEMS_MAX}"
            )));
        }
        self.spend(items * size_of::<Value>())
    }
}

/// Copies the lists and maps in a value. [`Machine::check_member`] has limited how deep they nest.
fn frozen(value: &Value) -> Outcome<Value> {
    let is_list = value.downcast_object_ref::<ChangingList>().is_some();
    let is_map = value.downcast_object_ref::<ChangingMap>().is_some();
    match value.kind() {
        ValueKind::Seq if is_list => {
            let items = value.try_iter()?.map(|item| frozen(&item));
            Ok(Value::from(items.collect::<Outcome<Vec<Value>>>()?))
        }
        ValueKind::Map if is_map || value.is_kwargs() => {
            let mut pairs = Vec::new();
            for key in value.try_iter()? {
                let member = frozen(&value.get_item(&key)?)?;
                pairs.push((key, member));
            }
            Ok(Value::from_pairs(pairs))
        }
        // Others may have them inside.
        ValueKind::Seq => {
            let items = value.try_iter()?.map(|item| frozen(&item));
            Ok(Value::from(items.collect::<Outcome<Vec<Value>>>()?))
        }
        ValueKind::Iterable => {
            let items = value.try_iter()?.map(|item| frozen(&item));
            Ok(Value::from(items.collect::<Outcome<Vec<Value>>>()?))
        }
        _ => Ok(value.clone()),
    }
}

/// Returns a place to insert at: those below zero count from the end.
fn place_in(length: usize, at: i64) -> usize {
    match usize::try_from(at) {
        Ok(at) => at.min(length),
        Err(_) => length.saturating_sub(at.unsigned_abs() as usize),
    }
}
