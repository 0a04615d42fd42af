//! The limits of one step of a template. minijinja does each of its filters and operators to the end: nothing can stop
//! it between, so the memory that it would need is counted before.

use super::Machine;
use crate::fault::{Outcome, TemplateFault};
use crate::jinja2::sizes::{BYTES_PER_CHECK, Form, TEXT_FILTERS, weigh};
use crate::jinja2::{argument, normalised};
use crate::objects::Namespace;
use crate::program::Escape;
use minijinja::Value;
use minijinja::value::ValueKind;
use sampan_host::{Error, Reader};
use std::fmt;

/// The most items of a list that is made of a number, such as by `slice` and `batch`.
const COUNT_MAX: i64 = 100_000;
/// The widest indentation and the widest place of a number in `format`.
const WIDTH_MAX: i64 = 1_000;
/// The most pairs of values that are compared.
const PAIRS_MAX: usize = 5_000_000;
/// The most objects whose duplicates are looked for.
const OBJECTS_MAX: usize = 10_000;
/// The most values in what a namespace is given, and how deep they nest.
const VALUES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 200;
/// The most bytes that adding texts one by one copies.
const ADDED_BYTES_MAX: usize = 2_000_000_000;
/// The number of bytes of work that count as a round of a loop.
const BYTES_PER_ROUND: usize = 4096;

impl Machine<'_, '_> {
    /// Counts work on so many bytes, and looks at the time now and then.
    #[inline]
    pub(super) fn spend(&mut self, bytes: usize) -> Outcome<()> {
        let rounds = u32::try_from(bytes / BYTES_PER_ROUND).unwrap_or(u32::MAX);
        if rounds >= self.rounds_until_check {
            self.rounds_until_check = super::ROUNDS_PER_CHECK;
            self.reader.check()?;
        } else {
            self.rounds_until_check -= rounds;
        }
        Ok(())
    }

    /// Fails if a result of so many bytes is more than the isolate may have memory.
    pub(super) fn check_bytes(&self, bytes: usize) -> Outcome<()> {
        if bytes > self.limits.memory_bytes_max {
            return Err(self.limits.value_too_large().into());
        }
        Ok(())
    }

    /// Fails if so many values are more than the isolate may have memory.
    pub(super) fn check_values(&self, count: usize) -> Outcome<()> {
        self.check_bytes(count.saturating_mul(size_of::<Value>()))
    }

    /// Fails if the result of a filter or a method would be larger than the isolate may have memory.
    pub(super) fn check_call(&mut self, name: &str, args: &[Value]) -> Outcome<()> {
        let bytes = self.call_bytes(name, args)?;
        self.check_bytes(bytes)?;
        self.spend(bytes)
    }

