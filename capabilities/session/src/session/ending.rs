//! The end of all sessions that have a value under a key.

use super::{Keeper, Sessions};
use sampan_host::{Context, Error, ErrorKind, Prompt, Value};
use std::rc::Rc;

/// Ends all sessions that have a value under a key. Gives how many there were.
///
/// # Errors
/// They are kept in cookies; they cannot be searched by this key, or not be written.
pub(crate) fn end_all(
    context: &Context,
    key: String,
    value: Value,
    may_wait: bool,
) -> Result<Prompt, Error> {
    let sessions = context.get::<Sessions>();
    let sessions = sessions.ok_or_else(|| Error::new(ErrorKind::Internal, "no sessions here"))?;
    let given = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    match &sessions.0.keeper {
        Keeper::Table(store) => Ok(Prompt::Done(given(store.remove_with(&key, &value)?))),
        Keeper::Server(store) if !may_wait => {
            let ended = store.remove_with_in_place(&key, &value)?;
            Ok(Prompt::Done(given(ended)))
        }
        Keeper::Server(store) => {
            let store = Rc::clone(store);
            Ok(Prompt::Waits(Box::pin(async move {
                Ok(given(store.remove_with(&key, &value).await?))
            })))
        }
        Keeper::Cookie(_) => Err(Error::script(
            "browsers keep the sessions themselves ([session] store = \"cookie\"), so the server cannot end them: keep \
             them in the database",
        )),
    }
}
