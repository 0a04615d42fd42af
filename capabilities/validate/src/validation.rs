//! One validation: goes through data along a schema, collects what is valid, and what is said of the rest.

use crate::date;
use crate::limits::{DEPTH_MAX, ERRORS_MAX};
use crate::schema::{Rule, RuleType, Schema};
use crate::texts::Message;
use crate::values::{self, copy, too_large};
use sampan_host::reader::Kind;
use sampan_host::texts::MessageTexts;
use sampan_host::{Context, Error, ErrorKind, Handle, Reader, RequestView, ScriptLimits, Value};
use std::fmt::Write;
use std::rc::Rc;

pub(crate) struct Validation<'a> {
    reader: &'a dyn Reader,
    /// The request whose language the messages have.
    request: Option<&'a Rc<dyn RequestView>>,
    texts: Option<Rc<MessageTexts>>,
    /// The place of the value at hand: names and positions with dots between them.
    path: String,
    errors: Vec<(String, Value)>,
    bytes_left: usize,
}

/// The reason why there is no value.
enum Refusal {
    Said(Message),
    Failed(Error),
}

impl From<Message> for Refusal {
    fn from(message: Message) -> Self {
        Self::Said(message)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Validation<'a> {
    pub(crate) fn new(
        context: &Context,
        reader: &'a dyn Reader,
        request: Option<&'a Rc<dyn RequestView>>,
    ) -> Self {
        let limits = context.get::<ScriptLimits>().unwrap_or_default();
        Self {
            reader,
            request,
            texts: context.get(),
            path: String::new(),
            errors: Vec::new(),
            bytes_left: limits.memory_bytes_max,
        }
    }

    /// The data and the errors; one of them is nothing.
    pub(crate) fn run(mut self, schema: &Schema, data: Handle) -> Result<Value, Error> {
        match self.reader.kind(data) {
            Kind::Map => {}
            Kind::Function => return Err(no_data("a function")),
            Kind::Object(object) => return Err(no_data(&object.class().with_article())),
            Kind::Other("promise") => return Err(no_data("a promise: is an await missing?")),
            Kind::Other(name) => return Err(no_data(&format!("a {name}"))),
            // What a client sent as JSON.
            _ => {
                let text = "the data must be an object with fields";
                return Err(Error::new(ErrorKind::Status(400), text));
            }
        }
        let data = self.object(schema, data)?;
        Ok(Value::List(match self.errors.is_empty() {
            true => vec![data, Value::Null],
            false => vec![Value::Null, Value::Map(self.errors)],
        }))
    }

    fn object(&mut self, schema: &Schema, map: Handle) -> Result<Value, Error> {
        let mut members = Vec::with_capacity(schema.fields.len());
        let mut checks = Vec::new();
        for field in &schema.fields {
            let errors = self.errors.len();
            let value = self.inside(&field.name, |run| {
                let it = run.reader.value(map, field.key)?;
                run.value(&field.rule, it)
            })?;
            let Some(value) = value else { continue };
            if errors == self.errors.len() && field.rule.check.is_some() {
                checks.push((field, value.clone()));
            }
            members.push((field.name.clone(), value));
        }
        // They see the others, in any order of the schema.
        for (field, value) in checks {
            let data = Value::Map(members.clone());
            self.inside(&field.name, |run| run.check(&field.rule, [value, data]))?;
        }
        Ok(Value::Map(members))
    }

    /// Has `read` look at a part of the value at hand.
    fn inside<R>(
        &mut self,
        name: impl std::fmt::Display,
        read: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let length = self.path.len();
        let dot = if length == 0 { "" } else { "." };
        let _ = write!(self.path, "{dot}{name}");
        let mark = self.reader.mark();
        let result = read(self);
        self.reader.release(mark);
        self.path.truncate(length);
        result
    }

    /// The value at hand, converted; `None` if there is none, or if it is not valid.
    fn value(&mut self, rule: &Rule, it: Handle) -> Result<Option<Value>, Error> {
        if self.errors.len() == ERRORS_MAX {
            return Ok(None);
        }
        self.spend(size_of::<Value>())?;
        match self.converted(rule, it) {
            Ok(value) => Ok(value),
            Err(Refusal::Failed(error)) => Err(error),
            Err(Refusal::Said(message)) => {
                self.tell(rule, &message);
                Ok(None)
            }
        }
    }

    fn converted(&mut self, rule: &Rule, it: Handle) -> Result<Option<Value>, Refusal> {
        let kind = self.reader.kind(it);
        let wrong = || Refusal::Said(Message::new(rule.type_key()));
        let mut text = None;
        match kind {
            Kind::Nothing | Kind::Null => return self.missing(rule),
            Kind::Function | Kind::Object(_) | Kind::Other(_) => return Err(wrong()),
            Kind::Text => {
                let read = self.reader.with_bytes(it, |bytes| {
                    let text = std::str::from_utf8(bytes).ok()?;
                    let is_kept =
                        matches!(rule.ty, RuleType::Text { trim: false, .. } | RuleType::Any);
                    Some(if is_kept { text } else { text.trim() }.to_owned())
                });
                let read = read.flatten().ok_or_else(wrong)?;
                self.spend(read.len())?;
                if read.is_empty() && !matches!(rule.ty, RuleType::Any) {
                    return self.missing(rule);
                }
                text = Some(read);
            }
            _ => {}
        }
        let value = match &rule.ty {
            RuleType::Text {
                form,
                length,
                pattern,
                ..
            } => values::text(text.ok_or_else(wrong)?, *form, *length, pattern.as_deref())?,
            RuleType::Integer { min, max } => {
                let value = values::integer(kind, text.as_deref()).ok_or_else(wrong)?;
                values::check_range(&value, min.as_ref(), max.as_ref())?;
                value
            }
            RuleType::Number { min, max } => {
                let value = values::number(kind, text.as_deref()).ok_or_else(wrong)?;
                values::check_range(&value, min.as_ref(), max.as_ref())?;
                value
            }
            RuleType::Boolean => values::boolean(kind, text.as_deref()).ok_or_else(wrong)?,
            RuleType::Date { range } => {
                let value = text.filter(|text| date::is_date(text)).ok_or_else(wrong)?;
                values::check_date(&value, range)?;
                Value::Text(value)
            }
            RuleType::DateTime { range } => {
                let value = text.and_then(|text| date::datetime(&text));
                let value = value.ok_or_else(wrong)?;
                values::check_datetime(&value, range)?;
                Value::Text(value)
            }
            RuleType::List { items, length } => {
                let value = self.list(items, it, kind, |count| {
                    values::check_length(*length, || count, ["items_min", "items_max", "items"])
                })?;
                match value {
                    Value::List(items) if items.is_empty() && rule.is_required => {
                        return self.missing(rule);
                    }
                    value => value,
                }
            }
            RuleType::Object(schema) => match kind {
                Kind::Map => self.object(schema, it)?,
                _ => return Err(wrong()),
            },
            RuleType::Any => {
                let copied = copy(self.reader, it, DEPTH_MAX, &mut self.bytes_left)?;
                copied.ok_or_else(wrong)?
            }
        };
        match &rule.choices {
            Some(choices) if !values::is_among(&value, choices) => {
                let choices = Value::List(choices.clone());
                Err(Message::with("enum", "values", choices).into())
            }
            _ => Ok(Some(value)),
        }
    }

    /// Returns the value in the place of a value that is missing or empty.
    fn missing(&mut self, rule: &Rule) -> Result<Option<Value>, Refusal> {
        match &rule.default {
            Some(default) => Ok(Some(default.clone())),
            None if rule.is_required => Err(Message::new("required").into()),
            None => Ok(None),
        }
    }

    /// A list. A form that has a name once gives its value alone, and one with numbers in brackets a map.
    fn list(
        &mut self,
        rule: &Rule,
        it: Handle,
        kind: Kind,
        check_count: impl FnOnce(usize) -> Result<(), Message>,
    ) -> Result<Value, Refusal> {
        // An empty list may look like a map.
        let numbered = match kind {
            Kind::Map => self.numbered(it)?,
            _ => Vec::new(),
        };
        let count = match kind {
            Kind::List => values::list_len(self.reader, it)?,
            Kind::Map => numbered.len(),
            _ => 1,
        };
        check_count(count)?;
        let mut items = Vec::new();
        for at in 0..count {
            let (number, key) = match numbered.get(at) {
                Some((number, key)) => (*number, Some(*key)),
                None => (at, None),
            };
            let item = self.inside(number, |run| {
                let item = match (kind, key) {
                    (Kind::List, _) => run.reader.item(it, at)?,
                    (_, Some(key)) => run.reader.value(it, key)?,
                    _ => it,
                };
                let errors = run.errors.len();
                let value = run.value(rule, item)?;
                match value {
                    None if errors == run.errors.len() => {
                        run.tell(rule, &Message::new("required"));
                        Ok(None)
                    }
                    Some(value) if rule.check.is_some() && errors == run.errors.len() => {
                        run.check(rule, [value.clone(), Value::Null])?;
                        Ok(Some(value))
                    }
                    value => Ok(value),
                }
            })?;
            items.extend(item);
            if self.errors.len() >= ERRORS_MAX {
                break;
            }
        }
        Ok(Value::List(items))
    }

    /// The keys of a map, all of which are whole numbers, in the order of these.
    fn numbered(&self, map: Handle) -> Result<Vec<(usize, Handle)>, Refusal> {
        let mut keys = Vec::new();
        for key in self.reader.keys(map)?.iter() {
            let number = self.reader.text(key).and_then(|text| list_number(&text));
            keys.push((number.ok_or_else(|| Message::new("list"))?, key));
        }
        keys.sort_unstable_by_key(|(number, _)| *number);
        Ok(keys)
    }

    /// Asks the script's own check of a rule: it says nothing or `true`, or what is wrong.
    fn check(&mut self, rule: &Rule, args: [Value; 2]) -> Result<(), Error> {
        let Some(check) = &rule.check else {
            return Ok(());
        };
        match check.call(&args)? {
            Value::Null | Value::Bool(true) => Ok(()),
            Value::Bool(false) => {
                self.tell(rule, &Message::new("check"));
                Ok(())
            }
            Value::Text(text) => {
                let text = self.own_text(&text);
                self.put(text);
                Ok(())
            }
            other => {
                let (path, found) = (&self.path, other.type_name());
                let text = format!(
                    "field {path}: check must return nothing, a boolean or a text, not {found}"
                );
                Err(Error::script(text))
            }
        }
    }

    /// Notes what is wrong with the value at hand.
    fn tell(&mut self, rule: &Rule, message: &Message) {
        let text = match &rule.message {
            Some(text) => self.own_text(text),
            None => {
                let key = format!("validate.{}", message.key);
                let translated = self.translated(&key, &message.params);
                translated.unwrap_or_else(|| message.english())
            }
        };
        self.put(text);
    }

    /// A text of the script: it may be the key of a translation.
    fn own_text(&self, text: &str) -> String {
        let translated = self.translated(text, &[]);
        translated.unwrap_or_else(|| text.to_owned())
    }

    fn translated(&self, key: &str, params: &[(&'static str, Value)]) -> Option<String> {
        self.texts.as_ref()?.0.text(self.request, key, params)
    }

    fn put(&mut self, text: String) {
        self.errors.push((self.path.clone(), Value::Text(text)));
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.ok_or_else(too_large)?;
        Ok(())
    }
}

/// Returns the number that a key is, if it is written as such: without signs or zeros in front of it.
fn list_number(key: &str) -> Option<usize> {
    let is_digits = key.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = is_digits && (key == "0" || !key.starts_with('0'));
    key.parse().ok().filter(|_| is_number)
}

#[cold]
fn no_data(found: &str) -> Error {
    Error::script(format!("the data must be a form or an object, not {found}"))
}
