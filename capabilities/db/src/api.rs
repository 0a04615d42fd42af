//! The rows that scripts see.

pub(crate) mod transaction;

pub(crate) use transaction::TRANSACTION;

use crate::full_text;
use crate::group_commit::worker::Db;
use crate::postgres::api as postgres;
use crate::read_pool::large::LargeResults;
use crate::sqlite::run::{Done, RunLimits};
use sampan_host::{
    Args, Cell, Class, Context, CurrentRun, Error, ErrorKind, Function, FunctionKind, LocalFuture,
    Module, Param, Rows, Type, Value, param, row,
};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

const SQL: Param =
    param!("sql": Type::Text, "One statement, with `?` or `:name` where a parameter goes.");

const PARAMS: Param = param!("params"? Type::Any,
    "A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as \
     NULL).");

/// The type of the result of [`exec`].
const DONE_TYPE: Type = Type::Record(&[("changes", Type::Int), ("last_id", Type::Int)]);

const EXEC_DOC: &str = "Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the \
 last row that was inserted.";

/// The kinds of the rows: what runs them on a backend.
pub(crate) struct RowKinds {
    pub(crate) query: FunctionKind,
    pub(crate) one: FunctionKind,
    pub(crate) exec: FunctionKind,
    pub(crate) batch: FunctionKind,
    pub(crate) transaction: FunctionKind,
    pub(crate) query_async: FunctionKind,
    pub(crate) one_async: FunctionKind,
    pub(crate) sql: FunctionKind,
    pub(crate) fts_query: FunctionKind,
    pub(crate) dialect: FunctionKind,
}

/// The table of functions over SQLite.
pub static MODULE: Module = Module {
    name: "db",
    elsewhere: Some(&POSTGRES_MODULE),
    ..module(&SQLITE_ROWS, &[&TRANSACTION])
};

/// Functions of the same names over PostgreSQL, where all that asks the server waits.
pub(crate) static POSTGRES_MODULE: Module = module(&POSTGRES_ROWS, &[&postgres::TRANSACTION]);

static SQLITE_ROWS: [Function; 10] = rows_of(RowKinds {
    query: FunctionKind::Prompt {
        body: query,
        later: query_later,
        awaited: Some("query_async"),
    },
    one: FunctionKind::Prompt {
        body: one,
        later: one_later,
        awaited: Some("one_async"),
    },
    exec: FunctionKind::Prompt {
        body: exec,
        later: exec_later,
        awaited: None,
    },
    batch: FunctionKind::Bracket {
        enter,
        later: Some(enter_later),
        leave,
    },
    transaction: FunctionKind::AsyncBracket {
        gives: Type::Object(&TRANSACTION),
        enter: transaction::begin,
        leave: transaction::end,
    },
    query_async: FunctionKind::Async(query_async),
    one_async: FunctionKind::Async(one_async),
    sql: FunctionKind::Tag(tagged),
    fts_query: FunctionKind::Sync(|_, args| full_text::fts_query(args, full_text::sqlite_query)),
    dialect: FunctionKind::Sync(|_, _| Ok("sqlite".into())),
});

static POSTGRES_ROWS: [Function; 10] = rows_of(postgres::KINDS);

