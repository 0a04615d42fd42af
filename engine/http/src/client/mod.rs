//! A client: requests to other servers from the tasks of one worker.
//!
//! [`Client::fetch`] sends a [`ClientRequest`] and gives the [`ClientAnswer`] as soon as its head is there. Below it,
//! from the top: redirects (`redirect`), one request (`asking`), the connections that are kept (`pool`), a request over
//! HTTP/1.1 or HTTP/2 (`http1`, `http2`), and the way to a server (`reach`): its name, its addresses, which of those
//! are allowed, and its connection.
//!
//! A client belongs to one thread, with a tokio runtime and a `LocalSet`. A request is given up by dropping its future,
//! or the body of its answer: then its connection is closed.

mod answer;
mod asking;
mod coding;
mod fault;
mod http1;
mod http2;
mod origin;
mod pool;
mod reach;
mod redirect;
mod request;
mod settings;
mod timer;

pub use answer::{ClientAnswer, ClientAnswerBody};
pub use fault::{ClientFault, ClientFaultKind};
pub use reach::{AddressPolicy, Lookups, Resolve};
pub use request::{ClientBody, ClientField, ClientRequest};
pub use settings::{ClientLimits, ClientOptions, ClientSettings, ProxySettings, Redirects, Roots};

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use self::answer::BodySource;
use self::asking::{Answer, Asking};
use self::coding::Decompressor;
use self::pool::Pool;
use self::reach::{Reaching, TlsClient};
use self::timer::Timer;
use crate::limits::{HEADERS_CEILING, Limits};

/// The client of one worker. Clones are the same.
#[derive(Clone)]
pub struct Client(Rc<Asking>);

impl Client {
    /// Creates a client without connections. Its lookups may be shared by all workers.
    pub fn new(settings: Arc<ClientSettings>, lookups: Lookups) -> Self {
        let limits = &settings.limits;
        Self(Rc::new(Asking {
            pool: Pool::new(limits, settings.offers_http2),
            codec: Limits {
                head_bytes_max: limits.answer_head_bytes_max,
                headers_max: limits.answer_fields_max.min(HEADERS_CEILING),
                ..Limits::DEFAULT
            },
            reaching: Reaching {
                settings,
                lookups,
                tls: TlsClient::default(),
            },
        }))
    }

    /// Returns the numbers of connections that are open, and of those that are kept without a request.
    pub fn connections(&self) -> (usize, usize) {
        self.0.pool.counts()
    }

    /// Sends a request, and follows where it is redirected.
    ///
    /// # Errors
    /// There is no answer, or it is malformed.
    pub async fn fetch(self, mut request: ClientRequest) -> Result<ClientAnswer, ClientFault> {
        let limits = &self.0.reaching.settings.limits;
        let options = &request.options;
        let mut timer = Timer::new(
            options.head_millis_max.unwrap_or(limits.head_millis_max),
            options.idle_millis_max.unwrap_or(limits.idle_millis_max),
            options.total_millis_max.unwrap_or(limits.total_millis_max),
        );
        let mut url = origin::parse(&request.url)?;
        let mut redirects = 0;
        loop {
            let label = label(&url);
            let again = request.body.again();
            let asked = self.0.ask(&mut request, &url, &mut timer).await;
            let answer = asked.map_err(|fault| fault.of(&label))?;
            let status = answer.0.status;
            let mode = request.options.redirects;
            let follows = redirect::is_redirect(status) && mode != Redirects::Manual;
            let location = answer.0.values(b"location").next().filter(|_| follows);
            let Some(location) = location else {
                return Ok(self.answer(answer, &request, url, redirects > 0, timer));
            };
            let fault = |text: String| ClientFault::new(ClientFaultKind::Redirect, text).of(&label);
            if mode == Redirects::Error {
                return Err(fault(
                    "it redirects, which this request does not allow".to_owned(),
                ));
            }
            redirects += 1;
            let max = limits.redirects_max;
            if redirects > max {
                let text = format!("more redirects than allowed (redirects_max is {max})");
                return Err(fault(text));
            }
            let next = redirect::location(&url, location).map_err(|fault| fault.of(&label))?;
            let followed = redirect::follow(&mut request, again, status, (&url, &next));
            followed.map_err(|fault| fault.of(&label))?;
            Box::pin(drain(answer.1, &mut timer)).await;
            url = next;
        }
    }

    fn answer(
        &self,
        (head, source): Answer,
        request: &ClientRequest,
        url: Url,
        is_redirected: bool,
        timer: Timer,
    ) -> ClientAnswer {
        let has_none = request.method == "HEAD" || matches!(head.status, 204 | 205 | 304);
        // A part of a compressed body cannot be decompressed.
        let is_part = head.status == 206;
        let coding = match has_none || is_part || request.options.keeps_coding {
            true => None,
            false => Decompressor::of(head.values(b"content-encoding")),
        };
        let mut fields = head.fields;
        if coding.is_some() {
            let is_of_coding =
                |name: &[u8]| matches!(name, b"content-encoding" | b"content-length");
            fields.retain(|(name, _)| !is_of_coding(name));
        }
        let bytes_max = request.options.answer_bytes_max;
        let body = ClientAnswerBody {
            source,
            timer,
            coding,
            bytes: 0,
            bytes_max: bytes_max.unwrap_or(self.0.reaching.settings.limits.answer_bytes_max),
            label: label(&url),
        };
        ClientAnswer {
            status: head.status,
            status_text: head.status_text,
            fields,
            url: url.into(),
            is_redirected,
            body: (!has_none).then_some(body),
        }
    }
}

/// The most bytes of the body of a redirect that are read.
const DRAINED_BYTES_MAX: usize = 16 * 1024;

/// The longest time for reading it.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(100);

/// Reads the short body of an answer that redirects, so that its connection can be kept. One that takes longer costs no
/// more than another connection.
async fn drain(mut body: BodySource, timer: &mut Timer) {
    let read = async {
        let mut bytes = 0;
        while bytes <= DRAINED_BYTES_MAX {
            match poll_fn(|cx| body.poll_piece(timer, cx)).await {
                Ok(Some(piece)) => bytes += piece.len(),
                _ => return,
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME_MAX, read).await;
}

/// Returns a URL for people: without its query, which may hold secrets.
fn label(url: &Url) -> String {
    url[..url::Position::AfterPath].to_owned()
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
