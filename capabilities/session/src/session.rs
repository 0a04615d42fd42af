//! The session of one request: loaded when it is first asked for, written once, at the end of the handler.

use crate::config::SessionConfig;
use crate::cookie::{Cookie, CookieNames, SessionId};
use crate::entries::{Entries, as_kept};
use crate::flash::{self, Flashes};
use crate::rows::SESSION;
use crate::store::{Change, SessionKey, SessionStore, StoredSession};
use sampan_host::request::{self, AnswerHook, AnswerHooks};
use sampan_host::{Context, Error, ErrorKind, RequestView, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// What the sessions of one worker share. `app` puts it into the context.
pub struct Sessions(Rc<SharedSessions>);

struct SharedSessions {
    config: SessionConfig,
    cookies: CookieNames,
    store: Rc<dyn SessionStore>,
    /// Told whenever a session begins: from then on there is something to clean.
    begun: Rc<Notify>,
}

impl Sessions {
    /// Sessions that are kept in `store`. `begun` is told whenever one begins, see [`clean`](crate::clean).
    pub fn new(config: SessionConfig, store: Rc<dyn SessionStore>, begun: Rc<Notify>) -> Self {
        Self(Rc::new(SharedSessions {
            cookies: CookieNames::new(&config),
            config,
            store,
            begun,
        }))
    }
}

/// The session of one request.
pub struct Session {
    shared: Rc<SharedSessions>,
    cookie: Cookie,
    phase: Cell<Phase>,
    state: RefCell<SessionState>,
}

/// Whether it can still be changed.
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
    is_cleared: bool,
    is_renewed: bool,
}

/// A session that was there when the request asked.
struct Found {
    key: SessionKey,
    began: u64,
    ends: u64,
}

/// Keeps a request's session in its store, and ends with the request.
struct SessionOfRequest(Rc<Session>);

impl Drop for SessionOfRequest {
    fn drop(&mut self) {
        self.0.phase.set(Phase::Over);
    }
}

pub(crate) fn now() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The session of a request: for `req.session`, and for whatever else shows it, such as a template.
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

impl Session {
    fn load(shared: &Rc<SharedSessions>, request: &dyn RequestView) -> Result<Self, Error> {
        let (cookie, id) = Cookie::read(&shared.cookies, request);
        let (mut found, mut entries) = (None, Entries::default());
        if let Some(key) = id.map(|id| id.key())
            && let Some(stored) = shared.store.load(&key)?
            && stored.ends > now()
        {
            let StoredSession { began, ends, .. } = stored;
            found = Some(Found { key, began, ends });
            entries = Entries::parse(&stored.data);
        }
        let phase = if request.is_answered() {
            Phase::Written
        } else {
            Phase::Open
        };
        Ok(Self {
            shared: Rc::clone(shared),
            cookie,
            phase: Cell::new(phase),
            state: RefCell::new(SessionState {
                found,
                flashes: Flashes::of(&mut entries),
                entries,
                changes: Vec::new(),
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
        if key == flash::KEY {
            let text = format!("the key {key:?} is the server's own: choose another one");
            return Err(Error::script(text));
        }
        let value = match value {
            Value::Null => None,
            value => Some(as_kept(value)?),
        };
        let mut state = self.state.borrow_mut();
        if state.entries.get(key) == value.as_ref() {
            return Ok(());
        }
        let old = state.entries.put(key, value);
        if let Err(error) = self.check_size(&state) {
            state.entries.put(key, old);
            return Err(error);
        }
        if !state.changes.iter().any(|(known, _)| known == key) {
            state.changes.push((key.to_owned(), old));
        }
        Ok(())
    }

    fn check_size(&self, state: &SessionState) -> Result<(), Error> {
        let (mut all, max) = (state.entries.clone(), self.shared.config.bytes_max);
        state.flashes.merge(&mut all);
        let bytes = all.text()?.len();
        if bytes <= max {
            return Ok(());
        }
        Err(Error::script(format!(
            "the session would have {bytes} bytes; at most {max} are kept (session.bytes_max): put large values into a table of the database"
        )))
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
        state.flashes.add(kind, message)?;
        self.check_size(&state)
            .inspect_err(|_| state.flashes.remove_last())
    }

    /// The messages that earlier requests left, each a map of `kind` and `message`. Only this request sees them from now on.
    pub fn take_flashes(&self) -> Vec<Value> {
        self.state.borrow_mut().flashes.take()
    }

    /// Writes what the request has changed.
    fn write(&self, state: &SessionState, request: &dyn RequestView) -> Result<(), Error> {
        let (store, config, now) = (&*self.shared.store, &self.shared.config, now());
        let has_content = !state.entries.is_empty() || state.flashes.has_new();
        let Some(found) = &state.found else {
            if has_content {
                return self.begin(None, state, request, now);
            }
            if state.is_cleared && self.cookie.was_sent {
                self.cookie.remove(request)?;
            }
            return Ok(());
        };
        if state.is_cleared && !has_content {
            store.change(&found.key, &mut |_| Ok(Change::Remove))?;
            return self.cookie.remove(request);
        }
        if state.is_cleared || state.is_renewed {
            return self.begin(Some(found.key), state, request, now);
        }
        let has_changed = !state.changes.is_empty() || state.flashes.has_changed();
        if !has_changed && !config.is_due(found.began, found.ends, now) {
            return Ok(());
        }
        let changed = store.change(&found.key, &mut |stored| {
            // Another request has ended the session meanwhile: it stays ended.
            let Some(stored) = stored else {
                return Ok(Change::Keep);
            };
            let data = if has_changed {
                state.merged(&stored.data)?
            } else {
                stored.data.clone()
            };
            let StoredSession { began, ends, .. } = stored;
            if data == stored.data && !config.is_due(began, ends, now) {
                return Ok(Change::Keep);
            }
            let ends = config.end(began, now);
            Ok(Change::Put(found.key, StoredSession { data, began, ends }))
        });
        match changed {
            // The next request can put off the end as well.
            Err(error) if !has_changed && is_busy(&error) => Ok(()),
            changed => changed,
        }
    }

    /// Writes the session under a new id, which the browser is given.
    fn begin(
        &self,
        old: Option<SessionKey>,
        state: &SessionState,
        request: &dyn RequestView,
        now: u64,
    ) -> Result<(), Error> {
        let config = &self.shared.config;
        let id = SessionId::random()?;
        let key = id.key();
        self.shared
            .store
            .change(&old.unwrap_or(key), &mut |stored| {
                let kept = stored.filter(|_| !state.is_cleared);
                let data = state.merged(kept.as_ref().map_or("{}", |kept| &kept.data))?;
                let (began, ends) = (now, config.end(now, now));
                Ok(Change::Put(key, StoredSession { data, began, ends }))
            })?;
        self.shared.begun.notify_one();
        self.cookie.set(request, &id, config.lifetime_millis)
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TooLong | ErrorKind::Unavailable)
}

impl SessionState {
    /// What is stored now, with the request's changes.
    fn merged(&self, stored: &str) -> Result<String, Error> {
        let mut entries = Entries::parse(stored);
        for (key, _) in &self.changes {
            entries.put(key, self.entries.get(key).cloned());
        }
        self.flashes.merge(&mut entries);
        entries.text()
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
        state.is_cleared = false;
        state.is_renewed = false;
    }
}
