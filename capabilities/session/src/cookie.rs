//! The cookie, and the id in it.

use crate::config::SessionConfig;
use crate::store::SessionKey;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sampan_host::request::Pairs;
use sampan_host::set_cookie::SetCookie;
use sampan_host::{Error, ErrorKind, RequestView};
use sha2::{Digest, Sha256};
use std::rc::Rc;

/// The length of an id in the cookie.
const ID_CHARS: usize = 43;

/// The id of a session: 256 random bits. Only the browser keeps it.
pub(crate) struct SessionId(pub(crate) String);

impl SessionId {
    /// A new one.
    pub(crate) fn random() -> Result<Self, Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            let text = format!("the system has no random numbers for a session: {error}");
            Error::new(ErrorKind::Internal, text)
        })?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The value of a cookie, if it can be one.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let is_one = value.len() == ID_CHARS
            && value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        is_one.then(|| Self(value.to_owned()))
    }

    /// Under what the session is kept.
    pub(crate) fn key(&self) -> SessionKey {
        SessionKey(Sha256::digest(self.0.as_bytes()).into())
    }
}

/// The name of the cookie. With its prefix browsers take it over TLS alone, so what was planted without TLS is not
/// read.
pub(crate) struct CookieNames {
    plain: Rc<str>,
    over_tls: Rc<str>,
    secure: Option<bool>,
}

impl CookieNames {
    pub(crate) fn new(config: &SessionConfig) -> Self {
        Self {
            plain: config.cookie.as_str().into(),
            over_tls: format!("__Host-{}", config.cookie).into(),
            secure: config.secure,
        }
    }
}

/// The cookie of one request.
pub(crate) struct Cookie {
    name: Rc<str>,
    is_secure: bool,
    /// True if the browser sent one.
    pub(crate) was_sent: bool,
}

impl Cookie {
    /// The cookie of a request, and its value.
    pub(crate) fn read(names: &CookieNames, request: &dyn RequestView) -> (Self, Option<String>) {
        let is_secure = names.secure.unwrap_or_else(|| request.is_https());
        let name = if is_secure {
            &names.over_tls
        } else {
            &names.plain
        };
        let mut cookie = Self {
            name: Rc::clone(name),
            is_secure,
            was_sent: false,
        };
        let mut sent = None;
        Pairs::Cookies.each(request, &mut |name, value| {
            if !cookie.was_sent && name == &*cookie.name {
                cookie.was_sent = true;
                sent = std::str::from_utf8(value).ok().map(str::to_owned);
            }
        });
        (cookie, sent)
    }

    /// Gives the browser a value to keep for so many milliseconds.
    pub(crate) fn set(
        &self,
        request: &dyn RequestView,
        value: &str,
        millis: u64,
    ) -> Result<(), Error> {
        self.send(request, value, millis.div_ceil(1_000))
    }

    /// Has the browser forget what it keeps.
    pub(crate) fn remove(&self, request: &dyn RequestView) -> Result<(), Error> {
        self.send(request, "", 0)
    }

    fn send(&self, request: &dyn RequestView, value: &str, seconds: u64) -> Result<(), Error> {
        let mut cookie = SetCookie::new(&self.name, value, self.is_secure);
        cookie.max_age_seconds = i64::try_from(seconds).ok();
        let line = cookie.field()?;
        request.add_header("Set-Cookie", line.as_bytes())
    }
}
