//! The functions of scripts over the table that processes share. All wait for the server.

use crate::arguments::{by, copy, entry, key, number_size, of, there, ttl};
use crate::changes::IsolateCache;
use crate::counts::added;
use crate::entries::{Entries, Entry};
use crate::fillings::{Ended, MadeValue, ended, fill, wait_for};
use crate::limits::{ENTRY_BYTES, RERUNS_MAX};
use crate::server::{CallTable, Found, ServerCache, Statement, add, busy, finish, put, whole};
use crate::store::Begun;
use sampan_host::database::TableResult;
use sampan_host::{Args, Context, Error, ErrorKind, LocalFuture, Prompt, Value, Verdict};
use std::rc::Rc;
use std::sync::Arc;

/// The cache and the table of a call.
struct Call {
    cache: Rc<IsolateCache>,
    key: Arc<str>,
    table: CallTable,
}

impl Call {
    fn new(context: &Context, args: &mut Args) -> Result<Self, Error> {
        Self::of_key(context, key(args)?)
    }

    fn of_key(context: &Context, key: Arc<str>) -> Result<Self, Error> {
        let cache = of(context)?;
        let table = server(&cache)?.table(context);
        Ok(Self { cache, key, table })
    }

    /// Begins a change of the key. Handlers of this process that ask from its commit on do not wait for a value that is
    /// being made from what was true before.
    ///
    /// # Errors
    /// Fails if the writes of the run were rolled back.
    fn begin(
        &self,
        statement: Statement,
    ) -> Result<LocalFuture<Result<TableResult, Error>>, Error> {
        let forget = self.forget();
        let running = self.table.run(statement);
        // The statement itself is among what this depends on.
        self.cache.effects.when_settled(None, move |verdict| {
            if verdict == Verdict::Committed {
                forget();
            }
        })?;
        Ok(running)
    }

    fn forget(&self) -> impl FnOnce() + use<> {
        let (store, key) = (Arc::clone(&self.cache.store), Arc::clone(&self.key));
        move || store.change(&key, None)
    }

    /// Changes the key; in the function of a batch together with that.
    fn change(self, statement: Statement, size: usize) -> Result<Prompt, Error> {
        if self.table.record(&statement, self.forget())? {
            server(&self.cache)?.note(size);
            return Ok(Prompt::Done(Value::Null));
        }
        let running = self.begin(statement)?;
        Ok(Prompt::Waits(Box::pin(async move {
            running.await?;
            self.changed(size).await?;
            Ok(Value::Null)
        })))
    }

    /// Takes note of a change of so many bytes, and removes old values if it is time.
    async fn changed(&self, size: usize) -> Result<(), Error> {
        server(&self.cache)?.note(size);
        self.clean().await
    }

    async fn clean(&self) -> Result<(), Error> {
        server(&self.cache)?.clean(&self.table).await;
        Ok(())
    }
}

fn server(cache: &IsolateCache) -> Result<&ServerCache, Error> {
    let missing = || Error::new(ErrorKind::Internal, "the cache is not on a server here");
    cache.server.as_ref().ok_or_else(missing)
}

pub(crate) fn get(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let call = Call::new(context, &mut args)?;
    Ok(Prompt::Waits(Box::pin(async move {
        let found = call.table.read(&call.key).await?;
        // Batches do not wait for this.
        call.clean().await?;
        match found {
            Some(Found::Value(value)) => copy(&value),
            Some(Found::Claimed(_)) | None => Ok(Value::Null),
        }
    })))
}

pub(crate) fn set(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let call = Call::new(context, &mut args)?;
    let (value, ttl) = (args.take(1), ttl(args.take(2))?);
    let entry = entry(&call.cache, &call.key, value, ttl)?;
    let size = Entries::size(&call.key, &*entry.value);
    let statement = put(&call.key, Some(&*entry.value), ttl);
    call.change(statement, size)
}

