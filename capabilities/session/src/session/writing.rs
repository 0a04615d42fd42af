//! The end of a handler: what the request has changed is merged into what is stored then.

use super::{Found, Keeper, Phase, Session, SessionState, is_busy, now};
use crate::config::SessionConfig;
use crate::cookie::SessionId;
use crate::sealed;
use crate::store::moved;
use crate::store::server::{ServerSessions, VersionedSession};
use crate::store::{Change, SessionKey, SessionStore, StoredSession};
use crate::trace::Trace;
use sampan_host::request::HookStep;
use sampan_host::{Error, RequestView};
use std::rc::Rc;

/// The work at the end of a handler.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// No change.
    Nothing,
    /// The end: nothing is left of the session.
    End,
    /// Changes are merged, or the end is put off.
    Change,
    /// The session begins, or gets another id.
    Begin,
}

/// The news for a browser.
pub(super) enum CookieChange {
    /// The id of its session.
    Set(SessionId),
    /// The end of its session.
    Remove,
}

impl SessionState {
    fn ending(&self, config: &SessionConfig, now: u64) -> Ending {
        let has_content = !self.entries.is_empty() || self.flashes.has_new();
        let is_new = self.found.is_none() || self.is_cleared;
        if is_new && !has_content {
            return match self.is_cleared {
                true => Ending::End,
                false => Ending::Nothing,
            };
        }
        if is_new || self.is_renewed {
            return Ending::Begin;
        }
        match self.has_changed() || self.is_due(config, now) {
            true => Ending::Change,
            false => Ending::Nothing,
        }
    }

    /// The changes in what is stored now, or another end of it.
    fn change(
        &self,
        key: SessionKey,
        stored: Option<StoredSession>,
        config: &SessionConfig,
        now: u64,
    ) -> Result<Change, Error> {
        // Another request has ended the session meanwhile: it stays ended. Or it has given it a new id, as at a login:
        // who knew the old id alone must not change the session under that.
        let Some(stored) = stored else {
            return Ok(Change::Keep);
        };
        let data = match self.has_changed() {
            true => self.merged(&stored.data, config)?,
            false => stored.data.clone(),
        };
        let StoredSession { began, ends, .. } = stored;
        if data == stored.data && !config.is_due(began, ends, now) {
            return Ok(Change::Keep);
        }
        let ends = config.end(began, now);
        Ok(Change::Put(key, StoredSession { data, began, ends }))
    }

    /// The session under a new key, with what is kept of the one that is stored now.
    fn begin(
        &self,
        key: SessionKey,
        stored: Option<StoredSession>,
        config: &SessionConfig,
        now: u64,
    ) -> Result<Change, Error> {
        let kept = stored.filter(|_| !self.is_cleared);
        let data = self.merged(kept.as_ref().map_or("{}", |kept| &kept.data), config)?;
        let (began, ends) = (now, config.end(now, now));
        let session = StoredSession { data, began, ends };
        Ok(match self.leaves_no_way() {
            true => Change::Replace(key, session),
            false => Change::Put(key, session),
        })
    }

    /// Reports whether the old id leads to no session, not even for requests that have loaded it before: they could
    /// begin another session with what they know.
    fn leaves_no_way(&self) -> bool {
        self.is_cleared || self.has_ended_others
    }
}

impl SessionState {
    /// The session as this request has found it. Where another has given it a new id meanwhile, a second new id begins
    /// with this, and not with the session under the first one: who knew the old id alone must not get at that.
    fn loaded(&self) -> Option<StoredSession> {
        self.found.as_ref().map(|found| found.stored.clone())
    }
}

impl Session {
    /// Writes what the request has changed into a table, or into the cookie.
    pub(super) fn write(
        &self,
        state: &SessionState,
        request: &dyn RequestView,
    ) -> Result<(), Error> {
        let (config, now) = (&self.shared.config, now());
        let ending = state.ending(config, now);
        match (&self.shared.keeper, ending) {
            (_, Ending::Nothing) => Ok(()),
            (Keeper::Table(store), Ending::End) => {
                if let Some(key) = state.key() {
                    store.end(&key, now)?;
                }
                self.tell(request, CookieChange::Remove)
            }
            (Keeper::Table(store), Ending::Change) => {
                let Some(key) = state.key() else {
                    return Ok(());
                };
                let mut merge = |stored| state.change(key, stored, config, now);
                unless_put_off(state, store.change(&key, &mut merge))
            }
            (Keeper::Table(store), Ending::Begin) => self.begin(&**store, state, request, now),
            (_, Ending::End) => self.tell(request, CookieChange::Remove),
            (_, Ending::Change | Ending::Begin) => self.seal(state, ending, request, now),
        }
    }

    /// Writes the session into a table under a new id, which the browser is given.
    fn begin(
        &self,
        store: &dyn SessionStore,
        state: &SessionState,
        request: &dyn RequestView,
        now: u64,
    ) -> Result<(), Error> {
        let (id, old) = (SessionId::random()?, state.key());
        let key = id.key();
        let (mut is_moved, mut kept) = (false, None);
        store.change(&old.unwrap_or(key), &mut |mut stored| {
            is_moved = stored.is_some() && !state.leaves_no_way();
            if let (None, Some(old)) = (&stored, &old) {
                kept = store.moved(old, now)?;
                stored = kept.as_ref().and_then(|_| state.loaded());
            }
            state.begin(key, stored, &self.shared.config, now)
        })?;
        if let Some(old) = old.filter(|_| is_moved) {
            let (old_way, way) = (old.way(), moved::way_to(&key, now)?);
            store.change(&old_way, &mut |_| Ok(Change::Put(old_way, way.clone())))?;
        }
        if let Some((kept, _)) = kept.filter(|_| state.leaves_no_way()) {
            store.end(&kept, now)?;
        }
        self.tell(request, CookieChange::Set(id))
    }

