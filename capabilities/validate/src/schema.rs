//! The schema. It is read whole before the data, so that a mistake in it shows with any data.

use crate::date;
use crate::limits::{DEPTH_MAX, PATTERN_BYTES_MAX, PATTERNS_MAX};
use crate::values::copy;
use jiff::tz::TimeZone;
use regex_lite::{Regex, RegexBuilder};
use sampan_host::reader::Kind;
use sampan_host::{Callback, Context, Error, Handle, Reader, Value, refusals};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The fields of an object.
pub(crate) struct Schema {
    pub(crate) fields: Vec<Field>,
}

pub(crate) struct Field {
    pub(crate) name: String,
    /// The name in the script.
    pub(crate) key: Handle,
    pub(crate) rule: Rule,
}

/// The rule for a value.
pub(crate) struct Rule {
    pub(crate) ty: RuleType,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) choices: Option<Vec<Value>>,
    pub(crate) check: Option<Callback>,
    /// The message that replaces the message that fits.
    pub(crate) message: Option<String>,
}

pub(crate) enum RuleType {
    Text {
        form: TextForm,
        trim: bool,
        length: Length,
        pattern: Option<Rc<Regex>>,
    },
    Integer {
        min: Option<Value>,
        max: Option<Value>,
    },
    Number {
        min: Option<Value>,
        max: Option<Value>,
    },
    Boolean,
    Date {
        range: DateRange,
    },
    DateTime {
        range: DateRange,
    },
    List {
        items: Box<Rule>,
        length: Length,
    },
    Object(Schema),
    Any,
}

/// The texts that are taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TextForm {
    Any,
    Email,
    Url,
}

/// The required number of characters or items there must be.
#[derive(Clone, Copy, Default)]
pub(crate) struct Length {
    pub(crate) min: Option<usize>,
    pub(crate) max: Option<usize>,
    pub(crate) exact: Option<usize>,
}

/// The dates that are taken.
pub(crate) struct DateRange {
    pub(crate) min: Option<DateBound>,
    pub(crate) max: Option<DateBound>,
    /// The zone of `today`, and of dates and times without an offset.
    pub(crate) zone: TimeZone,
}

/// The first or last date that is taken.
pub(crate) enum DateBound {
    /// The time of the check.
    Now,
    At(String),
}

/// The options of a field.
const OPTIONS: &[&str] = &[
    "type", "required", "trim", "min", "max", "length", "pattern", "enum", "items", "fields",
    "default", "check", "message", "tz",
];
const TYPES: &[&str] = &[
    "string", "integer", "number", "boolean", "date", "datetime", "email", "url", "list", "object",
    "any",
];

/// The options of one field as they were given.
#[derive(Default)]
struct Given {
    ty: Option<String>,
    required: Option<bool>,
    trim: Option<bool>,
    min: Option<Handle>,
    max: Option<Handle>,
    length: Option<Handle>,
    pattern: Option<String>,
    choices: Option<Handle>,
    items: Option<Handle>,
    fields: Option<Handle>,
    default: Option<Handle>,
    check: Option<Callback>,
    message: Option<String>,
    tz: Option<String>,
}

impl Schema {
    /// Reads a schema.
    pub(crate) fn read(
        context: &Context,
        reader: &dyn Reader,
        schema: Handle,
    ) -> Result<Self, Error> {
        let reading = SchemaReader {
            context,
            reader,
            path: RefCell::default(),
        };
        reading.schema(schema)
    }
}

struct SchemaReader<'a> {
    context: &'a Context,
    reader: &'a dyn Reader,
    /// The names of the fields around what is read.
    path: RefCell<Vec<String>>,
}

