//! The rows that scripts see.

use crate::group_commit::group::{Db, WorkerDb};
use crate::sqlite::connection::{Done, RunLimits};
use sampan_host::{
    Args, Cell, Context, CurrentRun, Error, ErrorKind, Function, FunctionKind, LocalFuture, Module,
    Param, Rows, Type, Value,
};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

const SQL: Param = Param {
    name: "sql",
    ty: Type::Text,
    optional: false,
    doc: "One statement, with `?` or `:name` where a parameter goes.",
};

const PARAMS: Param = Param {
    name: "params",
    ty: Type::Any,
    optional: true,
    doc: "A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).",
};

/// The table of functions.
pub static MODULE: Module = Module {
    name: "db",
    doc: "SQLite. All writes of the requests that run together are committed together, and no answer leaves before its commit.",
    functions: &[
        Function {
            name: "query",
            params: &[SQL, PARAMS],
            returns: Type::Rows,
            doc: "The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. Inside a request it sees what the \
                  request wrote. Runs in place up to `query_inline_millis_max`; beyond that it waits for a reader thread where a script can wait in \
                  the middle of a call, and fails elsewhere: `query_async` always waits.",
            kind: FunctionKind::Prompt {
                body: query,
                later: query_async,
                awaited: "query_async",
            },
        },
        Function {
            name: "one",
            params: &[SQL, PARAMS],
            returns: Type::RowOrNothing,
            doc: "The first row of a statement, or nothing.",
            kind: FunctionKind::Prompt {
                body: one,
                later: one_async,
                awaited: "one_async",
            },
        },
        Function {
            name: "exec",
            params: &[SQL, PARAMS],
            returns: Type::Record(&[("changes", Type::Int), ("last_id", Type::Int)]),
            doc: "Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the last row that was inserted.",
            kind: FunctionKind::Sync(exec),
        },
        Function {
            name: "batch",
            params: &[],
            returns: Type::Any,
            doc: "Calls the function in a transaction: all that it writes is kept, or, if it throws, nothing, and the error is passed on. Batches nest. \
                  Nothing inside may wait.",
            kind: FunctionKind::Bracket { enter, leave },
        },
        Function {
            name: "query_async",
            params: &[SQL, PARAMS],
            returns: Type::Rows,
            doc: "The rows of a long read, on a reader thread, without blocking the worker, after what this request wrote was committed. At most \
                  `statement_millis_max`.",
            kind: FunctionKind::Async(query_async),
        },
        Function {
            name: "one_async",
            params: &[SQL, PARAMS],
            returns: Type::RowOrNothing,
            doc: "The first row of a long read, or nothing; see `query_async`.",
            kind: FunctionKind::Async(one_async),
        },
        Function {
            name: "sql",
            params: &[
                Param {
                    name: "strings",
                    ty: Type::List,
                    optional: false,
                    doc: "The text around the values.",
                },
                Param {
                    name: "values",
                    ty: Type::List,
                    optional: false,
                    doc: "The values, each bound as a parameter.",
                },
            ],
            returns: Type::Rows,
            doc: "A statement as a template: db.sql`SELECT * FROM t WHERE id = ${id}`. The values are bound, never pasted.",
            kind: FunctionKind::Tag(tagged),
        },
    ],
};

/// What [`exec`] returns, as columns: an engine remembers what it makes of them.
static DONE: LazyLock<Arc<[String]>> =
    LazyLock::new(|| ["changes", "last_id"].map(str::to_owned).into());

fn db(context: &Context) -> Result<Rc<Db>, Error> {
    context
        .get::<Db>()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no database here"))
}

fn rows(
    context: &Context,
    sql: &str,
    params: &Value,
    first_only: bool,
    may_wait: bool,
) -> Result<Rows, Error> {
    db(context)?.timed(|db| {
        db.run(
            sql,
            first_only,
            may_wait,
            |connection, run: &RunLimits<'_>| connection.query(sql, params, run),
        )
    })
}

fn query(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (sql, params) = (args.text(0), args.take(1));
    rows(context, &sql, &params, false, args.may_wait()).map(Value::Rows)
}

fn one(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (sql, params) = (args.text(0), args.take(1));
    rows(context, &sql, &params, true, args.may_wait()).map(Value::Row)
}

fn exec(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (sql, params) = (args.text(0), args.take(1));
    let Done { changes, last_id } = db(context)?.timed(|db| {
        db.run(&sql, false, false, |connection, run| {
            connection.exec(&sql, &params, run)
        })
    })?;
    let mut done = Rows::with_capacity(Arc::clone(&DONE), 2, 0);
    for number in [changes, last_id] {
        done.push(Cell::Int(number))
            .map_err(|_| Error::new(ErrorKind::Internal, "no room for two numbers"))?;
    }
    Ok(Value::Row(done))
}

fn enter(context: &Context, _: Args) -> Result<Value, Error> {
    db(context)?
        .timed(WorkerDb::enter_batch)
        .map(|depth| Value::Int(depth.into()))
}

fn leave(context: &Context, token: Value, succeeded: bool) -> Result<(), Error> {
    let Value::Int(depth) = token else {
        return Err(Error::new(ErrorKind::Internal, "not a batch"));
    };
    db(context)?.timed(|db| db.leave_batch(depth as u32, succeeded))
}

fn later(
    context: &Context,
    mut args: Args,
    first_only: bool,
    wrap: fn(Rows) -> Value,
) -> LocalFuture<Result<Value, Error>> {
    let (sql, params) = (args.text(0), args.take(1));
    let db = db(context);
    Box::pin(async move {
        let db = db?;
        let meter = db.0.meter.get();
        let begun = meter.and_then(CurrentRun::begin);
        let rows = db.0.read_elsewhere(sql, params, first_only).await;
        if let Some(meter) = meter {
            meter.end_waiting(begun);
        }
        rows.map(wrap)
    })
}

fn query_async(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    later(context, args, false, Value::Rows)
}

fn one_async(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    later(context, args, true, Value::Row)
}

fn tagged(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (Value::List(strings), values) = (args.take(0), args.take(1)) else {
        return Err(Error::script("db.sql is a template tag"));
    };
    let mut sql = String::new();
    for (index, piece) in strings.iter().enumerate() {
        if index > 0 {
            sql.push('?');
        }
        if let Value::Text(piece) = piece {
            sql.push_str(piece);
        }
    }
    rows(context, &sql, &values, false, false).map(Value::Rows)
}
