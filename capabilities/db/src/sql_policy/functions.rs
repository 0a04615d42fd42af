//! Functions of SQL that replace SQLite's own where one call of those takes time in proportion to the product of the
//! lengths of its texts: SQLite asks between two calls whether to go on, never within one, and a client may choose both
//! texts. With texts of a megabyte together, `body_bytes_max`, SQLite's own take 3.7 s and 1.6 GB (`json_pretty`), 47 s
//! (`json_patch`) and minutes (`unhex`, of which 64 KiB take 2.4 s); `instr`, `replace` and `trim` take 2.4 s and more.
//!
//! `instr`, `replace`, `trim` and `unhex` are done here in linear time, byte for byte as SQLite does them, ill-formed
//! UTF-8 included, because an index may have been built by either. `json_patch` and `json_pretty` are left to SQLite
//! after a look at what they would cost, in a connection of their own ([`Aside`]) where they still are SQLite's.

use crate::sql_policy::chars::{Chars, Read, skip};
use memchr::memmem::Finder;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, Result, ToSql, ffi};
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// The most that the lengths of both texts of `json_patch` are, multiplied: SQLite looks up each name of one among all
/// names of the other, which takes some 60 ms here.
const PATCH_PRODUCT_MAX: usize = 256 * 1024 * 1024;
/// The largest result of `json_pretty`, which grows with the depth of each value.
const PRETTY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most comparisons of one `trim` whose characters are not UTF-8.
const TRIM_COMPARISONS_MAX: usize = 16 * 1024 * 1024;
/// The mark of SQLite for JSON, so that the function around it takes it for JSON instead of a string.
const IS_JSON: u32 = b'J' as u32;

/// Puts the functions in the place of SQLite's.
pub(crate) fn install(sqlite: &Connection) -> Result<()> {
    // As SQLite's own, they may stand in indexes, in constraints and in views.
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    let aside = Arc::new(Aside::default());
    let add = |name: &str, count: i32, run: fn(&FunctionCall<'_>) -> Result<FunctionResult>| {
        let aside = Arc::clone(&aside);
        sqlite.create_scalar_function(name, count, flags, move |context| {
            let aside = &aside;
            run(&FunctionCall { context, aside })
        })
    };
    add("instr", 2, instr)?;
    add("replace", 3, replace)?;
    add("trim", 2, |call| trim(call, true, true))?;
    add("ltrim", 2, |call| trim(call, true, false))?;
    add("rtrim", 2, |call| trim(call, false, true))?;
    add("unhex", 2, unhex)?;
    add("jsonb_patch", 2, |call| {
        patch(call, "SELECT jsonb_patch(?, ?)")
    })?;
    add("json_pretty", 1, pretty)?;
    add("json_pretty", 2, pretty)?;
    let flags = flags | FunctionFlags::SQLITE_RESULT_SUBTYPE;
    sqlite.create_scalar_function("json_patch", 2, flags, move |context| {
        let aside = &aside;
        let patched = patch(&FunctionCall { context, aside }, "SELECT json_patch(?, ?)")?;
        let subtype = matches!(patched, FunctionResult::Text(_)).then_some(IS_JSON);
        Ok((patched, subtype))
    })
}

/// One call of a function.
struct FunctionCall<'a> {
    context: &'a Context<'a>,
    aside: &'a Aside,
}

impl FunctionCall<'_> {
    /// An argument as SQLite would turn it into text; `None` is NULL.
    fn text(&self, index: usize) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(match self.context.get_raw(index) {
            ValueRef::Null => None,
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(Cow::Borrowed(bytes)),
            ValueRef::Integer(value) => Some(Cow::Owned(value.to_string().into_bytes())),
            number @ ValueRef::Real(_) => {
                match self.aside.ask("SELECT CAST(? AS TEXT)", &[number])? {
                    FunctionResult::Text(text) => Some(Cow::Owned(text)),
                    FunctionResult::Value(_) => None,
                }
            }
        })
    }

    fn is_blob(&self, index: usize) -> bool {
        matches!(self.context.get_raw(index), ValueRef::Blob(_))
    }
}

/// The type of a function's result.
enum FunctionResult {
    Value(Value),
    /// Text that need not be UTF-8.
    Text(Vec<u8>),
}

impl ToSql for FunctionResult {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Value(value) => value.into(),
            Self::Text(bytes) => ValueRef::Text(bytes),
        }))
    }
}

const NULL: Result<FunctionResult> = Ok(FunctionResult::Value(Value::Null));

/// A database in memory whose functions are SQLite's own; opened when first needed.
#[derive(Default)]
struct Aside(Mutex<Option<Connection>>);

