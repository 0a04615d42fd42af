//! The store of sessions. `app` implements it over the database.

use sampan_host::{Error, LocalFuture, Value};
use std::fmt;

/// The hash of a session's id. A reader of the table cannot make a cookie from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionKey(pub [u8; 32]);

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
    /// When it began.
    pub began: u64,
    /// When it ends.
    pub ends: u64,
}

/// The change of a stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// No change.
    Keep,
    /// A replacement, under this key from now on.
    Put(SessionKey, StoredSession),
    /// The removal.
    Remove,
}

/// Decides what becomes of what is stored now, if anything is.
pub type Merge<'a> = dyn FnMut(Option<StoredSession>) -> Result<Change, Error> + 'a;

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

    /// As [`SessionStore::change`], but waits in place for as long as a first write of a request may.
    ///
    /// # Errors
    /// As [`SessionStore::change`].
    fn change_in_place(&self, key: &SessionKey, merge: &mut Merge<'_>) -> Result<(), Error> {
        self.change(key, merge)
    }

    /// Removes the sessions that have this value under a key, together with the other writes of the request. Returns
    /// how many there were.
    ///
    /// # Errors
    /// They cannot be searched by this key, or not be written.
    fn remove_with(&self, key: &str, value: &Value) -> Result<usize, Error>;

    /// Removes up to `count_max` sessions that ended before `now`. Tells how many there were.
    fn remove_ended(&self, now: u64, count_max: usize) -> LocalFuture<Result<usize, Error>>;
}
