//! The session of a socket. Its request has ended, so it reads the table anew, and each change is written
//! at once. From a server it is read before each event.

use crate::cookie::{Cookie, SessionId};
use crate::entries::{Entries, as_kept};
use crate::flash;
use crate::sealed;
use crate::session::{Keeper, Sessions, SharedSessions, now};
use crate::store::server::ServerSessions;
use crate::store::{Change, SessionKey, StoredSession};
use crate::trace::{Trace, TraceOfRequest};
use sampan_host::{Context, Error, ErrorKind, LocalFuture, RequestView, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The session of a socket.
pub(crate) struct KeptSession {
    trace: Rc<TraceOfRequest>,
    /// The sessions of the project that opened the socket.
    shared: Rc<SharedSessions>,
    seen: Cell<SeenUse>,
    /// The session as a server gave it for this event.
    read: RefCell<Option<Result<Option<StoredSession>, Error>>>,
}

/// The use of its session by a socket, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SeenUse {
    Unknown,
    Unused,
    Used,
}

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
        let shared = Rc::clone(&sessions(context)?.0);
        if is_new {
            let (_, sent) = Cookie::read(&shared.cookies, request);
            trace.set(sent.map_or(Trace::None, |sent| match &shared.keeper {
                Keeper::Table(_) | Keeper::Server(_) => {
                    SessionId::parse(&sent).map_or(Trace::None, |id| Trace::Table(id.key()))
                }
                Keeper::Cookie(sealer) => {
                    sealed::open(&**sealer, &sent).map_or(Trace::None, Trace::Cookie)
                }
            }));
        }
        Ok(Self {
            trace,
            shared,
            seen: Cell::new(SeenUse::Unknown),
            read: RefCell::default(),
        })
    }

    /// An event is about to be handled. Returns the wait for its session where a server has to be asked: sockets that
    /// have looked at theirs are prepared, and new ones once another socket of the worker has.
    pub(crate) fn before_event(self: &Rc<Self>) -> Option<LocalFuture<()>> {
        let (Keeper::Server(store), Trace::Table(key)) = (&self.shared.keeper, self.trace.get())
        else {
            return None;
        };
        self.read.take();
        let is_wanted = match self.seen.get() {
            SeenUse::Unknown => self.shared.sockets_look.get(),
            SeenUse::Unused => false,
            SeenUse::Used => true,
        };
        if !is_wanted {
            return None;
        }
        let (kept, store) = (Rc::clone(self), Rc::clone(store));
        Some(Box::pin(async move {
            let read = store.load(&key).await;
            let read = read.map(|read| read.map(|read| read.stored));
            kept.read.replace(Some(read));
            if kept.seen.get() == SeenUse::Unknown {
                kept.seen.set(SeenUse::Unused);
            }
        }))
    }

    /// Returns the session as a server gave it for this event; one that looks at it for the first time waits in place.
    fn read_on(
        &self,
        store: &ServerSessions,
        key: &SessionKey,
    ) -> Result<Option<StoredSession>, Error> {
        self.seen.set(SeenUse::Used);
        self.shared.sockets_look.set(true);
        let mut read = self.read.borrow_mut();
        let load = || Ok(store.load_in_place(key)?.map(|read| read.stored));
        read.get_or_insert_with(load).clone()
    }

    /// The session as it is now.
    fn stored(&self, shared: &SharedSessions) -> Result<Option<StoredSession>, Error> {
        let stored = match (&shared.keeper, self.trace.get()) {
            (Keeper::Table(store), Trace::Table(key)) => store.load(&key)?,
            (Keeper::Server(store), Trace::Table(key)) => self.read_on(store, &key)?,
            (Keeper::Cookie(_), Trace::Cookie(stored)) => Some(stored),
            _ => None,
        };
        Ok(stored.filter(|stored| stored.ends > now()))
    }

    /// Returns the key under which the session is kept; `None` if it has none.
    pub(crate) fn key(&self) -> Option<SessionKey> {
        match self.trace.get() {
            Trace::Table(key) => Some(key),
            Trace::None | Trace::Cookie(_) => None,
        }
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

    /// Changes the session where it is kept. `wish` says what a socket cannot do with another session.
    fn change(
        &self,
        shared: &SharedSessions,
        wish: &str,
        merge: &mut dyn FnMut(SessionKey, Option<StoredSession>) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        match (&shared.keeper, self.trace.get()) {
            (Keeper::Table(store), Trace::Table(key)) => {
                store.note_write();
                store.change_in_place(&key, &mut |stored| merge(key, stored))
            }
            (Keeper::Server(store), Trace::Table(key)) => {
                let mut changed = None;
                let done = store.change_in_place(key, |stored| {
                    let change = merge(key, stored)?;
                    changed = Some(match &change {
                        Change::Put(_, stored) | Change::Replace(_, stored) => Some(stored.clone()),
                        Change::Keep | Change::Remove => None,
                    });
                    Ok(change)
                });
                self.read
                    .replace(done.is_ok().then(|| Ok(changed.flatten())));
                done
            }
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
        self.change(shared, "begin a session", &mut |place, stored| {
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
        if matches!(self.trace.get(), Trace::None) {
            return Ok(());
        }
        let sessions = sessions(context)?;
        self.change(&sessions.0, "end a session", &mut |_, _| Ok(Change::Remove))
    }

    /// Refuses to give the session another id.
    pub(crate) fn regenerate(&self) -> Result<(), Error> {
        Err(needs_cookie("give a session a new id"))
    }
}
