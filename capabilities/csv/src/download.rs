//! `req:csv_download`: an answer that browsers save as a file, RFC 6266.

use sampan_host::{Args, Context, Error, Value};
use std::fmt::Write;

/// Kept for a request whose answer has a file name.
struct HasFileName;

pub(crate) fn csv_download(_: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    let request = args.request();
    let disposition = disposition(&name)?;
    if request.store().get::<HasFileName>().is_some() {
        return Err(Error::script("the answer has a file name already"));
    }
    request.add_header("content-disposition", disposition.as_bytes())?;
    request.add_header("content-type", b"text/csv; charset=utf-8")?;
    request.store().put(HasFileName);
    Ok(Value::Null)
}

/// The value of `Content-Disposition`: the name twice, because old clients do not read `filename*`.
fn disposition(name: &str) -> Result<String, Error> {
    if name.is_empty() || name.contains(char::is_control) {
        return Err(Error::script(
            "the name must be that of a file, without line ends or other control characters",
        ));
    }
    // Quoted pairs and percent signs are read in different ways (RFC 6266 appendix D).
    let is_plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '%' | '/');
    let plain: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let mut value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''");
    for byte in name.bytes() {
        // `attr-char` of RFC 8187 section 3.2.1.
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            value.push(char::from(byte));
        } else {
            let _ = write!(value, "%{byte:02X}");
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_encoded() {
        for (name, expected) in [
            (
                "visits.csv",
                "attachment; filename=\"visits.csv\"; filename*=UTF-8''visits.csv",
            ),
            (
                "Größe 1.csv",
                "attachment; filename=\"Gr__e 1.csv\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.csv",
            ),
            (
                "a\"; x=\\%2F/b",
                "attachment; filename=\"a_; x=__2F_b\"; filename*=UTF-8''a%22%3B%20x%3D%5C%252F%2Fb",
            ),
        ] {
            assert_eq!(disposition(name).expect(name), expected);
        }
        for name in ["", "a\r\nSet-Cookie: b", "a\0", "a\u{85}"] {
            disposition(name).expect_err(name);
        }
    }
}
