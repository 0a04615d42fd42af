//! The store of sessions. `app` implements it over the database.

pub(crate) mod moved;
pub(crate) mod server;
pub(crate) mod table;

use crate::limits::MOVES_MAX;
use sampan_host::{Cell, Error, LocalFuture, Rows, Value};
use server::ServerSessions;
use std::fmt::{self, Write};
use std::rc::Rc;

/// The hash of a session's id. A reader of the table cannot make a cookie from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionKey(pub [u8; 32]);

impl SessionKey {
    /// Returns the key as scripts see it, in hexadecimal digits: it is a hash already.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::with_capacity(2 * self.0.len());
        for byte in self.0 {
            // Writing into a text does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Reads a key as scripts see it; `None` for other texts.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let mut key = [0; 32];
        if text.len() != 2 * key.len() || !text.bytes().all(is_hex) {
            return None;
        }
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(key))
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// A session as it is kept. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// A JSON object.
    pub data: String,
    /// The time at which it began.
    pub began: u64,
    /// The time at which it ends.
    pub ends: u64,
}

/// A session of a list. Times are in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// The key under which it is kept.
    pub key: SessionKey,
    /// The time at which it began.
    pub began: u64,
    /// The time at which it ends.
    pub ends: u64,
}

impl ListedSession {
    /// Reads the columns `id`, `began` and `ends` of a row; `None` where they have other values.
    fn of_row(rows: &Rows, row: usize) -> Option<Self> {
        let cells = [0, 1, 2].map(|column| rows.cell(row, column));
        let [Cell::Bytes(id), Cell::Int(began), Cell::Int(ends)] = cells else {
            return None;
        };
        Some(Self {
            key: SessionKey(id.try_into().ok()?),
            began: u64::try_from(began).ok()?,
            ends: u64::try_from(ends).ok()?,
        })
    }

    /// Reads all rows.
    fn of_rows(rows: &Rows) -> Vec<Self> {
        let read = (0..rows.len()).filter_map(|row| Self::of_row(rows, row));
        read.collect()
    }
}

/// The change of a stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// No change.
    Keep,
    /// A replacement, under this key from now on.
    Put(SessionKey, StoredSession),
    /// Another session, under this key, in place of one that has ended.
    Replace(SessionKey, StoredSession),
    /// The removal.
    Remove,
}

/// The sessions of a search that end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// All of them.
    All,
    /// All but one.
    Except(SessionKey),
    /// One of them.
    Only(SessionKey),
}

impl SessionChoice {
    /// Returns the condition that a search gets, and the key that is its parameter.
    fn condition(&self) -> Option<(&'static str, &SessionKey)> {
        match self {
            Self::All => None,
            Self::Except(key) => Some((" AND id <> ?", key)),
            Self::Only(key) => Some((" AND id = ?", key)),
        }
    }

    /// Returns the one that stays.
    fn kept(&self) -> Option<&SessionKey> {
        match self {
            Self::Except(key) => Some(key),
            Self::All | Self::Only(_) => None,
        }
    }
}

/// Returns the change that ends a session, if it is there.
fn ended(stored: Option<StoredSession>) -> Change {
    stored.map_or(Change::Keep, |_| Change::Remove)
}

/// Decides what becomes of what is stored now, if anything is.
pub type Merge<'a> = dyn FnMut(Option<StoredSession>) -> Result<Change, Error> + 'a;

/// By how many keys sessions may be searched: each has an index, which every write of a session keeps.
const SEARCH_KEYS_MAX: usize = 4;
/// The beginning of the names of these indexes.
const INDEX: &str = "_sampan_sessions_by_";

/// Refuses a key that cannot stand in SQL as it is.
fn check_search_key(key: &str, bytes_max: usize) -> Result<(), Error> {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = key.bytes().all(|b| is_letter(b) || b.is_ascii_digit());
    if is_name && key.bytes().next().is_some_and(is_letter) && key.len() <= bytes_max {
        return Ok(());
    }
    Err(Error::script(format!(
        "sessions cannot be searched by {key:?}: the key must have 1 to {bytes_max} letters, digits and '_'"
    )))
}

