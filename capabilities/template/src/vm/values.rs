//! Operations on values: their members, their truth, how they compare.

use super::loops::checked;
use super::{Cursor, Machine};
use crate::fault::{Outcome, TemplateFault};
use crate::objects::Namespace;
use crate::program::{Escape, LoopField, Op, Program};
use crate::value::{Copier, TemplateValue, named};
use minijinja::value::{DynObject, ObjectRepr};
use minijinja::{UndefinedBehavior, Value};
use sampan_host::Handle;
use sampan_host::reader::{Kind, Name};

impl Machine<'_, '_> {
    /// The value as minijinja has it: a copy, if it is one of the script.
    pub(super) fn owned(&mut self, value: &TemplateValue) -> Outcome<Value> {
        match value {
            TemplateValue::Own(value) => Ok(value.clone()),
            TemplateValue::Script(it) => self.copy(*it),
            TemplateValue::Loop(number) => self.loop_snapshot(*number),
            TemplateValue::List(items) => Ok(Value::from(self.all_owned(items)?)),
            TemplateValue::Named(pairs) => {
                let mut all = Vec::with_capacity(pairs.len());
                for (name, value) in pairs.iter() {
                    all.push((name.clone(), self.owned(value)?));
                }
                Ok(named(all))
            }
        }
    }

    pub(super) fn all_owned(&mut self, values: &[TemplateValue]) -> Outcome<Vec<Value>> {
        values.iter().map(|value| self.owned(value)).collect()
    }

    pub(super) fn copy(&mut self, it: Handle) -> Outcome<Value> {
        let mut copier = Copier::new(self.reader, self.limits);
        let value = copier.copy(it)?;
        let bytes = copier.bytes();
        self.spend(bytes)?;
        Ok(value)
    }

    pub(super) fn is_undefined(&self, value: &TemplateValue) -> bool {
        match value {
            TemplateValue::Script(it) => self.reader.kind(*it) == Kind::Nothing,
            TemplateValue::Own(value) => value.is_undefined(),
            _ => false,
        }
    }

    pub(super) fn is_strict(&self) -> bool {
        matches!(
            self.undefined,
            UndefinedBehavior::Strict | UndefinedBehavior::SemiStrict
        )
    }

    /// Reports whether a value is not there and must not be used. What `x if y` gives without an `else` may be used.
    pub(super) fn refuses(&mut self, value: &TemplateValue) -> Outcome<bool> {
        if !self.is_strict() || !self.is_undefined(value) {
            return Ok(false);
        }
        match value {
            TemplateValue::Own(value) => {
                let value = value.clone();
                Ok(self.state(Escape::None)?.format(value).is_err())
            }
            _ => Ok(true),
        }
    }

    /// Fails if a value must not be used.
    #[inline]
    pub(super) fn check_defined(&mut self, value: &TemplateValue) -> Outcome<()> {
        if self.refuses(value)? {
            return Err(TemplateFault::new(
                "undefined value: an operand is undefined",
            ));
        }
        Ok(())
    }

    /// Reports whether a value of the script is true. None if that must not be asked.
    #[inline]
    pub(super) fn truth(&mut self, it: Handle) -> Outcome<Option<bool>> {
        Ok(Some(match self.reader.kind(it) {
            Kind::Nothing if self.undefined == UndefinedBehavior::Strict => return Ok(None),
            Kind::Nothing | Kind::Null => false,
            Kind::Bool(value) => value,
            Kind::Int(value) => value != 0,
            Kind::Float(value) => value != 0.0,
            Kind::Text | Kind::Bytes => {
                let is_there = self.reader.with_bytes(it, |bytes| !bytes.is_empty());
                is_there.unwrap_or(false)
            }
            Kind::List | Kind::Map => self.reader.len(it)? > 0,
            Kind::Function | Kind::Object(_) | Kind::Other(_) => true,
        }))
    }

    pub(super) fn is_true(&mut self, value: &TemplateValue) -> Outcome<bool> {
        match value {
            TemplateValue::Script(it) => self.truth(*it)?.ok_or_else(|| {
                TemplateFault::new("undefined value: what is asked for is undefined")
            }),
            TemplateValue::Own(own) => {
                if own.is_undefined() && self.undefined == UndefinedBehavior::Strict {
                    self.check_defined(value)?;
                }
                Ok(own.is_true())
            }
            TemplateValue::Loop(_) => Ok(true),
            TemplateValue::List(items) => Ok(!items.is_empty()),
            TemplateValue::Named(pairs) => Ok(!pairs.is_empty()),
        }
    }

