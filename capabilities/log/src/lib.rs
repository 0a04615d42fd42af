//! The log: one line on standard error per message, for scripts and for the server itself.

mod line;
mod logger;
mod writer;

pub use logger::{Level, Logger};

use sampan_host::{Args, Context, Error, Function, Kind, Module, Param, Type, Value};

/// The parameters that all four functions share.
const PARAMS: &[Param] = &[
    Param {
        name: "message",
        ty: Type::Any,
        optional: true,
        doc: "What happened: text as it is, anything else as JSON.",
    },
    Param {
        name: "fields",
        ty: Type::Any,
        optional: true,
        doc: "Named values, written as `key=value` after the message; any other value is written as `value=...`.",
    },
];

/// The `log` table.
pub static MODULE: Module = Module {
    name: "log",
    doc: "Lines on standard error: time, level, message, fields.",
    functions: &[
        Function {
            name: "debug",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level DEBUG; left out unless `level = \"debug\"` is set under `[log]`.",
            kind: Kind::Sync(|context, args| write(context, Level::Debug, args)),
        },
        Function {
            name: "info",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level INFO.",
            kind: Kind::Sync(|context, args| write(context, Level::Info, args)),
        },
        Function {
            name: "warn",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level WARN.",
            kind: Kind::Sync(|context, args| write(context, Level::Warn, args)),
        },
        Function {
            name: "error",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level ERROR.",
            kind: Kind::Sync(|context, args| write(context, Level::Error, args)),
        },
    ],
};

fn write(context: &Context, level: Level, mut args: Args) -> Result<Value, Error> {
    let Some(logger) = context.get::<Logger>() else {
        return Ok(Value::Null);
    };
    if logger.writes(level) {
        let message = args.take(0);
        match args.take(1) {
            Value::Map(fields) => logger.write(level, &message, &fields),
            Value::Null => logger.write(level, &message, &[]),
            other => logger.write(level, &message, &[("value".to_owned(), other)]),
        }
    }
    Ok(Value::Null)
}
