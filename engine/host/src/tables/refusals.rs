//! The refusals of builders and declarations, in one wording for both languages.

use crate::error::{Error, Place};
use crate::tables::names::{nearest_name, snake_case};
use crate::tables::words::Words;
use std::net::Ipv6Addr;

/// Returns the error for a wrong type: `wanted` is `string`, `function`, `boolean`, `map` or `options`, `found` what
/// was given, with
/// its article.
#[cold]
pub fn wrong_type(words: &Words, what: &str, wanted: &str, found: &str) -> Error {
    let wanted = match wanted {
        "map" => words.map.to_owned(),
        "options" => format!("a status or {}", words.map),
        _ => format!("a {wanted}"),
    };
    Error::script(format!("the {what} must be {wanted}, not {found}"))
}

/// Returns the error for an option that does not exist. The engine puts the name of the function before it.
#[cold]
pub fn unknown_option(name: &str, known: &[&str]) -> Error {
    let all = || known.iter().map(|known| (*known).to_owned()).collect();
    let near = nearest_name(name, all()).or_else(|| nearest_name(&snake_case(name), all()));
    let text = match (near, known) {
        (Some(near), [_]) => format!("did you mean '{near}'?"),
        (Some(near), _) => format!(
            "did you mean '{near}'? The options are {}",
            known.join(", ")
        ),
        (None, [only]) => format!("the only option is {only}"),
        (None, _) => format!("the options are {}", known.join(", ")),
    };
    let names = known.iter().copied().chain([name]);
    let error = Error::script(format!("unknown option '{name}'; {text}"));
    error.naming(names).with_callers_name()
}

/// Checks how the pattern of a route, of middleware or of a group begins.
///
/// # Errors
/// Anything but a slash.
pub fn check_pattern(pattern: &str) -> Result<(), Error> {
    if pattern.starts_with('/') {
        return Ok(());
    }
    Err(Error::script(format!(
        "the pattern must begin with '/', like \"/users/:id\", not {pattern:?}"
    )))
}

/// The longest name of a host, in bytes (RFC 1035 section 2.3.4).
const HOST_BYTES_MAX: usize = 253;

/// Reports whether a text has the form of a host's name: labels of ASCII letters, digits, `-` and `_`. IPv4 addresses
/// have this form too.
pub fn is_host_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_letter);
    text.len() <= HOST_BYTES_MAX && text.split('.').all(is_label)
}

/// Checks the host of routes and middleware: a name, or a domain behind `:name.` or `*.`.
///
/// # Errors
/// Anything else; the error says what to write.
pub fn check_host(host: &str) -> Result<(), Error> {
    let (first, domain) = host.split_once('.').unwrap_or((host, ""));
    let is_word = |name: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.is_empty() && name.bytes().all(is_letter)
    };
    let is_open = first == "*" || first.strip_prefix(':').is_some_and(is_word);
    let name = if is_open { domain } else { host };
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_address = is_open && ends_in_number(name);
    let is_wrong_address = !is_open && ends_in_number(name) && !is_ipv4(name);
    if is_host_name(name) && !is_address && !is_wrong_address {
        return Ok(());
    }
    let faulty = if name.is_empty() { host } else { name };
    let is_port = |(_, port): (&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = name.rsplit_once(':').filter(|(name, _)| !name.is_empty());
    let hint = if host == "*" {
        "declare what is for all hosts without a host"
    } else if host.starts_with('[') || host.parse::<Ipv6Addr>().is_ok() {
        "IPv6 addresses have no routes of their own: declare them without a host"
    } else if host.contains(['/', '?', '#', '@']) || has_port.is_some_and(is_port) {
        "write the name alone, without scheme, port and path, as in \"api.example.org\""
    } else if faulty.contains('*') {
        "'*' stands alone before the first dot, as in \"*.example.org\", which is all names below example.org"
    } else if faulty.contains([':', '{', '<']) {
        "a parameter is the whole first label, of letters, digits and '_', and a domain is behind it, as in \
         \":tenant.example.org\""
    } else if is_address {
        "no names are below an IP address: write a domain, as in \":tenant.example.org\""
    } else if is_wrong_address && is_host_name(name) {
        "in URLs a host whose last label is a number is an IPv4 address, and this one is none: write four numbers up \
         to 255, as in \"127.0.0.1\""
    } else {
        "it has labels of letters, digits, '-' and '_' between single dots, and at most 253 bytes; write letters that \
         are not ASCII as xn--"
    };
    let text = format!("{host:?} is not the name of a host: {hint}");
    Err(Error::script(text))
}

