//! A request as a script sees it: lazy, read-only, nothing copied until the script asks for it. The rules of its
//! fields stand here; engines only convert.

mod accept;
mod body;
pub(crate) mod cookies;
mod hooks;
mod keeping;
pub mod multipart;
mod network;
mod origins;

pub use crate::whole_answer::WholeAnswer;
pub use accept::{
    AcceptedCodings, Coding, FULL_QUALITY, NotAcceptable, Quality, prefers_html, quality,
};
pub use body::{BodySource, already_read, not_here};
pub use hooks::{AnswerHook, AnswerHooks, HeldToEnd, HookStep};
pub use keeping::{AnswerKeeper, AnswerPlans, AnswerRecorder, KeptHead, RecordedWithWrites};
pub use network::Network;
pub use origins::is_own_origin;

use crate::error::{Error, ErrorKind};
use crate::store::Store;
use std::borrow::Cow;
use std::net::IpAddr;

/// A request that an engine reads from. `app` implements it over the HTTP engine's request; it is held behind `Rc`
/// for as long as the script may ask.
pub trait RequestView {
    /// The method as the client sent it.
    fn method(&self) -> &str;

    /// The path, as sent: still percent-encoded, without the query.
    fn path(&self) -> &str;

    /// The query as sent, without the question mark.
    fn query(&self) -> Option<&str>;

    /// The whole URL: scheme, authority, path and query.
    fn url(&self) -> String;

    /// The `index`th route parameter: its name and its percent-decoded value (invalid UTF-8 replaced).
    fn param(&self, index: usize) -> Option<(&str, Cow<'_, str>)>;

    /// The value of the first field line with this name, in any case.
    fn header(&self, name: &str) -> Option<&[u8]>;

    /// Shows every field line to `each`, in the order in which they came.
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8]));

    /// The client's address: the peer's, or what a trusted proxy says it is.
    fn ip(&self) -> String;

    /// Returns the client's address as an IP address; `None` if there is none.
    fn client(&self) -> Option<IpAddr> {
        self.ip().parse().ok()
    }

    /// Reports whether the client is not known: the address is that of a proxy, or may be.
    fn has_unknown_client(&self) -> bool {
        false
    }

    /// Reports whether the client asked over TLS, itself or as far as a trusted proxy says.
    fn is_https(&self) -> bool {
        self.url().starts_with("https:")
    }

    /// Returns the TLS of the connection; `None` without, also where a proxy in front has it.
    fn tls(&self) -> Option<ConnectionTls<'_>> {
        None
    }

    /// Returns the id of the request, in the log and in the answer's `X-Request-Id`.
    fn id(&self) -> Cow<'_, str>;

    /// The whole body, transfer coding removed. Empty where it comes in pieces, until all of it has been read.
    fn body(&self) -> &[u8];

    /// The body where it comes in pieces.
    fn body_source(&self) -> Option<&BodySource> {
        None
    }

    /// Returns the store of capabilities for this request alone, for as long as it lasts.
    fn store(&self) -> &Store;

    /// Adds a field line to the answer, for every result of the handler: errors and streams are answers too. Only an
    /// answer that stands for a lost commit, or for a handler that took too long, goes without. A `Content-Type` takes
    /// the place of the one that text, bytes and streams have by default; an answer with any other keeps it.
    ///
    /// # Errors
    /// A name that is not a token, a value with control bytes, more than an answer has room for, or an answer that has
    /// been handed over already.
    fn add_header(&self, name: &str, value: &[u8]) -> Result<(), Error>;

    /// Adds a field line to the answer unless that has one of this name when it is complete.
    ///
    /// # Errors
    /// As [`RequestView::add_header`].
    fn default_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        self.add_header(name, value)
    }

    /// Returns what capabilities may do with the answer as a whole; `None` where there is no such answer.
    fn whole_answer(&self) -> Option<&dyn AnswerPlans> {
        None
    }

    /// Notes that the answer is made for this client alone, so that none keeps it for others: the handler has read a
    /// session, or another value that no other request has.
    fn mark_personal(&self) {
        if let Some(plans) = self.whole_answer() {
            plans.mark_personal();
        }
    }

    /// Reports whether the head of the answer is complete: no header field can be added, and no [`AnswerHook`] is
    /// called any more.
    fn is_answered(&self) -> bool {
        false
    }

    /// Reports whether the request has ended: its handler and the stream of its answer, with what they clean up.
    fn is_over(&self) -> bool;
}

/// The TLS of a request's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionTls<'a> {
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: &'a str,
    /// The cipher suite by its name in IANA's registry.
    pub cipher: &'a str,
    /// The host name that the client asked for.
    pub sni: Option<&'a str>,
    /// The subject of the client's certificate, as in RFC 4514.
    pub subject: Option<&'a str>,
    /// The SHA-256 digest of the client's certificate, in hexadecimal digits.
    pub fingerprint: Option<&'a str>,
}

/// The fields that a request has by itself in both languages. Modules add theirs, see
/// [`Module::request_fields`](crate::Module::request_fields).
pub const FIELDS: [(&str, Field); 10] = [
    ("method", Field::Method),
    ("path", Field::Path),
    ("url", Field::Url),
    ("params", Field::Pairs(Pairs::Params)),
    ("query", Field::Pairs(Pairs::Query)),
    ("headers", Field::Pairs(Pairs::Headers)),
    ("cookies", Field::Pairs(Pairs::Cookies)),
    ("ip", Field::Ip),
    ("body", Field::Body),
    ("state", Field::State),
];