    /// Estimates the size of the result of a filter or a method, in bytes. Stops soon after the limit.
    ///
    /// # Errors
    /// Fails if an argument is beyond a limit of its own, or if the time is over.
    fn call_bytes(&mut self, name: &str, args: &[Value]) -> Outcome<usize> {
        let Some(value) = args.first() else {
            return Ok(0);
        };
        let (text, items) = (value.as_str(), value.len().unwrap_or(0));
        let number = |at: usize| args.get(at).and_then(Value::as_i64).unwrap_or(0);
        self.spend(text.map_or(items.saturating_mul(size_of::<Value>()), str::len))?;
        Ok(match (name, text) {
            ("slice" | "batch", _) if number(1) > COUNT_MAX => {
                return Err(too_many("groups", COUNT_MAX));
            }
            ("indent", _) if number(1) > WIDTH_MAX => {
                return Err(too_many("columns", WIDTH_MAX));
            }
            ("tojson", _) => {
                let indent = argument(args, 1, "indent").as_i64().unwrap_or(2);
                if indent > WIDTH_MAX {
                    return Err(too_many("columns", WIDTH_MAX));
                }
                self.weigh(value, Form::Json, usize::try_from(indent).unwrap_or(0))?
            }
            ("pprint", _) => self.weigh(value, Form::Shown, 4)?,
            ("xmlattr", _) => self.weigh(value, Form::Html, 0)?,
            ("urlencode", _) => self.weigh(value, Form::Url, 0)?,
            ("escape" | "e" | "forceescape", _) => self.weigh(value, Form::Html, 0)?,
            ("join", _) => self.join_bytes(value, &argument(args, 1, "d"))?,
            ("sum", _) => self.sum_bytes(value, &argument(args, 2, "start"))?,
            ("map", _) => self.map_bytes(value, &args[1..])?,
            (name, None) if is_container(value) && TEXT_FILTERS.contains(&name) => {
                // These write the value as text first.
                let bytes = self.weigh(value, Form::Shown, 0)?;
                let mut longest = 1;
                for arg in args[1..].iter().filter(|arg| !arg.is_number()) {
                    let bytes = self.weigh(arg, Form::Shown, 0)?;
                    longest = bytes.saturating_sub(size_of::<Value>()).max(longest);
                }
                match name {
                    "replace" | "wordwrap" => bytes.saturating_mul(longest),
                    "urlize" => bytes.saturating_mul(18),
                    _ => bytes,
                }
            }
            ("indent", Some(text)) => {
                let lines = text.matches('\n').count() + 1;
                let columns = match args.get(1).and_then(Value::as_str) {
                    Some(indentation) => indentation.len(),
                    None => usize::try_from(number(1)).unwrap_or(0),
                };
                lines.saturating_mul(columns).saturating_add(text.len())
            }
            ("format", Some(text)) => self.format_bytes(text, value.is_safe(), &args[1..])?,
            ("replace", Some(text)) => {
                let is_safe = args.iter().any(Value::is_safe);
                let form = match is_safe && self.escape != Escape::None {
                    true => Form::Html,
                    false => Form::Plain,
                };
                let from = text_of(args.get(1));
                let to = match args.get(2) {
                    Some(to) if is_container(to) => self.weigh(to, Form::Shown, 0)?,
                    to => form.bytes_of(text_of(to)),
                };
                let found = match from.is_empty() {
                    true => text.chars().count() + 1,
                    false => text.matches(from).count(),
                };
                found.saturating_mul(to).saturating_add(form.bytes_of(text))
            }
            ("wordwrap", Some(text)) => {
                let between = text_of(args.get(3)).len();
                text.len().saturating_mul(between.max(1))
            }
            ("urlize", Some(text)) => {
                let around = 200 + text_of(args.get(3)).len() + text_of(args.get(4)).len();
                let words = text.split_whitespace().count();
                let bytes = words.saturating_mul(around * 6);
                bytes.saturating_add(text.len().saturating_mul(18))
            }
            ("split" | "lines" | "splitlines", Some(text)) => {
                let parts = match text_of(args.get(1)) {
                    "" => text.len(),
                    between => text.matches(between).count() + 1,
                };
                parts.saturating_mul(size_of::<Value>())
            }
            ("list" | "sort" | "reverse", Some(text)) => {
                text.len().saturating_mul(size_of::<Value>())
            }
            ("list" | "reverse", None) => items.saturating_mul(size_of::<Value>()),
            ("unique", _) if items > OBJECTS_MAX && has_objects(value) => {
                return Err(too_many("objects", OBJECTS_MAX));
            }
            // These compare texts in small letters.
            ("sort" | "unique" | "min" | "max" | "groupby" | "dictsort", None) => {
                self.weigh(value, Form::Plain, 0)?
            }
            ("select" | "reject" | "selectattr" | "rejectattr", _) => {
                let longest = args[1..].iter().filter_map(Value::len).max().unwrap_or(0);
                if items.saturating_mul(longest) > PAIRS_MAX && args.len() > 2 {
                    return Err(too_many("comparisons", PAIRS_MAX));
                }
                0
            }
            ("upper" | "lower" | "title" | "capitalize" | "center", Some(text)) => text.len(),
            _ => 0,
        })
    }

