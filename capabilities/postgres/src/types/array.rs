//! Arrays: from the text that the server writes to JSON, and from lists to the text that the server reads.

use super::oids::{self, Oid};
use sampan_host::Value;

/// The most levels of a list.
const DEPTH_MAX: usize = 6;

/// Writes the array `literal`, such as `{1,NULL,"a b"}`, as JSON. Returns `None` if it is none.
pub(crate) fn write_json(literal: &str, element: Oid, out: &mut String) -> Option<()> {
    // Bounds that do not begin at 1 stand before: `[0:1]={1,2}`.
    let body = match literal.starts_with('[') {
        true => literal.split_once('=')?.1,
        false => literal,
    };
    let mut rest = body;
    let mut depth = 0;
    loop {
        let first = rest.chars().next()?;
        match first {
            '{' => {
                (depth, rest) = (depth + 1, &rest[1..]);
                out.push('[');
                if depth > DEPTH_MAX {
                    return None;
                }
                if !rest.starts_with('}') {
                    continue;
                }
            }
            '"' => {
                let text;
                (text, rest) = unquoted(rest)?;
                write_element(&text, element, true, out);
            }
            '}' | ',' => return None,
            _ => {
                let end = rest.find([',', '}'])?;
                write_element(&rest[..end], element, false, out);
                rest = &rest[end..];
            }
        }
        while let Some(after) = rest.strip_prefix('}') {
            (depth, rest) = (usize::checked_sub(depth, 1)?, after);
            out.push(']');
        }
        if depth == 0 {
            return rest.is_empty().then_some(());
        }
        rest = rest.strip_prefix(',')?;
        out.push(',');
    }
}

/// Reads the element in quotes at the beginning. Returns it and what is behind.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut found = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((found, &text[at + 1..])),
            '\\' => found.push(chars.next()?.1),
            char => found.push(char),
        }
    }
    None
}

fn write_element(text: &str, element: Oid, is_quoted: bool, out: &mut String) {
    if !is_quoted && text == "NULL" {
        return out.push_str("null");
    }
    match element {
        oids::INT2 | oids::INT4 | oids::INT8 | oids::OID => out.push_str(text),
        oids::FLOAT4 | oids::FLOAT8 if text.parse().is_ok_and(f64::is_finite) => {
            out.push_str(text);
        }
        oids::BOOL => out.push_str(if text == "t" { "true" } else { "false" }),
        oids::JSON | oids::JSONB => out.push_str(text),
        oids::TIMESTAMPTZ => write_string(text.strip_suffix("+00").unwrap_or(text), out),
        _ => write_string(text, out),
    }
}

fn write_string(text: &str, out: &mut String) {
    use std::fmt::Write;
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            char if char < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
}

/// Writes a list as the server reads it; `element` is the type of its elements, where it is known.
///
/// # Errors
/// The reason for which a value cannot be an element.
pub(crate) fn write_literal(
    items: &[Value],
    element: Option<Oid>,
    out: &mut String,
) -> Result<(), String> {
    write_level(items, element, out, 1)
}

fn write_level(
    items: &[Value],
    element: Option<Oid>,
    out: &mut String,
    depth: usize,
) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("a list of more than {DEPTH_MAX} levels"));
    }
    out.push('{');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match item {
            Value::Null => out.push_str("NULL"),
            Value::Bool(value) => out.push_str(bool_text(*value, element)),
            Value::Int(value) => out.push_str(itoa::Buffer::new().format(*value)),
            Value::Float(value) => out.push_str(&super::bind::float_text(*value, element)?),
            Value::Text(text) => write_quoted(text, out)?,
            Value::Bytes(bytes) => {
                use std::fmt::Write;
                out.push_str("\"\\\\x");
                for byte in bytes {
                    let _ = write!(out, "{byte:02x}");
                }
                out.push('"');
            }
            Value::List(inner) => write_level(inner, element, out, depth + 1)?,
            other => return Err(format!("{} in a list", other.type_name())),
        }
    }
    out.push('}');
    Ok(())
}

/// Returns a boolean as an element of a type is written: as a parameter of that type alone.
fn bool_text(value: bool, element: Option<Oid>) -> &'static str {
    match (element, value) {
        (Some(oids::BOOL), true) => "t",
        (Some(oids::BOOL), false) => "f",
        (Some(oids::JSON | oids::JSONB), true) => "true",
        (Some(oids::JSON | oids::JSONB), false) => "false",
        (_, true) => "1",
        (_, false) => "0",
    }
}

fn write_quoted(text: &str, out: &mut String) -> Result<(), String> {
    if text.contains('\0') {
        return Err(super::bind::HAS_NUL.to_owned());
    }
    out.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            out.push('\\');
        }
        out.push(char);
    }
    out.push('"');
    Ok(())
}
