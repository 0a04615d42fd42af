//! One request without its redirects: a connection is found for it, and the head of its answer awaited.

use std::rc::Rc;

use bytes::Bytes;
use h2::client::SendRequest;
use url::Url;

use super::answer::{AnsweredHead, BodySource};
use super::coding;
use super::fault::{ClientFault, ClientFaultKind};
use super::http1::{Exchange, Http1, Sight, Unanswered};
use super::http2::{Http2, Http2Slot};
use super::origin::{self, Origin};
use super::pool::{Lent, Pool};
use super::reach::{self, Reaching};
use super::request::{ClientBody, ClientRequest, Sending};
use super::settings::ProxySettings;
use super::timer::Timer;
use crate::codec::outgoing::is_framing;
use crate::codec::{SentBody, encode_request};
use crate::limits::Limits;
use crate::method::Method;

/// The name by which requests are sent, unless they have another.
const USER_AGENT: &str = concat!("sampan/", env!("CARGO_PKG_VERSION"));

/// The means of sending requests.
pub(super) struct Asking {
    pub(super) reaching: Reaching,
    pub(super) pool: Pool,
    /// The limits of the codec.
    pub(super) codec: Limits,
}

/// A connection for one request.
enum Connected {
    Http1(Box<Http1>),
    Http2(SharedHttp2),
}

/// A connection of HTTP/2 that takes one more request.
struct SharedHttp2 {
    connection: Http2Slot,
    sender: SendRequest<Bytes>,
    /// True if it has had other requests.
    is_used: bool,
}

/// A request is sent so many times at most.
const SENDS_MAX: usize = 4;

/// An answer whose head is there.
pub(super) type Answer = (AnsweredHead, BodySource);

impl Asking {
    /// Sends a request and waits for the head of its answer. One that is sent over a connection that was used before,
    /// and that the server closes without a byte, is sent again where that does no harm (RFC 9110 section 9.2.2). So is
    /// each that a server of HTTP/2 has refused, which says that it has done nothing for it (RFC 9113 section 8.7).
    pub(super) async fn ask(
        &self,
        request: &mut ClientRequest,
        url: &Url,
        timer: &mut Timer,
    ) -> Result<Answer, ClientFault> {
        let origin = Origin::of(url)?;
        let method = Method::from_bytes(request.method.as_bytes());
        if method == Method::Connect {
            let text = "the method CONNECT cannot be used";
            return Err(ClientFault::new(ClientFaultKind::Request, text));
        }
        let mut sends = 0;
        loop {
            sends += 1;
            let again = request.body.again();
            let (is_used, asked) = match self.connection(request, &origin, timer).await? {
                Connected::Http1(connection) => {
                    let is_used = connection.is_used;
                    let to = (&origin, url, method);
                    (
                        is_used,
                        self.ask_http1(*connection, request, to, timer).await,
                    )
                }
                Connected::Http2(shared) => {
                    let is_used = shared.is_used;
                    let to = (&origin, url);
                    let asked = Box::pin(self.ask_http2(shared, request, to, timer));
                    (is_used, asked.await)
                }
            };
            let Unanswered { fault, sight } = match asked {
                Ok(answer) => return Ok(answer),
                Err(unanswered) => unanswered,
            };
            let does_no_harm = match sight {
                Sight::Refused => true,
                Sight::Unknown => is_used && is_idempotent(method),
                Sight::Seen => false,
            };
            match again {
                Some(again) if does_no_harm && sends < SENDS_MAX => request.body = again,
                _ => return Err(fault),
            }
        }
    }

    /// Returns a connection to a server. Most requests find one that is kept; the futures of all other ways are large,
    /// so they are apart.
    async fn connection(
        &self,
        request: &ClientRequest,
        origin: &Origin,
        timer: &Timer,
    ) -> Result<Connected, ClientFault> {
        match self.pool.lend_kept(origin) {
            Some(kept) => Ok(Connected::Http1(Box::new(kept))),
            None => Box::pin(self.wait_for_connection(request, origin, timer)).await,
        }
    }

    async fn wait_for_connection(
        &self,
        request: &ClientRequest,
        origin: &Origin,
        timer: &Timer,
    ) -> Result<Connected, ClientFault> {
        let limits = &self.reaching.settings.limits;
        let millis = request.options.connect_millis_max;
        let millis = millis.unwrap_or(limits.connect_millis_max);
        let connecting = async {
            let place = loop {
                match self.pool.lend(origin).await? {
                    Lent::Used(connection) => return Ok(Connected::Http1(Box::new(connection))),
                    Lent::Place(place) => break place,
                    Lent::Shared(connection) => {
                        // One that takes no more is not lent again.
                        if let Ok(sender) = connection.ready().await {
                            return Ok(Connected::Http2(SharedHttp2 {
                                connection,
                                sender,
                                is_used: true,
                            }));
                        }
                    }
                }
            };
            let reached = reach::connect(&self.reaching, origin).await?;
            if !reached.wire.is_http2() {
                place.connected();
                return Ok(Connected::Http1(Box::new(Http1::new(reached, place))));
            }
            let head_bytes_max = self.codec.head_bytes_max;
            let connection = Rc::new(Http2::begin(reached.wire, place, head_bytes_max).await?);
            let slot = Http2Slot::of(&connection);
            self.pool.share(&connection);
            connection.place.connected();
            let sender = connection.ready().await?;
            Ok(Connected::Http2(SharedHttp2 {
                connection: slot,
                sender,
                is_used: false,
            }))
        };
        let part = timer.within(millis, "connect_millis_max", "no connection", connecting);
        part.await
    }

