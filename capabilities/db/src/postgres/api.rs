//! The bodies of the rows. A statement waits for the server; inside of a batch it is recorded.

use super::statement_room::statement_bytes;
use super::topics::publishing;
use super::transaction::{OpenTransaction, TransactionTables};
use super::transaction_rows;
use super::worker::{PostgresDb, PostgresWorker, is_read, settled};
use crate::api::transaction::{MethodKinds, class, methods};
use crate::api::{RowKinds, done_value, of_template};
use crate::full_text;
use crate::sqlite::error::ErrorCode;
use sampan_host::jobs::{JobCall, JobQueue};
use sampan_host::module::BracketEnd;
use sampan_host::{
    Args, Class, Context, Error, ErrorKind, Function, FunctionKind, LocalFuture, Prompt, Rows,
    Type, Value,
};
use sampan_postgres::{Done, PostgresClient, RowLimits};
use std::rc::Rc;

/// The rows of the module.
pub(crate) const KINDS: RowKinds = RowKinds {
    query: FunctionKind::Waiting(|context, args| read(context, args, Wanted::Rows)),
    one: FunctionKind::Waiting(|context, args| read(context, args, Wanted::First)),
    exec: FunctionKind::Waiting(exec),
    batch: FunctionKind::WaitingBracket { enter, leave },
    transaction: FunctionKind::AsyncBracket {
        gives: Type::Object(&TRANSACTION),
        enter: transaction_rows::begin,
        leave: transaction_rows::end,
    },
    query_async: FunctionKind::Async(|context, args| read_later(context, args, Wanted::Rows)),
    one_async: FunctionKind::Async(|context, args| read_later(context, args, Wanted::First)),
    sql: FunctionKind::WaitingTag(tagged),
    fts_query: FunctionKind::Sync(|_, args| full_text::fts_query(args, full_text::postgres_query)),
    dialect: FunctionKind::Sync(|_, _| Ok("postgres".into())),
};

/// The object that the function of `db.transaction` is given.
pub(crate) static TRANSACTION: Class = class(&METHODS);

static METHODS: [Function; 5] = methods(MethodKinds {
    query: FunctionKind::Waiting(|context, args| read_in(context, args, Wanted::Rows)),
    one: FunctionKind::Waiting(|context, args| read_in(context, args, Wanted::First)),
    exec: FunctionKind::Waiting(exec_in),
    enqueue: FunctionKind::Waiting(enqueue_in),
    batch: FunctionKind::WaitingBracket {
        enter: enter_in,
        leave: leave_in,
    },
});

/// The part of a result that a row gives.
#[derive(Clone, Copy)]
enum Wanted {
    Rows,
    First,
}

impl Wanted {
    /// The name of the row.
    fn row(self) -> &'static str {
        match self {
            Self::Rows => "query",
            Self::First => "one",
        }
    }

    fn limits(self, db: &PostgresWorker) -> RowLimits {
        RowLimits {
            first_only: matches!(self, Self::First),
            result_bytes_max: db.database.config.result_bytes_max,
            forms: db.database.config.cell_forms,
        }
    }

    fn value(self, rows: Rows) -> Value {
        match self {
            Self::Rows => Value::Rows(rows),
            Self::First => Value::Row(rows),
        }
    }
}

/// The error of a read inside of a batch, which is sent as a whole.
#[cold]
fn cannot_read(owner: &str, row: &str) -> Error {
    let advice = match owner {
        "db" => "read before the batch, or use db.transaction",
        _ => "read before the batch",
    };
    let text = format!(
        "{owner}.{row} cannot read inside of {owner}.batch: on PostgreSQL the statements of a batch are sent when its \
         function has ended: {advice}"
    );
    ErrorCode::Denied.error(ErrorKind::Script, text)
}

pub(super) fn db(context: &Context) -> Result<Rc<PostgresWorker>, Error> {
    let db = context.get::<PostgresDb>();
    let db = db.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no database here"))?;
    Ok(Rc::clone(&db.0))
}