const fn module(functions: &'static [Function], classes: &'static [&'static Class]) -> Module {
    Module {
        name: "db",
        doc: "The app's database. All writes of the requests that run together are committed together, and no answer \
         leaves before its commit.",
        functions,
        classes,
        ..Module::EMPTY
    }
}

const fn rows_of(kinds: RowKinds) -> [Function; 10] {
    [
        row!("query"(SQL, PARAMS) -> Type::Rows, kinds.query,
            "The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. Inside a request it sees \
             what the request wrote. Runs in place up to `query_inline_millis_max`; beyond that it waits for a reader \
             thread where a script can wait in the middle of a call, and fails elsewhere: `query_async` always \
             waits."),
        row!("one"(SQL, PARAMS) -> Type::RowOrNothing, kinds.one,
            "The first row of a statement, or nothing."),
        row!("exec"(SQL, PARAMS) -> DONE_TYPE, kinds.exec, EXEC_DOC),
        row!("batch"() -> Type::Any, kinds.batch,
            "Calls the function in a transaction: all that it writes is kept, or, if it throws, nothing, and the error \
             is passed on. Batches nest. Nothing inside may wait."),
        row!("transaction"() -> Type::Any, kinds.transaction,
            "Calls the function, which may wait, with a transaction of its own: what it does with `tx` is kept when it \
             has ended, or, if it fails, nothing, and the error is passed on. It is rolled back too when it takes \
             longer than `transaction_millis_max` and when the client leaves. Others who write wait meanwhile; use \
             `batch` for functions that do not wait."),
        row!("query_async"(SQL, PARAMS) -> Type::Rows, kinds.query_async,
            "The rows of a long read, on a reader thread, without blocking the worker, after what this request wrote \
             was committed. At most `statement_millis_max`."),
        row!("one_async"(SQL, PARAMS) -> Type::RowOrNothing, kinds.one_async,
            "The first row of a long read, or nothing; see `query_async`."),
        row!("sql"(
                param!("strings": Type::List, "The text around the values."),
                param!("values": Type::List, "The values, each bound as a parameter."),
            ) -> Type::Rows, kinds.sql,
            "A statement as a template: db.sql`SELECT * FROM t WHERE id = ${id}`. The values are bound, never pasted."),
        row!("fts_query"(
                param!("text": Type::Text,
                    "The text that a user typed. Of more than 32 words the first count, of a word the first 64 \
                     letters."),
                param!("options"? Type::Map, "`prefix = true`: each word may be the beginning of a longer one."),
            ) -> Type::Text, kinds.fts_query,
            "A query for a full-text search that finds the rows with all words of a text: for `MATCH ?` of FTS5, or \
             for `to_tsquery('simple', ?)` on PostgreSQL. No text is an error; one without words finds nothing."),
        row!("dialect"() -> Type::Text, kinds.dialect,
            "The SQL that the database speaks: `sqlite` or `postgres`."),
    ]
}

/// The columns of the result of [`exec`]: an engine remembers what it makes of them.
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
    rows_in(&*db(context)?, sql, params, first_only, may_wait)
}

