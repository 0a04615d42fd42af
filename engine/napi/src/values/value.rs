//! [`sampan_host::Value`]s to JavaScript and back.

use crate::sys::{Failure, Js, Kind, Thrown};
use crate::values::numbers::{integer, number};
use crate::values::{objects, rows};
use crate::vm::core::Cx;
use sampan_host::words::cannot_pass;
use sampan_host::{Error, Value};
use sampan_js_contract::refused::unpassable;

/// The greatest depth to which a value may nest that is passed to a capability.
const VALUE_DEPTH_MAX: usize = 256;

/// The classes that `classify` of the prelude says of an object; its constants have the same names there.
pub(crate) mod classes {
    pub(crate) const PLAIN: i32 = 0;
    pub(crate) const LIST: i32 = 1;
    pub(crate) const BYTES: i32 = 2;
    pub(crate) const PROMISE: i32 = 3;
    pub(crate) const MAP: i32 = 4;
    pub(crate) const SET: i32 = 5;
    pub(crate) const NATIVE: i32 = 6;
    pub(crate) const OTHER: i32 = 7;
    pub(crate) const DATE: i32 = 8;
}

/// A value for a script. Text keys become own properties, rows plain objects, integers that a number cannot hold
/// BigInts.
pub(crate) fn to_js<'a>(cx: Cx<'a>, value: Value) -> Result<Js<'a>, Thrown> {
    match value {
        Value::Null => Ok(cx.null()),
        Value::Bool(value) => Ok(cx.boolean(value)),
        Value::Int(value) => integer(cx, value),
        Value::Float(value) => cx.number(value),
        Value::Text(text) => cx.string(&text),
        Value::Bytes(bytes) => cx.bytes(&bytes),
        Value::List(items) => {
            let items = items.into_iter().map(|item| to_js(cx, item));
            cx.array(&items.collect::<Result<Vec<Js<'_>>, Thrown>>()?)
        }
        Value::Map(members) => {
            let object = cx.object()?;
            for (key, member) in members {
                cx.define(object, &key, to_js(cx, member)?)?;
            }
            Ok(object)
        }
        Value::Rows(all) => rows::list(cx, &all),
        Value::Row(all) if all.is_empty() => Ok(cx.null()),
        Value::Row(all) => rows::first(cx, &all),
        Value::Object(object) => objects::new(cx, object),
    }
}

/// Returns the class of an object, see [`classes`].
pub(crate) fn class_of(cx: Cx<'_>, value: Js<'_>) -> Result<i32, Failure> {
    let class = cx.call(cx.core().tables()?.classify.get(cx.env()), &[value])?;
    Ok(cx.number_of(class).unwrap_or(0.0) as i32)
}

/// A script's value for a capability. Functions, symbols, cycles and objects that hold no plain data are errors; an
/// object with
/// `toJSON`, such as a date, is what that returns.
pub(crate) fn from_js(cx: Cx<'_>, value: Js<'_>) -> Result<Value, Failure> {
    read(cx, value, 0)
}

fn refuse(what: &str, hint: &str) -> Result<Value, Failure> {
    Err(Error::script(format!("{}{hint}", cannot_pass(what))).into())
}

fn read(cx: Cx<'_>, value: Js<'_>, depth: usize) -> Result<Value, Failure> {
    match cx.kind(value) {
        Kind::Undefined | Kind::Null => Ok(Value::Null),
        Kind::Bool => Ok(Value::Bool(cx.is_true(value))),
        Kind::Number => Ok(number(cx.number_of(value).unwrap_or(f64::NAN))),
        Kind::Text => Ok(Value::Text(cx.text(value)?)),
        Kind::BigInt => match cx.big_int_of(value) {
            Some(whole) => Ok(Value::Int(whole)),
            None => {
                let why = cannot_pass("a BigInt that takes more than 64 bits");
                let error = Error::script(format!("{why}: give it as text"));
                Err(error.with_code("parameter").into())
            }
        },
        Kind::Symbol => refuse("a symbol", ""),
        Kind::Function => refuse("a function", ""),
        Kind::Object => read_object(cx, value, depth),
    }
}

