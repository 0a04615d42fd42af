//! Paths of the server's own for those who run it: who they are, and what such a path may be.

use sampan_http::Request;
use std::net::IpAddr;

/// Fields by which proxies tell that they pass a request on.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Reports whether a request comes from those who run the server: the client is on this machine and no proxy, or it has
/// the token.
pub(crate) fn are(request: &Request, token: Option<&str>) -> bool {
    let ip = request.peer().ip();
    // Who connects to a Unix socket is on this machine.
    let is_local = ip.is_none_or(|ip| match ip {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
    });
    let is_passed_on = FORWARDED.iter().any(|name| request.header(name).is_some());
    if is_local && !is_passed_on {
        return true;
    }
    let given = request.header("authorization").and_then(bearer);
    match (token, given) {
        (Some(token), Some(given)) => is_same(token.as_bytes(), given),
        _ => false,
    }
}

/// Returns the token of a field `Authorization` (RFC 6750 section 2.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// Compares texts in a time that says nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

/// Returns the path of a setting; `usual` is the one where none is written.
///
/// # Errors
/// No request can have this path.
pub(crate) fn checked_path(path: &str, usual: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let has_parts = path
        .split('/')
        .skip(1)
        .all(|part| !part.is_empty() && part != "." && part != "..");
    if !path.starts_with('/') || !has_parts || !path.bytes().all(is_plain) {
        return Err(format!(
            "path is {path:?}; it must be a path such as {usual:?}, without a slash at its end"
        ));
    }
    Ok(path.to_owned())
}

/// Returns the token of a setting.
///
/// # Errors
/// Anybody may guess it.
pub(crate) fn checked_token(token: Option<&str>) -> Result<Option<String>, String> {
    match token {
        Some(token) if token.trim().is_empty() => {
            Err("token is empty: leave it out, or give it a text that is hard to guess".into())
        }
        token => Ok(token.map(str::to_owned)),
    }
}