fn read(context: &Context, mut args: Args, wanted: Wanted) -> Result<Prompt, Error> {
    let db = db(context)?;
    if db.recording.borrow().is_open() {
        return Err(cannot_read("db", wanted.row()));
    }
    let (sql, params) = (args.text(0), args.take(1));
    statement(&db, args.may_wait(), (sql, params), wanted)
}

fn read_later(
    context: &Context,
    mut args: Args,
    wanted: Wanted,
) -> LocalFuture<Result<Value, Error>> {
    let db = db(context);
    let (sql, params) = (args.text(0), args.take(1));
    let begun = db.and_then(|db| {
        let room = db.room.take(statement_bytes(&sql, &params))?;
        let place = (!is_read(&db.client, &sql)).then(|| db.begin_statements());
        Ok((db, place, room))
    });
    Box::pin(async move {
        let (db, place, _room) = begun?;
        let rows = db.client.query(&sql, &params, wanted.limits(&db));
        let rows = db.timed(&sql, &params, rows).await;
        Ok(wanted.value(settled(place, rows)?))
    })
}

/// Runs a statement for its rows. At the top level of a file it is waited for in place.
fn statement(
    db: &Rc<PostgresWorker>,
    may_wait: bool,
    (sql, params): (String, Value),
    wanted: Wanted,
) -> Result<Prompt, Error> {
    let limits = wanted.limits(db);
    if !may_wait && db.is_at_top_level() {
        let asks = async move |client: PostgresClient| client.query(&sql, &params, limits).await;
        return Ok(Prompt::Done(wanted.value(db.database.in_place(asks)?)));
    }
    let room = db.room.take(statement_bytes(&sql, &params))?;
    let place = (!is_read(&db.client, &sql)).then(|| db.begin_statements());
    let db = Rc::clone(db);
    Ok(Prompt::Waits(Box::pin(async move {
        let _room = room;
        let rows = db.client.query(&sql, &params, limits);
        let rows = db.timed(&sql, &params, rows).await;
        Ok(wanted.value(settled(place, rows)?))
    })))
}

fn tagged(context: &Context, args: Args) -> Result<Prompt, Error> {
    let db = db(context)?;
    if db.recording.borrow().is_open() {
        return Err(cannot_read("db", "sql"));
    }
    let may_wait = args.may_wait();
    statement(&db, may_wait, of_template(args)?, Wanted::Rows)
}

fn exec(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let db = db(context)?;
    db.check_outside()?;
    let (sql, params) = (args.text(0), args.take(1));
    let mut recording = db.recording.borrow_mut();
    if recording.is_open() {
        recording.add(sql, params)?;
        return Ok(Prompt::Done(Value::Null));
    }
    drop(recording);
    if !args.may_wait() && db.is_at_top_level() {
        let done = db
            .database
            .in_place(async move |client: PostgresClient| client.exec(&sql, &params).await);
        return done.and_then(given).map(Prompt::Done);
    }
    let room = db.room.take(statement_bytes(&sql, &params))?;
    let place = Some(db.begin_statements());
    Ok(Prompt::Waits(Box::pin(async move {
        let _room = room;
        let done = db.timed(&sql, &params, db.client.exec(&sql, &params)).await;
        settled(place, done).and_then(given)
    })))
}

/// Returns the result of a statement for the script.
fn given(done: Done) -> Result<Value, Error> {
    done_value(done.changes, done.last_id)
}

fn enter(context: &Context, _: Args) -> Result<Value, Error> {
    let db = db(context)?;
    db.check_outside()?;
    db.recording.borrow_mut().enter();
    Ok(Value::Null)
}