/// Reports whether URLs have an IPv4 address where a name ends like this (WHATWG URL, "ends in a number checker").
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Reports whether URLs take a name for an IPv4 address (WHATWG URL, "IPv4 parser"). It has up to four numbers, of
/// which the last one stands for all bytes that are left; `0x` and `0` begin hexadecimal and octal ones.
fn is_ipv4(name: &str) -> bool {
    let number = |label: &str| {
        let hexadecimal = label.strip_prefix("0x").or(label.strip_prefix("0X"));
        let (digits, radix) = match (hexadecimal, label.strip_prefix('0')) {
            (Some(digits), _) => (digits, 16),
            (None, Some(digits)) => (digits, 8),
            (None, None) => (label, 10),
        };
        // `0` and `0x` are zero.
        let digits = if digits.is_empty() { "0" } else { digits };
        u32::from_str_radix(digits, radix).ok()
    };
    let numbers: Option<Vec<u32>> = name.split('.').map(number).collect();
    let numbers = numbers.unwrap_or_default();
    let Some((last, others)) = numbers.split_last() else {
        return false;
    };
    let bytes_left = 4_u32.checked_sub(others.len() as u32);
    let is_last = |bytes: u32| bytes > 0 && u64::from(*last) < 256_u64.pow(bytes);
    bytes_left.is_some_and(is_last) && others.iter().all(|number| *number < 256)
}

/// Returns the error for a declaration in a handler: `what` is declared too late.
#[cold]
pub fn too_late(what: &str) -> Error {
    Error::script(format!(
        "{what} are declared while the project loads, not in a handler, nor in a function that runs at the start"
    ))
}

/// Returns the error for a second declaration of a thing that there is once. `place` is that of the first.
#[cold]
pub fn declared_twice(place: Option<&Place>) -> Error {
    Error::script(match place {
        Some(place) => format!("it is already declared at {place}"),
        None => "it is already declared".to_owned(),
    })
}

/// Returns the error for a header name that is not a token (RFC 9110 section 5.6.2).
#[cold]
pub fn header_name(name: &str) -> Error {
    Error::script(format!(
        "invalid header name {name:?}: it must be a token such as X-Name"
    ))
}

