//! Sessions on a server, read before the handler runs: scripts read them without waiting.
//!
//! A request with a session's cookie is prepared where its route has looked at sessions before, or where that is not
//! known. A route that never did and does now waits in place, once.

use super::claimed::ClaimedMessages;
use super::{Found, SessionOfRequest, SharedSessions, now};
use crate::cookie::{Cookie, SessionId};
use crate::entries::Entries;
use crate::flash::Flashes;
use crate::store::server::{ServerSessions, VersionedSession};
use crate::store::{Change, SessionKey, StoredSession};
use sampan_host::database::{Preparation, PreparedUse, RouteUse};
use sampan_host::{Error, ErrorKind, LocalFuture, RequestView, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::spawn_local;

/// Reads the sessions of a worker's requests before their handlers run.
pub(crate) struct SessionPreparation {
    pub(crate) shared: Rc<SharedSessions>,
    pub(crate) store: Rc<ServerSessions>,
}

/// The session of one request as it was read for it, in its store.
pub(super) struct PreparedSession {
    route: Arc<RouteUse>,
    /// `None` while it was not read.
    read: RefCell<Option<Result<Option<ReadSession>, Error>>>,
    is_used: Cell<bool>,
}

/// A session that was read.
#[derive(Clone)]
struct ReadSession {
    session: VersionedSession,
    /// The messages that were taken out of it.
    messages: Option<Rc<ClaimedMessages>>,
}

impl PreparedSession {
    /// Takes note that the handler takes the messages for the next page.
    pub(super) fn note_taken(&self) {
        self.route.note_prepared(PreparedUse::Taken);
    }
}

impl Drop for PreparedSession {
    fn drop(&mut self) {
        if !self.is_used.get() {
            self.route.note_prepared(PreparedUse::Unused);
        }
    }
}

impl Preparation for SessionPreparation {
    fn before_handler(
        &self,
        request: &Rc<dyn RequestView>,
        route: &Arc<RouteUse>,
    ) -> Option<LocalFuture<()>> {
        let store = request.store();
        if store.get::<SessionOfRequest>().is_some() || store.get::<PreparedSession>().is_some() {
            return None;
        }
        let (_, sent) = Cookie::read(&self.shared.cookies, &**request);
        let key = SessionId::parse(&sent?)?.key();
        let prepared = store.put(PreparedSession {
            route: Arc::clone(route),
            read: RefCell::default(),
            is_used: Cell::new(false),
        });
        let seen = route.prepared();
        if seen == PreparedUse::Unused {
            return None;
        }
        let (store, shared) = (Rc::clone(&self.store), Rc::clone(&self.shared));
        let request = Rc::clone(request);
        Some(Box::pin(async move {
            let read = read(&store, key, seen == PreparedUse::Taken).await;
            let messages = read.as_ref().ok().and_then(Option::as_ref);
            let messages = messages.and_then(|read| read.messages.as_ref());
            let has_messages = messages.is_some_and(|claimed| !claimed.messages.is_empty());
            prepared.read.replace(Some(read));
            if has_messages {
                // What the handler does not take goes back at the end of the session, also where nothing looks at it.
                // It was read just now, so this fails for nothing.
                let _ = super::begin(&shared, &*request);
            }
        }))
    }
}

/// Reads a session. Where the route takes messages, they are removed from the store now: of requests that run at the
/// same time only one gets them.
async fn read(
    store: &Rc<ServerSessions>,
    key: SessionKey,
    takes_messages: bool,
) -> Result<Option<ReadSession>, Error> {
    let Some(session) = store.load(&key).await? else {
        return Ok(None);
    };
    let has_messages = |stored: &StoredSession| {
        let mut entries = Entries::parse(&stored.data);
        !Flashes::remove_all_from(&mut entries).is_empty()
    };
    if !takes_messages || session.stored.ends <= now() || !has_messages(&session.stored) {
        return Ok(Some(ReadSession {
            session,
            messages: None,
        }));
    }
    // Goes on where the client leaves meanwhile: then it is known what has to go back.
    let claim = spawn_local(claim(Rc::clone(store), key, session));
    claim.await.unwrap_or_else(|error| {
        let text = format!("a session could not be read: {error}");
        Err(Error::new(ErrorKind::Internal, text))
    })
}

/// Removes the messages of a session from the store.
async fn claim(
    store: Rc<ServerSessions>,
    key: SessionKey,
    session: VersionedSession,
) -> Result<Option<ReadSession>, Error> {
    let mut messages: Option<Vec<Value>> = None;
    let mut current = Some(session.clone());
    let removed = store.change(key, Some(session), |stored| {
        messages = None;
        let Some(StoredSession { data, began, ends }) = stored else {
            current = None;
            return Ok(Change::Keep);
        };
        let mut entries = Entries::parse(&data);
        let found = Flashes::remove_all_from(&mut entries);
        if found.is_empty() {
            return Ok(Change::Keep);
        }
        messages = Some(found);
        let stored = StoredSession {
            data: entries.text()?,
            began,
            ends,
        };
        Ok(Change::Put(key, stored))
    });
    removed.await?;
    // Without them another request has taken them meanwhile.
    let claimed = ClaimedMessages::new(&store, key, messages.unwrap_or_default());
    if let Some(current) = &mut current {
        let mut entries = Entries::parse(&current.stored.data);
        Flashes::remove_all_from(&mut entries);
        current.stored.data = entries.text()?;
        current.version += 1;
    }
    Ok(current.map(|session| ReadSession {
        session,
        messages: Some(claimed),
    }))
}

/// Returns the session that a request has sent the key of: as it was prepared, or waiting in place.
///
/// # Errors
/// It cannot be read.
pub(super) fn find(
    store: &ServerSessions,
    request: &dyn RequestView,
    key: SessionKey,
) -> Result<Option<Found>, Error> {
    let load = || {
        let session = store.load_in_place(&key)?;
        Ok(session.map(|session| ReadSession {
            session,
            messages: None,
        }))
    };
    let read = match request.store().get::<PreparedSession>() {
        None => load()?,
        Some(prepared) => {
            prepared.is_used.set(true);
            prepared.route.note_prepared(PreparedUse::Read);
            let mut read = prepared.read.borrow_mut();
            read.get_or_insert_with(load).clone()?
        }
    };
    Ok(read.map(|ReadSession { session, messages }| Found {
        version: session.version,
        messages,
        ..Found::new(Some(key), session.stored)
    }))
}