/// A field of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The method as the client sent it.
    Method,
    /// The path, still percent-encoded.
    Path,
    /// The whole URL.
    Url,
    /// The client's address.
    Ip,
    /// The body.
    Body,
    /// The fields of middleware: the script's own.
    State,
    /// Names with values.
    Pairs(Pairs),
}

/// A field that is a set of names with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// The parameters of the route.
    Params,
    /// The query.
    Query,
    /// The cookies.
    Cookies,
    /// The field lines, names in lower case.
    Headers,
}

/// The treatment of a name that comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twice {
    /// The name cannot come twice.
    Never,
    /// The first one counts.
    First,
    /// Both count: a list.
    List,
    /// One value, joined by ", " (RFC 9110 section 5.3).
    Join,
}

impl Pairs {
    /// Returns the treatment of a name that comes twice.
    pub fn twice(self) -> Twice {
        match self {
            // A pattern has each name once.
            Self::Params => Twice::Never,
            Self::Cookies => Twice::First,
            Self::Query => Twice::List,
            Self::Headers => Twice::Join,
        }
    }

    /// Shows the pairs to `each`, decoded, in the order in which they came.
    pub fn each(self, view: &dyn RequestView, each: &mut dyn FnMut(&str, &[u8])) {
        match self {
            Self::Params => {
                let mut index = 0;
                while let Some((name, value)) = view.param(index) {
                    each(name, value.as_bytes());
                    index += 1;
                }
            }
            Self::Query => {
                for (name, value) in form_pairs(view.query().unwrap_or_default().as_bytes()) {
                    each(&name, value.as_bytes());
                }
            }
            Self::Cookies => view.each_header(&mut |name, field| {
                if name.eq_ignore_ascii_case("cookie") {
                    // Nearly all are UTF-8, which is seen sooner so.
                    let text = match std::str::from_utf8(field) {
                        Ok(text) => Cow::Borrowed(text),
                        Err(_) => String::from_utf8_lossy(field),
                    };
                    for (name, value) in cookies::pairs(&text) {
                        each(name, value.as_bytes());
                    }
                }
            }),
            Self::Headers => each_header(view, each),
        }
    }
}

/// Shows the field lines with names in lower case. Lines of cookies are one, joined by "; " (RFC 9113 section 8.2.3).
fn each_header(view: &dyn RequestView, each: &mut dyn FnMut(&str, &[u8])) {
    let mut lower = String::new();
    let mut cookies: Option<Vec<u8>> = None;
    view.each_header(&mut |name, value| {
        if name.eq_ignore_ascii_case("cookie") {
            match &mut cookies {
                None => cookies = Some(value.to_vec()),
                Some(all) => {
                    all.extend_from_slice(b"; ");
                    all.extend_from_slice(value);
                }
            }
            return;
        }
        lower.clear();
        lower.push_str(name);
        lower.make_ascii_lowercase();
        each(&lower, value);
    });
    if let Some(all) = cookies {
        each("cookie", &all);
    }
}

/// The pairs of a query or of an `application/x-www-form-urlencoded` body, decoded (invalid UTF-8 replaced).
pub fn form_pairs(raw: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(raw)
}

/// The way a form is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormKind {
    /// `application/x-www-form-urlencoded`
    Urlencoded,
    /// `multipart/form-data`
    Multipart,
}

/// Returns the way the body's form is encoded, by its content type. `known` are those that the engine reads.
///
/// # Errors
/// 415 for any other content type, and for none.
pub fn form_kind(view: &dyn RequestView, known: &[FormKind]) -> Result<FormKind, Error> {
    let given = view.header("content-type").unwrap_or_default();
    let essence = given.split(|byte| *byte == b';').next();
    let essence = essence.unwrap_or_default().trim_ascii();
    let is_it = |kind: &&FormKind| essence.eq_ignore_ascii_case(kind.content_type().as_bytes());
    known.iter().find(is_it).copied().ok_or_else(|| {
        let types: Vec<&str> = known.iter().map(|kind| kind.content_type()).collect();
        let text = format!("expected a body of type {}", types.join(" or "));
        Error::new(ErrorKind::Status(415), text)
    })
}

impl FormKind {
    fn content_type(self) -> &'static str {
        match self {
            Self::Urlencoded => "application/x-www-form-urlencoded",
            Self::Multipart => "multipart/form-data",
        }
    }
}

/// A body as text: what is not UTF-8 is replaced, a byte order mark dropped, as on the Web.
pub fn text(body: &[u8]) -> Cow<'_, str> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    // What replaces goes byte by byte, and hardly any body needs it.
    match simdutf8::basic::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(body),
    }
}

/// Returns the error for the use of a request that was answered.
#[cold]
pub fn is_over() -> Error {
    Error::script("the request is over")
}

/// Returns the error for an assignment to a field of a request that has keys of the script's own.
#[cold]
pub fn has_keys(field: &str) -> Error {
    Error::script(format!(
        "req.{field} cannot be replaced: change its fields, as in req.{field}.name = value"
    ))
}

/// Reports whether a number that a handler returns behind its answer looks like a status.
pub fn is_status(number: f64) -> bool {
    number.fract() == 0.0 && (100.0..600.0).contains(&number)
}

/// Returns the error for a handler that returns something that looks like a status beside its answer.
#[cold]
pub fn status_beside(status: f64) -> Error {
    Error::script(format!(
        "a handler returns one value, and this one returned {status} behind it: write return app.json(value, {status})"
    ))
}

/// Returns the error for a field added to an answer whose head has been handed over.
#[cold]
pub fn is_answered() -> Error {
    Error::script("the header fields of the answer have been sent")
}
