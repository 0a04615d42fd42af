//! One request over a connection of HTTP/1.1, and the body of its answer.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncReadExt;

use super::answer::AnsweredHead;
use super::fault::{ClientFault, ClientFaultKind};
use super::origin::Origin;
use super::pool::{Place, Pool};
use super::reach::{Reached, Wire};
use super::request::{SendFault, SendState, Sending};
use super::timer::{Timer, Wait};
use crate::codec::{AnswerDecoder, AnswerEvent, BodyDecoder, Fault};
use crate::limits::Limits;
use crate::method::Method;

/// The space for a head before it is read.
const HEAD_SPACE_BYTES: usize = 4 * 1024;

/// The largest piece of a body that is read at once.
const PIECE_BYTES_MAX: usize = 32 * 1024;

/// A connection of HTTP/1.1.
pub(super) struct Http1 {
    wire: Wire,
    decoder: AnswerDecoder,
    /// The buffer for heads of requests.
    out: Vec<u8>,
    place: Place,
    /// True if it is to a proxy that gets whole URLs.
    pub(super) takes_urls: bool,
    /// True once it has had a request.
    pub(super) is_used: bool,
}

impl Http1 {
    pub(super) fn new(reached: Reached, place: Place) -> Self {
        Self {
            wire: reached.wire,
            takes_urls: reached.takes_urls,
            decoder: AnswerDecoder::default(),
            out: Vec::new(),
            place,
            is_used: false,
        }
    }

    pub(super) fn origin(&self) -> &Origin {
        self.place.origin()
    }

    /// Returns the empty buffer for the head of a request.
    pub(super) fn take_out(&mut self) -> Vec<u8> {
        self.out.clear();
        std::mem::take(&mut self.out)
    }

    /// Reports whether the server has neither closed the connection nor sent anything that was not asked for.
    pub(super) fn is_alive(&mut self) -> bool {
        let mut byte = Vec::with_capacity(1);
        let mut cx = Context::from_waker(Waker::noop());
        poll_read(&mut self.wire, &mut byte, &mut cx).is_pending()
    }
}

fn poll_read(wire: &mut Wire, buf: &mut Vec<u8>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
    pin!(wire.read_buf(buf)).poll(cx)
}

/// A request that has no answer.
pub(super) struct Unanswered {
    pub(super) fault: ClientFault,
    pub(super) sight: Sight,
}

/// The knowledge of a client about a request that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// The server may have acted on it.
    Seen,
    /// The connection ended before a byte of an answer. If it was used before, the server may have closed it without
    /// having seen the request.
    Unknown,
    /// The server says that it has done nothing for it (RFC 9113 section 8.7).
    Refused,
}

impl From<ClientFault> for Unanswered {
    fn from(fault: ClientFault) -> Self {
        let sight = Sight::Seen;
        Self { fault, sight }
    }
}

/// A request on its way, until the head of its answer is there.
pub(super) struct Exchange {
    connection: Http1,
    sending: Sending,
    method: Method,
    limits: Limits,
    /// The fault for which sending has stopped. The server may have answered before it closed.
    send_fault: Option<io::Error>,
    is_sent: bool,
}

impl Exchange {
    /// Begins to send what is in `sending`.
    pub(super) fn new(
        mut connection: Http1,
        sending: Sending,
        method: Method,
        limits: Limits,
    ) -> Self {
        connection.is_used = true;
        Self {
            connection,
            sending,
            method,
            limits,
            send_fault: None,
            is_sent: false,
        }
    }

    /// Waits for the head of the answer.
    pub(super) async fn answered(mut self, timer: &mut Timer) -> Result<Answered, Unanswered> {
        poll_fn(|cx| self.poll_head(timer, cx)).await?;
        timer.progressed();
        Ok(Answered(self))
    }

    fn poll_head(
        &mut self,
        timer: &mut Timer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Unanswered>> {
        loop {
            let state = match self.send_fault {
                Some(_) => SendState::Done,
                None => match self.sending.poll(&mut self.connection.wire, cx) {
                    Ok(state) => {
                        self.is_sent = state == SendState::Done;
                        state
                    }
                    Err(SendFault::Body(fault)) => return Poll::Ready(Err(fault.into())),
                    Err(SendFault::Wire(error)) => {
                        self.send_fault = Some(error);
                        SendState::Done
                    }
                },
            };
            let decoder = &mut self.connection.decoder;
            match decoder.next(self.method, &self.limits) {
                AnswerEvent::Head => return Poll::Ready(Ok(())),
                AnswerEvent::Interim(_) => continue,
                AnswerEvent::Fault(fault) => return Poll::Ready(Err(malformed(&fault).into())),
                AnswerEvent::Incomplete => {}
            }
            decoder.buffer().reserve(HEAD_SPACE_BYTES);
            let read = poll_read(&mut self.connection.wire, decoder.buffer(), cx);
            match read {
                Poll::Pending => {
                    let wait = match state {
                        SendState::Full => Wait::Progress,
                        SendState::Starved => Wait::Free,
                        SendState::Done => Wait::Head,
                    };
                    let late = timer.poll(wait, self.sending.writes, cx);
                    return late.map(|fault| Err(fault.into()));
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(self.closed(None))),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.closed(Some(error)))),
            }
        }
    }

    fn closed(&mut self, error: Option<io::Error>) -> Unanswered {
        let text = match error.or(self.send_fault.take()) {
            None => "the server closed the connection without an answer".to_owned(),
            Some(error) => format!("the connection ended without an answer: {error}"),
        };
        Unanswered {
            fault: ClientFault::new(ClientFaultKind::Closed, text),
            sight: match self.connection.decoder.is_empty() {
                true => Sight::Unknown,
                false => Sight::Seen,
            },
        }
    }
}

