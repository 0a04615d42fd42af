//! The limits of one step of a template. minijinja does each of its filters and operators to the end: nothing can stop
//! it between, so what it
//! would need is counted before.

use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::objects::Namespace;
use minijinja::Value;
use minijinja::value::ValueKind;
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

    /// Looks at a filter or a method before it is called.
    pub(super) fn check_call(&mut self, name: &str, args: &[Value]) -> Outcome<()> {
        let Some(value) = args.first() else {
            return Ok(());
        };
        let (text, items) = (value.as_str(), value.len().unwrap_or(0));
        let number = |at: usize| args.get(at).and_then(Value::as_i64).unwrap_or(0);
        self.spend(text.map_or(items.saturating_mul(size_of::<Value>()), str::len))?;
        match (name, text) {
            ("slice" | "batch", _) if number(1) > COUNT_MAX => Err(too_many("groups", COUNT_MAX)),
            ("tojson", _) if number(1) > WIDTH_MAX => Err(too_many("columns", WIDTH_MAX)),
            ("indent", _) if number(1) > WIDTH_MAX => Err(too_many("columns", WIDTH_MAX)),
            ("indent", Some(text)) => {
                let lines = text.matches('\n').count() + 1;
                let columns = match args.get(1).and_then(Value::as_str) {
                    Some(indentation) => indentation.len(),
                    None => usize::try_from(number(1)).unwrap_or(0),
                };
                self.check_bytes(lines.saturating_mul(columns).saturating_add(text.len()))
            }
            ("format", Some(text)) => {
                let has_star = text.contains('*');
                let widest = widest_number(text);
                let given = args[1..].iter().filter_map(Value::as_i64).max();
                let widest = given.filter(|_| has_star).unwrap_or(0).max(widest);
                match widest > WIDTH_MAX {
                    true => Err(too_many("columns", WIDTH_MAX)),
                    false => Ok(()),
                }
            }
            ("replace", Some(text)) => {
                let (from, to) = (text_of(args.get(1)), text_of(args.get(2)));
                let found = match from.is_empty() {
                    true => text.chars().count() + 1,
                    false => text.matches(from).count(),
                };
                self.check_bytes(found.saturating_mul(to.len()).saturating_add(text.len()))
            }
            ("join", _) => {
                let parts = text.map_or(items, |text| text.chars().count());
                let between = text_of(args.get(1)).len();
                self.check_bytes(parts.saturating_mul(between))
            }
            ("wordwrap", Some(text)) => {
                let between = text_of(args.get(3)).len();
                self.check_bytes(text.len().saturating_mul(between.max(1)))
            }
            ("urlize", Some(text)) => {
                let around = 200 + text_of(args.get(3)).len() + text_of(args.get(4)).len();
                let words = text.split_whitespace().count();
                let bytes = words.saturating_mul(around * 6);
                self.check_bytes(bytes.saturating_add(text.len().saturating_mul(18)))
            }
            ("split" | "lines" | "splitlines", Some(text)) => {
                let parts = match text_of(args.get(1)) {
                    "" => text.len(),
                    between => text.matches(between).count() + 1,
                };
                self.check_values(parts)
            }
            ("list" | "sort" | "reverse", Some(text)) => self.check_values(text.len()),
            ("unique", _) if items > OBJECTS_MAX && has_objects(value) => {
                Err(too_many("objects", OBJECTS_MAX))
            }
            ("sum", _) if items > OBJECTS_MAX && has_objects(value) => {
                Err(too_many("lists to add", OBJECTS_MAX))
            }
            ("select" | "reject" | "selectattr" | "rejectattr", _) => {
                let longest = args[1..].iter().filter_map(Value::len).max().unwrap_or(0);
                match items.saturating_mul(longest) > PAIRS_MAX && args.len() > 2 {
                    true => Err(too_many("comparisons", PAIRS_MAX)),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Fails if a namespace must not have a value: one that nests without end could not even be dropped.
    pub(super) fn check_member(&mut self, value: &Value) -> Outcome<()> {
        if !is_container(value) {
            return Ok(());
        }
        let (mut open, mut seen) = (vec![(value.clone(), 1_usize)], 0_usize);
        while let Some((value, depth)) = open.pop() {
            if value.downcast_object_ref::<Namespace>().is_some() {
                return Err(Fault::new(
                    "invalid operation: a namespace cannot have a namespace in it",
                ));
            }
            if depth > DEPTH_MAX {
                return Err(Fault::new(
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
        };
        match fmt::Write::write_fmt(&mut shown, format_args!("{value}")) {
            Ok(()) => Ok(shown.text),
            Err(_) if shown.bytes_left == 0 => Err(self.limits.value_too_large().into()),
            Err(_) => Err(Fault::new("failed to write output")),
        }
    }
}

/// Text that may not grow without end.
struct Shown {
    text: String,
    bytes_left: usize,
}

impl fmt::Write for Shown {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        match self.bytes_left.checked_sub(part.len()) {
            Some(left) => self.bytes_left = left,
            None => {
                self.bytes_left = 0;
                return Err(fmt::Error);
            }
        }
        self.text.push_str(part);
        Ok(())
    }
}

#[cold]
fn too_many(what: &str, most: impl fmt::Display) -> Box<Fault> {
    Fault::new(format!("too many {what}: at most {most}"))
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