    /// `value.name`
    #[inline]
    pub(super) fn attr(
        &mut self,
        value: &TemplateValue,
        name: Name,
        field: Option<LoopField>,
        cursor: &Cursor,
    ) -> Outcome<TemplateValue> {
        if self.is_undefined(value) {
            return self.without_parent(name.text(), cursor);
        }
        self.attr_of_defined(value, name, field)
    }

    #[inline]
    fn attr_of_defined(
        &mut self,
        value: &TemplateValue,
        name: Name,
        field: Option<LoopField>,
    ) -> Outcome<TemplateValue> {
        match value {
            TemplateValue::Script(it) => match self.reader.kind(*it) {
                Kind::Map => Ok(TemplateValue::Script(self.reader.member(*it, name)?)),
                _ => Ok(TemplateValue::UNDEFINED),
            },
            TemplateValue::Loop(number) => match field {
                Some(field) => self.loop_field(*number, field),
                None => Ok(TemplateValue::UNDEFINED),
            },
            TemplateValue::Own(value) => {
                Ok(TemplateValue::Own(checked(value.get_attr(name.text())?)?))
            }
            TemplateValue::List(_) => Ok(TemplateValue::UNDEFINED),
            TemplateValue::Named(_) => {
                let value = self.owned(value)?;
                Ok(TemplateValue::Own(value.get_attr(name.text())?))
            }
        }
    }

    /// A member of what is not there.
    #[cold]
    fn without_parent(&mut self, name: &str, cursor: &Cursor) -> Outcome<TemplateValue> {
        if self.undefined == UndefinedBehavior::Chainable {
            return Ok(TemplateValue::UNDEFINED);
        }
        let parent = cursor
            .at
            .checked_sub(1)
            .and_then(|at| described(&cursor.program, at));
        let Some(parent) = parent else {
            return Err(no_member("what it is asked of", name, ""));
        };
        let advice = self.advice_without_request(&parent);
        Err(no_member(&format!("`{parent}`"), name, advice))
    }

    /// Returns the error for an undefined value that the operation before has given.
    #[cold]
    pub(super) fn undefined_fault(&mut self, cursor: &Cursor) -> Box<TemplateFault> {
        match cursor
            .at
            .checked_sub(1)
            .and_then(|at| described(&cursor.program, at))
        {
            Some(text) => {
                let advice = self.advice_without_request(&text);
                TemplateFault::new(format!("undefined value: `{text}` is undefined{advice}"))
            }
            None => TemplateFault::new("undefined value: the value is undefined"),
        }
    }

    /// `value[key]`
    pub(super) fn item(
        &mut self,
        value: &TemplateValue,
        key: &TemplateValue,
        cursor: &Cursor,
    ) -> Outcome<TemplateValue> {
        if self.is_undefined(value) {
            return self.without_parent("member", cursor);
        }
        match value {
            TemplateValue::Script(it) => match self.reader.kind(*it) {
                Kind::Map => return self.item_of_map(*it, key),
                Kind::List => {
                    let length = self.reader.len(*it)?;
                    return match self.place(key, length)? {
                        Some(at) if at < length => {
                            Ok(TemplateValue::Script(self.reader.item(*it, at)?))
                        }
                        _ => Ok(TemplateValue::UNDEFINED),
                    };
                }
                _ => {}
            },
            TemplateValue::List(items) => {
                let at = self.place(key, items.len())?;
                let item = at.and_then(|at| items.get(at)).cloned();
                return Ok(item.unwrap_or(TemplateValue::UNDEFINED));
            }
            _ => {}
        }
        let (value, key) = (self.owned(value)?, self.owned(key)?);
        Ok(TemplateValue::Own(checked(value.get_item(&key)?)?))
    }

    /// The place in a list that a key means. Those below zero count from the end.
    fn place(&mut self, key: &TemplateValue, length: usize) -> Outcome<Option<usize>> {
        let Some(place) = self.owned(key)?.as_i64() else {
            return Ok(None);
        };
        Ok(match usize::try_from(place) {
            Ok(place) => Some(place),
            Err(_) => length.checked_sub(place.unsigned_abs() as usize),
        })
    }

    fn item_of_map(&mut self, map: Handle, key: &TemplateValue) -> Outcome<TemplateValue> {
        if let TemplateValue::Script(key) = key
            && matches!(self.reader.kind(*key), Kind::Text | Kind::Int(_))
        {
            return Ok(TemplateValue::Script(self.reader.value(map, *key)?));
        }
        let key = self.owned(key)?;
        for known in self.reader.keys(map)?.iter() {
            let is_it = match key.as_str() {
                Some(text) => {
                    self.reader.kind(known) == Kind::Text
                        && self
                            .reader
                            .with_bytes(known, |bytes| bytes == text.as_bytes())
                            == Some(true)
                }
                None => self.copy(known)? == key,
            };
            if is_it {
                return Ok(TemplateValue::Script(self.reader.value(map, known)?));
            }
        }
        Ok(TemplateValue::UNDEFINED)
    }

