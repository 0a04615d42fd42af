//! Values for people to read, in the log: reading them never fails, calls no getter and no proxy, and ends at limits of
//! its own.
//!
//! Values without plain data are named in brackets. An error is a map with `error` (its name and message), `stack`, and
//! where it has them `cause` and `errors`.

use crate::values::inspect::{self, FoundProperty};
use crate::values::property_names::PropertyNames;
use crate::values::value::{bytes_of, from_js};
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, address, class_id, is_object, is_promise, is_string,
    tag,
};
use rquickjs::qjs;
use sampan_host::{Error, ErrorKind, Value};
use std::ffi::{CStr, c_void};

/// The depth to which values are read.
const DEPTH_MAX: usize = 12;
/// The number of values that are read, all together.
const VALUES_MAX: usize = 10_000;
/// The number of bytes of text that are read, all together; a line of the log is never longer.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// The number of errors of an `AggregateError` that are read.
const ERRORS_MAX: u32 = 10;

/// Reads a value. Fails only where the script must stop.
pub(crate) fn read(cx: Cx<'_>, value: RawValue<'_>) -> Result<Value, Failure> {
    let mut reader = ShownReader {
        cx,
        inside: Vec::new(),
        values_left: VALUES_MAX,
        bytes_left: TEXT_BYTES_MAX,
    };
    let shown = reader.read(value);
    if cx.core().must_stop() {
        return Err(Error::new(ErrorKind::Stopped, "the script ran too long").into());
    }
    Ok(shown)
}

struct ShownReader<'a> {
    cx: Cx<'a>,
    /// The objects that are being read, to notice a cycle.
    inside: Vec<*mut c_void>,
    values_left: usize,
    bytes_left: usize,
}

