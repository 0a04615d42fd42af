//! Addresses: `ann@example.org`, `Ann <ann@example.org>`, or a name and an address.

use crate::draft::{check_line, line};
use crate::limits::ADDRESSES_MAX;
use lettre::Address;
use lettre::message::Mailbox;
use sampan_host::names::snake_case;
use sampan_host::reader::Kind;
use sampan_host::{Error, Handle, Reader, refusals};

/// Reads one address, or a list of them.
pub(crate) fn addresses(
    reader: &dyn Reader,
    what: &str,
    value: Handle,
) -> Result<Vec<Mailbox>, Error> {
    let count = match reader.kind(value) {
        Kind::List => reader.len(value)?,
        Kind::Map if reader.len(value)? == 0 => 0,
        _ => return Ok(vec![address(reader, what, value)?]),
    };
    if count > ADDRESSES_MAX {
        return Err(Error::script(format!(
            "a mail has at most {ADDRESSES_MAX} addresses, not {count}"
        )));
    }
    let item = |at| address(reader, what, reader.item(value, at)?);
    (0..count).map(item).collect()
}

/// Reads one address.
pub(crate) fn address(reader: &dyn Reader, what: &str, value: Handle) -> Result<Mailbox, Error> {
    match reader.kind(value) {
        Kind::Text => parse(what, &line(reader, what, value)?),
        Kind::Map => {
            let (mut name, mut address) = (None, None);
            for key in reader.keys(value)?.iter() {
                let member = snake_case(&reader.text(key).unwrap_or_default());
                let value = reader.value(value, key)?;
                match member.as_str() {
                    "name" => name = Some(line(reader, &format!("{what}.name"), value)?),
                    "address" => address = Some(line(reader, &format!("{what}.address"), value)?),
                    other => return Err(refusals::unknown_option(other, &["name", "address"])),
                }
            }
            let address = address.unwrap_or_default();
            let parsed = address.parse::<Address>();
            let parsed = parsed.map_err(|_| wrong(what, &address))?;
            Ok(Mailbox::new(name.filter(|name| !name.is_empty()), parsed))
        }
        _ => Err(Error::script(format!(
            "{what} must be an address, such as \"Ann <ann@example.org>\""
        ))),
    }
}

/// Parses an address with or without a name.
pub(crate) fn parse(what: &str, text: &str) -> Result<Mailbox, Error> {
    check_line(what, text)?;
    text.trim().parse().map_err(|_| wrong(what, text))
}

#[cold]
fn wrong(what: &str, text: &str) -> Error {
    Error::script(format!(
        "{what}: {text:?} is not an address, such as \"Ann <ann@example.org>\""
    ))
}
