//! The parameters of a statement: a list fills `?` in order, a table fills `:name`. The messages are those of the
//! SQLite backend.

use super::bind;
use super::oids::Oid;
use crate::error::parameter;
use crate::limits::PARAMS_BYTES_MAX;
use crate::sql::Sql;
use bytes::{BufMut, Bytes, BytesMut};
use sampan_host::{Error, Hint, Value};

/// Returns the formats and values of a message `Bind`.
///
/// # Errors
/// Too many or too few, a name that the statement does not have, a value that its type does not take.
pub(crate) fn encode(
    parsed: &Sql,
    types: &[Oid],
    params: &Value,
    sql: &str,
) -> Result<Bytes, Error> {
    let values = arranged(parsed, params, sql)?;
    let mut out = BytesMut::with_capacity(8 + 16 * values.len());
    let is_text = types.iter().all(|&oid| bind::format(oid) == 0);
    if is_text {
        out.put_i16(0);
    } else {
        out.put_u16(types.len() as u16);
        types.iter().for_each(|&oid| out.put_i16(bind::format(oid)));
    }
    out.put_u16(values.len() as u16);
    for (at, value) in values.iter().enumerate() {
        let oid = types.get(at).copied().unwrap_or(0);
        let written = bind::write(value, oid, &mut out);
        let written = written.and_then(|()| match out.len() > PARAMS_BYTES_MAX {
            true => Err(format!(
                "the parameters have more than {PARAMS_BYTES_MAX} bytes"
            )),
            false => Ok(()),
        });
        written.map_err(|why| {
            let name = parsed.params.get(at).and_then(Option::as_deref);
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            let message = format!("parameter {}{name} cannot be bound: {why}", at + 1);
            parameter(&message, None, sql)
        })?;
    }
    Ok(out.freeze())
}

/// Returns the value of each parameter.
///
/// # Errors
/// Too many or too few, or a name that the statement does not have.
pub(crate) fn arranged<'a>(
    parsed: &Sql,
    params: &'a Value,
    sql: &str,
) -> Result<Vec<&'a Value>, Error> {
    match params {
        Value::Null => listed(parsed, &[], None, sql),
        Value::List(values) => listed(parsed, values, Some(Hint::ShortList), sql),
        // An empty table of Lua is a list too.
        Value::Map(members) if members.is_empty() && parsed.params.iter().all(Option::is_none) => {
            listed(parsed, &[], Some(Hint::ShortList), sql)
        }
        Value::Map(members) => named(parsed, members, sql),
        other => {
            let found = other.type_name();
            let message = format!("parameters are a list or named values, not {found}");
            Err(parameter(&message, None, sql))
        }
    }
}

fn listed<'a>(
    parsed: &Sql,
    values: &'a [Value],
    hint: Option<Hint>,
    sql: &str,
) -> Result<Vec<&'a Value>, Error> {
    let expected = parsed.params.len();
    if values.len() != expected {
        let hint = hint.filter(|_| values.len() < expected);
        return Err(parameter(&wrong_count(parsed, values.len()), hint, sql));
    }
    Ok(values.iter().collect())
}

fn wrong_count(parsed: &Sql, given: usize) -> String {
    let expected = parsed.params.len();
    let amount = match expected {
        0 => "no parameters".to_owned(),
        1 => "1 parameter".to_owned(),
        more => format!("{more} parameters"),
    };
    let given_text = match given {
        0 => "none".to_owned(),
        more => more.to_string(),
    };
    let names: Vec<&str> = parsed.params.iter().filter_map(Option::as_deref).collect();
    let mut message = format!("{amount} expected, {given_text} given");
    if given == 0 && !names.is_empty() {
        message.push_str(": the statement has ");
        message.push_str(&names.join(", "));
    } else if given > expected {
        message.push_str(" (a ? in quotes is text)");
    }
    message
}

fn named<'a>(
    parsed: &Sql,
    members: &'a [(String, Value)],
    sql: &str,
) -> Result<Vec<&'a Value>, Error> {
    let mut is_used = vec![false; members.len()];
    let mut values = Vec::with_capacity(parsed.params.len());
    for name in &parsed.params {
        let Some(name) = name else {
            let message = "named parameters given, but the statement has a parameter without a name (?): give a list";
            return Err(parameter(message, None, sql));
        };
        // The first byte is the prefix. `:x` and `@x` are two parameters that one member fills.
        let Some(at) = members.iter().position(|(key, _)| bare(key) == &name[1..]) else {
            let given: Vec<&str> = members.iter().map(|(key, _)| &**key).collect();
            let given = match members {
                [] => "none is given".to_owned(),
                _ => format!("given are {}", given.join(", ")),
            };
            let message = format!("parameter {name} is missing: {given}");
            return Err(parameter(&message, Some(Hint::MissingMember), sql));
        };
        is_used[at] = true;
        values.push(&members[at].1);
    }
    let Some(unused) = is_used.iter().position(|is_used| !is_used) else {
        return Ok(values);
    };
    let names: Vec<&str> = parsed.params.iter().filter_map(Option::as_deref).collect();
    let names = match &*names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let message = format!(
        "the statement has no parameter :{}; it has {names}",
        bare(&members[unused].0)
    );
    Err(parameter(&message, None, sql))
}

/// A name without the prefix that a script may have written.
fn bare(key: &str) -> &str {
    key.strip_prefix([':', '@', '$']).unwrap_or(key)
}
