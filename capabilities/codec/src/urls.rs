//! URLs and their queries: their parts, and texts from parts.

use crate::escapes::RESERVED;
use crate::limits::URL_BYTES_MAX;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use sampan_host::request::form_pairs;
use sampan_host::{Args, Cell, Error, Rows, Type, Value, refusals};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::sync::{Arc, LazyLock};
use url::form_urlencoded::Serializer;
use url::{Host, Url};

/// The parts of a URL.
pub(crate) const PARTS: &[(&str, Type)] = &[
    ("scheme", Type::Text),
    ("username", Type::TextOrNothing),
    ("password", Type::TextOrNothing),
    ("host", Type::TextOrNothing),
    ("port", Type::Any),
    ("path", Type::Text),
    ("query", Type::TextOrNothing),
    ("fragment", Type::TextOrNothing),
];

pub(crate) fn parse(mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let url = Some(text).filter(|text| text.len() <= URL_BYTES_MAX);
    let url = url.and_then(|text| Url::parse(&text).ok());
    Ok(url.map_or(Value::Null, |url| parts(&url)))
}

fn parts(url: &Url) -> Value {
    /// Columns that all results share, so that engines know them.
    static COLUMNS: LazyLock<Arc<[String]>> =
        LazyLock::new(|| PARTS.iter().map(|(name, _)| (*name).to_owned()).collect());
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let username = Some(url.username()).filter(|name| !name.is_empty());
    let (username, password) = (username.map(decoded), url.password().map(decoded));
    let host = url.host().and_then(|host| match host {
        Host::Domain("") => None,
        Host::Domain(name) => Some(name.to_owned()),
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Ipv6(address) => Some(address.to_string()),
    });
    let port = url.port_or_known_default();
    let cells = [
        Cell::Text(url.scheme()),
        text(username.as_deref()),
        text(password.as_deref()),
        text(host.as_deref()),
        port.map_or(Cell::Null, |port| Cell::Int(i64::from(port))),
        Cell::Text(url.path()),
        text(url.query()),
        text(url.fragment()),
    ];
    let mut rows = Rows::new(Arc::clone(&COLUMNS));
    match cells.into_iter().try_for_each(|cell| rows.push(cell)) {
        Ok(()) => Value::Row(rows),
        Err(_) => Value::Null,
    }
}

fn text(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Null, Cell::Text)
}

pub(crate) fn build(mut args: Args) -> Result<Value, Error> {
    let (mut texts, mut port) = (HashMap::new(), None);
    for (name, value) in members(args.take(0)) {
        let known = PARTS.iter().find(|(known, _)| *known == name);
        let Some((known, _)) = known else {
            let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
            return Err(refusals::unknown_option(&name, &names));
        };
        match (*known, value) {
            (_, Value::Null) => {}
            ("port", value) => port = Some(port_of(&value)?),
            (known, Value::Text(text)) => {
                texts.insert(known, text);
            }
            (known, _) => return Err(Error::script(format!("{known} must be a string"))),
        }
    }
    let part = |name| texts.get(name).map(String::as_str);
    let mut url = base(part("scheme"), part("host"))?;
    // Encoded here, since a "%" in it stands for itself.
    let encoded = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
    if port.is_some() {
        let set = url.set_port(port);
        set.map_err(|()| refused(&url, "port"))?;
    }
    if let Some(name) = part("username") {
        let set = url.set_username(&encoded(name));
        set.map_err(|()| refused(&url, "username"))?;
    }
    if let Some(password) = part("password") {
        let set = url.set_password(Some(&encoded(password)));
        set.map_err(|()| refused(&url, "password"))?;
    }
    match part("path") {
        None | Some("") => {}
        Some(path) if path.starts_with('/') => url.set_path(&with_control(path)),
        // The crate would drop one that begins with "?" or "#" where it does not know the scheme.
        Some(path) => url.set_path(&with_control(&format!("/{path}"))),
    }
    url.set_query(part("query").map(with_control).as_deref());
    url.set_fragment(part("fragment").map(with_control).as_deref());
    Ok(Value::Text(url.into()))
}

