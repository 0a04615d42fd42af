//! `db.transaction` and the methods of its `tx`.

use super::{DONE_TYPE, EXEC_DOC, PARAMS, SQL, db, done_value, waiting};
use crate::group_commit::transaction::{Transaction, TransactionPlace};
use crate::group_commit::worker::Db;
use crate::sqlite::run::Done;
use sampan_host::jobs::{JobCall, JobQueue};
use sampan_host::{
    Args, Class, Context, Error, Function, FunctionKind, Lifetime, LocalFuture, Object, Rows, Type,
    Value, param, row,
};
use std::rc::Rc;

/// The kinds of the methods: what runs them on a backend.
pub(crate) struct MethodKinds {
    pub(crate) query: FunctionKind,
    pub(crate) one: FunctionKind,
    pub(crate) exec: FunctionKind,
    pub(crate) enqueue: FunctionKind,
    pub(crate) batch: FunctionKind,
}

/// The object that the function of `db.transaction` is given.
pub(crate) static TRANSACTION: Class = class(&METHODS);

static METHODS: [Function; 5] = methods(MethodKinds {
    query: FunctionKind::Sync(query),
    one: FunctionKind::Sync(one),
    exec: FunctionKind::Sync(exec),
    enqueue: FunctionKind::Sync(enqueue),
    batch: FunctionKind::Bracket {
        enter: enter_batch,
        later: None,
        leave: leave_batch,
    },
});

/// The class with these methods.
pub(crate) const fn class(methods: &'static [Function]) -> Class {
    Class {
        name: "Transaction",
        variable: "tx",
        doc: "A transaction that is open, in the function of `db.transaction`. It is over when that has ended; from \
         then on its methods fail.",
        methods,
        lifetime: Lifetime::Request,
        is_keyed: false,
    }
}

/// The methods, as a backend runs them.
pub(crate) const fn methods(kinds: MethodKinds) -> [Function; 5] {
    [
        row!("query"(SQL, PARAMS) -> Type::Rows, kinds.query,
            "The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. It sees what the \
             transaction wrote."),
        row!("one"(SQL, PARAMS) -> Type::RowOrNothing, kinds.one,
            "The first row of a statement, or nothing."),
        row!("exec"(SQL, PARAMS) -> DONE_TYPE, kinds.exec, EXEC_DOC),
        row!("enqueue"(
                param!("name": Type::Text, "The name of the job."),
                param!("args"? Type::Json, "The arguments: anything that JSON has."),
                param!("options"? Type::Map, "As for `app.enqueue`."),
            ) -> Type::Int, kinds.enqueue,
            "Adds a job in the transaction: it runs if that is committed. Returns its number, as `app.enqueue` does."),
        row!("batch"() -> Type::Any, kinds.batch,
            "Calls the function, which must not wait: all that it writes with `tx` is kept, or, if it throws, nothing, \
             and the error is passed on. Batches nest."),
    ]
}

fn with<T>(
    context: &Context,
    args: &Args,
    run: impl FnOnce(&Transaction) -> Result<T, Error>,
) -> Result<T, Error> {
    let (_, transaction) = args.object::<Transaction>(context)?;
    transaction.note_use();
    db(context)?.timed(|_| run(&transaction))
}

/// Runs `work` with a statement of the transaction.
fn with_statement<T>(
    context: &Context,
    args: &Args,
    sql: &str,
    params: &Value,
    run: impl FnOnce(&Transaction) -> Result<T, Error>,
) -> Result<T, Error> {
    let (_, transaction) = args.object::<Transaction>(context)?;
    transaction.note_use();
    db(context)?.timed_statement(sql, params, false, |_| run(&transaction))
}

fn rows(context: &Context, args: &mut Args, first_only: bool) -> Result<Rows, Error> {
    let (sql, params) = (args.text(0), args.take(1));
    with_statement(context, args, &sql, &params, |transaction| {
        transaction.run(&sql, first_only, |connection, run| {
            connection.query(&sql, &params, run)
        })
    })
}

fn query(context: &Context, mut args: Args) -> Result<Value, Error> {
    rows(context, &mut args, false).map(Value::Rows)
}

fn one(context: &Context, mut args: Args) -> Result<Value, Error> {
    rows(context, &mut args, true).map(Value::Row)
}

fn exec(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (sql, params) = (args.text(0), args.take(1));
    let done = with_statement(context, &args, &sql, &params, |transaction| {
        transaction.run(&sql, false, |connection, run| {
            connection.exec(&sql, &params, run)
        })
    });
    let Done { changes, last_id } = done?;
    done_value(changes, last_id)
}

fn enqueue(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, transaction) = args.object::<Transaction>(context)?;
    transaction.note_use();
    let queue = context.get::<Rc<dyn JobQueue>>();
    let queue = queue.ok_or_else(|| Error::script("there are no jobs here"))?;
    let call = JobCall {
        name: args.text(0),
        args: args.take(1),
        options: args.take(2),
    };
    let added = queue.enqueue_in(&*transaction, call);
    added.map(Value::Int)
}

fn enter_batch(context: &Context, args: Args) -> Result<Value, Error> {
    with(context, &args, Transaction::enter_batch)?;
    let (object, _) = args.object::<Transaction>(context)?;
    Ok(Value::Object(object))
}

fn leave_batch(context: &Context, token: Value, succeeded: bool) -> Result<(), Error> {
    let transaction = of(context, &token)?.1;
    db(context)?.timed(|_| transaction.leave_batch(succeeded))
}

/// The transaction that a bracket was given.
fn of(context: &Context, token: &Value) -> Result<(Object, Rc<Transaction>), Error> {
    let Value::Object(object) = *token else {
        return Err(TRANSACTION.is_over());
    };
    let transaction = context.objects().get(object);
    Ok((object, transaction.ok_or_else(|| TRANSACTION.is_over())?))
}

/// The beginning of `db.transaction`.
pub(super) fn begin(context: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    let objects = context.objects().clone();
    let place = db(context).and_then(|db| Ok((TransactionPlace::new(&db.0)?, db)));
    Box::pin(async move {
        let (place, db) = place?;
        let transaction = waiting(&db, Transaction::begin(place)).await?;
        let object = objects.add_shared(&TRANSACTION, transaction);
        Ok(Value::Object(object))
    })
}

/// Ends the transaction, when its function has ended.
pub(super) fn end(
    context: &Context,
    token: Value,
    succeeded: bool,
) -> LocalFuture<Result<(), Error>> {
    let (objects, db) = (context.objects().clone(), db(context));
    let found = of(context, &token);
    Box::pin(async move {
        let (object, transaction) = match found {
            Ok(found) => found,
            // Its request was given up, and it with that.
            Err(_) if !succeeded => return Ok(()),
            Err(error) => return Err(error),
        };
        transaction.note_end();
        let db: Rc<Db> = db?;
        let ended = if succeeded {
            waiting(&db, transaction.commit()).await
        } else {
            transaction.roll_back();
            Ok(())
        };
        objects.remove(object);
        // From here on the run has no transaction. A write right behind it may have to wait for those of others.
        drop(transaction);
        db.0.yield_to_transactions().await;
        ended
    })
}