impl SchemaReader<'_> {
    fn schema(&self, it: Handle) -> Result<Schema, Error> {
        if self.reader.kind(it) != Kind::Map {
            return Err(self.fault("a schema must have the names of fields, and what each must be"));
        }
        let mut fields = Vec::new();
        for key in self.reader.keys(it)?.iter() {
            let Some(name) = self.reader.text(key) else {
                return Err(self.fault("a schema has text for the names of its fields"));
            };
            let rule = self.inside(&name, || self.rule(self.reader.value(it, key)?))?;
            fields.push(Field { name, key, rule });
        }
        Ok(Schema { fields })
    }

    fn inside<R>(&self, name: &str, read: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
        if self.path.borrow().len() == DEPTH_MAX {
            return Err(self.fault(&format!("a schema nests at most {DEPTH_MAX} deep")));
        }
        self.path.borrow_mut().push(name.to_owned());
        let result = read();
        self.path.borrow_mut().pop();
        result
    }

    fn rule(&self, it: Handle) -> Result<Rule, Error> {
        let mut given = match self.reader.kind(it) {
            Kind::Text => Given {
                ty: self.reader.text(it),
                ..Given::default()
            },
            Kind::Map => self.given(it)?,
            _ => return Err(self.fault("it must be the name of a type, or options")),
        };
        let ty = self.ty(&mut given)?;
        let default = given.default.map(|it| self.plain("default", it));
        let choices = given.choices.map(|it| self.choices(it)).transpose()?;
        self.check_none_left(&given)?;
        Ok(Rule {
            ty,
            is_required: given.required.unwrap_or(false),
            default: default.transpose()?,
            choices,
            check: given.check,
            message: given.message,
        })
    }

    fn given(&self, options: Handle) -> Result<Given, Error> {
        let reader = self.reader;
        let mut given = Given::default();
        for key in reader.keys(options)?.iter() {
            let name = reader.text(key).unwrap_or_default();
            let it = reader.value(options, key)?;
            let text = || match reader.kind(it) {
                Kind::Text => Ok(reader.text(it)),
                _ => Err(self.fault(&format!("{name} must be text"))),
            };
            let flag = || match reader.kind(it) {
                Kind::Bool(value) => Ok(Some(value)),
                _ => Err(self.fault(&format!("{name} must be true or false"))),
            };
            if reader.kind(it) == Kind::Nothing {
                continue;
            }
            match name.as_str() {
                "type" => given.ty = text()?,
                "required" => given.required = flag()?,
                "trim" => given.trim = flag()?,
                "min" => given.min = Some(it),
                "max" => given.max = Some(it),
                "length" => given.length = Some(it),
                "pattern" => given.pattern = text()?,
                "enum" => given.choices = Some(it),
                "items" => given.items = Some(it),
                "fields" => given.fields = Some(it),
                "default" => given.default = Some(it),
                "message" => given.message = text()?,
                "tz" => given.tz = text()?,
                "check" => {
                    given.check = reader.callback(it)?;
                    if given.check.is_none() {
                        return Err(self.fault("check must be a function"));
                    }
                }
                name => {
                    let error = refusals::unknown_option(name, OPTIONS);
                    return Err(self.fault(error.message()));
                }
            }
        }
        Ok(given)
    }

    /// Takes the options that belong to a type.
    fn ty(&self, given: &mut Given) -> Result<RuleType, Error> {
        let name = given.ty.clone().unwrap_or_else(|| "string".to_owned());
        Ok(match name.as_str() {
            "string" => self.text(TextForm::Any, given)?,
            "email" => self.text(TextForm::Email, given)?,
            "url" => self.text(TextForm::Url, given)?,
            "integer" => RuleType::Integer {
                min: self.number("min", given.min.take())?,
                max: self.number("max", given.max.take())?,
            },
            "number" => RuleType::Number {
                min: self.number("min", given.min.take())?,
                max: self.number("max", given.max.take())?,
            },
            "boolean" => RuleType::Boolean,
            "date" => RuleType::Date {
                range: self.dates(given, "today")?,
            },
            "datetime" => RuleType::DateTime {
                range: self.dates(given, "now")?,
            },
            "list" => RuleType::List {
                length: self.length(given)?,
                items: Box::new(match given.items.take() {
                    Some(items) => self.inside("items", || self.rule(items))?,
                    None => Rule::any(),
                }),
            },
            "object" => match given.fields.take() {
                Some(fields) => RuleType::Object(self.schema(fields)?),
                None => return Err(self.fault("an object needs fields")),
            },
            "any" => RuleType::Any,
            other => {
                let known = TYPES.join(", ");
                return Err(self.fault(&format!("there is no type {other:?}; there is {known}")));
            }
        })
    }

    fn text(&self, form: TextForm, given: &mut Given) -> Result<RuleType, Error> {
        let pattern = given.pattern.take();
        Ok(RuleType::Text {
            form,
            trim: given.trim.take().unwrap_or(true),
            length: self.length(given)?,
            pattern: pattern.map(|text| self.pattern(text)).transpose()?,
        })
    }

    fn length(&self, given: &mut Given) -> Result<Length, Error> {
        let count = |name, it: Option<Handle>| match it.map(|it| self.reader.kind(it)) {
            None => Ok(None),
            Some(Kind::Int(count @ 0..)) => Ok(usize::try_from(count).ok()),
            Some(_) => Err(self.fault(&format!("{name} must be a whole number from 0"))),
        };
        Ok(Length {
            min: count("min", given.min.take())?,
            max: count("max", given.max.take())?,
            exact: count("length", given.length.take())?,
        })
    }

    fn number(&self, name: &str, it: Option<Handle>) -> Result<Option<Value>, Error> {
        match it.map(|it| self.reader.kind(it)) {
            None => Ok(None),
            Some(Kind::Int(number)) => Ok(Some(Value::Int(number))),
            Some(Kind::Float(number)) if !number.is_nan() => Ok(Some(Value::Float(number))),
            Some(_) => Err(self.fault(&format!("{name} must be a number"))),
        }
    }

    /// `now` is the word for the time of the check.
    fn dates(&self, given: &mut Given, now: &str) -> Result<DateRange, Error> {
        let zone = given.tz.take().map(|name| {
            TimeZone::get(&name).map_err(|_| {
                let shown: String = name.chars().take(60).collect();
                self.fault(&format!(
                    "there is no time zone {shown:?}: write an IANA name such as \"Europe/Berlin\" or \"UTC\""
                ))
            })
        });
        Ok(DateRange {
            min: self.date("min", given.min.take(), now)?,
            max: self.date("max", given.max.take(), now)?,
            zone: zone.transpose()?.unwrap_or(TimeZone::UTC),
        })
    }

    fn date(&self, name: &str, it: Option<Handle>, now: &str) -> Result<Option<DateBound>, Error> {
        let Some(it) = it else {
            return Ok(None);
        };
        let text = match self.reader.kind(it) {
            Kind::Text => self.reader.text(it).unwrap_or_default(),
            _ => String::new(),
        };
        if text == now {
            return Ok(Some(DateBound::Now));
        }
        let bound = match now {
            "today" => date::is_date(&text).then_some(text),
            _ => date::datetime(&text),
        };
        let Some(bound) = bound else {
            let (such, short) = ("2024-12-31T23:59", "2024-12-31");
            let such = if now == "today" { short } else { such };
            return Err(self.fault(&format!("{name} must be {now:?}, or such as {such:?}")));
        };
        Ok(Some(DateBound::At(bound)))
    }

    fn choices(&self, it: Handle) -> Result<Vec<Value>, Error> {
        match self.plain("enum", it)? {
            Value::List(choices) if !choices.is_empty() => Ok(choices),
            _ => Err(self.fault("enum must be a list of values, with one at least")),
        }
    }

    fn plain(&self, name: &str, it: Handle) -> Result<Value, Error> {
        let mut bytes_left = usize::MAX;
        let copied = copy(self.reader, it, DEPTH_MAX, &mut bytes_left)?;
        copied.ok_or_else(|| self.fault(&format!("{name} must have plain values")))
    }

    /// A pattern, compiled once.
    fn pattern(&self, text: String) -> Result<Rc<Regex>, Error> {
        #[derive(Default)]
        struct Patterns(RefCell<HashMap<String, Rc<Regex>>>);

        let patterns = self.context.get::<Patterns>().unwrap_or_else(|| {
            self.context.put(Patterns::default());
            self.context.get().unwrap_or_default()
        });
        if let Some(known) = patterns.0.borrow().get(&text) {
            return Ok(Rc::clone(known));
        }
        // The whole text must match, as in the attribute `pattern` of HTML. A pattern that is none by itself must not
        // become one in the group.
        let whole = format!("^(?:{text})$");
        // With the flag x a comment goes on to the end of its line.
        let with_comment = format!("^(?:{text}\n)$");
        let compile = |text: &str| {
            RegexBuilder::new(text)
                .size_limit(PATTERN_BYTES_MAX)
                .build()
        };
        let compiled = compile(&text).and_then(|_| {
            compile(&whole).or_else(|error| compile(&with_comment).map_err(|_| error))
        });
        let compiled = compiled.map_err(|error| {
            self.fault(&format!(
                "pattern {text:?} is not a regular expression: {error}"
            ))
        })?;
        let (compiled, mut known) = (Rc::new(compiled), patterns.0.borrow_mut());
        if known.len() >= PATTERNS_MAX {
            known.clear();
        }
        known.insert(text, Rc::clone(&compiled));
        Ok(compiled)
    }

    /// An option that a type has no use for is a mistake.
    fn check_none_left(&self, given: &Given) -> Result<(), Error> {
        let left = [
            ("trim", given.trim.is_some()),
            ("min", given.min.is_some()),
            ("max", given.max.is_some()),
            ("length", given.length.is_some()),
            ("pattern", given.pattern.is_some()),
            ("items", given.items.is_some()),
            ("fields", given.fields.is_some()),
            ("tz", given.tz.is_some()),
        ];
        let Some((name, _)) = left.iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        let ty = given.ty.as_deref().unwrap_or("string");
        Err(self.fault(&format!("{name} means nothing for the type {ty}")))
    }

    #[cold]
    fn fault(&self, what: &str) -> Error {
        let path = self.path.borrow().join(".");
        Error::script(match path.as_str() {
            "" => what.to_owned(),
            path => format!("field {path}: {what}"),
        })
    }
}

impl Rule {
    fn any() -> Self {
        Self {
            ty: RuleType::Any,
            is_required: false,
            default: None,
            choices: None,
            check: None,
            message: None,
        }
    }

    /// The key of what is said of a value of another type.
    pub(crate) fn type_key(&self) -> &'static str {
        match &self.ty {
            RuleType::Text { form, .. } => match form {
                TextForm::Any => "string",
                TextForm::Email => "email",
                TextForm::Url => "url",
            },
            RuleType::Integer { .. } => "integer",
            RuleType::Number { .. } => "number",
            RuleType::Boolean => "boolean",
            RuleType::Date { .. } => "date",
            RuleType::DateTime { .. } => "datetime",
            RuleType::List { .. } => "list",
            RuleType::Object(_) => "object",
            RuleType::Any => "any",
        }
    }
}
