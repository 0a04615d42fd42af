//! The session of one request: loaded when it is first asked for, written once, at the end of the handler.

use crate::config::SessionConfig;
use crate::cookie::{Cookie, CookieNames, SessionId};
use crate::entries::{Entries, as_kept, bytes_of};
use crate::flash::{self, Flashes};
use crate::rows::SESSION;
use crate::sealed;
use crate::store::{Change, SessionKey, SessionStore, StoredSession};
use crate::trace::{Trace, TraceOfRequest};
use sampan_host::request::{self, AnswerHook, AnswerHooks};
use sampan_host::{Context, Error, ErrorKind, RequestView, Sealer, Value, clock};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::Notify;

/// The shared state of the sessions of one worker share. `app` puts it into the context.
pub struct Sessions(pub(crate) Rc<SharedSessions>);

pub(crate) struct SharedSessions {
    pub(crate) config: SessionConfig,
    pub(crate) cookies: CookieNames,
    pub(crate) keeper: Keeper,
    /// Told whenever a session begins: from then on there is something to clean.
    begun: Rc<Notify>,
}

/// The store of the sessions.
pub(crate) enum Keeper {
    Table(Rc<dyn SessionStore>),
    Cookie(Rc<dyn Sealer>),
}

impl Sessions {
    /// Sessions that are kept in `store`. `begun` is notified when one begins.
    pub fn in_table(config: SessionConfig, store: Rc<dyn SessionStore>, begun: Rc<Notify>) -> Self {
        Self::new(config, Keeper::Table(store), begun)
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
}

/// The phase of a session: it can be changed, or not any more.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Open,
    /// The handler has ended.
    Written,
    /// The request has ended.
    Over,
}

struct SessionState {
    found: Option<Found>,
    /// As the script sees them.
    entries: Entries,
    /// The keys that the request has changed, and what was there before.
    changes: Vec<(String, Option<Value>)>,
    flashes: Flashes,
    /// The length of the JSON in bytes; `None` before it was measured, and where it would have to be measured again.
    bytes: Option<usize>,
    is_cleared: bool,
    is_renewed: bool,
}

/// A session that was there when the request asked.
struct Found {
    /// Nothing where it is kept in the cookie.
    key: Option<SessionKey>,
    stored: StoredSession,
}

impl Found {
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
    let session = Rc::new(Session::load(&sessions.0, request)?);
    AnswerHooks::add(request, Rc::clone(&session) as Rc<dyn AnswerHook>);
    request.store().put(SessionOfRequest(Rc::clone(&session)));
    Ok(session)
}

/// Ends all sessions that have a value under a key. Returns how many there were.
///
/// # Errors
/// They are kept in cookies; they cannot be searched by this key, or not be written.
pub(crate) fn end_all(context: &Context, key: &str, value: &Value) -> Result<usize, Error> {
    let sessions = context.get::<Sessions>();
    let sessions = sessions.ok_or_else(|| Error::new(ErrorKind::Internal, "no sessions here"))?;
    match &sessions.0.keeper {
        Keeper::Table(store) => store.remove_with(key, value),
        Keeper::Cookie(_) => Err(Error::script(
            "browsers keep the sessions themselves ([session] store = \"cookie\"), so the server cannot end them: keep \
             them in the database",
        )),
    }
}

impl SharedSessions {
    /// The session that the value of a cookie stands for.
    fn find(&self, sent: &str) -> Result<Option<Found>, Error> {
        Ok(match &self.keeper {
            Keeper::Table(store) => {
                let Some(id) = SessionId::parse(sent) else {
                    return Ok(None);
                };
                let key = id.key();
                let stored = store.load(&key)?;
                let key = Some(key);
                stored.map(|stored| Found { key, stored })
            }
            Keeper::Cookie(sealer) => {
                let stored = sealed::open(&**sealer, sent);
                stored.map(|stored| Found { key: None, stored })
            }
        })
    }
}

