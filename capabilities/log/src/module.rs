//! The rows that scripts see.

use crate::Logger;
use sampan_host::log::{Entry, Level};
use sampan_host::trace::Trace;
use sampan_host::{
    Args, Context, CurrentRun, Error, Function, FunctionKind, Module, Param, Type, Value, param,
    row,
};

/// The parameters that all four functions share.
const PARAMS: &[Param] = &[
    param!("message"? Type::Shown,
        "The message: text as it is, an error with its stack and its causes, anything else as JSON."),
    param!("fields"? Type::Shown,
        "Named values, written as `key=value` after the message. An error is written with its stack, any other value \
         as `value=...`."),
];

/// The `log` table.
pub static MODULE: Module = Module {
    name: "log",
    doc: "Lines on standard error: time, level, message, fields and the id of the request. They accept any value, and \
     never throw.",
    functions: &[
        Function {
            name: "debug",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level DEBUG; left out unless `level = \"debug\"` is set under `[log]`.",
            kind: FunctionKind::Sync(|context, args| write(context, Level::Debug, args)),
        },
        Function {
            name: "info",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level INFO.",
            kind: FunctionKind::Sync(|context, args| write(context, Level::Info, args)),
        },
        Function {
            name: "warn",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level WARN.",
            kind: FunctionKind::Sync(|context, args| write(context, Level::Warn, args)),
        },
        Function {
            name: "error",
            params: PARAMS,
            returns: Type::Nothing,
            doc: "Writes a line of level ERROR.",
            kind: FunctionKind::Sync(|context, args| write(context, Level::Error, args)),
        },
    ],
    request_fields: &[
        row!("id"() -> Type::Text, FunctionKind::Sync(|_, args| Ok(Value::Text(args.request().id().into_owned()))),
        "The id of the request: `x-request-id`, or one of the server's. It stands on every line of the log that the \
         request causes."),
    ],
    ..Module::EMPTY
};

fn write(context: &Context, level: Level, mut args: Args) -> Result<Value, Error> {
    let Some(logger) = context
        .get::<Logger>()
        .filter(|logger| logger.writes(level))
    else {
        return Ok(Value::Null);
    };
    let run = context.get::<CurrentRun>();
    let request = run.and_then(|run| run.request());
    let entry = match &request {
        Some(request) => Entry {
            id: Some(request.id()),
            request: Some((request.method(), request.path())),
            trace: Trace::ids_of(&**request),
            ..Entry::default()
        },
        None => Entry::default(),
    };
    logger.script(level, &args.take(0), &args.take(1), entry);
    Ok(Value::Null)
}
