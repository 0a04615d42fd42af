//! Addresses of people and of pages.

use crate::limits::EMAIL_BYTES_MAX;
use url::Url;

/// Reports whether a browser accepts the text in an `<input type=email>` (WHATWG HTML, "valid e-mail address"), if it
/// is not too long to be one.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let is_local = |one: u8| one.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&one);
    text.len() <= EMAIL_BYTES_MAX
        && !local.is_empty()
        && local.bytes().all(is_local)
        && domain.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|one| one.is_ascii_alphanumeric() || one == b'-')
}

/// An absolute address of the web. `javascript:` and the like are none: a page that links to one runs it.
pub(crate) fn is_url(text: &str) -> bool {
    let is_web = ["http://", "https://"].iter().any(|start| {
        let found = text.get(..start.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(start))
    });
    // The parser drops line ends and tabs, and takes a backslash for a slash.
    let is_odd = |one: char| one.is_whitespace() || one.is_control() || one == '\\';
    is_web && !text.contains(is_odd) && Url::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emails_are_what_browsers_take() {
        for good in [
            "a@b",
            "ann.o'neil+x@mail.example.com",
            "a@xn--bcher-kva.example",
        ] {
            assert!(is_email(good), "{good}");
        }
        let long = format!("{}@b.com", "a".repeat(EMAIL_BYTES_MAX));
        for bad in [
            "", "a", "@b", "a@", "a@@b", "a b@c", "a@b..c", "a@-b", "a@b-", "a@b c", "a@b\n",
            "ä@b", "a@ü.de", "<a@b>", &long,
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }

    #[test]
    fn urls_are_those_of_the_web() {
        for good in [
            "https://example.com",
            "HTTP://example.com:8080/a?b#c",
            "https://bücher.example/ü",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "",
            "example.com",
            "//example.com",
            "/a",
            "javascript:alert(1)",
            "java\nscript:alert(1)",
            "http:example.com",
            "https://",
            "https://a b",
            "https://exa\tmple.com",
            "https://example.com\\@evil.com",
            "ftp://example.com",
            "data:text/html,x",
            "https://[::1",
            "http://a:99999",
        ] {
            assert!(!is_url(bad), "{bad:?}");
        }
    }
}
