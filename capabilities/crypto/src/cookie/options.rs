//! The options of `req:set_cookie` and `req:delete_cookie`.

use sampan_host::set_cookie::{SameSite, SetCookie};
use sampan_host::{Error, Value};

/// The protection of a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protection {
    /// No protection.
    #[default]
    Plain,
    /// A signature.
    Signed,
    /// Encryption.
    Encrypted,
}

/// The options of `req:set_cookie`.
pub(crate) const SETTING: &[&str] = &[
    "max_age",
    "path",
    "domain",
    "same_site",
    "http_only",
    "secure",
    "partitioned",
    "signed",
    "encrypted",
];
/// The options of `req:delete_cookie`.
pub(crate) const DELETING: &[&str] = &["path", "domain", "same_site", "secure", "partitioned"];

/// Reads the options that a script gave into the cookie.
pub(crate) fn read<'a>(
    given: &'a [(String, Value)],
    cookie: &mut SetCookie<'a>,
) -> Result<Protection, Error> {
    let mut protection = Protection::Plain;
    for (name, value) in given {
        match (name.as_str(), value) {
            ("max_age", Value::Int(seconds)) if *seconds >= 0 => {
                cookie.max_age_seconds = Some(*seconds);
            }
            ("max_age", Value::Float(seconds))
                if (0.0..9.0e15).contains(seconds) && seconds.fract() == 0.0 =>
            {
                cookie.max_age_seconds = Some(*seconds as i64);
            }
            ("path", Value::Text(path)) => cookie.path = path,
            ("domain", Value::Text(domain)) => cookie.domain = Some(domain),
            ("same_site", Value::Text(text)) => cookie.same_site = same_site(text)?,
            ("http_only", Value::Bool(is)) => cookie.is_http_only = *is,
            ("secure", Value::Bool(is)) => cookie.is_secure = *is,
            ("partitioned", Value::Bool(is)) => cookie.is_partitioned = *is,
            ("signed" | "encrypted", Value::Bool(false)) => {}
            ("signed", Value::Bool(true)) if protection == Protection::Plain => {
                protection = Protection::Signed;
            }
            ("encrypted", Value::Bool(true)) if protection == Protection::Plain => {
                protection = Protection::Encrypted;
            }
            ("signed" | "encrypted", Value::Bool(true)) => {
                return Err(Error::script(
                    "a cookie is signed or encrypted: what is encrypted cannot be changed either",
                ));
            }
            ("max_age", _) => {
                let text = "max_age must be a whole number of seconds from 0";
                return Err(Error::script(text).naming(["max_age"]));
            }
            ("path" | "domain", _) => {
                return Err(Error::script(format!("{name} must be a string")));
            }
            ("same_site", _) => return Err(no_same_site()),
            (name, _) => {
                let text = format!("{name} must be true or false");
                return Err(Error::script(text).naming([name]));
            }
        }
    }
    Ok(protection)
}

fn same_site(text: &str) -> Result<SameSite, Error> {
    let known = [SameSite::Lax, SameSite::Strict, SameSite::None];
    let found = known
        .into_iter()
        .find(|known| known.as_str().eq_ignore_ascii_case(text));
    found.ok_or_else(no_same_site)
}

#[cold]
fn no_same_site() -> Error {
    Error::script("same_site must be \"lax\", \"strict\" or \"none\"").naming(["same_site"])
}