impl ShownReader<'_> {
    fn read(&mut self, value: RawValue<'_>) -> Value {
        if self.values_left == 0 || self.bytes_left == 0 || self.cx.core().must_stop() {
            return named("...");
        }
        self.values_left -= 1;
        match tag(value) {
            qjs::JS_TAG_OBJECT => self.read_object(value),
            qjs::JS_TAG_SYMBOL => named("[symbol]"),
            // As text a number of a million bits would take seconds.
            qjs::JS_TAG_BIG_INT => self.read_big_int(value),
            _ if is_string(value) => self.text(value),
            _ => self.tried(from_js(self.cx, value), "[unreadable]"),
        }
    }

    /// Returns the value that was read, or a name where reading threw.
    fn tried<E: Into<Failure>>(&self, read: Result<Value, E>, name: &str) -> Value {
        read.unwrap_or_else(|fault| {
            if matches!(fault.into(), Failure::Thrown) {
                drop(self.cx.exception());
            }
            named(name)
        })
    }

    fn text(&mut self, value: RawValue<'_>) -> Value {
        match self.cx.text(value) {
            Ok(text) => Value::Text(self.cut(text)),
            Err(Thrown) => self.tried::<Failure>(Err(Failure::Thrown), "[unreadable]"),
        }
    }

    fn cut(&mut self, mut text: String) -> String {
        if text.len() > self.bytes_left {
            text.truncate(text.floor_char_boundary(self.bytes_left));
            text.push_str("...");
            self.bytes_left = 0;
        } else {
            self.bytes_left -= text.len();
        }
        text
    }

    /// A BigInt of up to 64 bits: one that is the same when it is made from those again.
    fn read_big_int(&mut self, value: RawValue<'_>) -> Value {
        let cx = self.cx;
        let mut number = 0;
        // SAFETY: the value is alive, `number` is writable.
        let is_same = unsafe {
            qjs::JS_ToBigInt64(cx.raw(), &raw mut number, value.js()) >= 0
                && cx
                    .check(qjs::JS_NewBigInt64(cx.raw(), number))
                    .is_ok_and(|made| qjs::JS_IsStrictEqual(cx.raw(), made.js(), value.js()))
        };
        if is_same {
            return Value::Int(number);
        }
        drop(cx.exception());
        named("[BigInt of more than 64 bits]")
    }

    fn read_object(&mut self, value: RawValue<'_>) -> Value {
        if inspect::is_proxy(value) {
            return named("[proxy]");
        }
        if self.cx.is_function(value) {
            return named("[function]");
        }
        if is_promise(value) {
            return named("[promise]");
        }
        if self.inside.contains(&address(value)) {
            return named("[object that contains itself]");
        }
        if self.inside.len() >= DEPTH_MAX {
            return named("[...]");
        }
        // SAFETY: something else holds the value for the lifetime of the `RawValue`; these only read its class.
        let (is_error, is_date) =
            unsafe { (qjs::JS_IsError(value.js()), qjs::JS_IsDate(value.js())) };
        self.inside.push(address(value));
        let shown = if is_error {
            self.read_error(value)
        } else if is_date {
            let date = from_js(self.cx, value);
            self.tried(date, "[Date]")
        } else if class_id(value) == self.cx.core().classes.array {
            self.read_list(value, u32::MAX)
        } else if let Some(bytes) = bytes_of(self.cx, value) {
            Value::Text(self.cut(String::from_utf8_lossy(&bytes).into_owned()))
        } else {
            self.read_members(value)
        };
        self.inside.pop();
        shown
    }

    /// The property of an object or its prototypes, if it is plain data.
    fn plain(&mut self, object: RawValue<'_>, name: &CStr) -> Option<Value> {
        match inspect::named(self.cx, object, name, UNDEFINED) {
            Ok(FoundProperty::Value(value)) => Some(self.read(value.raw())),
            Ok(FoundProperty::Nothing) => None,
            Ok(FoundProperty::Computed) => Some(named("[getter]")),
            Err(Thrown) => {
                drop(self.cx.exception());
                None
            }
        }
    }

    fn read_error(&mut self, error: RawValue<'_>) -> Value {
        let text_of = |value: Option<Value>| match value {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        };
        let name = text_of(self.plain(error, c"name"));
        let message = text_of(self.plain(error, c"message"));
        let name = if name.is_empty() {
            "Error".into()
        } else {
            name
        };
        let text = if message.is_empty() {
            name
        } else {
            format!("{name}: {message}")
        };
        // The engine's own accessor; one that a script put in its place may throw.
        let stack = match self.cx.get(error, c"stack") {
            Ok(stack) if is_string(stack.raw()) => self.text(stack.raw()),
            Ok(_) => named(""),
            Err(Thrown) => self.tried::<Failure>(Err(Failure::Thrown), ""),
        };
        let mut members = vec![
            ("error".to_owned(), Value::Text(text)),
            ("stack".to_owned(), stack),
        ];
        if let Some(cause) = self.plain(error, c"cause") {
            members.push(("cause".into(), cause));
        }
        if let Ok(FoundProperty::Value(errors)) =
            inspect::named(self.cx, error, c"errors", UNDEFINED)
            && is_object(errors.raw())
            && class_id(errors.raw()) == self.cx.core().classes.array
        {
            let errors = self.read_list(errors.raw(), ERRORS_MAX);
            members.push(("errors".into(), errors));
        }
        for name in [c"code", c"status"] {
            if let Some(value) = self
                .plain(error, name)
                .filter(|value| *value != Value::Null)
            {
                members.push((name.to_string_lossy().into_owned(), value));
            }
        }
        Value::Map(members)
    }

    fn read_list(&mut self, list: RawValue<'_>, items_max: u32) -> Value {
        let length = self.cx.length(list).unwrap_or(0);
        let length = u32::try_from(length).unwrap_or(u32::MAX).min(items_max);
        let mut items = Vec::new();
        for index in 0..length {
            if self.values_left == 0 || self.bytes_left == 0 {
                items.push(named("..."));
                break;
            }
            // SAFETY: the context is alive. An index of 31 bits makes an atom without memory; for a larger one the
            // reference that comes back is freed at the end of this turn of the loop.
            let atom = unsafe { qjs::JS_NewAtomUInt32(self.cx.raw(), index) };
            let item = self.own(list, atom);
            let is_hole = item.is_none() && !inspect::has_own(self.cx, list, atom);
            // SAFETY: `JS_NewAtomUInt32` gave the reference, which is freed once, after its last use.
            unsafe { qjs::JS_FreeAtom(self.cx.raw(), atom) };
            if is_hole {
                self.read_sparse(list, index, length, &mut items);
                break;
            }
            items.push(item.unwrap_or_default());
        }
        Value::List(items)
    }

    /// Reads the items from `next` on, the first of which is a hole, by their names: a short list may be 4 billion
    /// items long.
    fn read_sparse(
        &mut self,
        list: RawValue<'_>,
        mut next: u32,
        length: u32,
        items: &mut Vec<Value>,
    ) {
        let cx = self.cx;
        let Ok(names) = PropertyNames::of(cx, list) else {
            drop(cx.exception());
            return;
        };
        for name in names.iter() {
            let text = cx.name(name).and_then(|name| cx.text(name.raw()));
            let Ok(index) = text.unwrap_or_default().parse::<u32>() else {
                // Indices come first, in order.
                break;
            };
            if index < next || index >= length {
                continue;
            }
            if self.values_left == 0 || self.bytes_left == 0 {
                items.push(named("..."));
                return;
            }
            if index > next {
                items.push(empty_items(index - next));
            }
            items.push(self.own(list, name).unwrap_or_default());
            next = index + 1;
        }
        if length > next {
            items.push(empty_items(length - next));
        }
    }

    fn read_members(&mut self, object: RawValue<'_>) -> Value {
        let cx = self.cx;
        // A class may say itself what it is in JSON. What that throws is not the log's.
        if let Ok(FoundProperty::Value(to_json)) = inspect::named(cx, object, c"toJSON", UNDEFINED)
            && cx.is_function(to_json.raw())
        {
            return match cx.call(to_json.raw(), object, &[]) {
                Ok(plain) => self.read(plain.raw()),
                Err(Thrown) => self.tried::<Failure>(Err(Failure::Thrown), "[toJSON threw]"),
            };
        }
        let list = cx.core().atoms.web_list;
        if let Ok(FoundProperty::Value(list)) = inspect::property(cx, object, list, UNDEFINED) {
            return self.read_headers(list.raw());
        }
        let Ok(names) = PropertyNames::of(cx, object) else {
            return self.tried::<Failure>(Err(Failure::Thrown), "[unreadable]");
        };
        if names.iter().next().is_none()
            && let Some(class) = self.class_name(object)
        {
            return Value::Text(format!("[{class}]"));
        }
        let mut members = Vec::new();
        for name in names.iter() {
            if self.values_left == 0 || self.bytes_left == 0 {
                members.push(("...".to_owned(), Value::Null));
                break;
            }
            let Some(member) = self.own(object, name) else {
                continue;
            };
            let key = cx.name(name).and_then(|key| cx.text(key.raw()));
            match key {
                Ok(key) => {
                    let key = self.cut(key);
                    members.push((key, member));
                }
                Err(Thrown) => drop(cx.exception()),
            }
        }
        Value::Map(members)
    }

    /// A `Headers`, which keeps its names and values in one list.
    fn read_headers(&mut self, list: RawValue<'_>) -> Value {
        let Value::List(items) = self.read_list(list, u32::MAX) else {
            return named("[Headers]");
        };
        let pairs = items.chunks_exact(2).filter_map(|pair| match pair {
            [Value::Text(name), value] => Some((name.clone(), value.clone())),
            _ => None,
        });
        Value::Map(pairs.collect())
    }

    /// The name of an object's class, if it has one of its own: what it holds is not in its properties.
    fn class_name(&mut self, object: RawValue<'_>) -> Option<String> {
        let Ok(FoundProperty::Value(class)) =
            inspect::named(self.cx, object, c"constructor", UNDEFINED)
        else {
            return None;
        };
        match self.plain(class.raw(), c"name") {
            Some(Value::Text(name)) if !name.is_empty() && name != "Object" => Some(name),
            _ => None,
        }
    }

    /// An own property; `None` if it is undefined or there is none.
    fn own(&mut self, object: RawValue<'_>, atom: qjs::JSAtom) -> Option<Value> {
        match inspect::own(self.cx, object, atom) {
            Ok(Some((true, _, _))) => Some(named("[getter]")),
            Ok(Some((false, value, _))) if tag(value.raw()) != qjs::JS_TAG_UNDEFINED => {
                Some(self.read(value.raw()))
            }
            Ok(_) => None,
            Err(Thrown) => {
                drop(self.cx.exception());
                None
            }
        }
    }
}

/// Stands for holes of a list, as Node.js shows them.
fn empty_items(count: u32) -> Value {
    let s = if count == 1 { "" } else { "s" };
    Value::Text(format!("[{count} empty item{s}]"))
}

fn named(name: &str) -> Value {
    Value::Text(name.to_owned())
}