    /// Writes the session into its cookie.
    fn seal(
        &self,
        state: &SessionState,
        ending: Ending,
        request: &dyn RequestView,
        now: u64,
    ) -> Result<(), Error> {
        let (config, Keeper::Cookie(sealer)) = (&self.shared.config, &self.shared.keeper) else {
            return Ok(());
        };
        let kept = state.found.as_ref().filter(|_| !state.is_cleared);
        let data = state.merged(kept.map_or("{}", |found| &found.stored.data), config)?;
        let began = match kept {
            Some(found) if ending == Ending::Change => found.stored.began,
            _ => now,
        };
        let ends = config.end(began, now);
        let stored = StoredSession { data, began, ends };
        let sealed = sealed::seal(&**sealer, &stored)?;
        self.trace.set(Trace::Cookie(stored));
        let left = (began + config.lifetime_millis).saturating_sub(now);
        self.cookie.set(request, &sealed, left)
    }

    /// Writes what the request has changed to a server.
    pub(super) fn write_later(this: &Rc<Self>, store: &Rc<ServerSessions>) -> HookStep {
        let now = now();
        let ending = this.state.borrow().ending(&this.shared.config, now);
        if ending == Ending::Nothing {
            this.phase.set(Phase::Written);
            this.settle();
            return HookStep::Done;
        }
        this.phase.set(Phase::Writing);
        let (session, store) = (Rc::clone(this), Rc::clone(store));
        HookStep::Waits(Box::pin(async move {
            let written = session.write_to(&store, ending, now).await;
            match written {
                Ok(_) => {
                    session.phase.set(Phase::Stored);
                    session.settle();
                }
                Err(_) => session.phase.set(Phase::Open),
            }
            session.news.set(written?);
            Ok(())
        }))
    }

    async fn write_to(
        &self,
        store: &ServerSessions,
        ending: Ending,
        now: u64,
    ) -> Result<Option<CookieChange>, Error> {
        let (config, state) = (&self.shared.config, &self.state);
        let (key, read) = {
            let state = state.borrow();
            let read = state.found.as_ref().map(Found::versioned);
            (state.key(), read)
        };
        match (ending, key) {
            (Ending::End, key) => {
                if let Some(key) = key {
                    store.end(key, read, now).await?;
                }
                Ok(Some(CookieChange::Remove))
            }
            (Ending::Change, Some(key)) => {
                let merge = |stored| state.borrow().change(key, stored, config, now);
                let changed = store.change(key, read, merge).await;
                unless_put_off(&state.borrow(), changed)?;
                Ok(None)
            }
            (Ending::Begin, old) => {
                let id = SessionId::random()?;
                let key = id.key();
                let mut is_missing = false;
                let merge = |stored: Option<StoredSession>| {
                    is_missing = stored.is_none() && old.is_some();
                    match is_missing {
                        true => Ok(Change::Keep),
                        false => state.borrow().begin(key, stored, config, now),
                    }
                };
                store.change(old.unwrap_or(key), read, merge).await?;
                if let Some(old) = old.filter(|_| is_missing) {
                    let begin = |is_moved| {
                        let state = state.borrow();
                        let stored = state.loaded().filter(|_| is_moved);
                        state.begin(key, stored, config, now)
                    };
                    let kept = store.begin_beside(old, key, now, begin).await?;
                    let ends_it = state.borrow().leaves_no_way();
                    if let Some(kept) = kept.filter(|_| ends_it) {
                        store.end(kept.key, Some(kept.found), now).await?;
                    }
                }
                Ok(Some(CookieChange::Set(id)))
            }
            (Ending::Nothing | Ending::Change, _) => Ok(None),
        }
    }

    /// Tells the browser what a server has written.
    pub(super) fn tell_browser(&self, request: &dyn RequestView) -> Result<(), Error> {
        self.news
            .take()
            .map_or(Ok(()), |news| self.tell(request, news))
    }

    fn tell(&self, request: &dyn RequestView, news: CookieChange) -> Result<(), Error> {
        match news {
            CookieChange::Set(id) => {
                self.trace.set(Trace::Table(id.key()));
                self.shared.begun.notify_one();
                let lifetime = self.shared.config.lifetime_millis;
                self.cookie.set(request, &id.0, lifetime)
            }
            CookieChange::Remove => {
                self.trace.set(Trace::None);
                match self.cookie.was_sent {
                    true => self.cookie.remove(request),
                    false => Ok(()),
                }
            }
        }
    }
}

impl SessionState {
    fn key(&self) -> Option<SessionKey> {
        self.found.as_ref().and_then(|found| found.key)
    }
}

impl Found {
    fn versioned(&self) -> VersionedSession {
        VersionedSession {
            stored: self.stored.clone(),
            version: self.version,
        }
    }
}

/// Passes over a busy database where only the end is put off: the next request can do that as well.
fn unless_put_off(state: &SessionState, changed: Result<(), Error>) -> Result<(), Error> {
    changed.or_else(|error| match is_busy(&error) && !state.has_changed() {
        true => Ok(()),
        false => Err(error),
    })
}
