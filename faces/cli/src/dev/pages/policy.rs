//! The `Content-Security-Policy` of a project's page, made to allow what `sampan dev` puts into it: a script, its
//! events, and a style.

/// A header field by which the page about an error is known until it is sent.
pub(in crate::dev) const OWN_PAGE: &str = "Sampan-Dev-Page";

/// The directives that the script needs.
const NEEDED: [&str; 3] = ["script-src", "connect-src", "style-src"];

/// Returns the policy with `'self'` allowed where the script needs it, and the nonce that scripts have in it, if they
/// have one.
pub(in crate::dev) fn extended(policy: &str) -> (String, Option<String>) {
    let mut directives: Vec<(String, Vec<String>)> = Vec::new();
    for directive in policy.split(';') {
        let mut words = directive.split_ascii_whitespace().map(str::to_owned);
        if let Some(name) = words.next() {
            directives.push((name, words.collect()));
        }
    }
    let position = |directives: &[(String, Vec<String>)], name: &str| {
        directives
            .iter()
            .position(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    let default = position(&directives, "default-src").map(|at| directives[at].1.clone());
    let mut nonce = None;
    for name in NEEDED {
        let at = match (position(&directives, name), &default) {
            (Some(at), _) => at,
            // Nothing restricts it.
            (None, None) => continue,
            (None, Some(values)) => {
                directives.push((name.to_owned(), values.clone()));
                directives.len() - 1
            }
        };
        let values = &mut directives[at].1;
        values.retain(|value| !value.eq_ignore_ascii_case("'none'"));
        if !values.iter().any(|value| value == "'self'" || value == "*") {
            values.push("'self'".to_owned());
        }
        if name == "script-src" {
            let found = values
                .iter()
                .find_map(|value| value.strip_prefix("'nonce-"));
            nonce = found
                .and_then(|nonce| nonce.strip_suffix('\''))
                .map(str::to_owned);
        }
    }
    let written = directives.iter().map(|(name, values)| {
        let words = std::iter::once(name.as_str()).chain(values.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    });
    (written.collect::<Vec<_>>().join("; "), nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_needs_is_allowed() {
        for (policy, expected, nonce) in [
            (
                "default-src 'none'; img-src 'self'",
                "default-src 'none'; img-src 'self'; script-src 'self'; connect-src 'self'; style-src 'self'",
                None,
            ),
            (
                "default-src 'self'",
                "default-src 'self'; script-src 'self'; connect-src 'self'; style-src 'self'",
                None,
            ),
            ("img-src *", "img-src *", None),
            (
                "script-src 'nonce-abc' 'strict-dynamic'",
                "script-src 'nonce-abc' 'strict-dynamic' 'self'",
                Some("abc"),
            ),
            (
                "frame-ancestors 'none'; upgrade-insecure-requests",
                "frame-ancestors 'none'; upgrade-insecure-requests",
                None,
            ),
        ] {
            assert_eq!(
                extended(policy),
                (expected.to_owned(), nonce.map(str::to_owned))
            );
        }
    }
}