fn rows_in(
    db: &Db,
    sql: &str,
    params: &Value,
    first_only: bool,
    may_wait: bool,
) -> Result<Rows, Error> {
    db.timed_statement(sql, params, may_wait, |db| {
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
    exec_in(&*db(context)?, &sql, &params, args.may_wait())
}

fn exec_in(db: &Db, sql: &str, params: &Value, may_wait: bool) -> Result<Value, Error> {
    let done = db.timed_statement(sql, params, may_wait, |db| {
        db.run(sql, false, may_wait, |connection, run| {
            connection.exec(sql, params, run)
        })
    });
    let Done { changes, last_id } = done?;
    done_value(changes, last_id)
}

/// Returns the result of a statement for the script.
pub(crate) fn done_value(changes: i64, last_id: i64) -> Result<Value, Error> {
    let mut done = Rows::with_capacity(Arc::clone(&DONE), 2, 0);
    for number in [changes, last_id] {
        done.push(Cell::Int(number))
            .map_err(|_| Error::new(ErrorKind::Internal, "no room for two numbers"))?;
    }
    Ok(Value::Row(done))
}

/// Waits until the write connection is this worker's, and does then what could not wait in place.
fn when_writable(
    context: &Context,
    run: impl FnOnce(&Db) -> Result<Value, Error> + 'static,
) -> LocalFuture<Result<Value, Error>> {
    let db = db(context);
    Box::pin(async move {
        let db = db?;
        waiting(&db, db.0.writable()).await?;
        run(&db)
    })
}

/// Waits for something whose time is the database's.
async fn waiting<T>(db: &Db, wait: impl Future<Output = T>) -> T {
    let meter = db.0.meter.get();
    let begun = meter.and_then(CurrentRun::begin);
    let done = wait.await;
    if let Some(meter) = meter {
        meter.end_waiting(begun);
    }
    done
}

fn exec_later(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (sql, params) = (args.text(0), args.take(1));
    when_writable(context, move |db| exec_in(db, &sql, &params, false))
}

fn enter(context: &Context, args: Args) -> Result<Value, Error> {
    enter_in(&*db(context)?, args.may_wait())
}

fn enter_in(db: &Db, may_wait: bool) -> Result<Value, Error> {
    db.timed(|db| db.enter_batch(may_wait))
        .map(|depth| Value::Int(depth.into()))
}

fn enter_later(context: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    when_writable(context, |db| enter_in(db, false))
}

fn leave(context: &Context, token: Value, succeeded: bool) -> Result<(), Error> {
    let Value::Int(depth) = token else {
        return Err(Error::new(ErrorKind::Internal, "not a batch"));
    };
    db(context)?.timed(|db| db.leave_batch(depth as u32, succeeded))
}

/// The future of a statement that cannot run in place: a write for its turn, a read for a reader thread.
fn later(
    context: &Context,
    mut args: Args,
    first_only: bool,
    wrap: fn(Rows) -> Value,
) -> LocalFuture<Result<Value, Error>> {
    let (sql, params) = (args.text(0), args.take(1));
    let writes = db(context).is_ok_and(|db| db.0.writes(&sql));
    if !writes {
        return read_elsewhere(context, sql, params, first_only, wrap);
    }
    when_writable(context, move |db| {
        rows_in(db, &sql, &params, first_only, false).map(wrap)
    })
}

fn read_elsewhere(
    context: &Context,
    sql: String,
    params: Value,
    first_only: bool,
    wrap: fn(Rows) -> Value,
) -> LocalFuture<Result<Value, Error>> {
    let db = db(context);
    let route = db.as_ref().map_or(0, |db| db.0.watch.route());
    if let Ok(db) = &db {
        foresee(db, route, |large| large.time(&sql));
    }
    Box::pin(async move {
        let db = db?;
        let meter = db.0.meter.get();
        let begun = meter.and_then(CurrentRun::begin);
        let shown = begun.map(|_| params.clone());
        let reading = db.0.read_elsewhere(sql.clone(), params, first_only);
        let rows = waiting(&db, reading).await;
        if let (Some(meter), Some(params)) = (meter, shown) {
            meter.ran(&sql, &params, begun);
        }
        if let Some(begun) = begun {
            db.0.database.slow_statements.note(&sql, begun.elapsed());
        }
        let rows = rows?;
        foresee(&db, route, |large| large.note(&sql, &rows));
        Ok(wrap(rows))
    })
}

/// Tells the route with this number to be slow if a result is large: requests that wait for such results would have
/// them on this worker, one long run after the other.
fn foresee(db: &Db, route: u32, time: impl FnOnce(&LargeResults) -> Option<Duration>) {
    let opened = db.0.database.opened();
    if let Some(time) = opened.and_then(|opened| time(&opened.large)) {
        db.0.watch.foresee(route, time);
    }
}

fn query_later(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    later(context, args, false, Value::Rows)
}

fn one_later(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    later(context, args, true, Value::Row)
}

fn query_async(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    read_elsewhere(context, args.text(0), args.take(1), false, Value::Rows)
}

fn one_async(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    read_elsewhere(context, args.text(0), args.take(1), true, Value::Row)
}

fn tagged(context: &Context, args: Args) -> Result<Value, Error> {
    let (sql, values) = of_template(args)?;
    rows(context, &sql, &values, false, false).map(Value::Rows)
}

/// Returns the statement of a template, and its parameters.
pub(crate) fn of_template(mut args: Args) -> Result<(String, Value), Error> {
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
    Ok((sql, values))
}
