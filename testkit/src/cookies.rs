//! The cookies of one browser, as far as tests need one: by name, without path and domain.

use std::collections::BTreeMap;

/// The cookies that a browser has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cookies(BTreeMap<String, String>);

impl Cookies {
    /// The value of the field `Cookie`, if there are any.
    pub(crate) fn field(&self) -> Option<String> {
        let pairs = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        let pairs: Vec<String> = pairs.collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Keeps what a field `Set-Cookie` sets, or forgets what it lets expire.
    pub(crate) fn keep(&mut self, line: &str) {
        let Some((name, rest)) = line.split_once('=') else {
            return;
        };
        let mut parts = rest.split(';').map(str::trim);
        let value = parts.next().unwrap_or_default();
        let expires = parts.any(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let is = |wanted: &str| key.eq_ignore_ascii_case(wanted);
            is("max-age") && (value == "0" || value.starts_with('-'))
                || is("expires") && value.contains("1970")
        });
        if expires {
            self.0.remove(name);
        } else {
            self.0.insert(name.to_owned(), value.to_owned());
        }
    }
}