/// Returns the error for a header value that cannot be sent (RFC 9110 section 5.5).
#[cold]
pub fn header_value(name: &str) -> Error {
    Error::script(format!(
        "invalid value for header {name:?}: control characters such as line ends, and those above U+00FF, are not \
         allowed"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_told_with_the_nearest() {
        for (name, known, expected) in [
            (
                "htpOnly",
                &["http_only", "path"][..],
                "unknown option 'htpOnly'; did you mean 'http_only'? The options are http_only, path",
            ),
            (
                "maxAge",
                &["max_age", "path"],
                "unknown option 'maxAge'; did you mean 'max_age'? The options are max_age, path",
            ),
            (
                "expires",
                &["max_age", "path"],
                "unknown option 'expires'; the options are max_age, path",
            ),
            (
                "form",
                &["from"],
                "unknown option 'form'; did you mean 'from'?",
            ),
            (
                "raw",
                &["level"],
                "unknown option 'raw'; the only option is level",
            ),
            (
                "",
                &["level"],
                "unknown option ''; the only option is level",
            ),
        ] {
            let error = unknown_option(name, known);
            assert!(error.wants_name());
            assert_eq!(error.message(), expected);
        }
    }

    #[test]
    fn hosts_are_names_or_domains_behind_a_first_label() {
        let long = format!("{}.org", "a".repeat(249));
        for host in [
            "api.example.org",
            "API.example.org.",
            "localhost",
            "127.0.0.1",
            "127.1",
            "xn--bcher-kva.example",
            "a_b-c.d",
            ":tenant.example.org",
            ":T_1.localhost.",
            "*.example.org",
            "*.localhost",
            "*.4chan",
            "a.4chan",
            "1.2.3.example",
            "0x7f.1",
            "0x",
            "1.2.3.0xff.",
            "0377.0.0.01",
            "4294967295",
            "1.16777215",
            &long,
        ] {
            check_host(host).expect(host);
        }
        let longer = format!("*.a{long}");
        for (host, hint) in [
            ("*", "for all hosts without a host"),
            ("*.", "'*' stands alone"),
            ("*..", "'*' stands alone"),
            ("*example.com", "'*' stands alone"),
            ("a.*.com", "'*' stands alone"),
            ("*.*.com", "'*' stands alone"),
            ("a*.com", "'*' stands alone"),
            (":t.*.com", "'*' stands alone"),
            (":.example.com", "a parameter is the whole first label"),
            (":a:b.com", "a parameter is the whole first label"),
            (":a-b.com", "a parameter is the whole first label"),
            (":a", "a parameter is the whole first label"),
            (":a.", "a parameter is the whole first label"),
            (":80", "a parameter is the whole first label"),
            ("*.:b.com", "a parameter is the whole first label"),
            ("a.:b.com", "a parameter is the whole first label"),
            ("{a}.b.com", "a parameter is the whole first label"),
            ("<a>.b.com", "a parameter is the whole first label"),
            ("{:a}.b.com", "a parameter is the whole first label"),
            (":\u{e4}.b.com", "a parameter is the whole first label"),
            ("[::1]", "IPv6"),
            ("::1", "IPv6"),
            ("fe80::1", "IPv6"),
            ("a.com:80", "without scheme, port and path"),
            (":a.b.com:80", "without scheme, port and path"),
            ("*.b.com:80", "without scheme, port and path"),
            ("http:", "without scheme, port and path"),
            ("http://a.com", "without scheme, port and path"),
            ("a.com/x", "without scheme, port and path"),
            ("user@a.com", "without scheme, port and path"),
            (":a.0.0.1", "below an IP address"),
            ("*.0x7f", "below an IP address"),
            ("1.2.3.4.5", "an IPv4 address, and this one is none"),
            ("1.2.3.4.5.", "an IPv4 address, and this one is none"),
            ("a.1", "an IPv4 address, and this one is none"),
            ("example.0x1", "an IPv4 address, and this one is none"),
            ("256.0.0.1", "an IPv4 address, and this one is none"),
            ("1.2.3.256", "an IPv4 address, and this one is none"),
            ("1.2.3.08", "an IPv4 address, and this one is none"),
            ("1.16777216", "an IPv4 address, and this one is none"),
            ("4294967296", "an IPv4 address, and this one is none"),
            ("0x100000000", "an IPv4 address, and this one is none"),
            ("", "between single dots"),
            (".", "between single dots"),
            ("1..2", "between single dots"),
            ("a..b", "between single dots"),
            (".a", "between single dots"),
            ("a b", "between single dots"),
            ("a\0", "between single dots"),
            ("%61.b", "between single dots"),
            ("b\u{fc}cher.example", "xn--"),
            ("*.b\u{fc}cher.example", "xn--"),
            (&longer, "at most 253 bytes"),
            (&longer[2..], "at most 253 bytes"),
        ] {
            let error = check_host(host).expect_err(host);
            let told = error.message();
            assert!(told.contains("is not the name of a host"), "{told}");
            assert!(told.contains(hint), "{told}");
        }
    }
}
