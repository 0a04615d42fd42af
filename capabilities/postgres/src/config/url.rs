//! URLs of databases, as libpq reads them ("Connection URIs" in PostgreSQL's documentation).

use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

/// Reads a URL into parameters by their names. Several hosts and ports are lists with commas.
///
/// # Errors
/// The part that is wrong.
pub(super) fn parameters(url: &str) -> Result<BTreeMap<String, String>, String> {
    let rest = url.strip_prefix("postgres://");
    let rest = rest.or_else(|| url.strip_prefix("postgresql://"));
    let rest = rest.ok_or("the URL of a database begins with postgres://")?;
    let mut found = BTreeMap::new();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (login, hosts),
        None => ("", authority),
    };
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let mut add = |name: &str, value: &str| {
        let value = decoded(value).map_err(|why| format!("{name}: {why}"))?;
        if !value.is_empty() {
            found.insert(name.to_owned(), value);
        }
        Ok::<(), String>(())
    };
    add("user", user)?;
    add("password", password.unwrap_or_default())?;
    add("dbname", path)?;
    let hosts: Vec<(&str, &str)> = hosts.split(',').map(host_and_port).collect();
    let join = |of: fn(&(&str, &str)) -> String| hosts.iter().map(of).collect::<Vec<_>>().join(",");
    if hosts.iter().any(|(host, _)| !host.is_empty()) {
        add("host", &join(|(host, _)| (*host).to_owned()))?;
    }
    if hosts.iter().any(|(_, port)| !port.is_empty()) {
        add("port", &join(|(_, port)| (*port).to_owned()))?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("{pair}: a parameter is written name=value"))?;
        add(&decoded(name)?, value)?;
    }
    Ok(found)
}

/// Takes a host apart: `name:1`, `[::1]:1`, `name`.
fn host_and_port(text: &str) -> (&str, &str) {
    if let Some(rest) = text.strip_prefix('[')
        && let Some((host, rest)) = rest.split_once(']')
    {
        return (host, rest.strip_prefix(':').unwrap_or_default());
    }
    text.rsplit_once(':').unwrap_or((text, ""))
}

fn decoded(text: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| "it is not UTF-8".to_owned())?;
    match text.contains('\0') {
        true => Err("it has a NUL".to_owned()),
        false => Ok(text.into_owned()),
    }
}
