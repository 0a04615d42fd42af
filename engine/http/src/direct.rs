//! Requests without a socket: bytes in, an answer out, for those who test what they would serve.
//!
//! The handler sees the same request as from a connection, its body rule included, and its answer is serialised as for
//! one.

use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use crate::answer::{Answer, Decision, Handler};
use crate::codec::decoder::DecoderEvent;
use crate::codec::encoder::{BodyRest, DATE_BYTES, Exchange, encode_response};
use crate::codec::fault::Fault;
use crate::driver::panic_text;
use crate::limits::Limits;
use crate::peer::RemoteEnd;
use crate::precomputed::PrecomputedRest;
use crate::request::Request;
use crate::request_body::RequestBody;
use crate::response::{BodyStream, FilePart};
use crate::upgrade::Takeover;

mod socket;

pub use socket::DirectSocket;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectAnswer {
    /// The status.
    pub status: u16,
    /// The field lines in their order, names as sent.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
    /// True if the body's source failed before its end.
    pub is_cut: bool,
}

/// Has `handler` answer the request that `bytes` are, from a client at `peer`. A body must be announced by its length.
pub async fn answer_directly(
    handler: &dyn Handler,
    bytes: &[u8],
    peer: SocketAddr,
    limits: &Limits,
) -> DirectAnswer {
    answer_or_upgrade(handler, bytes, peer, limits, false)
        .await
        .0
}

/// Does what [`answer_directly`] does, for a request that may become a connection of another protocol: the answer is
/// 101 then, and the client's end of that connection comes with it. The handler's end is a task on this thread's
/// `LocalSet` of tokio.
pub async fn connect_directly(
    handler: &dyn Handler,
    bytes: &[u8],
    peer: SocketAddr,
    limits: &Limits,
) -> (DirectAnswer, Option<DirectSocket>) {
    let (answer, take) = answer_or_upgrade(handler, bytes, peer, limits, true).await;
    (answer, take.map(DirectSocket::begin))
}

async fn answer_or_upgrade(
    handler: &dyn Handler,
    bytes: &[u8],
    peer: SocketAddr,
    limits: &Limits,
    may_upgrade: bool,
) -> (DirectAnswer, Option<Takeover>) {
    let date = httpdate::fmt_http_date(std::time::SystemTime::now());
    let date = date.as_bytes().try_into().unwrap_or([b' '; DATE_BYTES]);
    let mut request = Request::empty(RemoteEnd::plain(peer));
    let fault = read(handler, bytes, &mut request, limits).err();
    if let Some(fault) = fault {
        if fault.status != 413 || !request.decoder.has_head() {
            let refusal = handler.error(fault.status, fault.limit);
            let answer = written(Answer::Now(refusal), None, &date).await;
            return (answer, None);
        }
        request.refuse_body(fault);
    }
    let request = Rc::new(request);
    let handled = || match fault {
        Some(fault) => handler.refuse_body(&request, fault, None),
        None => handler.handle(&request, None),
    };
    let answer = match catch_unwind(AssertUnwindSafe(handled)) {
        Ok(answer) => answer,
        Err(panic) => {
            handler.panicked(panic_text(&*panic));
            Answer::Now(handler.error(500, None))
        }
    };
    let time_max = Duration::from_millis(limits.handler_millis_max);
    let decided = tokio::time::timeout(time_max, decided(handler, answer)).await;
    let (answer, take) = match decided {
        Ok(Answer::Upgrade(upgrade)) if may_upgrade => {
            let mut head = Vec::new();
            upgrade.encode(&mut head, &date);
            (parsed(&head), Some(upgrade.take))
        }
        // There is no connection to give away.
        Ok(Answer::Upgrade(_)) => {
            let refusal = Answer::Now(handler.error(501, None));
            (written(refusal, Some(&request), &date).await, None)
        }
        Ok(answer) => (written(answer, Some(&request), &date).await, None),
        Err(_) => {
            let refusal = Answer::Now(handler.error(504, None));
            (written(refusal, Some(&request), &date).await, None)
        }
    };
    if let Some(body) = &request.streamed {
        body.close();
    }
    (answer, take)
}

/// Reads the request, with its body as the handler wants to have it.
fn read(
    handler: &dyn Handler,
    bytes: &[u8],
    request: &mut Request,
    limits: &Limits,
) -> Result<(), Fault> {
    request.decoder.feed(bytes);
    loop {
        match request.decoder.next(limits) {
            DecoderEvent::Request => return Ok(()),
            DecoderEvent::Fault(fault) => return Err(fault),
            DecoderEvent::Incomplete(_) => return Err(Fault::bad("incomplete request")),
            DecoderEvent::Head => {
                let rule = handler.body_rule(request);
                let bytes_max = rule.bytes_max.unwrap_or(limits.body_bytes_max);
                if !rule.is_streamed {
                    request.decoder.accept_body(bytes_max)?;
                    continue;
                }
                let (_, whole) = request.decoder.stream_body(bytes_max)?;
                let body = Rc::new(RequestBody::default());
                if !whole.is_empty() {
                    body.give(whole, None);
                }
                body.end(None);
                request.streamed = Some(body);
                return Ok(());
            }
        }
    }
}

