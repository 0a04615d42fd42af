//! Links in plain text.

use super::given::Given;
use super::texts::{escaped, markup};
use minijinja::value::StringInput;
use minijinja::{Error, ErrorKind, State, Value};
use std::collections::BTreeSet;

/// The domains that are links without a scheme and without `www.`.
const DOMAINS: [&str; 8] = ["com", "net", "int", "edu", "gov", "org", "info", "mil"];
const OPENING: [&str; 3] = ["(", "<", "&lt;"];
const CLOSING: [&str; 6] = [")", ">", ".", ",", "\n", "&gt;"];
const PAIRS: [(&str, &str); 3] = [("(", ")"), ("<", ">"), ("&lt;", "&gt;")];

/// The attributes and the limits of the links.
struct Links<'a> {
    attributes: String,
    shown_chars_max: Option<usize>,
    schemes: Vec<&'a str>,
}

/// Makes links of the URLs and the mail addresses in a text, and escapes the rest.
pub(super) fn urlize(
    state: &mut State<'_, '_>,
    value: &Value,
    given: &Given<'_>,
) -> Result<Value, Error> {
    let mut rel: BTreeSet<&str> = given.text("rel").unwrap_or("").split_whitespace().collect();
    rel.insert("noopener");
    if given.is_true("nofollow") {
        rel.insert("nofollow");
    }
    let rel: Vec<&str> = rel.into_iter().collect();
    let mut attributes = format!(" rel=\"{}\"", escaped(&rel.join(" ")));
    if let Some(target) = given.text("target") {
        attributes += &format!(" target=\"{}\"", escaped(target));
    }
    let schemes: Vec<Value> = match given.get("extra_schemes") {
        Some(schemes) => schemes.try_iter()?.collect(),
        None => Vec::new(),
    };
    let schemes: Vec<&str> = schemes.iter().filter_map(Value::as_str).collect();
    for scheme in &schemes {
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.trim_end_matches('/').ends_with(':');
        if !is_scheme {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("{scheme:?} cannot be the beginning of a URL"),
            ));
        }
    }
    let links = Links {
        attributes,
        shown_chars_max: given.count("trim_url_limit"),
        schemes,
    };
    let value = StringInput::new(state, value)?;
    let text = match value.is_safe() {
        true => value.as_str().to_owned(),
        false => escaped(value.as_str()).replace("&#x2f;", "/"),
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        links.word(&mut out, &rest[..end]);
        rest = &rest[end..];
        let end = rest
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(rest.len());
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Ok(markup(state, out))
}

impl Links<'_> {
    fn word(&self, out: &mut String, word: &str) {
        let mut start = 0;
        while let Some(open) = OPENING
            .iter()
            .find(|open| word[start..].starts_with(**open))
        {
            start += open.len();
        }
        let mut end = word.len();
        while let Some(close) = CLOSING
            .iter()
            .find(|close| word[start..end].ends_with(**close))
        {
            end -= close.len();
        }
        // A closing bracket belongs to the URL that has the opening one.
        for (open, close) in PAIRS {
            let wanted = word[start..end].matches(open).count();
            let mut missing = wanted.saturating_sub(word[start..end].matches(close).count());
            while missing > 0
                && let Some(at) = word[end..].find(close)
            {
                end += at + close.len();
                missing -= 1;
            }
        }
        let middle = &word[start..end];
        out.push_str(&word[..start]);
        match self.target(middle) {
            Some((href, shown, attributes)) => {
                let shown = self.shortened(shown);
                out.push_str(&format!("<a href=\"{href}\"{attributes}>{shown}</a>"));
            }
            None => out.push_str(middle),
        }
        out.push_str(&word[end..]);
    }

    /// Returns the URL of a word, the text of its link and its attributes.
    fn target<'a>(&'a self, word: &'a str) -> Option<(String, &'a str, &'a str)> {
        let attributes = self.attributes.as_str();
        if is_web_address(word) {
            let has_scheme = word.starts_with("https://") || word.starts_with("http://");
            let scheme = if has_scheme { "" } else { "https://" };
            return Some((format!("{scheme}{word}"), word, attributes));
        }
        if let Some(address) = word.strip_prefix("mailto:")
            && is_mail_address(address)
        {
            return Some((word.to_owned(), address, ""));
        }
        let may_be_mail = !word.starts_with("www.") && !word.starts_with('@');
        if may_be_mail && !word.contains(':') && is_mail_address(word) {
            return Some((format!("mailto:{word}"), word, ""));
        }
        let mut schemes = self.schemes.iter();
        let is_extra = schemes.any(|scheme| word != *scheme && word.starts_with(*scheme));
        is_extra.then(|| (word.to_owned(), word, attributes))
    }

    fn shortened(&self, shown: &str) -> String {
        match self.shown_chars_max {
            Some(most) if shown.chars().count() > most => {
                let start: String = shown.chars().take(most).collect();
                format!("{start}...")
            }
            _ => shown.to_owned(),
        }
    }
}

fn is_web_address(word: &str) -> bool {
    let lower = word.to_lowercase();
    let (has_scheme, rest) = match lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"))
    {
        Some(rest) => (true, rest),
        None => (false, lower.as_str()),
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && !port.contains(']') => (host, Some(port)),
        _ => (host, None),
    };
    let is_port = |port: &str| {
        (1..=5).contains(&port.len()) && port.bytes().all(|digit| digit.is_ascii_digit())
    };
    if port.is_some_and(|port| !is_port(port)) {
        return false;
    }
    if has_scheme && host.starts_with('[') {
        let inside = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        return inside.is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    }
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '%' | '-'))
    };
    if !labels.iter().all(is_label) {
        return false;
    }
    let last = labels.last().copied().unwrap_or_default();
    let is_tld = ((2..=63).contains(&last.len()) && last.bytes().all(|c| c.is_ascii_lowercase()))
        || last.starts_with("xn--");
    match (has_scheme, host.starts_with("www.")) {
        (true, _) => is_tld || host.parse::<std::net::Ipv4Addr>().is_ok(),
        (false, true) => is_tld,
        (false, false) => {
            labels.len() > 1
                && DOMAINS.contains(&last)
                && labels[..labels.len() - 1]
                    .iter()
                    .all(|label| label.len() > 1)
        }
    }
}

fn is_mail_address(word: &str) -> bool {
    let Some((name, domain)) = word.rsplit_once('@') else {
        return false;
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let Some((first, last)) = domain.rsplit_once('.') else {
        return false;
    };
    !name.is_empty()
        && first.starts_with(is_part)
        && first.chars().all(|c| is_part(c) || matches!(c, '.' | '-'))
        && !last.is_empty()
        && last.chars().all(is_part)
}
