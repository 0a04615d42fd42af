//! The state that the requests of one route share, and what it says about where a request came from.

use crate::compression::Compression;
use crate::lane::RouteLane;
use crate::request::id::{self, Ids};
use crate::request::proxies::{self, ProxiedClient, TrustedProxy};
use crate::request::route_meter::RouteMeter;
use crate::routing::host_name;
use sampan_host::Place;
use sampan_host::log::Log;
use sampan_http::Request;
use sampan_http::codec::is_authority;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

/// The state that the requests of one route share.
#[derive(Clone)]
pub(crate) struct RouteInfo {
    /// The pattern, for the access log; empty where no route answers.
    pub(crate) pattern: Box<str>,
    /// The names of the parameters, in the order of the path; that of the host is the last.
    pub(crate) params: Vec<String>,
    /// True if the last parameter is the first label of the host.
    pub(crate) has_host_param: bool,
    /// The place where the route was declared.
    pub(crate) place: Option<Place>,
    /// The proxies whose `X-Forwarded-*` fields are believed.
    pub(crate) trusted: Rc<[TrustedProxy]>,
    /// Makes the ids of the worker's requests.
    pub(crate) ids: Rc<Ids>,
    /// True if its answers have an `ETag`.
    pub(crate) has_etag: bool,
    /// Compresses its answers, if they may be.
    pub(crate) compression: Option<Rc<Compression>>,
    /// The lane of its requests; `None` where there is no slow one, and for what a script does not answer.
    pub(crate) lane: Option<Arc<RouteLane>>,
    /// The number by which the watchdog and reports of crashes know it; 0 if it has none.
    pub(crate) number: u32,
    /// The log for what handlers of the program have to say.
    pub(crate) logger: Rc<dyn Log>,
    /// The measurements of its requests.
    pub(crate) meter: Option<Rc<RouteMeter>>,
}

/// Fields by which proxies tell that they pass a request on.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// The client's address: the peer's, or what a trusted proxy says it is. `None` for one who came over a Unix socket.
pub(crate) fn client(request: &Request, trusted: &[TrustedProxy]) -> Option<IpAddr> {
    named_client(request, trusted).address
}

fn named_client(request: &Request, trusted: &[TrustedProxy]) -> ProxiedClient {
    let said = forwarded(request, trusted, "x-forwarded-for");
    proxies::client(trusted, request.peer().ip(), said.into_iter())
}

/// Reports whether the client is not known: a trusted proxy has not named it, or the peer, whose address counts, says
/// that it passes the request on.
pub(crate) fn has_unknown_client(request: &Request, trusted: &[TrustedProxy]) -> bool {
    let client = named_client(request, trusted);
    if request.has_unnamed_client() || !client.is_named {
        return true;
    }
    let peer = request.peer().ip().map(|address| address.to_canonical());
    client.address == peer && FORWARDED.iter().any(|name| request.header(name).is_some())
}

/// Reports whether a trusted proxy has sent the request. With the PROXY protocol one that names no client passes bytes
/// on, so what looks like its fields may be the client's own.
pub(crate) fn is_of_trusted_proxy(request: &Request, trusted: &[TrustedProxy]) -> bool {
    !request.has_unnamed_client() && proxies::is_trusted(trusted, request.peer().ip())
}

/// The id that a request brings along, or one of its own. Where proxies are named, only they are believed.
pub(crate) fn id_of(request: &Request, info: &RouteInfo) -> Box<str> {
    let is_believed = || info.trusted.is_empty() || is_of_trusted_proxy(request, &info.trusted);
    let sent = request.header(id::HEADER).and_then(id::sane);
    match sent.filter(|_| is_believed()) {
        Some(id) => id.into(),
        None => info.ids.next(),
    }
}

/// Returns the host that the nearest proxy received, if the proxy is trusted and a client could ask for that host.
fn forwarded_host<'a>(request: &'a Request, trusted: &[TrustedProxy]) -> Option<&'a str> {
    let host = forwarded(request, trusted, "x-forwarded-host").pop()?;
    is_authority(host.as_bytes()).then_some(host)
}

/// Returns the host and the port that a request asks for; `localhost` where it names none.
pub(crate) fn asked_authority<'a>(request: &'a Request, trusted: &[TrustedProxy]) -> &'a str {
    let asked = forwarded_host(request, trusted).or(request.host());
    asked.filter(|host| !host.is_empty()).unwrap_or("localhost")
}

/// Returns the host that a request asks for, in the form of [`host_name`].
pub(crate) fn asked_host(request: &Request, trusted: &[TrustedProxy]) -> String {
    host_name::asked(asked_authority(request, trusted))
}

/// Returns the part of that host before its first dot.
#[cold]
pub(crate) fn first_label(request: &Request, trusted: &[TrustedProxy]) -> String {
    let mut host = asked_host(request, trusted);
    host.truncate(host.find('.').unwrap_or(host.len()));
    host
}

/// The entries of all field lines with this name, split at commas, if a trusted proxy sent them.
pub(crate) fn forwarded<'a>(
    request: &'a Request,
    trusted: &[TrustedProxy],
    name: &str,
) -> Vec<&'a str> {
    if !is_of_trusted_proxy(request, trusted) {
        return Vec::new();
    }
    let lines = request
        .headers()
        .filter(|(key, _)| key.eq_ignore_ascii_case(name));
    let entries = lines.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    // An entry that is not UTF-8 is nothing, but those beside it stay: a proxy may have appended to what a client sent.
    let texts = entries.map(|entry| std::str::from_utf8(entry).unwrap_or_default());
    texts.map(str::trim).collect()
}