impl Session {
    fn load(shared: &Rc<SharedSessions>, request: &dyn RequestView) -> Result<Self, Error> {
        let (cookie, sent) = Cookie::read(&shared.cookies, request);
        let found = match sent {
            Some(sent) => shared.find(&sent)?,
            None => None,
        };
        let found = found.filter(|found| found.stored.ends > now());
        let (trace, _) = TraceOfRequest::of(request);
        trace.set(found.as_ref().map_or(Trace::None, Found::trace));
        let mut entries = match &found {
            Some(found) => Entries::parse(&found.stored.data),
            None => Entries::default(),
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
                flashes: Flashes::of(&mut entries),
                entries,
                changes: Vec::new(),
                bytes: None,
                is_cleared: false,
                is_renewed: false,
            }),
        })
    }

    fn check_open(&self) -> Result<(), Error> {
        match self.phase.get() {
            Phase::Open => Ok(()),
            Phase::Written => Err(Error::script(
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
        SESSION.check_key(key)?;
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
        self.remove_flashes();
        let mut state = self.state.borrow_mut();
        state.bytes = None;
        state.flashes.take()
    }

    /// Removes the messages from the table at once: of requests that run at the same time only one gets them. Where the
    /// table cannot be written now they stay for a later request.
    fn remove_flashes(&self) {
        let mut state = self.state.borrow_mut();
        let key = state.found.as_ref().and_then(|found| found.key);
        let (Keeper::Table(store), Some(key)) = (&self.shared.keeper, key) else {
            return;
        };
        if self.phase.get() != Phase::Open || !state.flashes.has_unseen() {
            return;
        }
        let flashes = &mut state.flashes;
        let removed = store.change_in_place(&key, &mut |stored| {
            let Some(StoredSession { data, began, ends }) = stored else {
                flashes.leave();
                return Ok(Change::Keep);
            };
            let mut entries = Entries::parse(&data);
            flashes.remove_from(&mut entries);
            let data = entries.text()?;
            Ok(Change::Put(key, StoredSession { data, began, ends }))
        });
        if removed.is_err_and(|error| is_busy(&error)) {
            state.flashes.leave();
        }
    }

    /// Writes what the request has changed.
    fn write(&self, state: &SessionState, request: &dyn RequestView) -> Result<(), Error> {
        let has_content = !state.entries.is_empty() || state.flashes.has_new();
        let is_new = state.found.is_none() || state.is_cleared;
        if is_new && !has_content {
            return self.end(state, request);
        }
        let now = now();
        let begins = is_new || state.is_renewed;
        if !begins && !state.has_changed() && !state.is_due(&self.shared.config, now) {
            return Ok(());
        }
        match (&self.shared.keeper, &state.found) {
            (Keeper::Table(store), Some(found)) if !begins => {
                let changed = self.change(&**store, found, state, now);
                // The next request can put off the end as well.
                changed.or_else(|error| match is_busy(&error) && !state.has_changed() {
                    true => Ok(()),
                    false => Err(error),
                })
            }
            (Keeper::Table(store), _) => self.begin(&**store, state, request, now),
            (Keeper::Cookie(sealer), found) => {
                let config = &self.shared.config;
                let kept = found.as_ref().filter(|_| !is_new);
                let data = state.merged(kept.map_or("{}", |found| &found.stored.data), config)?;
                let began = match kept {
                    Some(found) if !begins => found.stored.began,
                    _ => now,
                };
                let ends = config.end(began, now);
                let stored = StoredSession { data, began, ends };
                let sealed = sealed::seal(&**sealer, &stored)?;
                self.trace.set(Trace::Cookie(stored));
                let left = (began + config.lifetime_millis).saturating_sub(now);
                self.cookie.set(request, &sealed, left)
            }
        }
    }

    /// Nothing is left of the session.
    fn end(&self, state: &SessionState, request: &dyn RequestView) -> Result<(), Error> {
        if !state.is_cleared {
            return Ok(());
        }
        self.trace.set(Trace::None);
        if let (Keeper::Table(store), Some(found)) = (&self.shared.keeper, &state.found)
            && let Some(key) = &found.key
        {
            store.change(key, &mut |_| Ok(Change::Remove))?;
        }
        if self.cookie.was_sent {
            self.cookie.remove(request)?;
        }
        Ok(())
    }

    /// Merges what has changed into what is stored now, or puts off the end of that.
    fn change(
        &self,
        store: &dyn SessionStore,
        found: &Found,
        state: &SessionState,
        now: u64,
    ) -> Result<(), Error> {
        let (config, Some(key)) = (&self.shared.config, found.key) else {
            return Ok(());
        };
        store.change(&key, &mut |stored| {
            // Another request has ended the session meanwhile: it stays ended.
            let Some(stored) = stored else {
                return Ok(Change::Keep);
            };
            let data = match state.has_changed() {
                true => state.merged(&stored.data, config)?,
                false => stored.data.clone(),
            };
            let StoredSession { began, ends, .. } = stored;
            if data == stored.data && !config.is_due(began, ends, now) {
                return Ok(Change::Keep);
            }
            let ends = config.end(began, now);
            Ok(Change::Put(key, StoredSession { data, began, ends }))
        })
    }

    /// Writes the session under a new id, which the browser is given.
    fn begin(
        &self,
        store: &dyn SessionStore,
        state: &SessionState,
        request: &dyn RequestView,
        now: u64,
    ) -> Result<(), Error> {
        let config = &self.shared.config;
        let id = SessionId::random()?;
        let key = id.key();
        let old = state.found.as_ref().and_then(|found| found.key);
        store.change(&old.unwrap_or(key), &mut |stored| {
            let kept = stored.filter(|_| !state.is_cleared);
            let data = state.merged(kept.as_ref().map_or("{}", |kept| &kept.data), config)?;
            let (began, ends) = (now, config.end(now, now));
            Ok(Change::Put(key, StoredSession { data, began, ends }))
        })?;
        self.trace.set(Trace::Table(key));
        self.shared.begun.notify_one();
        self.cookie.set(request, &id.0, config.lifetime_millis)
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
    fn before_answer(&self, request: &dyn RequestView) -> Result<(), Error> {
        if self.phase.get() == Phase::Open {
            self.write(&self.state.borrow(), request)?;
            self.phase.set(Phase::Written);
        }
        Ok(())
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

#[cfg(test)]
mod tests;