impl Aside {
    /// The one value that `sql` selects.
    fn ask(&self, sql: &str, params: &[ValueRef<'_>]) -> Result<FunctionResult> {
        let mut aside = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let sqlite = match &mut *aside {
            Some(sqlite) => sqlite,
            none => {
                let sqlite = crate::sqlite::memory::connect_in_memory()?;
                sqlite.set_limit(
                    Limit::SQLITE_LIMIT_LENGTH,
                    crate::sqlite::limits::VALUE_BYTES_MAX,
                )?;
                none.insert(sqlite)
            }
        };
        let mut statement = sqlite.prepare_cached(sql)?;
        for (index, param) in params.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(*param))?;
        }
        let mut rows = statement.raw_query();
        let Some(row) = rows.next()? else {
            return NULL;
        };
        Ok(match row.get_ref(0)? {
            ValueRef::Text(text) => FunctionResult::Text(text.to_vec()),
            other => FunctionResult::Value(other.try_into()?),
        })
    }
}

fn too_costly(message: String) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(message))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// `instr(X, Y)`: where Y begins in X, from 1, in characters or, of two blobs, in bytes; 0 if X does not contain it.
fn instr(call: &FunctionCall<'_>) -> Result<FunctionResult> {
    let (Some(text), Some(sought)) = (call.text(0)?, call.text(1)?) else {
        return NULL;
    };
    let is_text = !(call.is_blob(0) && call.is_blob(1));
    let found = match sought.first() {
        None => Some(0),
        // SQLite never looks within a character, but for the text's first byte.
        Some(&first) if is_text && is_continuation(first) => text.starts_with(&sought).then_some(0),
        Some(_) => Finder::new(&*sought).find(&text),
    };
    let place = match found {
        None => 0,
        Some(0) => 1,
        Some(at) if is_text => {
            1 + text[1..=at]
                .iter()
                .filter(|&&byte| !is_continuation(byte))
                .count()
        }
        Some(at) => 1 + at,
    };
    Ok(FunctionResult::Value(Value::Integer(
        i64::try_from(place).unwrap_or(i64::MAX),
    )))
}

/// `replace(X, Y, Z)`: X with each Y replaced by Z.
fn replace(call: &FunctionCall<'_>) -> Result<FunctionResult> {
    let (Some(text), Some(sought)) = (call.text(0)?, call.text(1)?) else {
        return NULL;
    };
    // A NUL ends what is sought as far as SQLite looks at its beginning.
    if matches!(sought.first(), None | Some(0)) {
        return Ok(FunctionResult::Text(text.into_owned()));
    }
    let Some(substitute) = call.text(2)? else {
        return NULL;
    };
    let mut result = Vec::with_capacity(text.len());
    let mut rest = 0;
    for at in Finder::new(&*sought).find_iter(&text) {
        result.extend_from_slice(&text[rest..at]);
        result.extend_from_slice(&substitute);
        rest = at + sought.len();
        if result.len() + (text.len() - rest) > crate::sqlite::limits::VALUE_BYTES_MAX as usize
            && substitute.len() > sought.len()
        {
            return Err(Error::SqliteFailure(
                ffi::Error::new(ffi::SQLITE_TOOBIG),
                None,
            ));
        }
    }
    result.extend_from_slice(&text[rest..]);
    Ok(FunctionResult::Text(result))
}

/// `trim(X, Y)`, `ltrim(X, Y)` and `rtrim(X, Y)`: X without the characters of Y at its ends.
fn trim(call: &FunctionCall<'_>, left: bool, right: bool) -> Result<FunctionResult> {
    let (Some(text), Some(set)) = (call.text(0)?, call.text(1)?) else {
        return NULL;
    };
    // A NUL ends the characters.
    let set = match memchr::memchr(0, &set) {
        Some(end) => &set[..end],
        None => &set,
    };
    let mut rest = &text[..];
    match std::str::from_utf8(set) {
        Ok(set) => {
            let set = Chars::of(set.chars().map(u32::from), set.len());
            while left && let Some((_, len)) = first_char(rest).filter(|(c, _)| set.has(*c)) {
                rest = &rest[len..];
            }
            while right && let Some((_, len)) = last_char(rest).filter(|(c, _)| set.has(*c)) {
                rest = &rest[..rest.len() - len];
            }
        }
        Err(_) => rest = trim_odd(rest, set, left, right)?,
    }
    Ok(FunctionResult::Text(rest.to_vec()))
}

/// The character that well-formed text begins with, and its length.
fn first_char(text: &[u8]) -> Option<(u32, usize)> {
    (1..=text.len().min(4)).find_map(|len| whole_char(&text[..len]))
}

/// The character that well-formed text ends with, and its length.
fn last_char(text: &[u8]) -> Option<(u32, usize)> {
    (1..=text.len().min(4)).find_map(|len| whole_char(&text[text.len() - len..]))
}

