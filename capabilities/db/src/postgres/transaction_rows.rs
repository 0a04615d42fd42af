//! `db.transaction`: what is done before its function and behind it.

use super::api::TRANSACTION;
use super::transaction::OpenTransaction;
use crate::running::{self, RunningKind, RunningPlace};
use sampan_host::{Args, Context, Error, LocalFuture, Object, Value};
use std::rc::Rc;

/// The beginning of `db.transaction`.
pub(super) fn begin(context: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    let objects = context.objects().clone();
    let db = super::api::db(context);
    let begun = db.and_then(|db| {
        if db.running.has_own(db.owner()) {
            return Err(Error::script(running::SECOND));
        }
        let place = RunningPlace::new(&db.running, RunningKind::Function, db.owner());
        Ok((db, place))
    });
    Box::pin(async move {
        let (db, place) = begun?;
        let transaction = db.timed_all(OpenTransaction::begin(&db, place)).await?;
        let object = objects.add_shared(&TRANSACTION, transaction);
        Ok(Value::Object(object))
    })
}

/// The transaction that a bracket was given.
pub(super) fn of(context: &Context, token: &Value) -> Result<(Object, Rc<OpenTransaction>), Error> {
    let Value::Object(object) = *token else {
        return Err(TRANSACTION.is_over());
    };
    let transaction = context.objects().get(object);
    Ok((object, transaction.ok_or_else(|| TRANSACTION.is_over())?))
}

/// Ends the transaction, when its function has ended.
pub(super) fn end(
    context: &Context,
    token: Value,
    succeeded: bool,
) -> LocalFuture<Result<(), Error>> {
    let (objects, db) = (context.objects().clone(), super::api::db(context));
    let found = of(context, &token);
    Box::pin(async move {
        let (object, transaction) = match found {
            Ok(found) => found,
            // Its request was given up, and it with that.
            Err(_) if !succeeded => return Ok(()),
            Err(error) => return Err(error),
        };
        transaction.place.has_ended.set(true);
        let db = db?;
        let ended = match succeeded {
            true => match db.check_write() {
                Ok(()) => db.timed_all(transaction.commit(&db)).await,
                Err(error) => {
                    db.timed_all(transaction.roll_back()).await;
                    Err(error)
                }
            },
            false => {
                db.timed_all(transaction.roll_back()).await;
                Ok(())
            }
        };
        objects.remove(object);
        ended
    })
}
