//! The session of a socket. Its request has ended, so each look reads the table, and each change is written at once.

use crate::cookie::{Cookie, SessionId};
use crate::entries::{Entries, as_kept};
use crate::flash;
use crate::sealed;
use crate::session::{Keeper, Sessions, SharedSessions, now};
use crate::store::{Change, SessionKey, SessionStore, StoredSession};
use crate::trace::{Trace, TraceOfRequest};
use sampan_host::{Context, Error, ErrorKind, RequestView, Value};
use std::rc::Rc;

/// The session of a socket.
pub(crate) struct KeptSession(Rc<TraceOfRequest>);

/// The entries of a stored session as scripts see them.
fn entries_of(stored: &StoredSession) -> Entries {
    let mut entries = Entries::parse(&stored.data);
    entries.put(flash::KEY, None);
    entries
}

fn sessions(context: &Context) -> Result<Rc<Sessions>, Error> {
    let sessions = context.get::<Sessions>();
    sessions.ok_or_else(|| Error::new(ErrorKind::Internal, "no sessions here"))
}

/// Returns the error for a change that browsers would have to be told of.
fn needs_cookie(wish: &str) -> Error {
    Error::script(format!(
        "a socket cannot {wish}, because that needs a cookie: do it in the handler of a request"
    ))
}

fn has_ended() -> Error {
    Error::script("the session has ended")
}

impl KeptSession {
    /// Keeps the session of a request that is being answered.
    pub(crate) fn of(context: &Context, request: &dyn RequestView) -> Result<Self, Error> {
        let (trace, is_new) = TraceOfRequest::of(request);
        if is_new {
            let shared = &sessions(context)?.0;
            let (_, sent) = Cookie::read(&shared.cookies, request);
            trace.set(sent.map_or(Trace::None, |sent| match &shared.keeper {
                Keeper::Table(_) => {
                    SessionId::parse(&sent).map_or(Trace::None, |id| Trace::Table(id.key()))
                }
                Keeper::Cookie(sealer) => {
                    sealed::open(&**sealer, &sent).map_or(Trace::None, Trace::Cookie)
                }
            }));
        }
        Ok(Self(trace))
    }

    /// The session as it is now.
    fn stored(&self, shared: &SharedSessions) -> Result<Option<StoredSession>, Error> {
        let stored = match (&shared.keeper, self.0.get()) {
            (Keeper::Table(store), Trace::Table(key)) => store.load(&key)?,
            (Keeper::Cookie(_), Trace::Cookie(stored)) => Some(stored),
            _ => None,
        };
        Ok(stored.filter(|stored| stored.ends > now()))
    }

    fn entries(&self, context: &Context) -> Result<Entries, Error> {
        let stored = self.stored(&sessions(context)?.0)?;
        Ok(stored.as_ref().map(entries_of).unwrap_or_default())
    }

    /// The value under a key; [`Value::Null`] if there is none.
    pub(crate) fn get(&self, context: &Context, key: &str) -> Result<Value, Error> {
        let entries = self.entries(context)?;
        Ok(entries.get(key).cloned().unwrap_or_default())
    }

    pub(crate) fn keys(&self, context: &Context) -> Result<Vec<Value>, Error> {
        let entries = self.entries(context)?;
        Ok(entries.keys().map(Value::from).collect())
    }

    /// The table, and the key of the session in it. `wish` says what a socket cannot do with another session.
    fn place<'a>(
        &self,
        shared: &'a SharedSessions,
        wish: &str,
    ) -> Result<(&'a dyn SessionStore, SessionKey), Error> {
        match (&shared.keeper, self.0.get()) {
            (Keeper::Table(store), Trace::Table(key)) => Ok((&**store, key)),
            (Keeper::Cookie(_), _) => Err(needs_cookie(
                "change a session that its browser keeps ([session] store = \"cookie\")",
            )),
            _ => Err(needs_cookie(wish)),
        }
    }

    /// Puts a value under a key; [`Value::Null`] removes it.
    pub(crate) fn set(&self, context: &Context, key: &str, value: &Value) -> Result<(), Error> {
        flash::check_key(key)?;
        let value = match value {
            Value::Null => None,
            value => Some(as_kept(value)?),
        };
        let sessions = sessions(context)?;
        let (shared, now) = (&sessions.0, now());
        let (store, place) = self.place(shared, "begin a session")?;
        store.change_in_place(&place, &mut |stored| {
            let stored = stored
                .filter(|stored| stored.ends > now)
                .ok_or_else(has_ended)?;
            let mut entries = Entries::parse(&stored.data);
            entries.put(key, value.clone());
            let data = entries.text()?;
            shared.config.check_bytes(data.len(), stored.data.len())?;
            let (began, ends) = (stored.began, shared.config.end(stored.began, now));
            Ok(Change::Put(place, StoredSession { data, began, ends }))
        })
    }

    /// Ends the session.
    pub(crate) fn clear(&self, context: &Context) -> Result<(), Error> {
        if matches!(self.0.get(), Trace::None) {
            return Ok(());
        }
        let sessions = sessions(context)?;
        let (store, place) = self.place(&sessions.0, "end a session")?;
        store.change_in_place(&place, &mut |_| Ok(Change::Remove))
    }

    /// Refuses to give the session another id.
    pub(crate) fn regenerate(&self) -> Result<(), Error> {
        Err(needs_cookie("give a session a new id"))
    }
}