    async fn ask_http1(
        &self,
        mut connection: Http1,
        request: &mut ClientRequest,
        (origin, url, method): (&Origin, &Url, Method),
        timer: &mut Timer,
    ) -> Result<Answer, Unanswered> {
        let mut head = connection.take_out();
        self.encode(request, (origin, url), connection.takes_urls, &mut head)?;
        let sending = Sending::new(head, std::mem::replace(&mut request.body, ClientBody::None));
        let exchange = Exchange::new(connection, sending, method, self.codec.clone());
        let answered = exchange.answered(timer).await?;
        let head = answered.head();
        Ok((
            head,
            BodySource::Http1(Box::new(answered.into_body(&self.pool))),
        ))
    }

    async fn ask_http2(
        &self,
        shared: SharedHttp2,
        request: &mut ClientRequest,
        (origin, url): (&Origin, &Url),
        timer: &mut Timer,
    ) -> Result<Answer, Unanswered> {
        let head = http2_head(request, origin, url)?;
        let body = std::mem::replace(&mut request.body, ClientBody::None);
        let exchange = shared.connection.send(shared.sender, head, body)?;
        let (parts, body) = exchange.answered(timer).await?;
        let fields = parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().as_bytes().into(), value.as_bytes().into()));
        let head = AnsweredHead {
            status: parts.status.as_u16(),
            status_text: String::new(),
            fields: fields.collect(),
        };
        if head.fields.len() > self.codec.headers_max {
            let max = self.codec.headers_max;
            let text = format!("the answer is malformed: too many fields (at most {max})");
            return Err(ClientFault::new(ClientFaultKind::TooLarge, text).into());
        }
        Ok((head, BodySource::Http2(Box::new(body))))
    }

    /// Appends the head of a request for HTTP/1.1.
    fn encode(
        &self,
        request: &ClientRequest,
        (origin, url): (&Origin, &Url),
        takes_urls: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), ClientFault> {
        let authority = origin.authority();
        let proxy = self.reaching.settings.proxy.as_ref();
        let proxy_authorization = proxy.filter(|_| takes_urls);
        let proxy_authorization = proxy_authorization.and_then(ProxySettings::authorization);
        let for_proxy = proxy_authorization.as_ref();
        let for_proxy = for_proxy.map(|value| (&b"proxy-authorization"[..], value.as_bytes()));
        let host = (&b"host"[..], authority.as_bytes());
        let host = Some(host).filter(|_| !has(request, b"host"));
        let target = match takes_urls {
            true => url.as_str(),
            false => origin::target(url),
        };
        let framing = request.body.framing(&request.method);
        let lines = host.into_iter().chain(lines(request)).chain(for_proxy);
        encode_request(out, &request.method, target, lines, framing)
            .map_err(|text| ClientFault::new(ClientFaultKind::Request, text))
    }
}

fn has(request: &ClientRequest, name: &[u8]) -> bool {
    let mut fields = request.fields.iter();
    fields.any(|(other, _)| other.eq_ignore_ascii_case(name))
}

/// Returns the field lines of a request, with those that it has unless it says otherwise.
fn lines(request: &ClientRequest) -> impl Iterator<Item = (&[u8], &[u8])> {
    // Ranges are counted in the body as it is sent, so those who ask for one want it without a coding.
    let codings = match has(request, b"range") {
        true => "identity",
        false => coding::ACCEPTED,
    };
    let own: [(&[u8], &[u8]); 3] = [
        (b"accept", b"*/*"),
        (b"accept-encoding", codings.as_bytes()),
        (b"user-agent", USER_AGENT.as_bytes()),
    ];
    let own = own.into_iter().filter(|(name, _)| !has(request, name));
    own.chain(
        request
            .fields
            .iter()
            .map(|(name, value)| (&**name, &**value)),
    )
}

/// Returns the head of a request for HTTP/2 (RFC 9113 section 8.3).
fn http2_head(
    request: &ClientRequest,
    origin: &Origin,
    url: &Url,
) -> Result<http::Request<()>, ClientFault> {
    let fault = |text: String| ClientFault::new(ClientFaultKind::Request, text);
    let host = request.fields.iter();
    let mut host = host.filter(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    let authority = match host.next() {
        Some((_, value)) => String::from_utf8_lossy(value).into_owned(),
        None => origin.authority(),
    };
    let uri = http::Uri::builder()
        .scheme(if origin.is_https { "https" } else { "http" })
        .authority(authority)
        .path_and_query(origin::target(url))
        .build()
        .map_err(|error| fault(format!("the URL cannot be sent over HTTP/2: {error}")))?;
    let mut head = http::Request::new(());
    *head.uri_mut() = uri;
    *head.version_mut() = http::Version::HTTP_2;
    *head.method_mut() = http::Method::from_bytes(request.method.as_bytes())
        .map_err(|_| fault(format!("the method {:?} is not a token", request.method)))?;
    for (name, value) in lines(request) {
        if is_framing(name) || name.eq_ignore_ascii_case(b"host") {
            continue;
        }
        let shown = || String::from_utf8_lossy(name).into_owned();
        let value = http::HeaderValue::from_bytes(value);
        let value =
            value.map_err(|_| fault(format!("the value of {} has control characters", shown())))?;
        let name = http::HeaderName::from_bytes(name);
        let name =
            name.map_err(|_| fault(format!("the field name {:?} is not a token", shown())))?;
        head.headers_mut().append(name, value);
    }
    if let SentBody::Bytes(length) = request.body.framing(&request.method) {
        head.headers_mut()
            .insert(http::header::CONTENT_LENGTH, length.into());
    }
    Ok(head)
}

/// Reports whether a request with this method may be sent twice (RFC 9110 section 9.2.2).
fn is_idempotent(method: Method) -> bool {
    matches!(
        method,
        Method::Get | Method::Head | Method::Options | Method::Trace | Method::Put | Method::Delete
    )
}
