//! Sessions that browsers keep: sealed, so that only the server reads or changes them.

use crate::store::StoredSession;
use sampan_host::{Error, Sealer};

/// The purpose of the seal: no other sealed text can take its place.
const PURPOSE: &str = "session";

/// The value of a cookie.
pub(crate) fn seal(sealer: &dyn Sealer, session: &StoredSession) -> Result<String, Error> {
    let StoredSession { data, began, ends } = session;
    sealer.seal(PURPOSE, format!("{began} {ends} {data}").as_bytes())
}

/// The session in it; nothing if no key of the project sealed it.
pub(crate) fn open(sealer: &dyn Sealer, value: &str) -> Option<StoredSession> {
    let opened = String::from_utf8(sealer.open(PURPOSE, value)?).ok()?;
    let (began, rest) = opened.split_once(' ')?;
    let (ends, data) = rest.split_once(' ')?;
    Some(StoredSession {
        data: data.to_owned(),
        began: began.parse().ok()?,
        ends: ends.parse().ok()?,
    })
}
