//! The way from a session's old key to its new one.
//!
//! A request that gives a session another id leaves a row behind. By it another request that loaded the session
//! before, and gives it an id too, knows that the session was moved, and has not ended. A logout ends what the row
//! leads to. Nothing else follows it, and no cookie opens it: its key is not the hash of an id.

use super::{SessionKey, StoredSession};
use crate::entries::Entries;
use crate::limits::MOVED_MILLIS;
use sampan_host::{Error, Value};
use sha2::{Digest, Sha256};

/// The entry that has the new key.
const MOVED_TO: &str = "_sampan_moved_to";

impl SessionKey {
    /// Returns the key of the row that leads from this key to the next.
    pub(crate) fn way(&self) -> Self {
        let hash = Sha256::new().chain_update("sampan session moved: ");
        Self(hash.chain_update(self.0).finalize().into())
    }
}

/// Returns the lowest and the highest end of rows that lead anywhere at `now`, and the entry of those that lead to
/// `key`.
pub(crate) fn ways_to(key: &SessionKey, now: u64) -> [Value; 3] {
    let time = |millis: u64| Value::Int(i64::try_from(millis).unwrap_or(i64::MAX));
    let ends_max = now.saturating_add(MOVED_MILLIS);
    [time(now), time(ends_max), Value::Text(key.shown())]
}

/// Returns the row that leads to `key`.
///
/// # Errors
/// None that a key has.
pub(crate) fn way_to(key: &SessionKey, now: u64) -> Result<StoredSession, Error> {
    let mut entries = Entries::default();
    entries.put(MOVED_TO, Some(Value::Text(key.shown())));
    Ok(StoredSession {
        data: entries.text()?,
        began: now,
        ends: now + MOVED_MILLIS,
    })
}

/// Returns the key to which a row leads.
pub(crate) fn leads_to(way: &StoredSession, now: u64) -> Option<SessionKey> {
    let entries = Entries::parse(&way.data);
    let Some(Value::Text(hex)) = entries.get(MOVED_TO) else {
        return None;
    };
    let mut key = [0; 32];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    (way.ends > now).then_some(SessionKey(key))
}
