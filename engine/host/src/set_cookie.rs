//! Cookies as an answer sets them: the `Set-Cookie` field of RFC 6265bis, with defaults that are safe.

use crate::error::Error;
use std::fmt::Write;

/// The longest name and value together, in bytes: browsers ignore what is longer (RFC 6265bis section 5.6).
pub const COOKIE_BYTES_MAX: usize = 4096;
/// The longest value of an attribute, in bytes, as above.
const ATTRIBUTE_BYTES_MAX: usize = 1024;

/// With which requests from other sites a cookie is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameSite {
    /// With none.
    Strict,
    /// With those of a user who follows a link.
    #[default]
    Lax,
    /// With all.
    None,
}

impl SameSite {
    /// Returns the value of the attribute.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Lax => "Lax",
            Self::None => "None",
        }
    }
}

/// A cookie that an answer sets.
#[derive(Clone, Debug)]
pub struct SetCookie<'a> {
    /// The name: a token.
    pub name: &'a str,
    /// The value: ASCII without spaces, `"`, `,`, `;` and `\`.
    pub value: &'a str,
    /// The paths that it is sent to: this one, and below it.
    pub path: &'a str,
    /// The domain that it is sent to, with all below it; only the host that set it unless given.
    pub domain: Option<&'a str>,
    /// The time that it lasts, in seconds; until the browser ends unless given. With 0 it is deleted.
    pub max_age_seconds: Option<i64>,
    /// With which requests from other sites it is sent.
    pub same_site: SameSite,
    /// True if scripts of the page cannot read it.
    pub is_http_only: bool,
    /// True if it is sent over TLS only.
    pub is_secure: bool,
    /// True if an embedded page has it apart for each site that embeds it.
    pub is_partitioned: bool,
}

impl<'a> SetCookie<'a> {
    /// A cookie with the safe attributes: `Path=/`, `HttpOnly`, `SameSite=Lax`, and `Secure` if the request
    /// [came over TLS](crate::RequestView::is_https).
    pub fn new(name: &'a str, value: &'a str, over_tls: bool) -> Self {
        Self {
            name,
            value,
            path: "/",
            domain: None,
            max_age_seconds: None,
            same_site: SameSite::default(),
            is_http_only: true,
            // Browsers take a cookie with one of these prefixes only so; they take it from localhost without TLS too.
            is_secure: has_prefix(name, "__Secure-") || has_prefix(name, "__Host-") || over_tls,
            is_partitioned: false,
        }
    }

    /// The value of the `Set-Cookie` field.
    ///
    /// # Errors
    /// A value that browsers would ignore, or read as something else.
    pub fn field(&self) -> Result<String, Error> {
        self.check()?;
        let mut line = String::with_capacity(self.name.len() + self.value.len() + 64);
        let _ = write!(line, "{}={}", self.name, self.value);
        if let Some(seconds) = self.max_age_seconds {
            let _ = write!(line, "; Max-Age={seconds}");
        }
        if let Some(domain) = self.domain {
            let _ = write!(line, "; Domain={domain}");
        }
        let _ = write!(line, "; Path={}", self.path);
        if self.is_secure {
            line.push_str("; Secure");
        }
        if self.is_http_only {
            line.push_str("; HttpOnly");
        }
        let _ = write!(line, "; SameSite={}", self.same_site.as_str());
        if self.is_partitioned {
            line.push_str("; Partitioned");
        }
        Ok(line)
    }

    fn check(&self) -> Result<(), Error> {
        let name = self.name;
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(Error::script(format!(
                "invalid cookie name {name:?}: it must have letters, digits and signs such as '-' and '_' only"
            )));
        }
        let refuse = |fault: &str| {
            let text = format!("the cookie {name}: {fault}");
            Err(Error::script(text).naming(["same_site"]))
        };
        // `cookie-octet` of RFC 6265 section 4.1.1.
        let is_octet = |byte: u8| matches!(byte, b'!'..=b'~') && !b"\",;\\".contains(&byte);
        if !self.value.bytes().all(is_octet) {
            return refuse(
                "its value must be ASCII without spaces, quotes, commas, semicolons and backslashes: encode it first",
            );
        }
        if name.len() + self.value.len() > COOKIE_BYTES_MAX {
            return refuse(&format!(
                "name and value have {} bytes; browsers ignore more than {COOKIE_BYTES_MAX}",
                name.len() + self.value.len()
            ));
        }
        let is_path_byte = |byte: u8| matches!(byte, b' '..=b'~') && byte != b';';
        if !self.path.starts_with('/')
            || !self.path.bytes().all(is_path_byte)
            || self.path.len() > ATTRIBUTE_BYTES_MAX
        {
            return refuse("its path must begin with '/' and be ASCII without semicolons");
        }
        let is_domain = |domain: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
            !domain.is_empty() && domain.len() <= ATTRIBUTE_BYTES_MAX && domain.bytes().all(is_part)
        };
        if self.domain.is_some_and(|domain| !is_domain(domain)) {
            return refuse("its domain must be a name such as example.com");
        }
        if !self.is_secure {
            let why = if has_prefix(name, "__Secure-") || has_prefix(name, "__Host-") {
                "a name with this prefix needs secure to be true"
            } else if self.same_site == SameSite::None {
                "same_site \"none\" needs secure to be true"
            } else if self.is_partitioned {
                "partitioned needs secure to be true"
            } else {
                return Ok(());
            };
            return refuse(why);
        }
        if has_prefix(name, "__Host-") && (self.domain.is_some() || self.path != "/") {
            return refuse("with the prefix __Host- it must have the path / and no domain");
        }
        Ok(())
    }
}

