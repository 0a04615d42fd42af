//! The session of one request: loaded when it is first asked for, written once, at the end of the handler.

use crate::config::SessionConfig;
use crate::cookie::{Cookie, CookieNames, SessionId};
use crate::entries::{Entries, as_kept, bytes_of};
use crate::flash::{self, Flashes};
use crate::sealed;
use crate::store::server::ServerSessions;
use crate::store::{Change, SessionKey, SessionStore, StoredSession};
use crate::trace::{Trace, TraceOfRequest};
use claimed::ClaimedMessages;
use prepared::PreparedSession;
use sampan_host::request::{self, AnswerHook, AnswerHooks, HookStep};
use sampan_host::{Context, Error, ErrorKind, RequestView, Sealer, Value, clock};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::Notify;
use writing::CookieChange;

/// The shared state of the sessions of one worker share. `app` puts it into the context.
pub struct Sessions(pub(crate) Rc<SharedSessions>);

pub(crate) struct SharedSessions {
    pub(crate) config: SessionConfig,
    pub(crate) cookies: CookieNames,
    pub(crate) keeper: Keeper,
    /// Told whenever a session begins: from then on there is something to clean.
    begun: Rc<Notify>,
    /// True if a socket has looked at its session.
    pub(crate) sockets_look: Cell<bool>,
}

/// The store of the sessions.
pub(crate) enum Keeper {
    Table(Rc<dyn SessionStore>),
    Server(Rc<ServerSessions>),
    Cookie(Rc<dyn Sealer>),
}

impl Sessions {
    /// Sessions that are kept in `store`. `begun` is notified when one begins.
    pub fn in_table(config: SessionConfig, store: Rc<dyn SessionStore>, begun: Rc<Notify>) -> Self {
        Self::new(config, Keeper::Table(store), begun)
    }

    /// Sessions that a database server keeps. `begun` is notified when one begins.
    pub(crate) fn on_server(
        config: SessionConfig,
        store: Rc<ServerSessions>,
        begun: Rc<Notify>,
    ) -> Self {
        Self::new(config, Keeper::Server(store), begun)
    }

    /// Sessions that browsers keep, sealed.
    pub fn in_cookie(config: SessionConfig, sealer: Rc<dyn Sealer>) -> Self {
        Self::new(config, Keeper::Cookie(sealer), Rc::default())
    }

    fn new(config: SessionConfig, keeper: Keeper, begun: Rc<Notify>) -> Self {
        Self(Rc::new(SharedSessions {
            cookies: CookieNames::new(&config),
            config,
            keeper,
            begun,
            sockets_look: Cell::default(),
        }))
    }
}

/// The session of one request.
pub struct Session {
    shared: Rc<SharedSessions>,
    cookie: Cookie,
    trace: Rc<TraceOfRequest>,
    phase: Cell<Phase>,
    state: RefCell<SessionState>,
    /// The news for its browser from what a server has written.
    news: Cell<Option<CookieChange>>,
    /// The session as a server gave it before the handler ran.
    prepared: Option<Rc<PreparedSession>>,
    /// The messages that it has taken from a server.
    claimed: RefCell<Option<Rc<ClaimedMessages>>>,
}

/// The phase of a session: it can be changed, or not any more.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Open,
    /// The handler has ended, and a server writes it.
    Writing,
    /// A server has written it, and its browser is to be told.
    Stored,
    /// The handler has ended, and it is written.
    Written,
    /// The request has ended.
    Over,
}

struct SessionState {
    found: Option<Found>,
    /// The entries as the script sees them.
    entries: Entries,
    /// The keys that the request has changed, and what was there before.
    changes: Vec<(String, Option<Value>)>,
    flashes: Flashes,
    /// The length of the JSON in bytes; `None` before it was measured, and where it would have to be measured again.
    bytes: Option<usize>,
    is_cleared: bool,
    is_renewed: bool,
    /// True if the request has ended the other sessions of its user.
    has_ended_others: bool,
}

