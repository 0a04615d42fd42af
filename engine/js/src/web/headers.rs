//! Names and values of header fields (RFC 9110, section 5; Fetch, section 2.2.2).

use rquickjs::{Function, Object, Result};
use sampan_host::refusals;

/// Adds `headerName` and `headerValue`, and `wrongName` and `wrongValue`, which are what to say where these give
/// nothing.
pub(super) fn register(table: &Object<'_>) -> Result<()> {
    let ctx = table.ctx();
    table.set("headerName", Function::new(ctx.clone(), header_name)?)?;
    table.set("headerValue", Function::new(ctx.clone(), header_value)?)?;
    table.set("wrongName", Function::new(ctx.clone(), wrong_name)?)?;
    table.set("wrongValue", Function::new(ctx.clone(), wrong_value)?)
}

/// The name in lower case, or nothing where it is not a token (RFC 9110, section 5.6.2). Methods are tokens too.
fn header_name(name: String) -> Option<String> {
    let token = !name.is_empty() && name.bytes().all(is_token_byte);
    token.then(|| name.to_ascii_lowercase())
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The value without white space at its ends (Fetch, "normalize"), or nothing where it could not be sent: a control
/// character other than a tab, or one above U+00FF.
fn header_value(value: String) -> Option<String> {
    let trimmed = value.trim_matches([' ', '\t', '\r', '\n']);
    let allowed = |c: char| c == '\t' || (c >= ' ' && c != '\u{7f}' && c <= '\u{ff}');
    trimmed.chars().all(allowed).then(|| trimmed.to_owned())
}

fn wrong_name(name: String) -> String {
    refusals::header_name(&name).message().to_owned()
}

fn wrong_value(name: String) -> String {
    refusals::header_value(&name).message().to_owned()
}