    pub(super) fn set_attr(
        &mut self,
        target: &TemplateValue,
        name: &str,
        value: &TemplateValue,
    ) -> Outcome<()> {
        let value = self.owned(value)?;
        if let TemplateValue::Own(target) = target
            && let Some(namespace) = target.downcast_object_ref::<Namespace>()
        {
            self.check_member(&value)?;
            namespace.set(name, value);
            return Ok(());
        }
        Err(TemplateFault::new(
            "invalid operation: only a namespace can be assigned to: {% set ns = namespace() %}",
        ))
    }

    pub(super) fn merge_kwargs(&mut self, sources: &[TemplateValue]) -> Outcome<Value> {
        let mut merged: Vec<(Value, Value)> = Vec::new();
        for source in sources {
            self.check_defined(source)?;
            let source = self.owned(source)?;
            let is_map = source.kind() == minijinja::value::ValueKind::Map;
            let pairs = source
                .as_object()
                .filter(|_| is_map)
                .and_then(|object| object.try_iter_pairs());
            let Some(pairs) = pairs else {
                return Err(TemplateFault::new(format!(
                    "invalid operation: attempted to apply keyword arguments from non map (got {})",
                    source.kind()
                )));
            };
            for (name, value) in pairs {
                match merged.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => *known = value,
                    None => merged.push((name, value)),
                }
            }
        }
        Ok(named(merged))
    }

    /// Pushes the parts of the list on top, the first one last.
    pub(super) fn unpack(&mut self, count: usize) -> Outcome<()> {
        let list = self.pop();
        let is_list = match &list {
            TemplateValue::Script(it) => matches!(self.reader.kind(*it), Kind::List | Kind::Map),
            TemplateValue::List(_) => true,
            TemplateValue::Own(value) => value
                .as_object()
                .is_some_and(|object| object.try_iter().is_some()),
            _ => false,
        };
        if !is_list {
            return Err(TemplateFault::new("cannot unpack: value is not iterable"));
        }
        let before = self.stack.len();
        self.unpack_into_stack(&list)?;
        let found = self.stack.len() - before;
        if found != count {
            return Err(TemplateFault::new(format!(
                "cannot unpack: sequence of wrong length (expected {count}, got {found})"
            )));
        }
        self.stack[before..].reverse();
        Ok(())
    }

    /// Pushes the parts of a list.
    pub(super) fn unpack_into_stack(&mut self, list: &TemplateValue) -> Outcome<()> {
        match list {
            TemplateValue::Script(it) if self.reader.kind(*it) == Kind::List => {
                for at in 0..self.reader.len(*it)? {
                    let item = self.reader.item(*it, at)?;
                    self.push(TemplateValue::Script(item));
                }
            }
            TemplateValue::List(items) => self.stack.extend(items.iter().cloned()),
            TemplateValue::Own(list) if let Some((items, count)) = sequence(list) => {
                for at in 0..count {
                    self.count_round()?;
                    let item = items.get_value(&Value::from(at)).unwrap_or_default();
                    self.push(TemplateValue::Own(checked(item)?));
                }
            }
            list => {
                for item in self.owned(list)?.try_iter()? {
                    self.count_round()?;
                    self.push(TemplateValue::Own(checked(item)?));
                }
            }
        }
        Ok(())
    }
}

/// A list whose parts can be had by their place, and how many they are.
fn sequence(value: &Value) -> Option<(&DynObject, usize)> {
    let object = value.as_object()?;
    let is_sequence = object.repr() == ObjectRepr::Seq;
    Some((object, object.enumerator_len().filter(|_| is_sequence)?))
}

#[cold]
fn no_member(parent: &str, name: &str, advice: &str) -> Box<TemplateFault> {
    TemplateFault::new(format!(
        "undefined value: {parent} is undefined, so it has no `{name}`{advice}"
    ))
}

/// The expression that the operation gives, if it is a simple one.
pub(super) fn described(program: &Program, at: usize) -> Option<String> {
    let base = || {
        let before = at.checked_sub(1)?;
        Some(described(program, before).unwrap_or_else(|| "(...)".to_owned()))
    };
    match program.ops.get(at)? {
        Op::Lookup(name)
        | Op::EmitVar(name)
        | Op::EmitAttr(name, _)
        | Op::EmitCasedAttr(name, ..)
        | Op::JumpUnless(name, _)
        | Op::JumpUnlessAttr(name, ..) => Some(name.text().to_owned()),
        Op::Attr(name, _) => Some(format!("{}.{}", base()?, name.text())),
        _ => None,
    }
}