/// A request whose answer has begun.
pub(super) struct Answered(Exchange);

impl Answered {
    /// Returns the head.
    pub(super) fn head(&self) -> AnsweredHead {
        let (head, text) = self.0.connection.decoder.head();
        let fields = head.fields.iter().map(|field| {
            let name = field.name.of(text).to_ascii_lowercase().into_boxed_slice();
            (name, field.value.of(text).into())
        });
        AnsweredHead {
            status: head.status,
            status_text: String::from_utf8_lossy(head.reason.of(text)).into_owned(),
            fields: fields.collect(),
        }
    }

    /// Returns the body, the connection of which goes back to the pool after its end.
    pub(super) fn into_body(self, pool: &Pool) -> Http1Body {
        let mut exchange = self.0;
        let (head, _) = exchange.connection.decoder.head();
        let (decoder, keep_alive) = (head.body(), head.keep_alive);
        let rest = exchange.connection.decoder.take_rest();
        let mut body = Http1Body {
            keep_alive: keep_alive && exchange.send_fault.is_none(),
            is_sending: exchange.send_fault.is_none() && !exchange.is_sent,
            connection: Some(exchange.connection),
            decoder,
            spare: rest,
            sending: exchange.sending,
            limits: exchange.limits,
            pool: pool.clone(),
            reads: 0,
        };
        if body.decoder.is_none() {
            let is_clean = body.spare.is_empty();
            body.end(is_clean);
        }
        body
    }
}

/// The body of an answer, as it comes.
pub(super) struct Http1Body {
    /// The connection; `None` once the body has ended.
    connection: Option<Http1>,
    decoder: Option<BodyDecoder>,
    /// The bytes that came with the head, or an empty buffer.
    spare: Vec<u8>,
    sending: Sending,
    /// True while the request is being sent.
    is_sending: bool,
    keep_alive: bool,
    limits: Limits,
    pool: Pool,
    reads: u64,
}

impl Http1Body {
    /// Polls for the next piece; `None` at the end.
    pub(super) fn poll_piece(
        &mut self,
        timer: &mut Timer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        loop {
            let (Some(connection), Some(decoder)) = (&mut self.connection, &mut self.decoder)
            else {
                return Poll::Ready(Ok(None));
            };
            let mut wait = Wait::Progress;
            if self.is_sending {
                match self.sending.poll(&mut connection.wire, cx) {
                    Ok(SendState::Full) => {}
                    Ok(SendState::Starved) => wait = Wait::Free,
                    Ok(SendState::Done) => self.is_sending = false,
                    Err(SendFault::Body(fault)) => {
                        self.end(false);
                        return Poll::Ready(Err(fault));
                    }
                    // The server has answered and takes no more.
                    Err(SendFault::Wire(_)) => {
                        self.is_sending = false;
                        self.keep_alive = false;
                    }
                }
            }
            if self.spare.is_empty() {
                let wanted = decoder.wanted(PIECE_BYTES_MAX).max(1);
                self.spare.reserve(wanted);
                match poll_read(&mut connection.wire, &mut self.spare, cx) {
                    Poll::Pending => {
                        let progress = self.reads + self.sending.writes;
                        return match timer.poll(wait, progress, cx) {
                            Poll::Pending => Poll::Pending,
                            Poll::Ready(fault) => {
                                self.end(false);
                                Poll::Ready(Err(fault))
                            }
                        };
                    }
                    Poll::Ready(Ok(0)) => {
                        let is_whole = decoder.ends_with_connection();
                        self.end(false);
                        return Poll::Ready(match is_whole {
                            true => Ok(None),
                            false => Err(cut_off(None)),
                        });
                    }
                    Poll::Ready(Ok(_)) => self.reads += 1,
                    Poll::Ready(Err(error)) => {
                        self.end(false);
                        return Poll::Ready(Err(cut_off(Some(error))));
                    }
                }
            }
            let mut bytes = std::mem::take(&mut self.spare);
            let piece = match decoder.decode(&mut bytes, &self.limits) {
                Ok(piece) => piece,
                Err(fault) => {
                    self.end(false);
                    return Poll::Ready(Err(malformed(&fault)));
                }
            };
            if piece.is_last {
                // More than was announced is the beginning of nothing that was asked for.
                self.end(piece.read == bytes.len());
            }
            if piece.data > 0 {
                bytes.truncate(piece.data);
                return Poll::Ready(Ok(Some(bytes)));
            }
            bytes.clear();
            self.spare = bytes;
        }
    }

    /// Ends the body. The connection is kept if everything went well.
    fn end(&mut self, is_clean: bool) {
        if let Some(mut connection) = self.connection.take()
            && is_clean
            && self.keep_alive
            && !self.is_sending
        {
            connection.out = self.sending.take_buffer();
            self.pool.keep(connection);
        }
    }
}

fn malformed(fault: &Fault) -> ClientFault {
    let (kind, more) = match fault.limit {
        Some(limit) => (
            ClientFaultKind::TooLarge,
            format!(" (at most {})", limit.max),
        ),
        None => (ClientFaultKind::Answer, String::new()),
    };
    ClientFault::new(
        kind,
        format!("the answer is malformed: {}{more}", fault.reason),
    )
}

fn cut_off(error: Option<io::Error>) -> ClientFault {
    let text = "the connection ended in the middle of the answer";
    let text = match error {
        Some(error) => format!("{text}: {error}"),
        None => text.to_owned(),
    };
    ClientFault::new(ClientFaultKind::Closed, text)
}