/// Encodes the control characters that the crate would drop.
fn with_control(part: &str) -> Cow<'_, str> {
    if !part.contains(['\t', '\n', '\r']) {
        return Cow::Borrowed(part);
    }
    let encoded = part.replace('\t', "%09").replace('\n', "%0A");
    Cow::Owned(encoded.replace('\r', "%0D"))
}

fn refused(url: &Url, part: &str) -> Error {
    let scheme = url.scheme();
    Error::script(format!("a URL with the scheme {scheme:?} has no {part}"))
}

/// Returns the URL that has a scheme and a host alone.
fn base(scheme: Option<&str>, host: Option<&str>) -> Result<Url, Error> {
    let (Some(scheme), Some(host)) = (scheme, host) else {
        return Err(Error::script(
            "a URL needs scheme and host: { scheme = \"https\", host = \"example.org\" }",
        ));
    };
    let shown = |text: &str| text.chars().take(60).collect::<String>();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(is_letter) {
        let scheme = shown(scheme);
        return Err(Error::script(format!(
            "{scheme:?} is not a scheme: write \"https\", without \"://\""
        )));
    }
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = bare.unwrap_or(host).parse::<Ipv6Addr>();
    let is_delimiter =
        |c: char| matches!(c, '/' | '\\' | '?' | '#' | '@' | ':') || c.is_control() || c == ' ';
    let written = match address {
        Ok(address) => Some(format!("[{address}]")),
        Err(_) => {
            Some(host.to_owned()).filter(|host| !host.is_empty() && !host.contains(is_delimiter))
        }
    };
    let url = written.and_then(|host| Url::parse(&format!("{scheme}://{host}")).ok());
    url.filter(Url::has_host).ok_or_else(|| {
        let host = shown(host);
        Error::script(format!(
            "{host:?} is not a host: write \"example.org\" or an IP address, and the port as port"
        ))
    })
}

fn port_of(value: &Value) -> Result<u16, Error> {
    let port = match value {
        Value::Int(port) => u16::try_from(*port).ok(),
        Value::Float(port) if port.fract() == 0.0 && (0.0..=65_535.0).contains(port) => {
            Some(*port as u16)
        }
        _ => None,
    };
    port.ok_or_else(|| Error::script("port must be a whole number from 0 to 65535"))
}

pub(crate) fn query_parse(mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    if text.len() > URL_BYTES_MAX {
        return Err(Error::script(format!(
            "a query has at most {URL_BYTES_MAX} bytes, not {}",
            text.len()
        )));
    }
    let text = text.strip_prefix('?').unwrap_or(&text);
    let mut places = HashMap::new();
    let mut found: Vec<(String, Value)> = Vec::new();
    for (name, value) in form_pairs(text.as_bytes()) {
        let value = Value::Text(value.into_owned());
        let Some(place) = places.get(&*name).copied() else {
            places.insert(name.clone(), found.len());
            found.push((name.into_owned(), value));
            continue;
        };
        let known: &mut Value = &mut found[place].1;
        match known {
            Value::List(values) => values.push(value),
            first => *first = Value::List(vec![std::mem::take(first), value]),
        }
    }
    Ok(Value::Map(found))
}

pub(crate) fn query_build(mut args: Args) -> Result<Value, Error> {
    let mut pairs = members(args.take(0));
    // LuaJIT lists them in an order of its own.
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut query = Serializer::new(String::new());
    for (name, value) in pairs {
        match value {
            Value::Null => {}
            // An empty table of Lua: a list without values.
            Value::Map(values) if values.is_empty() => {}
            Value::List(values) => {
                for value in values {
                    query.append_pair(&name, &text_of(&name, value)?);
                }
            }
            value => {
                query.append_pair(&name, &text_of(&name, value)?);
            }
        }
    }
    Ok(Value::Text(query.finish()))
}

fn text_of(name: &str, value: Value) -> Result<String, Error> {
    Ok(match value {
        Value::Text(text) => text,
        Value::Int(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Float(number) if number.is_finite() => number.to_string(),
        _ => {
            let shown: String = name.chars().take(60).collect();
            return Err(Error::script(format!(
                "{shown:?} must be a string, a number, a boolean, or a list of these"
            )));
        }
    })
}

fn members(value: Value) -> Vec<(String, Value)> {
    match value {
        Value::Map(members) => members,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