pub(crate) fn delete(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let call = Call::new(context, &mut args)?;
    let size = call.key.len() + ENTRY_BYTES;
    let statement = put(&call.key, None, None);
    call.change(statement, size)
}

pub(crate) fn incr(context: &Context, mut args: Args) -> Result<Prompt, Error> {
    let call = Call::new(context, &mut args)?;
    let (by, ttl) = (by(&mut args), ttl(args.take(2))?);
    let size = number_size(&call.cache, &call.key)?;
    let statement = add(&call.key, by, size, ttl);
    let mut running = call.begin(statement.clone())?;
    Ok(Prompt::Waits(Box::pin(async move {
        for _ in 0..RERUNS_MAX {
            if let Some(sum) = whole(&running.await?) {
                call.changed(size).await?;
                return Ok(Value::Int(sum));
            }
            if let Some(Found::Value(value)) = call.table.read(&call.key).await? {
                let value = Arc::new(value);
                // The reason, unless the value is another one by now.
                added(Some(&Entry { value, until: None }), by, None)?;
            }
            running = call.table.run(statement.clone());
        }
        Err(busy(&call.key))
    })))
}

/// Looks for the value, waits for those of this process who make it, or has the function make it. In a transaction it
/// neither waits for others nor do they wait for it: they may wait for the end of the transaction.
pub(crate) fn enter(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let call = Call::new(context, &mut args);
    let call = call.and_then(|call| Ok((call, ttl(args.take(1))?)));
    let objects = context.objects().clone();
    Box::pin(async move {
        let (call, ttl) = call?;
        // Before others wait for the value.
        call.clean().await?;
        let filling = loop {
            if let Some(Found::Value(value)) = call.table.read(&call.key).await? {
                return there(&value);
            }
            if call.table.is_in_transaction {
                break call.cache.store.begin_alone(&call.key, 0);
            }
            let making = match call.cache.store.begin(&call.key) {
                Begun::There(value) => return there(&value),
                Begun::Fills(filling) => break filling,
                Begun::Waits(making) => making,
            };
            if let Some(value) = wait_for(making, &call.key).await? {
                return there(&value);
            }
        };
        server(&call.cache)?.note(call.key.len() + ENTRY_BYTES);
        match call.table.claim(&call.key).await? {
            Found::Value(value) => {
                let found = there(&value);
                filling.give(Arc::new(value));
                found
            }
            Found::Claimed(token) => Ok(fill(&objects, filling, ttl, token)),
        }
    })
}

/// Keeps what the function made, unless the key was changed meanwhile.
pub(crate) fn leave(
    context: &Context,
    filling: Value,
    made: Option<Value>,
) -> LocalFuture<Result<Value, Error>> {
    let kept = ended::<i64>(context, filling, made).and_then(|ended| keep(context, ended));
    Box::pin(async move {
        match kept? {
            Prompt::Done(value) => Ok(value),
            Prompt::Waits(kept) => kept.await,
        }
    })
}

fn keep(context: &Context, ended: Ended<i64>) -> Result<Prompt, Error> {
    let MadeValue {
        filling,
        entry,
        ttl,
        mark,
        value,
    } = match ended {
        Ended::Made(made) => made,
        Ended::Over(value) => return Ok(Prompt::Done(value)),
    };
    let call = Call::of_key(context, Arc::clone(filling.key()))?;
    let size = Entries::size(&call.key, &*entry.value);
    let running = call.table.run(finish(&call.key, &entry.value, ttl, mark));
    // Where it is not committed, the filling is given up with the effect.
    if filling.is_awaited() {
        call.cache.effects.when_settled(None, move |verdict| {
            if verdict == Verdict::Committed {
                filling.give(entry.value);
            }
        })?;
    }
    Ok(Prompt::Waits(Box::pin(async move {
        running.await?;
        call.changed(size).await?;
        Ok(value)
    })))
}