/// A session that was there when the request asked.
struct Found {
    /// `None` where it is kept in the cookie.
    key: Option<SessionKey>,
    stored: StoredSession,
    /// The number of its changes, where a server keeps it.
    version: i64,
    /// The messages for the next page that were taken out of it before the handler ran.
    messages: Option<Rc<ClaimedMessages>>,
}

impl Found {
    fn new(key: Option<SessionKey>, stored: StoredSession) -> Self {
        Self {
            key,
            stored,
            version: 0,
            messages: None,
        }
    }

    fn trace(&self) -> Trace {
        match self.key {
            Some(key) => Trace::Table(key),
            None => Trace::Cookie(self.stored.clone()),
        }
    }
}

/// Keeps a request's session in its store, and ends with the request.
struct SessionOfRequest(Rc<Session>);

impl Drop for SessionOfRequest {
    fn drop(&mut self) {
        self.0.phase.set(Phase::Over);
    }
}

pub(crate) fn now() -> u64 {
    u64::try_from(clock::since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// The session of a request: for `req.session`, and for other users such as templates.
///
/// # Errors
/// It cannot be read.
pub fn of(context: &Context, request: &dyn RequestView) -> Result<Rc<Session>, Error> {
    if let Some(known) = request.store().get::<SessionOfRequest>() {
        return Ok(Rc::clone(&known.0));
    }
    let sessions = context.get::<Sessions>();
    let sessions = sessions.ok_or_else(|| Error::new(ErrorKind::Internal, "no sessions here"))?;
    begin(&sessions.0, request)
}

/// Loads the session of a request, which is written at its end.
fn begin(shared: &Rc<SharedSessions>, request: &dyn RequestView) -> Result<Rc<Session>, Error> {
    let session = Rc::new(Session::load(shared, request)?);
    AnswerHooks::add(request, Rc::clone(&session) as Rc<dyn AnswerHook>);
    request.store().put(SessionOfRequest(Rc::clone(&session)));
    Ok(session)
}

impl SharedSessions {
    /// The session that the value of a cookie stands for.
    fn find(&self, request: &dyn RequestView, sent: &str) -> Result<Option<Found>, Error> {
        Ok(match &self.keeper {
            Keeper::Table(store) => {
                let Some(id) = SessionId::parse(sent) else {
                    return Ok(None);
                };
                let key = id.key();
                let stored = store.load(&key)?;
                stored.map(|stored| Found::new(Some(key), stored))
            }
            Keeper::Server(store) => {
                let Some(id) = SessionId::parse(sent) else {
                    return Ok(None);
                };
                return prepared::find(store, request, id.key());
            }
            Keeper::Cookie(sealer) => {
                let stored = sealed::open(&**sealer, sent);
                stored.map(|stored| Found::new(None, stored))
            }
        })
    }
}

impl Session {
    fn load(shared: &Rc<SharedSessions>, request: &dyn RequestView) -> Result<Self, Error> {
        let (cookie, sent) = Cookie::read(&shared.cookies, request);
        let found = match sent {
            Some(sent) => shared.find(request, &sent)?,
            None => None,
        };
        let mut found = found.filter(|found| found.stored.ends > now());
        if found.is_some() {
            request.mark_personal();
        }
        let (trace, _) = TraceOfRequest::of(request);
        trace.set(found.as_ref().map_or(Trace::None, Found::trace));
        let mut entries = match &found {
            Some(found) => Entries::parse(&found.stored.data),
            None => Entries::default(),
        };
        let claimed = found.as_mut().and_then(|found| found.messages.take());
        let flashes = match &claimed {
            Some(claimed) => Flashes::removed(claimed.messages.clone()),
            None => Flashes::of(&mut entries),
        };
        let phase = if request.is_answered() {
            Phase::Written
        } else {
            Phase::Open
        };
        Ok(Self {
            shared: Rc::clone(shared),
            cookie,
            trace,
            phase: Cell::new(phase),
            state: RefCell::new(SessionState {
                found,
                flashes,
                entries,
                changes: Vec::new(),
                bytes: None,
                is_cleared: false,
                is_renewed: false,
                has_ended_others: false,
            }),
            news: Cell::default(),
            prepared: request.store().get(),
            claimed: RefCell::new(claimed),
        })
    }

    /// Takes note that what was taken is shown in an answer, or is back.
    fn settle(&self) {
        if let Some(claimed) = &*self.claimed.borrow() {
            claimed.settle();
        }
    }

    fn check_open(&self) -> Result<(), Error> {
        match self.phase.get() {
            Phase::Open => Ok(()),
            Phase::Writing | Phase::Stored | Phase::Written => Err(Error::script(
                "the session has been written: change it before the handler returns its answer",
            )),
            Phase::Over => Err(request::is_over()),
        }
    }

    /// The value under a key; [`Value::Null`] if there is none.
    pub fn get(&self, key: &str) -> Value {
        let state = self.state.borrow();
        state.entries.get(key).cloned().unwrap_or_default()
    }

    /// All values with their keys, as a map.
    pub fn values(&self) -> Value {
        Value::Map(self.state.borrow().entries.members().to_vec())
    }

    pub(crate) fn keys(&self) -> Vec<Value> {
        let state = self.state.borrow();
        state.entries.keys().map(Value::from).collect()
    }

    /// Puts a value under a key; [`Value::Null`] removes it.
    pub(crate) fn set(&self, key: &str, value: &Value) -> Result<(), Error> {
        self.check_open()?;
        flash::check_key(key)?;
        let value = match value {
            Value::Null => None,
            value => Some(as_kept(value)?),
        };
        let mut state = self.state.borrow_mut();
        let known = state.entries.get(key);
        if known == value.as_ref() {
            return Ok(());
        }
        let size = |value: Option<&Value>| value.map_or(Ok(0), |value| bytes_of(key, value));
        let (less, more) = (size(known)?, size(value.as_ref())?);
        let before = state.bytes()?;
        let bytes = before - less + more;
        self.shared.config.check_bytes(bytes, before)?;
        state.bytes = Some(bytes);
        let old = state.entries.put(key, value);
        if !state.changes.iter().any(|(known, _)| known == key) {
            state.changes.push((key.to_owned(), old));
        }
        Ok(())
    }

    /// Everything goes: the stored session, and its id.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.check_open()?;
        let mut state = self.state.borrow_mut();
        let keys: Vec<String> = state.entries.keys().map(str::to_owned).collect();
        for key in keys {
            let old = state.entries.put(&key, None);
            if !state.changes.iter().any(|(known, _)| *known == key) {
                state.changes.push((key, old));
            }
        }
        state.flashes.clear();
        state.bytes = None;
        state.is_cleared = true;
        Ok(())
    }

    /// The session gets another id.
    pub(crate) fn regenerate(&self) -> Result<(), Error> {
        self.check_open()?;
        self.state.borrow_mut().is_renewed = true;
        Ok(())
    }

    /// Takes note that the other sessions end: a new id of this one is none for those who know the old id.
    pub(crate) fn note_others_end(&self) {
        self.state.borrow_mut().has_ended_others = true;
    }

    /// Leaves a message for the next page.
    pub(crate) fn flash(&self, kind: String, message: &Value) -> Result<(), Error> {
        self.check_open()?;
        if *message == Value::Null {
            return Err(Error::script(
                "the message must be a text or another value that JSON has, not nothing",
            ));
        }
        let message = as_kept(message)?;
        let mut state = self.state.borrow_mut();
        let before = state.bytes()?;
        state.flashes.add(kind, message)?;
        state.bytes = None;
        let checked = state
            .bytes()
            .and_then(|bytes| self.shared.config.check_bytes(bytes, before));
        if checked.is_err() {
            state.flashes.remove_last();
            state.bytes = Some(before);
        }
        checked
    }

    /// The messages that earlier requests left, each a map of `kind` and `message`. Only this request sees them from
    /// now on.
    pub fn take_flashes(&self) -> Vec<Value> {
        if let Some(prepared) = &self.prepared {
            prepared.note_taken();
        }
        self.remove_flashes();
        let mut state = self.state.borrow_mut();
        state.bytes = None;
        state.flashes.take()
    }

    /// Removes the messages from the table at once: of requests that run at the same time only one gets them. Where the
    /// table cannot be written now they stay for a later request.
    fn remove_flashes(&self) {
        let mut state = self.state.borrow_mut();
        let Some(key) = state.found.as_ref().and_then(|found| found.key) else {
            return;
        };
        if self.phase.get() != Phase::Open || !state.flashes.has_unseen() {
            return;
        }
        let flashes = &mut state.flashes;
        let mut remove = |stored: Option<StoredSession>| {
            let Some(StoredSession { data, began, ends }) = stored else {
                flashes.leave();
                return Ok(Change::Keep);
            };
            let mut entries = Entries::parse(&data);
            flashes.remove_from(&mut entries);
            let data = entries.text()?;
            Ok(Change::Put(key, StoredSession { data, began, ends }))
        };
        let removed = match &self.shared.keeper {
            Keeper::Table(store) => store.change_in_place(&key, &mut remove),
            Keeper::Server(store) => store.change_in_place(key, remove),
            Keeper::Cookie(_) => return,
        };
        match (removed, &self.shared.keeper) {
            (Ok(()), Keeper::Server(store)) => {
                let messages = state.flashes.seen().to_vec();
                *self.claimed.borrow_mut() = Some(ClaimedMessages::new(store, key, messages));
            }
            (Err(error), _) if is_busy(&error) => state.flashes.leave(),
            _ => {}
        }
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TooLong | ErrorKind::Unavailable)
}

impl SessionState {
    fn has_changed(&self) -> bool {
        !self.changes.is_empty() || self.flashes.has_changed()
    }

    /// Reports whether this use puts off the end by so much that it is worth a write.
    fn is_due(&self, config: &SessionConfig, now: u64) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|found| config.is_due(found.stored.began, found.stored.ends, now))
    }

    /// Returns the number of bytes of JSON that will be kept if no other request changes them.
    fn bytes(&mut self) -> Result<usize, Error> {
        if self.bytes.is_none() {
            let mut all = self.entries.clone();
            self.flashes.put_into(&mut all);
            self.bytes = Some(all.bytes()?);
        }
        Ok(self.bytes.unwrap_or_default())
    }

    /// Returns the stored session with the request's changes.
    ///
    /// # Errors
    /// Together with what another request has changed meanwhile it is too large.
    fn merged(&self, stored: &str, config: &SessionConfig) -> Result<String, Error> {
        let mut entries = Entries::parse(stored);
        for (key, _) in &self.changes {
            entries.put(key, self.entries.get(key).cloned());
        }
        self.flashes.merge(&mut entries);
        let text = entries.text()?;
        config.check_bytes(text.len(), stored.len())?;
        Ok(text)
    }
}

impl AnswerHook for Session {
    fn before_answer(self: Rc<Self>, request: &dyn RequestView) -> Result<HookStep, Error> {
        match self.phase.get() {
            Phase::Open => match &self.shared.keeper {
                Keeper::Server(store) => return Ok(Self::write_later(&self, store)),
                _ => self.write(&self.state.borrow(), request)?,
            },
            Phase::Stored => self.tell_browser(request)?,
            Phase::Writing | Phase::Written | Phase::Over => return Ok(HookStep::Done),
        }
        self.phase.set(Phase::Written);
        self.settle();
        Ok(HookStep::Done)
    }

    fn handler_failed(&self) {
        let mut state = self.state.borrow_mut();
        for (key, old) in std::mem::take(&mut state.changes) {
            state.entries.put(&key, old);
        }
        state.flashes.restore();
        state.bytes = None;
        state.is_cleared = false;
        state.is_renewed = false;
    }
}

pub(crate) mod by_value;
mod claimed;
pub(crate) mod prepared;
#[cfg(test)]
mod tests;
mod writing;
