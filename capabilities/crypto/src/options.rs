//! Options and bytes as scripts give them.

use sampan_host::names::snake_case;
use sampan_host::{Error, Value, refusals};

/// The members of a table of options, by their names in snake_case, of which these are `known`.
pub(crate) fn members(given: Value, known: &[&str]) -> Result<Vec<(String, Value)>, Error> {
    let Value::Map(members) = given else {
        return Ok(Vec::new());
    };
    let named = |(name, value): (String, Value)| {
        let name = snake_case(&name);
        if known.contains(&name.as_str()) {
            Ok((name, value))
        } else {
            Err(refusals::unknown_option(&name, known))
        }
    };
    members.into_iter().map(named).collect()
}

/// Returns the bytes of an argument of [`Type::Bytes`](sampan_host::Type::Bytes).
pub(crate) fn bytes_of(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}
