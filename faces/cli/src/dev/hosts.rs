//! The hosts that `sampan dev` answers. A page of another site may have a name that leads to this machine (DNS
//! rebinding); its requests have that name, and are refused.

use sampan_http::{Request, Response};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Reports whether requests for this value of `Host` are answered: `localhost` and names below it, IP addresses, and
/// `[dev] hosts`, of which one that begins with a dot stands for all names below it.
///
/// Every address is answered, not this machine's alone: a port that is forwarded into a container has the address of
/// the machine around it. Rebinding needs a name: a page whose address has an IP address in the place of the name came
/// from that machine, and a browser gives it nothing of others.
pub(super) fn is_own(host: &str, hosts: &[String]) -> bool {
    let name = without_port(host)
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let is_address = name.parse::<Ipv4Addr>().is_ok()
        || name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok());
    let is_listed = |known: &String| match known.strip_prefix('.') {
        Some(below) => {
            name == below
                || name
                    .strip_suffix(below)
                    .is_some_and(|rest| rest.ends_with('.'))
        }
        None => name == *known,
    };
    is_address || name == "localhost" || name.ends_with(".localhost") || hosts.iter().any(is_listed)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The answer to a request for another host; none for one of the server's own.
pub(super) fn refusal(request: &Request, hosts: &[String]) -> Option<Response> {
    // A request of HTTP/1.0 need not have one; a browser's always has.
    let host = request.host()?;
    if is_own(host, hosts) {
        return None;
    }
    let mut response = Response::new(403);
    response.content_type("text/plain; charset=utf-8");
    let name: String = without_port(host).chars().take(100).collect();
    let text = format!(
        "sampan dev does not answer the host {name:?}. If it is yours, add it to sampan.toml:\n\n[dev]\nhosts = \
         [{name:?}]\n"
    );
    response.body_mut().extend_from_slice(text.as_bytes());
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_sites_are_not_its_own() {
        let hosts = ["app.test".to_owned(), ".example.test".to_owned()];
        for (host, expected) in [
            ("localhost", true),
            ("LocalHost:8080", true),
            ("app.localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("192.168.1.20", true),
            ("[::1]:8080", true),
            ("app.test:8080", true),
            ("a.example.test", true),
            ("example.test", true),
            ("localhost.evil.example", false),
            ("evil.example:8080", false),
            ("sub.app.test", false),
            ("badexample.test", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_own(host, &hosts), expected, "{host}");
        }
    }
}
