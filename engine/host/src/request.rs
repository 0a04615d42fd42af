//! What a request looks like to a script: lazy, read-only, nothing copied until the script asks for it.

use std::borrow::Cow;

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

    /// The value of the first field line with this name, whatever its case.
    fn header(&self, name: &str) -> Option<&[u8]>;

    /// Shows every field line to `each`, in the order in which they came.
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8]));

    /// The client's address: the peer's, or what a trusted proxy says it is.
    fn ip(&self) -> String;

    /// The whole body, transfer coding removed.
    fn body(&self) -> &[u8];
}

/// The pairs of a query or of an `application/x-www-form-urlencoded` body, decoded (invalid UTF-8 replaced).
pub fn form_pairs(raw: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(raw)
}
