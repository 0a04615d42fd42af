//! The values that a template works with.

use crate::fault::{Outcome, TemplateFault};
use minijinja::Value;
use minijinja::value::Kwargs;
use sampan_host::reader::Kind;
use sampan_host::{Handle, Reader, ScriptLimits};
use std::rc::Rc;

/// A value of a template.
#[derive(Clone, Debug)]
pub(crate) enum TemplateValue {
    /// One of the script, read where it lies.
    Script(Handle),
    /// Any other.
    Own(Value),
    /// The variable `loop` of the loop with this number.
    Loop(u32),
    /// A list in which there are values of the script.
    List(Rc<[TemplateValue]>),
    /// Named arguments, some of which are values of the script.
    Named(Rc<[(Value, TemplateValue)]>),
}

impl TemplateValue {
    pub(crate) const UNDEFINED: Self = Self::Own(Value::UNDEFINED);
}

impl From<bool> for TemplateValue {
    fn from(value: bool) -> Self {
        Self::Own(Value::from(value))
    }
}

/// Copies values of the script, within limits.
pub(crate) struct Copier<'a> {
    reader: &'a dyn Reader,
    depth_left: usize,
    bytes_left: usize,
    bytes_max: usize,
}

impl<'a> Copier<'a> {
    pub(crate) fn new(reader: &'a dyn Reader, limits: &ScriptLimits) -> Self {
        Self {
            reader,
            depth_left: limits.json_depth_max,
            bytes_left: limits.memory_bytes_max,
            bytes_max: limits.memory_bytes_max,
        }
    }

    /// Returns the number of bytes that it has copied.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_max - self.bytes_left
    }

    /// A copy of a value.
    pub(crate) fn copy(&mut self, it: Handle) -> Outcome<Value> {
        match self.reader.kind(it) {
            Kind::Function => Err(TemplateFault::new(
                "a function of the script is no value that a template can use",
            )),
            // A page shows a form again with what was sent, which may be a file in place of a text.
            Kind::Object(_) => Ok(Value::from("")),
            Kind::Other(name) => Err(TemplateFault::new(format!(
                "a value of type {name} is none that a template can use"
            ))),
            _ => Ok(self.part(it)?.unwrap_or(Value::UNDEFINED)),
        }
    }

    /// Converts a part of a value: `None` for what a template cannot use, which is left out.
    fn part(&mut self, it: Handle) -> Outcome<Option<Value>> {
        self.take(size_of::<Value>())?;
        let reader = self.reader;
        Ok(Some(match reader.kind(it) {
            Kind::Nothing => Value::UNDEFINED,
            Kind::Null => Value::from(()),
            Kind::Bool(value) => Value::from(value),
            Kind::Int(value) => Value::from(value),
            Kind::Float(value) => Value::from(value),
            Kind::Text => {
                let text = reader.text(it).unwrap_or_default();
                self.take(text.len())?;
                Value::from(text)
            }
            Kind::Bytes => {
                let bytes = reader.with_bytes(it, <[u8]>::to_vec).unwrap_or_default();
                self.take(bytes.len())?;
                Value::from_bytes(bytes)
            }
            Kind::List => {
                self.enter()?;
                let items = self.items(it)?;
                self.depth_left += 1;
                Value::from(items)
            }
            Kind::Map => {
                self.enter()?;
                let pairs = self.pairs(it)?;
                self.depth_left += 1;
                Value::from_pairs(pairs)
            }
            Kind::Function | Kind::Object(_) | Kind::Other(_) => return Ok(None),
        }))
    }

    fn items(&mut self, list: Handle) -> Outcome<Vec<Value>> {
        let mut items = Vec::new();
        for at in 0..self.reader.len(list)? {
            let item = self.reader.round(|| {
                let item = self.reader.item(list, at)?;
                self.part(item)
            })?;
            items.push(item.unwrap_or_else(|| Value::from(())));
        }
        Ok(items)
    }

    fn pairs(&mut self, map: Handle) -> Outcome<Vec<(Value, Value)>> {
        let mark = self.reader.mark();
        let keys = self.reader.keys(map)?;
        let mut pairs = Vec::with_capacity(keys.len().min(1024));
        for key in keys.iter() {
            let pair = self.reader.round(|| {
                let member = self.reader.value(map, key)?;
                let (key, member) = (self.part(key)?, self.part(member)?);
                Outcome::Ok(key.zip(member))
            })?;
            pairs.extend(pair.filter(|(_, member)| !member.is_undefined()));
        }
        self.reader.release(mark);
        Ok(pairs)
    }

    fn enter(&mut self) -> Outcome<()> {
        self.depth_left = self.depth_left.checked_sub(1).ok_or_else(|| {
            TemplateFault::new("a value of the script is nested too deeply, or is a part of itself")
        })?;
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Outcome<()> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or_else(|| {
            TemplateFault::new("a value of the script is too large to be copied (memory_bytes_max)")
        })?;
        Ok(())
    }
}

/// Named arguments as minijinja has them.
pub(crate) fn named(pairs: impl IntoIterator<Item = (Value, Value)>) -> Value {
    let pairs = pairs.into_iter();
    let pairs = pairs.map(|(name, value)| (name.as_str().unwrap_or_default().to_owned(), value));
    Value::from(pairs.collect::<Kwargs>())
}
