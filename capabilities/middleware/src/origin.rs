//! Origins: scheme, host and port, as browsers write them in the field `Origin` (RFC 6454 section 6.2).

/// An origin as a browser would send it.
///
/// # Errors
/// The fault and what to write.
pub(crate) fn checked(text: &str) -> Result<String, String> {
    let fault = |why: &str| Err(format!("{text:?} is no origin: {why}"));
    let Some((scheme, host)) = text.split_once("://") else {
        return fault("write scheme and host, as in \"https://app.example\"");
    };
    let is_scheme = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
        return fault("its scheme is none such as https");
    }
    if host.contains(['/', '?', '#']) {
        return fault("leave out what follows the host");
    }
    if host.contains('*') {
        return fault("there are no wildcards: list each origin");
    }
    let is_host =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    if host.is_empty() || !host.bytes().all(is_host) {
        return fault(
            "write the host in ASCII, other names as browsers send them: \"https://xn--...\"",
        );
    }
    let origin = text.to_ascii_lowercase();
    let default_port = [("https://", ":443"), ("http://", ":80")];
    let has_default =
        |(scheme, port): &(&str, &str)| origin.starts_with(scheme) && origin.ends_with(port);
    match default_port.iter().find(|it| has_default(it)) {
        Some((_, port)) => fault(&format!("browsers leave the port {port} out")),
        None => Ok(origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_what_browsers_send() {
        for (text, expected) in [
            ("https://app.example", "https://app.example"),
            ("HTTP://App.Example:8080", "http://app.example:8080"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("app+x://localhost", "app+x://localhost"),
        ] {
            assert_eq!(checked(text).as_deref(), Ok(expected));
        }
        for (text, part) in [
            ("null", "write scheme and host"),
            ("app.example", "write scheme and host"),
            ("*", "write scheme and host"),
            ("https://", "write the host"),
            ("https://app.example/", "leave out what follows"),
            ("https://*.app.example", "there are no wildcards"),
            ("https://a@app.example", "write the host in ASCII"),
            ("https://b\u{fc}cher.example", "write the host in ASCII"),
            ("https://app.example\r\nX: y", "write the host in ASCII"),
            ("https://app.example:443", "leave the port :443 out"),
            ("://app.example", "scheme"),
        ] {
            let fault = checked(text).expect_err(text);
            assert!(fault.contains(part), "{fault}");
        }
    }
}