fn leave(
    context: &Context,
    _: Value,
    ending: BracketEnd,
) -> Result<Option<LocalFuture<Result<(), Error>>>, Error> {
    let db = db(context)?;
    let recorded = db.recording.borrow_mut().leave(ending.succeeded);
    let Some(mut recorded) = recorded else {
        return Ok(None);
    };
    let messages = std::mem::take(&mut recorded.messages);
    let mut statements = std::mem::take(&mut recorded.statements);
    statements.extend(publishing(&messages));
    if !ending.may_wait && db.is_at_top_level() {
        let sent = db
            .database
            .in_place(async move |client: PostgresClient| client.batch(&statements).await);
        return sent.map(|_| None);
    }
    let room = db.room.take(recorded.bytes)?;
    let place = Some(db.begin_statements());
    Ok(Some(Box::pin(async move {
        let _room = room;
        if !messages.is_empty() {
            // What was published before comes before it.
            db.database.carrier.flushed().await;
        }
        let sent = db.committing(db.client.batch(&statements));
        let sent = db.timed_batch(&statements, sent).await;
        settled(place, sent)?;
        recorded.tell_sent();
        Ok(())
    })))
}

/// The transaction whose method is called.
fn this(
    context: &Context,
    args: &Args,
) -> Result<(Rc<PostgresWorker>, Rc<OpenTransaction>), Error> {
    let (_, transaction) = args.object::<OpenTransaction>(context)?;
    let db = db(context)?;
    transaction.note_use(&db);
    Ok((db, transaction))
}

fn read_in(context: &Context, mut args: Args, wanted: Wanted) -> Result<Prompt, Error> {
    let (db, transaction) = this(context, &args)?;
    if transaction.recording.borrow().is_open() {
        return Err(cannot_read("tx", wanted.row()));
    }
    let (sql, params) = (args.text(0), args.take(1));
    let room = transaction.room.take(statement_bytes(&sql, &params))?;
    Ok(Prompt::Waits(Box::pin(async move {
        let _room = room;
        let rows = transaction.query(&sql, &params, wanted.limits(&db));
        let rows = db.timed(&sql, &params, rows).await?;
        Ok(wanted.value(rows))
    })))
}

fn exec_in(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let (db, transaction) = this(context, &args)?;
    let (sql, params) = (args.text(0), args.take(1));
    let mut recording = transaction.recording.borrow_mut();
    if recording.is_open() {
        recording.add(sql, params)?;
        return Ok(Prompt::Done(Value::Null));
    }
    drop(recording);
    let room = transaction.room.take(statement_bytes(&sql, &params))?;
    Ok(Prompt::Waits(Box::pin(async move {
        let _room = room;
        let done = db.timed(&sql, &params, transaction.exec(&sql, &params));
        done.await.and_then(given)
    })))
}

fn enqueue_in(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let (db, transaction) = this(context, &args)?;
    transaction.check()?;
    let queue = context.get::<Rc<dyn JobQueue>>();
    let queue = queue.ok_or_else(|| Error::script("there are no jobs here"))?;
    let call = JobCall {
        name: args.text(0),
        args: args.take(1),
        options: args.take(2),
    };
    let transaction = Rc::downgrade(&transaction);
    queue.enqueue_waiting_in(&TransactionTables { db, transaction }, call)
}

fn enter_in(context: &Context, args: Args) -> Result<Value, Error> {
    let (object, transaction) = args.object::<OpenTransaction>(context)?;
    transaction.note_use(&*db(context)?);
    transaction.check()?;
    transaction.recording.borrow_mut().enter();
    Ok(Value::Object(object))
}

fn leave_in(
    context: &Context,
    token: Value,
    ending: BracketEnd,
) -> Result<Option<LocalFuture<Result<(), Error>>>, Error> {
    let (_, transaction) = transaction_rows::of(context, &token)?;
    let recorded = transaction.recording.borrow_mut().leave(ending.succeeded);
    let Some(mut recorded) = recorded else {
        return Ok(None);
    };
    let db = db(context)?;
    let room = transaction.room.take(recorded.bytes)?;
    Ok(Some(Box::pin(async move {
        let _room = room;
        let statements = std::mem::take(&mut recorded.statements);
        let sent = transaction.batch(&statements);
        Box::pin(db.timed_batch(&statements, sent)).await?;
        transaction.publish(std::mem::take(&mut recorded.messages))?;
        recorded.tell_sent();
        Ok(())
    })))
}
