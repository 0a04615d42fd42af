//! A table whose rows read values of the script where they lie.

use sampan_host::reader::{Kind, Name};
use sampan_host::{
    Args, Callback, Context, Error, FunctionKind, Handle, Module, Param, Reader, Type, Value,
    param, row,
};
use std::fmt::Write;
use std::sync::LazyLock;

const VALUE: Param = param!("value"? Type::InPlace, "");

const FUNCTION: Param = param!("fn": Type::Function, "");

/// The depth to which values are outlined.
const DEPTH_MAX: usize = 8;

/// The members that `reading.lengths` adds up.
static FIELDS: LazyLock<[Name; 4]> =
    LazyLock::new(|| ["name", "city", "email", "note"].map(Name::new));
static TEXT: LazyLock<Name> = LazyLock::new(|| Name::new("text"));

/// The lengths of four texts of each record of a list.
fn lengths(_: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (records, fields) = (args.handle(0), &*FIELDS);
    let mut sum = 0;
    for at in 0..reader.len(records)? {
        reader.round(|| {
            let record = reader.item(records, at)?;
            for field in fields {
                let text = reader.member(record, *field)?;
                reader.bytes(text, &mut |bytes| sum += bytes.len());
            }
            Ok::<(), Error>(())
        })?;
    }
    Ok(Value::Int(sum as i64))
}

/// Writes the value that a reader sees, as text.
fn outline(reader: &dyn Reader, it: Handle, depth: usize, out: &mut String) -> Result<(), Error> {
    match reader.kind(it) {
        Kind::Nothing => out.push_str("nothing"),
        Kind::Null => out.push_str("null"),
        Kind::Bool(value) => write!(out, "{value}").expect("text"),
        Kind::Int(value) => write!(out, "{value}").expect("text"),
        Kind::Float(value) => write!(out, "{value:?}").expect("text"),
        Kind::Text => write!(out, "{:?}", reader.text(it).unwrap_or_default()).expect("text"),
        Kind::Bytes => {
            let count = reader.with_bytes(it, <[u8]>::len).unwrap_or_default();
            write!(out, "<{count} bytes>").expect("text");
        }
        Kind::Function => out.push_str("function"),
        Kind::Object(object) => write!(out, "[{}]", object.class().name).expect("text"),
        Kind::Other(name) => write!(out, "[{name}]").expect("text"),
        Kind::List | Kind::Map if depth == DEPTH_MAX => out.push_str("..."),
        Kind::List => {
            out.push('[');
            for at in 0..reader.len(it)? {
                let comma = if at == 0 { "" } else { "," };
                out.push_str(comma);
                reader.round(|| outline(reader, reader.item(it, at)?, depth + 1, out))?;
            }
            out.push(']');
        }
        Kind::Map => {
            out.push('{');
            for (at, key) in reader.keys(it)?.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                out.push_str(comma);
                reader.round(|| {
                    match reader.text(key) {
                        Some(text) => out.push_str(&text),
                        None => outline(reader, key, depth + 1, out)?,
                    }
                    out.push(':');
                    outline(reader, reader.value(it, key)?, depth + 1, out)
                })?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn outlined(reader: &dyn Reader, it: Handle) -> Result<String, Error> {
    let mut out = String::new();
    outline(reader, it, 0, &mut out)?;
    Ok(out)
}

fn shown(_: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    outlined(reader, args.handle(0)).map(Value::Text)
}

fn given(args: &Args) -> Result<Callback, Error> {
    args.function(1)
        .ok_or_else(|| Error::script("reading: no function"))
}

/// Returns the members seen while a function runs, and of the value afterwards.
fn twice(_: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (value, function) = (args.handle(0), given(&args)?);
    let mut members = Vec::new();
    match reader.kind(value) {
        Kind::List => {
            for at in 0..reader.len(value)? {
                members.push(reader.item(value, at)?);
            }
        }
        _ => {
            for key in reader.keys(value)?.iter() {
                members.extend([key, reader.value(value, key)?]);
            }
        }
    }
    function.call(&[])?;
    let mut out = String::new();
    for member in members {
        outline(reader, member, 0, &mut out)?;
        out.push(' ');
    }
    out.push_str("/ ");
    out.push_str(&outlined(reader, value)?);
    Ok(Value::Text(out))
}

/// Reports whether the bytes of a value's `text` are the same after a function has run, which is called while they are
/// shown.
fn hold(_: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (value, function) = (args.handle(0), given(&args)?);
    let mark = reader.mark();
    let text = reader.member(value, *TEXT)?;
    let same = reader.with_bytes(text, |bytes| {
        let before = bytes.to_vec();
        function.call(&[])?;
        reader.release(mark);
        for _ in 0..100 {
            reader.member(value, *TEXT)?;
        }
        Ok(before == bytes)
    });
    let same = same.ok_or_else(|| Error::script("reading: no text"))?;
    same.map(Value::Bool)
}

/// The most handles at a time while the items of a list are read in rounds.
fn rounds(_: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (list, mut most) = (args.handle(0), 0);
    for at in 0..reader.len(list)? {
        reader.round(|| {
            let item = reader.item(list, at)?;
            outlined(reader, item)?;
            most = most.max(reader.mark().count());
            Ok::<(), Error>(())
        })?;
    }
    Ok(Value::Int(most as i64))
}

/// Returns the meaning of unknown handles.
fn unknown(_: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (value, unknown) = (args.handle(0), Handle::new(u32::MAX));
    reader.release(sampan_host::reader::Mark::new(0));
    let mut out = outlined(reader, unknown)?;
    for found in [
        reader.item(unknown, 0)?,
        reader.member(unknown, *TEXT)?,
        reader.value(value, unknown)?,
    ] {
        out.push(' ');
        out.push_str(&outlined(reader, found)?);
    }
    out.push(' ');
    out.push_str(&outlined(reader, value)?);
    Ok(Value::Text(out))
}

/// Reads values of the script where they lie.
pub static READING: Module = Module {
    name: "reading",
    doc: "",
    functions: &[
        row!("lengths"(VALUE) -> Type::Int, FunctionKind::Reading(lengths), ""),
        row!("outline"(VALUE) -> Type::Text, FunctionKind::Reading(shown), ""),
        row!("twice"(VALUE, FUNCTION) -> Type::Text, FunctionKind::Reading(twice), ""),
        row!("hold"(VALUE, FUNCTION) -> Type::Bool, FunctionKind::Reading(hold), ""),
        row!("rounds"(VALUE) -> Type::Int, FunctionKind::Reading(rounds), ""),
        row!("unknown"(VALUE) -> Type::Text, FunctionKind::Reading(unknown), ""),
    ],
    ..Module::EMPTY
};