/// The error of a key too many.
fn too_many_search_keys() -> Error {
    Error::script(format!(
        "sessions are searched by {SEARCH_KEYS_MAX} other keys already: drop an index whose name begins with {INDEX}"
    ))
}

/// Keeps sessions by their keys.
pub trait SessionStore {
    /// The session under this key, as a request sees the database.
    ///
    /// # Errors
    /// It cannot be read.
    fn load(&self, key: &SessionKey) -> Result<Option<StoredSession>, Error>;

    /// Changes what is under this key, together with the other writes of the request. No other request changes it
    /// meanwhile.
    ///
    /// # Errors
    /// It cannot be written, or `merge` failed. Of kind [`TooLong`](sampan_host::ErrorKind::TooLong) where it would
    /// have to wait; then nothing was asked of `merge`.
    fn change(&self, key: &SessionKey, merge: &mut Merge<'_>) -> Result<(), Error>;

    /// Changes a session as [`SessionStore::change`] does, but waits in place for as long as a first write of a request
    /// may.
    ///
    /// # Errors
    /// As [`SessionStore::change`].
    fn change_in_place(&self, key: &SessionKey, merge: &mut Merge<'_>) -> Result<(), Error> {
        self.change(key, merge)
    }

    /// Ends a session, also where another request has given it a new id meanwhile.
    ///
    /// # Errors
    /// As [`SessionStore::change`].
    fn end(&self, key: &SessionKey, now: u64) -> Result<(), Error> {
        let mut is_missing = false;
        self.change(key, &mut |stored| {
            is_missing = stored.is_none();
            Ok(ended(stored))
        })?;
        if is_missing && let Some((kept, _)) = self.moved(key, now)? {
            self.change(&kept, &mut |stored| Ok(ended(stored)))?;
        }
        Ok(())
    }

    /// Takes note that the script has asked for a change that cannot wait: its run waits for the write connection
    /// before it begins from now on.
    fn note_write(&self) {}

    /// The session that had this key until a request gave it another id, with its key.
    ///
    /// # Errors
    /// It cannot be read.
    fn moved(
        &self,
        key: &SessionKey,
        now: u64,
    ) -> Result<Option<(SessionKey, StoredSession)>, Error> {
        let mut key = *key;
        for _ in 0..MOVES_MAX {
            let way = self.load(&key.way())?;
            let Some(next) = way.and_then(|way| moved::leads_to(&way, now)) else {
                break;
            };
            if let Some(found) = self.load(&next)? {
                return Ok(Some((next, found)));
            }
            key = next;
        }
        Ok(None)
    }

    /// Removes the chosen ones of the sessions that have this value under a key, together with the other writes of the
    /// request. Where one of them stays, no id that it had before leads to it any more. Returns how many there were.
    ///
    /// # Errors
    /// They cannot be searched by this key, or not be written.
    fn remove_with(
        &self,
        key: &str,
        value: &Value,
        chosen: SessionChoice,
        now: u64,
    ) -> Result<usize, Error>;

    /// Returns the sessions that have this value under a key and end after `now`: the newest `count_max`.
    ///
    /// # Errors
    /// They cannot be searched by this key, or not be read.
    fn list_with(
        &self,
        key: &str,
        value: &Value,
        now: u64,
        count_max: usize,
    ) -> Result<Vec<ListedSession>, Error>;

    /// Removes up to `count_max` sessions that ended before `now`. Tells how many there were.
    fn remove_ended(&self, now: u64, count_max: usize) -> LocalFuture<Result<usize, Error>>;
}

/// The database of a worker as sessions see it.
#[derive(Clone)]
pub(crate) enum WorkerStore {
    /// Tables that are changed at once.
    Table(Rc<dyn SessionStore>),
    /// Tables on a server.
    Server(Rc<ServerSessions>),
}

impl WorkerStore {
    /// Removes sessions that have ended, see [`SessionStore::remove_ended`].
    pub(crate) async fn remove_ended(&self, now: u64, count_max: usize) -> Result<usize, Error> {
        match self {
            Self::Table(store) => store.remove_ended(now, count_max).await,
            Self::Server(store) => store.remove_ended(now, count_max).await,
        }
    }
}