    /// Counts the bytes of a value as text, up to the limit.
    fn weigh(&mut self, value: &Value, form: Form, indent: usize) -> Outcome<usize> {
        let bytes_max = self.limits.memory_bytes_max;
        weigh(value, form, indent, bytes_max, &mut |bytes| {
            self.spend(bytes)
        })
    }

    /// Estimates the filter `join`, and the method, whose separator comes first.
    fn join_bytes(&mut self, value: &Value, other: &Value) -> Outcome<usize> {
        let (list, between) = match is_container(other) {
            true => (other, value),
            false => (value, other),
        };
        let form = match self.escape {
            Escape::None => Form::Shown,
            Escape::Html => Form::Html,
            Escape::Json => Form::Json,
        };
        let parts = list.len().unwrap_or(0);
        let between = form.bytes_of(between.as_str().unwrap_or_default());
        let texts = self.weigh(list, form, 0)?;
        Ok(parts.saturating_mul(between).saturating_add(texts))
    }

    /// Estimates the filter `sum`. It copies the texts that it has added for each one that it adds.
    fn sum_bytes(&mut self, value: &Value, start: &Value) -> Outcome<usize> {
        let items = value.len().unwrap_or(0);
        if items > OBJECTS_MAX && has_objects(value) {
            return Err(too_many("lists to add", OBJECTS_MAX));
        }
        let bytes = self.weigh(value, Form::Plain, 0)?;
        self.check_bytes(bytes)?;
        if start.as_str().is_some() && bytes.saturating_mul(items) / 2 > ADDED_BYTES_MAX {
            return Err(too_many("bytes to add text by text", ADDED_BYTES_MAX));
        }
        Ok(bytes)
    }

    /// Estimates the filter `map`: the results of the filter that it applies to each item.
    fn map_bytes(&mut self, value: &Value, args: &[Value]) -> Outcome<usize> {
        let mut bytes = value.len().unwrap_or(0).saturating_mul(size_of::<Value>());
        let Some((filter, rest)) = args.split_first() else {
            return Ok(bytes);
        };
        let (Some(filter), Ok(items)) = (filter.as_str(), value.try_iter()) else {
            return Ok(bytes);
        };
        for item in items {
            if bytes > self.limits.memory_bytes_max {
                break;
            }
            self.count_round()?;
            let given: Vec<Value> = [item].into_iter().chain(rest.iter().cloned()).collect();
            // Wrong arguments are an error of the filter itself.
            let given = normalised(filter, given.clone()).unwrap_or(given);
            bytes = bytes.saturating_add(self.call_bytes(filter, &given)?);
        }
        Ok(bytes)
    }

    /// Estimates the filter and the method `format`.
    fn format_bytes(&mut self, text: &str, is_safe: bool, args: &[Value]) -> Outcome<usize> {
        let has_star = text.contains('*');
        let widest = widest_number(text);
        let given = args.iter().filter_map(Value::as_i64).max();
        let widest = given.filter(|_| has_star).unwrap_or(0).max(widest);
        if widest > WIDTH_MAX {
            return Err(too_many("columns", WIDTH_MAX));
        }
        let form = match is_safe {
            true => Form::Html,
            false => Form::Shown,
        };
        let (mut all, mut longest) = (0_usize, 0);
        for arg in args {
            let bytes = self.weigh(arg, form, 0)?;
            longest = bytes.max(longest);
            all = all.saturating_add(bytes);
        }
        // Pieces without a number or a name take the next argument. The others may take one again and again.
        let pieces = text.matches(['{', '%']).count();
        let next = text.matches("{}").count() + text.matches("{:").count();
        let again = text.matches('{').count().saturating_sub(next) + text.matches("%(").count();
        let widths = pieces.saturating_mul(usize::try_from(widest).unwrap_or(0));
        let bytes = again.saturating_mul(longest).saturating_add(all);
        Ok(bytes.saturating_add(widths).saturating_add(text.len()))
    }