fn read_object(cx: Cx<'_>, value: Js<'_>, depth: usize) -> Result<Value, Failure> {
    if depth >= VALUE_DEPTH_MAX {
        return match cx.is_true(cx.call_own("isCyclic", &[value])?) {
            true => refuse("an object that contains itself", ""),
            false => refuse(
                &format!("a value nested more than {VALUE_DEPTH_MAX} deep"),
                "",
            ),
        };
    }
    let class = match cx.is_array(value) {
        true => classes::LIST,
        false => class_of(cx, value)?,
    };
    match class {
        classes::BYTES => return Ok(Value::Bytes(bytes_of(cx, value).unwrap_or_default())),
        classes::NATIVE => match objects::at(cx, value) {
            Some(object) => return Ok(Value::Object(object)),
            None => return refuse("a native object", ""),
        },
        classes::PROMISE => return refuse("a promise", ": is an await missing?"),
        _ => {}
    }
    let to_json = cx.get(value, "toJSON")?;
    if cx.kind(to_json) == Kind::Function {
        let plain = cx.call_own("toJson", &[value])?;
        if class == classes::DATE && cx.kind(plain) == Kind::Null {
            // As `null` it would go unnoticed.
            return refuse("an invalid Date", "");
        }
        return read(cx, plain, depth + 1);
    }
    match class {
        classes::LIST => {
            // A proxy of an array has no length that Node-API knows.
            let length = cx.number_of(cx.get(value, "length")?).unwrap_or(0.0);
            let limits = &cx.core().limits;
            // An array may be long without any memory of its own.
            if length as usize > limits.memory_bytes_max / size_of::<Value>() {
                return Err(limits.value_too_large().into());
            }
            let mut items = Vec::new();
            for index in 0..length as u32 {
                items.push(read(cx, cx.at(value, index)?, depth + 1)?);
            }
            Ok(Value::List(items))
        }
        classes::MAP => refuse_class("Map"),
        classes::SET => refuse_class("Set"),
        classes::OTHER => {
            let class = cx.call_own("classWithoutData", &[value])?;
            match cx.kind(class) {
                Kind::Text => refuse_class(&cx.text(class)?),
                _ => read_members(cx, value, depth),
            }
        }
        _ => read_members(cx, value, depth),
    }
}

/// Refuses an object of a class whose objects hold no plain data.
fn refuse_class(class: &str) -> Result<Value, Failure> {
    match unpassable(class) {
        Some([what, advice]) => refuse(what, &format!("; {advice}")),
        None => refuse(&format!("an object of the class {class}"), ""),
    }
}

fn read_members(cx: Cx<'_>, value: Js<'_>, depth: usize) -> Result<Value, Failure> {
    let keys = cx.keys(value)?;
    let mut members = Vec::new();
    for index in 0..cx.length(keys)? {
        let key = cx.at(keys, index)?;
        let member = cx.get_by(value, key)?;
        if cx.kind(member) != Kind::Undefined {
            members.push((cx.text(key)?, read(cx, member, depth + 1)?));
        }
    }
    Ok(Value::Map(members))
}

/// The bytes of an `ArrayBuffer` or of a view of one.
pub(crate) fn bytes_of(cx: Cx<'_>, value: Js<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    cx.append_bytes(value, &mut bytes).then_some(bytes)
}

/// The JSON of a value, by the rules of an answer.
pub(crate) fn json_text(cx: Cx<'_>, value: Js<'_>) -> Result<String, Failure> {
    let text = cx.call_own("stringify", &[value])?;
    Ok(cx.text(text)?)
}

/// A value for people to read: the prelude makes it plain first.
pub(crate) fn shown(cx: Cx<'_>, value: Js<'_>) -> Result<Value, Failure> {
    let plain = cx.call_own("shown", &[value])?;
    from_js(cx, plain)
}
