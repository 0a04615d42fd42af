//! `csv.encode`, and the objects of `csv.writer`.

use crate::limits::UNTAKEN_BYTES_MAX;
use crate::options::{CsvOptions, WRITING};
use crate::write::Encoder;
use sampan_host::reader::Kind;
use sampan_host::{
    Args, Class, Context, Error, FunctionKind, KeptBytes, Lifetime, Reader, ScriptLimits, Type,
    Value, param, row,
};
use std::cell::RefCell;

/// Writes rows as they come.
pub(crate) static WRITER: Class = Class {
    name: "CsvWriter",
    variable: "writer",
    doc: "Writes CSV piece by piece, for answers that are streamed. It goes with its request.",
    methods: &[
        row!("add"(param!("row": Type::InPlace, "A row as in `csv.encode`.")) -> Type::Nothing,
            FunctionKind::Reading(add),
            "Writes a row, and the header before the first one. At most 1 MiB is kept until it is taken."),
        row!("take"() -> Type::Text, FunctionKind::Sync(take),
            "The text that was written since the last time."),
    ],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

pub(crate) fn encode(
    context: &Context,
    mut args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let rows = args.handle(0);
    let limits = context.get::<ScriptLimits>().unwrap_or_default();
    let options = CsvOptions::read(args.take(1), WRITING)?;
    let mut encoder = Encoder::new(&options, (limits.memory_bytes_max, "memory_bytes_max"));
    let count = match reader.kind(rows) {
        Kind::List => reader.len(rows)?,
        // An empty table of Lua is both.
        Kind::Map if reader.len(rows)? == 0 => 0,
        _ => return Err(Error::script("csv.encode: the rows must be a list")),
    };
    for at in 0..count {
        reader.round(|| encoder.add(reader, reader.item(rows, at)?))?;
    }
    encoder.take().map(Value::Text)
}

pub(crate) fn writer(context: &Context, mut args: Args) -> Result<Value, Error> {
    let options = CsvOptions::read(args.take(0), WRITING)?;
    let encoder = Encoder::new(&options, (UNTAKEN_BYTES_MAX, "take() them first"));
    let encoder = encoder.counted(KeptBytes::new(context))?;
    let writer = context.objects().add(&WRITER, RefCell::new(encoder));
    Ok(Value::Object(writer))
}

fn add(context: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (_, writer) = args.object::<RefCell<Encoder>>(context)?;
    // A getter of the row may call the writer again.
    let mut encoder = writer.try_borrow_mut().map_err(|_| is_busy())?;
    encoder.add(reader, args.handle(0))?;
    Ok(Value::Null)
}

fn take(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, writer) = args.object::<RefCell<Encoder>>(context)?;
    let mut encoder = writer.try_borrow_mut().map_err(|_| is_busy())?;
    encoder.take().map(Value::Text)
}

#[cold]
fn is_busy() -> Error {
    Error::script("this CsvWriter writes a row at the moment")
}
