//! Names of hosts, in the form in which they are compared: lower-case, without a port and without a dot at the end.
//! `a%2Eexample` is `a.example`, as in URLs: a script that reads its host from `req.url` finds that too.

/// The host of an authority, such as that of a `Host` field. IPv6 addresses keep their brackets.
pub(crate) fn asked(authority: &str) -> String {
    let end = match authority.strip_prefix('[') {
        Some(address) => address.find(']').map(|at| at + 2),
        None => authority.find(':'),
    };
    let host = authority.get(..end.unwrap_or(authority.len()));
    form(host.unwrap_or_default())
}

/// The form of a name. What is no usual one has the form that URLs give it.
pub(super) fn form(name: &str) -> String {
    let bare = name.strip_suffix('.').unwrap_or(name);
    let last = bare.rsplit('.').next().unwrap_or_default();
    if last.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains('%') {
        return bare.to_ascii_lowercase();
    }
    let mut host = match url::Host::parse(name) {
        Ok(host) => host.to_string(),
        Err(_) => name.to_ascii_lowercase(),
    };
    if host.ends_with('.') {
        host.pop();
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_authority_has_one_form() {
        for (authority, host) in [
            ("example.org", "example.org"),
            ("EXAMPLE.org:8080", "example.org"),
            ("example.org.", "example.org"),
            ("example.org.:80", "example.org"),
            ("example.org..", "example.org."),
            ("[::1]", "[::1]"),
            ("[::1]:80", "[::1]"),
            ("[FE80::1", "[fe80::1"),
            ("[]", "[]"),
            ("", ""),
            (".", ""),
            (":80", ""),
            ("a:b:c", "a"),
            ("api%2eexample.org", "api.example.org"),
            ("%61PI.example%2Eorg%2E:80", "api.example.org"),
            ("a%C2%ADpi.example.org", "api.example.org"),
            ("api%2Fexample.org", "api%2fexample.org"),
            ("127.1:80", "127.0.0.1"),
            ("[0:0::1]", "[::1]"),
        ] {
            assert_eq!(asked(authority), host, "{authority}");
        }
    }
}