    /// Fails if a namespace must not have a value: one that nests without end could not even be dropped.
    pub(super) fn check_member(&mut self, value: &Value) -> Outcome<()> {
        if !is_container(value) {
            return Ok(());
        }
        let (mut open, mut seen) = (vec![(value.clone(), 1_usize)], 0_usize);
        while let Some((value, depth)) = open.pop() {
            if value.downcast_object_ref::<Namespace>().is_some() {
                return Err(TemplateFault::new(
                    "invalid operation: a namespace cannot have a namespace in it",
                ));
            }
            if depth > DEPTH_MAX {
                return Err(TemplateFault::new(
                    "the values of a namespace nest too deeply, or those of a list or a map that is changed",
                ));
            }
            let Ok(parts) = value.try_iter() else {
                continue;
            };
            let is_map = value.kind() == ValueKind::Map;
            for part in parts.checked() {
                let part = part?;
                seen += 1;
                if seen > VALUES_MAX {
                    return Err(too_many(
                        "values in a namespace, or at once in a list or a map that is changed",
                        VALUES_MAX,
                    ));
                }
                if is_map
                    && let Ok(member) = value.get_item(&part)
                    && is_container(&member)
                {
                    open.push((member, depth + 1));
                }
                if is_container(&part) {
                    open.push((part, depth + 1));
                }
            }
        }
        self.kept_values += seen + 1;
        self.check_values(self.kept_values)?;
        self.spend(seen * size_of::<Value>())?;
        self.count_round()
    }

    /// A value as text, up to what the isolate may have memory.
    pub(super) fn shown(&self, value: &Value) -> Outcome<String> {
        let mut shown = Shown {
            text: String::new(),
            bytes_left: self.limits.memory_bytes_max,
            bytes_until_check: BYTES_PER_CHECK,
            reader: self.reader,
            stopped: None,
        };
        let written = fmt::Write::write_fmt(&mut shown, format_args!("{value}"));
        if let Some(error) = shown.stopped {
            return Err(error.into());
        }
        match written {
            Ok(()) => Ok(shown.text),
            Err(_) if shown.bytes_left == 0 => Err(self.limits.value_too_large().into()),
            Err(_) => Err(TemplateFault::new("failed to write output")),
        }
    }
}

/// Text that may not grow without end.
struct Shown<'m> {
    text: String,
    bytes_left: usize,
    bytes_until_check: usize,
    reader: &'m dyn Reader,
    /// The error of the reader when the time was over.
    stopped: Option<Error>,
}

impl fmt::Write for Shown<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        match self.bytes_left.checked_sub(part.len()) {
            Some(left) => self.bytes_left = left,
            None => {
                self.bytes_left = 0;
                return Err(fmt::Error);
            }
        }
        self.text.push_str(part);
        if let Some(left) = self.bytes_until_check.checked_sub(part.len()) {
            self.bytes_until_check = left;
            return Ok(());
        }
        self.bytes_until_check = BYTES_PER_CHECK;
        self.reader.check().map_err(|error| {
            self.stopped = Some(error);
            fmt::Error
        })
    }
}

#[cold]
fn too_many(what: &str, most: impl fmt::Display) -> Box<TemplateFault> {
    TemplateFault::new(format!("too many {what}: at most {most}"))
}

fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn is_container(value: &Value) -> bool {
    value.as_object().is_some()
}

/// Reports whether the first item is neither text nor a number: comparing such takes longer.
fn has_objects(value: &Value) -> bool {
    let first = value.try_iter().ok().and_then(|mut items| items.next());
    first.is_some_and(|first| is_container(&first))
}

/// The largest number in a text.
fn widest_number(text: &str) -> i64 {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let numbers = numbers.filter(|digits| !digits.is_empty());
    numbers
        .map(|digits| digits.parse().unwrap_or(i64::MAX))
        .max()
        .unwrap_or(0)
}