fn whole_char(bytes: &[u8]) -> Option<(u32, usize)> {
    if let [byte] = bytes {
        return byte.is_ascii().then_some((u32::from(*byte), 1));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let char = text.chars().next()?;
    (char.len_utf8() == bytes.len()).then_some((u32::from(char), bytes.len()))
}

/// Trims characters that are not UTF-8, of which one may be the beginning of another: the first that fits counts.
fn trim_odd<'a>(mut text: &'a [u8], set: &[u8], left: bool, right: bool) -> Result<&'a [u8]> {
    let mut chars = Vec::new();
    let mut rest = set;
    while !rest.is_empty() {
        let (char, after) = rest.split_at(skip(rest));
        chars.push(char);
        rest = after;
    }
    if chars.len().saturating_mul(text.len()) > TRIM_COMPARISONS_MAX {
        return Err(too_costly(format!(
            "trim: {} characters that are not UTF-8 and {} bytes of text are at most {TRIM_COMPARISONS_MAX}, \
             multiplied",
            chars.len(),
            text.len()
        )));
    }
    while left && let Some(after) = chars.iter().find_map(|char| text.strip_prefix(*char)) {
        text = after;
    }
    while right && let Some(before) = chars.iter().find_map(|char| text.strip_suffix(*char)) {
        text = before;
    }
    Ok(text)
}

/// `unhex(X, Y)`: the bytes that X shows as hexadecimal digits, between which characters of Y may stand.
fn unhex(call: &FunctionCall<'_>) -> Result<FunctionResult> {
    let (Some(text), Some(set)) = (call.text(0)?, call.text(1)?) else {
        return NULL;
    };
    let set = Chars::of(Read(&set), set.len());
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut rest = Read(&text);
    while let Some(&byte) = rest.0.first()
        && byte != 0
    {
        let Some(high) = digit(byte) else {
            match rest.next() {
                Some(char) if set.has(char) => continue,
                _ => return NULL,
            }
        };
        let Some(low) = rest.0.get(1).and_then(|&byte| digit(byte)) else {
            return NULL;
        };
        bytes.push(high << 4 | low);
        rest = Read(&rest.0[2..]);
    }
    Ok(FunctionResult::Value(Value::Blob(bytes)))
}

/// `json_patch(T, P)` and `jsonb_patch(T, P)`.
fn patch(call: &FunctionCall<'_>, sql: &str) -> Result<FunctionResult> {
    let params = [call.context.get_raw(0), call.context.get_raw(1)];
    let length = |param: &ValueRef<'_>| match param {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 0,
    };
    let [target, patch] = [length(&params[0]), length(&params[1])];
    if target.saturating_mul(patch) > PATCH_PRODUCT_MAX {
        return Err(too_costly(format!(
            "json_patch: {target} bytes and {patch} bytes are too many: multiplied at most {PATCH_PRODUCT_MAX}"
        )));
    }
    call.aside.ask(sql, &params)
}

/// `json_pretty(X)` and `json_pretty(X, INDENT)`.
fn pretty(call: &FunctionCall<'_>) -> Result<FunctionResult> {
    let json = call.context.get_raw(0);
    let (sql, params, indent) = match call.context.len() {
        1 => ("SELECT json_pretty(?)", &[json][..], 4),
        _ => {
            let indent = call.text(1)?.map_or(4, |indent| indent.len());
            let indented = call.context.get_raw(1);
            ("SELECT json_pretty(?, ?)", &[json, indented][..], indent)
        }
    };
    // One form of JSON is easier to look through than all that SQLite accepts.
    if let FunctionResult::Text(plain) = call.aside.ask("SELECT json(?)", &[json])? {
        let bytes = pretty_bytes(&plain, indent);
        if bytes > PRETTY_BYTES_MAX {
            return Err(too_costly(format!(
                "json_pretty: the result would have {bytes} bytes; at most {PRETTY_BYTES_MAX} are allowed"
            )));
        }
    }
    call.aside.ask(sql, params)
}

/// About how long the JSON is when each value of a list or an object has its own line.
fn pretty_bytes(plain: &[u8], indent: usize) -> usize {
    let (mut bytes, mut depth) = (plain.len(), 0_usize);
    let mut is_string = false;
    let mut rest = plain.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'"' => is_string = !is_string,
            b'\\' if is_string => {
                rest.next();
            }
            _ if is_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b':' => bytes += 1,
            b',' => {}
            _ => continue,
        }
        if !is_string && matches!(byte, b'[' | b'{' | b']' | b'}' | b',') {
            bytes = bytes.saturating_add(1 + depth.saturating_mul(indent));
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
