//! Refuses requests that another site makes a browser send (CSRF), without tokens: by the rules of
//! `CrossOriginProtection` of Go 1.25's
//! `net/http`.
//!
//! Browsers say in `Sec-Fetch-Site` where a request comes from. Those before 2023 say in `Origin` which site sent it. A
//! request with neither comes from a program, and a program does not act for another user.

use crate::origin;
use sampan_host::request::is_own_origin;
use sampan_host::{Error, ErrorKind, RequestView};

/// The error for requests of other sites.
const REFUSED: &str = "refused: another site sent this request";

/// The protection of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csrf {
    trusted: Vec<String>,
}

impl Csrf {
    /// A protection that passes requests of these origins.
    ///
    /// # Errors The value that is not an origin, and the reason.
    pub fn new(trusted_origins: &[String]) -> Result<Self, String> {
        let trusted = trusted_origins.iter().map(|text| origin::checked(text));
        Ok(Self {
            trusted: trusted.collect::<Result<_, _>>()?,
        })
    }

    /// Reports whether a request whose method may change something comes from another site.
    pub fn is_foreign(&self, request: &dyn RequestView) -> bool {
        let origin = request.header("origin").unwrap_or_default();
        let is_trusted = || {
            let mut trusted = self.trusted.iter();
            trusted.any(|trusted| trusted.as_bytes() == origin)
        };
        match request.header("sec-fetch-site") {
            Some(b"same-origin" | b"none") => false,
            None | Some(b"") => {
                !origin.is_empty() && !is_own_origin(request, origin) && !is_trusted()
            }
            Some(_) => !is_trusted(),
        }
    }

    /// Returns the error that refuses such a request.
    pub fn refusal() -> Error {
        Error::new(ErrorKind::Status(403), REFUSED).with_setting("[csrf] trusted_origins")
    }
}