/// Reports whether a name has a prefix, as browsers look for it: in any case (RFC 6265bis section 5.4).
fn has_prefix(name: &str, prefix: &str) -> bool {
    let start = name.as_bytes().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_safe() {
        let line = |name, over_tls| SetCookie::new(name, "1", over_tls).field().expect("valid");
        assert_eq!(line("a", false), "a=1; Path=/; HttpOnly; SameSite=Lax");
        assert_eq!(
            line("a", true),
            "a=1; Path=/; Secure; HttpOnly; SameSite=Lax"
        );
        assert_eq!(
            line("__Host-a", false),
            "__Host-a=1; Path=/; Secure; HttpOnly; SameSite=Lax"
        );
        assert_eq!(
            line("__secure-a", false),
            "__secure-a=1; Path=/; Secure; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn each_attribute_is_written() {
        let cookie = SetCookie {
            path: "/a b",
            domain: Some("example.com"),
            max_age_seconds: Some(60),
            same_site: SameSite::None,
            is_http_only: false,
            is_partitioned: true,
            ..SetCookie::new("a", "x.y=z", true)
        };
        assert_eq!(
            cookie.field().expect("valid"),
            "a=x.y=z; Max-Age=60; Domain=example.com; Path=/a b; Secure; SameSite=None; Partitioned"
        );
    }

    #[test]
    fn what_browsers_ignore_or_read_otherwise_is_refused() {
        let good = || SetCookie::new("a", "1", false);
        let long = "x".repeat(COOKIE_BYTES_MAX);
        good().field().expect("valid");
        for (bad, part) in [
            (SetCookie { name: "", ..good() }, "invalid cookie name"),
            (
                SetCookie {
                    name: "a b",
                    ..good()
                },
                "invalid cookie name",
            ),
            (
                SetCookie {
                    name: "a=b",
                    ..good()
                },
                "invalid cookie name",
            ),
            (
                SetCookie {
                    name: "größe",
                    ..good()
                },
                "invalid cookie name",
            ),
            (
                SetCookie {
                    value: "1; Domain=x",
                    ..good()
                },
                "its value must be ASCII",
            ),
            (
                SetCookie {
                    value: "1\r\nX: y",
                    ..good()
                },
                "its value must be ASCII",
            ),
            (
                SetCookie {
                    value: "ü",
                    ..good()
                },
                "its value must be ASCII",
            ),
            (
                SetCookie {
                    value: &long,
                    ..good()
                },
                "have 4097 bytes",
            ),
            (
                SetCookie {
                    path: "a",
                    ..good()
                },
                "its path",
            ),
            (
                SetCookie {
                    path: "/; Secure",
                    ..good()
                },
                "its path",
            ),
            (
                SetCookie {
                    path: "/\n",
                    ..good()
                },
                "its path",
            ),
            (
                SetCookie {
                    domain: Some(""),
                    ..good()
                },
                "its domain",
            ),
            (
                SetCookie {
                    domain: Some("a;b"),
                    ..good()
                },
                "its domain",
            ),
            (
                SetCookie {
                    same_site: SameSite::None,
                    ..good()
                },
                "\"none\" needs secure",
            ),
            (
                SetCookie {
                    is_partitioned: true,
                    ..good()
                },
                "partitioned needs secure",
            ),
            (
                SetCookie {
                    name: "__Host-a",
                    ..good()
                },
                "this prefix needs secure",
            ),
            (
                SetCookie {
                    name: "__secure-a",
                    ..good()
                },
                "this prefix needs secure",
            ),
            (
                SetCookie {
                    path: "/a",
                    ..SetCookie::new("__host-a", "1", true)
                },
                "the path / and no domain",
            ),
            (
                SetCookie {
                    domain: Some("a.b"),
                    ..SetCookie::new("__Host-a", "1", true)
                },
                "the path / and no domain",
            ),
        ] {
            let fault = bad.field().expect_err(part);
            assert!(fault.message().contains(part), "{}", fault.message());
        }
        SetCookie::new("a", &long[1..], false)
            .field()
            .expect("4096 bytes");
    }
}