/// The answer once nothing is open: what the handler's future gives, and what a ticket says. So it is neither
/// [`Answer::Held`] nor [`Answer::Later`].
pub async fn decided(handler: &dyn Handler, mut answer: Answer) -> Answer {
    loop {
        answer = match answer {
            Answer::Later(future) => future.await,
            Answer::Held(response, ticket) => {
                let decision = std::future::poll_fn(|cx| ticket.poll(cx)).await;
                return Answer::Now(match decision {
                    Decision::Replaced(status) => ticket.replacement(status, handler),
                    _ => response,
                });
            }
            answer => return answer,
        };
    }
}

async fn written(
    answer: Answer,
    request: Option<&Rc<Request>>,
    date: &[u8; DATE_BYTES],
) -> DirectAnswer {
    let exchange = request.map_or(Exchange::UNKNOWN, |request| request.exchange());
    let mut out = Vec::new();
    let rest = match answer {
        Answer::Precomputed(response) => match response.encode(&mut out, exchange, date).0 {
            None => BodyRest::Nothing,
            Some(PrecomputedRest::Bytes(bytes)) => BodyRest::Shared(bytes),
            Some(PrecomputedRest::File(part)) => BodyRest::File(part),
        },
        Answer::Now(response) => encode_response(&mut out, response, exchange, date).0,
        Answer::Held(..) | Answer::Later(_) | Answer::Upgrade(_) => {
            unreachable!("it has been decided")
        }
    };
    let mut answer = parsed(&out);
    match rest {
        BodyRest::Nothing => {}
        BodyRest::Bytes(bytes) => answer.body.extend_from_slice(&bytes),
        BodyRest::Shared(bytes) => answer.body.extend_from_slice(&bytes),
        BodyRest::Lent(lender) => answer.body.extend_from_slice((*lender).as_ref()),
        BodyRest::File(part) => answer.is_cut = !read_part(&part, &mut answer.body),
        BodyRest::Stream { stream, .. } => {
            answer.is_cut = !read_all(stream, &mut answer.body).await
        }
    }
    answer
}

/// The head and the first bytes of the body, as the encoder wrote them.
fn parsed(out: &[u8]) -> DirectAnswer {
    let head_end = memchr::memmem::find(out, b"\r\n\r\n").map_or(out.len(), |at| at + 4);
    let mut lines = out[..head_end].split(|byte| *byte == b'\n');
    let status = lines.next().and_then(|line| line.get(9..12));
    let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let field = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = memchr::memchr(b':', line)?;
        let name = String::from_utf8_lossy(&line[..at]).into_owned();
        Some((name, line[at + 1..].trim_ascii().to_vec()))
    };
    DirectAnswer {
        status: status.unwrap_or(500),
        headers: lines.filter_map(field).collect(),
        body: out[head_end..].to_vec(),
        is_cut: false,
    }
}

/// False if the file is shorter.
fn read_part(part: &FilePart, body: &mut Vec<u8>) -> bool {
    let Ok(len) = usize::try_from(part.len) else {
        return false;
    };
    body.resize(len, 0);
    part.file.read_exact_at(body, part.start).is_ok()
}

/// False if the stream fails.
async fn read_all(mut stream: Box<dyn BodyStream>, body: &mut Vec<u8>) -> bool {
    loop {
        let chunk = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await;
        match chunk {
            Some(Ok(chunk)) => body.extend_from_slice(chunk.as_ref()),
            Some(Err(_)) => return false,
            None => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyRule, Observer, Response, Ticket};

    /// Answers with the method, the path and the body.
    struct Echo;

    impl Handler for Echo {
        fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
            let mut response = Response::new(201);
            let _ = response.header(b"X-Path", request.path().as_bytes());
            let (kept, mut later) = (Rc::clone(request), response);
            match request.path() {
                "/held" => {
                    let (ticket, seal) = Ticket::new();
                    drop(seal);
                    Answer::Held(later, ticket)
                }
                "/slow" => Answer::Later(Box::pin(std::future::pending())),
                "/stream" => Answer::Later(Box::pin(async move {
                    while let Some(Ok(piece)) = std::future::poll_fn(|cx| kept.poll_body(cx)).await
                    {
                        later.body_mut().extend_from_slice(&piece);
                    }
                    Answer::Now(later)
                })),
                _ => {
                    later.body_mut().extend_from_slice(request.body());
                    Answer::Now(later)
                }
            }
        }

        fn body_rule(&self, request: &Request) -> BodyRule {
            BodyRule {
                bytes_max: None,
                is_streamed: request.path() == "/stream",
            }
        }
    }

    fn ask(bytes: &[u8]) -> DirectAnswer {
        let limits = Limits {
            handler_millis_max: 20,
            body_bytes_max: 10,
            ..Limits::default()
        };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().expect("a runtime");
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        runtime.block_on(answer_directly(&Echo, bytes, peer, &limits))
    }

    #[test]
    fn every_kind_of_answer_comes_whole() {
        for path in ["/", "/stream"] {
            let request =
                format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
            let answer = ask(request.as_bytes());
            assert_eq!((answer.status, &*answer.body), (201, &b"abc"[..]), "{path}");
            let field = ("X-Path".to_owned(), path.as_bytes().to_vec());
            assert!(answer.headers.contains(&field), "{answer:?}");
        }
        let head = ask(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!((head.status, head.body.len()), (201, 0));
    }

    #[test]
    fn what_a_connection_would_refuse_is_refused() {
        let large = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n01234567890";
        assert_eq!(ask(large).status, 413);
        assert_eq!(ask(b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n").status, 400);
        assert_eq!(ask(b"GET /held HTTP/1.1\r\nHost: h\r\n\r\n").status, 500);
        assert_eq!(ask(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n").status, 504);
    }
}
