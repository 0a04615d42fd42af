//! UUIDs, RFC 9562.

use sampan_host::{Error, Value};
use uuid::Uuid;

pub(crate) fn v4() -> Result<Value, Error> {
    Ok(text(Uuid::new_v4()))
}

/// Those of one process are in order, also within a millisecond: they count.
pub(crate) fn v7() -> Result<Value, Error> {
    Ok(text(Uuid::now_v7()))
}

fn text(id: Uuid) -> Value {
    Value::Text(id.hyphenated().to_string())
}
