//! Sessions that have a value under a key: their end, and their list.

use super::{Keeper, Session, Sessions, now};
use crate::limits::LISTED_MAX;
use crate::store::{ListedSession, SessionChoice, SessionKey};
use crate::trace::Trace;
use sampan_host::{Context, Error, ErrorKind, Prompt, Value};
use std::rc::Rc;

impl Session {
    /// Returns the key under which the session is kept now; `None` before it is kept.
    pub(crate) fn kept_key(&self) -> Option<SessionKey> {
        match self.trace.get() {
            Trace::Table(key) => Some(key),
            Trace::None | Trace::Cookie(_) => None,
        }
    }
}

/// A key of sessions, and the value that is looked for.
pub(crate) struct SessionSearch {
    pub(crate) key: String,
    pub(crate) value: Value,
    /// The call can wait.
    pub(crate) may_wait: bool,
}

fn sessions(context: &Context) -> Result<Rc<Sessions>, Error> {
    let sessions = context.get::<Sessions>();
    sessions.ok_or_else(|| Error::new(ErrorKind::Internal, "no sessions here"))
}

/// Ends all sessions that have a value under a key, except one. Gives how many there were.
///
/// # Errors
/// They are kept in cookies; they cannot be searched by this key, or not be written.
pub(crate) fn end_all(
    context: &Context,
    search: SessionSearch,
    except: Option<SessionKey>,
) -> Result<Prompt, Error> {
    let chosen = except.map_or(SessionChoice::All, SessionChoice::Except);
    let given = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    end(context, search, chosen, given)
}

/// Ends the session with this id, if it has a value under a key. Gives whether it was there.
///
/// # Errors
/// As [`end_all`].
pub(crate) fn end_one(context: &Context, search: SessionSearch, id: &str) -> Result<Prompt, Error> {
    if let Keeper::Cookie(_) = &sessions(context)?.0.keeper {
        return Err(in_cookies("end them"));
    }
    match SessionKey::parse(id) {
        Some(key) => end(context, search, SessionChoice::Only(key), |count| {
            Value::Bool(count > 0)
        }),
        None => Ok(Prompt::Done(Value::Bool(false))),
    }
}

fn end(
    context: &Context,
    search: SessionSearch,
    chosen: SessionChoice,
    given: fn(usize) -> Value,
) -> Result<Prompt, Error> {
    let SessionSearch {
        key,
        value,
        may_wait,
    } = search;
    let now = now();
    match &sessions(context)?.0.keeper {
        Keeper::Table(store) => {
            let ended = store.remove_with(&key, &value, chosen, now)?;
            Ok(Prompt::Done(given(ended)))
        }
        Keeper::Server(store) if !may_wait => {
            let ended = store.remove_with_in_place(&key, &value, chosen, now)?;
            Ok(Prompt::Done(given(ended)))
        }
        Keeper::Server(store) => {
            let store = Rc::clone(store);
            Ok(Prompt::Waits(Box::pin(async move {
                Ok(given(store.remove_with(&key, &value, chosen, now).await?))
            })))
        }
        Keeper::Cookie(_) => Err(in_cookies("end them")),
    }
}

/// Lists the sessions that have a value under a key, the newest first. `current` is marked.
///
/// # Errors
/// They are kept in cookies; they cannot be searched by this key, or not be read.
pub(crate) fn list(
    context: &Context,
    search: SessionSearch,
    current: Option<SessionKey>,
) -> Result<Prompt, Error> {
    let SessionSearch {
        key,
        value,
        may_wait,
    } = search;
    match &sessions(context)?.0.keeper {
        Keeper::Table(store) => {
            let found = store.list_with(&key, &value, now(), LISTED_MAX)?;
            Ok(Prompt::Done(shown(&found, current)))
        }
        Keeper::Server(store) if !may_wait => {
            let found = store.list_with_in_place(&key, &value, now(), LISTED_MAX)?;
            Ok(Prompt::Done(shown(&found, current)))
        }
        Keeper::Server(store) => {
            let store = Rc::clone(store);
            Ok(Prompt::Waits(Box::pin(async move {
                let found = store.list_with(&key, &value, now(), LISTED_MAX).await?;
                Ok(shown(&found, current))
            })))
        }
        Keeper::Cookie(_) => Err(in_cookies("list them")),
    }
}

fn in_cookies(wish: &str) -> Error {
    Error::script(format!(
        "browsers keep the sessions themselves ([session] store = \"cookie\"), so the server cannot {wish}: keep them \
         in the database, with store = \"db\""
    ))
}

/// Returns sessions as scripts see them, with times in seconds.
fn shown(found: &[ListedSession], current: Option<SessionKey>) -> Value {
    let seconds = |millis: u64| Value::Int(i64::try_from(millis / 1_000).unwrap_or(i64::MAX));
    let shown = found.iter().map(|session| {
        Value::Map(vec![
            ("id".to_owned(), Value::Text(session.key.shown())),
            ("began".to_owned(), seconds(session.began)),
            ("ends".to_owned(), seconds(session.ends)),
            (
                "current".to_owned(),
                Value::Bool(Some(session.key) == current),
            ),
        ])
    });
    Value::List(shown.collect())
}
