//! Form bodies: `multipart/form-data` (RFC 7578 in the framing of RFC 2046, section 5.1) and urlencoded ones.
//!
//! Lines end with CRLF only. What a browser, curl or another fetch sends is taken; anything out of form is an
//! error for the whole body, never a guess.

use super::bytes::{self, PackedBytes};
use super::crypto;
use crate::values::property_names::check::NameCheck;
use memchr::memmem;
use rquickjs::{Array, Ctx, Function, IntoJs, Object, Result, Value};
use sampan_host::request::multipart::{boundary_of, part_head};
use url::form_urlencoded;

/// Parts of one multipart body.
const FORM_PARTS_MAX: usize = 1_000;
/// The header lines of one part together.
const PART_HEAD_BYTES_MAX: usize = 8_192;
/// Pairs of one urlencoded body.
const FORM_PAIRS_MAX: usize = 10_000;

/// Adds `parseMultipart`, `parseUrlencoded` and `boundary`.
pub(super) fn register(table: &Object<'_>) -> Result<()> {
    let ctx = table.ctx();
    table.set(
        "parseMultipart",
        Function::new(ctx.clone(), parse_multipart)?,
    )?;
    table.set(
        "parseUrlencoded",
        Function::new(ctx.clone(), parse_urlencoded)?,
    )?;
    table.set("boundary", Function::new(ctx.clone(), boundary)?)
}

/// One part of a multipart body. Its value is text unless it has a file name.
#[derive(Debug, PartialEq)]
pub(super) struct Part<'a> {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    content: &'a [u8],
}

/// A boundary that no content contains, but for a chance of 2^-128.
fn boundary(ctx: Ctx<'_>) -> Result<String> {
    let mut random = [0; 16];
    crypto::fill(&ctx, &mut random)?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("----SampanFormBoundary{hex}"))
}

/// `[name, filename, type, value, ...]`, or a string that says what is wrong.
fn parse_multipart<'js>(
    ctx: Ctx<'js>,
    body: PackedBytes,
    content_type: String,
) -> Result<Value<'js>> {
    let parts = match boundary_of(&content_type).and_then(|boundary| parts(&body.0, &boundary)) {
        Ok(parts) => parts,
        Err(problem) => return problem.into_js(&ctx),
    };
    let flat = Array::new(ctx.clone())?;
    for (index, part) in parts.into_iter().enumerate() {
        let at = index * 4;
        flat.set(at, part.name)?;
        if part.filename.is_some() {
            flat.set(at + 3, bytes::to_js(&ctx, part.content)?)?;
        } else {
            flat.set(at + 3, String::from_utf8_lossy(part.content).into_owned())?;
        }
        flat.set(at + 1, part.filename)?;
        flat.set(at + 2, part.content_type)?;
    }
    Ok(flat.into_value())
}

/// `[name, value, ...]`, or a string that says what is wrong.
fn parse_urlencoded<'js>(ctx: Ctx<'js>, text: String) -> Result<Value<'js>> {
    let flat = Array::new(ctx.clone())?;
    let mut names = NameCheck::default();
    for (index, (name, value)) in form_urlencoded::parse(text.as_bytes()).enumerate() {
        if index == FORM_PAIRS_MAX {
            return format!("more than {FORM_PAIRS_MAX} fields").into_js(&ctx);
        }
        // They are likely to become those of an object.
        if let Err(refusal) = names.add(name.as_bytes()) {
            return refusal.to_string().into_js(&ctx);
        }
        flat.set(index * 2, name.as_ref())?;
        flat.set(index * 2 + 1, value.as_ref())?;
    }
    Ok(flat.into_value())
}

/// Splits a body at its delimiters.
pub(super) fn parts<'a>(
    body: &'a [u8],
    boundary: &str,
) -> std::result::Result<Vec<Part<'a>>, String> {
    let delimiter = format!("\r\n--{boundary}");
    let finder = memmem::Finder::new(delimiter.as_bytes());
    let body = body.strip_prefix(b"\r\n").unwrap_or(body);
    let mut rest = body
        .strip_prefix(&delimiter.as_bytes()[2..])
        .ok_or("the body does not begin with its boundary")?;
    let mut parts = Vec::new();
    // `rest` stands behind a delimiter: "--" ends the body, a line end begins a part.
    while !rest.starts_with(b"--") {
        if parts.len() == FORM_PARTS_MAX {
            return Err(format!("more than {FORM_PARTS_MAX} parts"));
        }
        rest = trim_start(rest)
            .strip_prefix(b"\r\n")
            .ok_or("a boundary is not followed by a line end")?;
        // A part without header lines begins with its empty line, so its delimiter is searched from there.
        let head_end = memmem::find(&rest[..rest.len().min(PART_HEAD_BYTES_MAX)], b"\r\n\r\n")
            .ok_or("the header lines of a part do not end, or are too long")?;
        let content = &rest[head_end + 4..];
        let length = match content.strip_prefix(&delimiter.as_bytes()[2..]) {
            Some(_) => return Err("a part has no line end before its boundary".into()),
            None => finder
                .find(content)
                .ok_or("the body ends without its last boundary")?,
        };
        let head = part_head(&rest[..head_end])?;
        parts.push(Part {
            name: head.name,
            filename: head.filename,
            content_type: head.content_type,
            content: &content[..length],
        });
        rest = &content[length + delimiter.len()..];
    }
    Ok(parts)
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let blanks = bytes
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    &bytes[blanks..]
}
