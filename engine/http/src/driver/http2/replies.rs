//! Answers: from a reply to frames, as fast as the client takes them.

use std::mem;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use h2::{Reason, SendStream};
use http::StatusCode;
use http::header::{
    CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, STRICT_TRANSPORT_SECURITY,
};

use super::context::StreamContext;
use super::exchange::{Exchange, ExchangeState, Outgoing, Step};
use super::piece::{Piece, Source};
use crate::codec::http2::fields_of;
use crate::driver::panic::panic_text;
use crate::driver::replies::Reply;
use crate::precomputed::{Precomputed, PrecomputedRest};
use crate::response::length::SizedStream;
use crate::response::{Body, BodyStream, Chunk, FilePart, Response};

/// Bytes of one answer that may wait among the frames before its next piece is made.
pub(super) const AHEAD_BYTES: usize = 64 * 1024;

/// The number of bytes read at once of a file.
const PART_BYTES: usize = 64 * 1024;

/// The body of an answer on its way.
enum Rest {
    Nothing,
    Whole(Source),
    File(FilePart),
    Stream(Box<dyn BodyStream>),
}

impl Exchange {
    /// Begins to send an answer.
    pub(super) fn reply(&mut self, reply: Reply, context: &StreamContext) {
        let reply = match self.connect.take() {
            // A success would say that the stream is open (RFC 8441 section 5).
            Some(_) if (200..300).contains(&reply.status()) => {
                Reply::Response(context.local.handler().error(400, None))
            }
            _ => reply,
        };
        let status = reply.status();
        let mut fields = HeaderMap::with_capacity(8);
        let (rest, ends) = match reply {
            Reply::Response(response) => self.map_response(response, &mut fields),
            Reply::Precomputed(response) => {
                let ends = response.ends_connection();
                (self.map_precomputed(response, &mut fields), ends)
            }
            Reply::Upgrade(_) => (Rest::Nothing, false),
        };
        if ends {
            context.is_ending.set(true);
        }
        self.send(status, fields, rest, context);
    }

    /// Sends the head of an answer. Nothing is returned where the client has taken the request back, or has gone.
    pub(super) fn send_head(
        &mut self,
        status: u16,
        mut fields: HeaderMap,
        is_last: bool,
        context: &StreamContext,
    ) -> Option<SendStream<Piece>> {
        if !fields.contains_key(DATE)
            && let Some(date) = context.date()
        {
            fields.insert(DATE, date);
        }
        if let Some(value) = context.client.strict_transport()
            && !fields.contains_key(STRICT_TRANSPORT_SECURITY)
            && let Ok(value) = HeaderValue::from_str(value)
        {
            fields.insert(STRICT_TRANSPORT_SECURITY, value);
        }
        let mut head = http::Response::new(());
        *head.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
        *head.headers_mut() = fields;
        self.state = ExchangeState::Sending;
        let outgoing = mem::replace(&mut self.outgoing, Outgoing::Over);
        let Outgoing::Unanswered(mut respond) = outgoing else {
            return None;
        };
        let stream = respond.send_response(head, is_last).ok()?;
        self.status = status;
        Some(stream)
    }

    fn send(&mut self, status: u16, fields: HeaderMap, rest: Rest, context: &StreamContext) {
        let is_last = matches!(rest, Rest::Nothing);
        let Some(stream) = self.send_head(status, fields, is_last, context) else {
            return;
        };
        self.outgoing = Outgoing::Answered(stream);
        match rest {
            Rest::Nothing => self.incoming = None,
            Rest::Whole(source) => {
                self.incoming = None;
                self.send_piece(source, true);
            }
            Rest::File(part) => {
                self.incoming = None;
                self.state = ExchangeState::File { part, at: 0 };
            }
            Rest::Stream(stream) => {
                let limits = &context.local.limits;
                self.by = context.local.now_millis() + limits.stream_idle_millis_max;
                self.state = ExchangeState::Streaming(stream);
            }
        }
    }

    /// Fills the fields of a response, as the encoder of HTTP/1.1 does. Returns its body, and whether the connection
    /// ends with it.
    fn map_response(&self, response: Response, fields: &mut HeaderMap) -> (Rest, bool) {
        let (parts, body) = response.into_parts();
        fields_of(&parts.fields, fields);
        // RFC 9110 sections 15.3.5 and 15.4.5: these never have a body, and 204 no length either.
        let is_bodiless = matches!(parts.status, 204 | 304);
        let has_type = parts.has_content_type || matches!(body, Body::Empty) || is_bodiless;
        if let Some(content_type) = parts.content_type.filter(|_| !has_type) {
            fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let length = match &body {
            _ if is_bodiless => None,
            Body::Empty if self.head_only => parts.declared_length,
            Body::Empty => Some(0),
            Body::Bytes(bytes) => Some(bytes.len() as u64),
            Body::Shared(bytes) => Some(bytes.len() as u64),
            Body::Lent(lender) => Some((**lender).as_ref().len() as u64),
            Body::File(part) => Some(part.len),
            Body::Stream(_) => parts.declared_length,
        };
        if let Some(length) = length {
            fields.insert(CONTENT_LENGTH, length.into());
        }
        let rest = match body {
            _ if is_bodiless || self.head_only => Rest::Nothing,
            Body::Stream(stream) => Rest::Stream(match length {
                Some(declared) => Box::new(SizedStream::new(stream, declared)),
                None => stream,
            }),
            _ if length == Some(0) => Rest::Nothing,
            Body::Empty => Rest::Nothing,
            Body::Bytes(bytes) => Rest::Whole(Source::Bytes(bytes)),
            Body::Shared(bytes) => Rest::Whole(Source::Shared(bytes)),
            Body::Lent(lender) => Rest::Whole(Source::Lent(lender)),
            Body::File(part) => Rest::File(part),
        };
        (rest, parts.close)
    }

    fn map_precomputed(&self, response: Arc<Precomputed>, fields: &mut HeaderMap) -> Rest {
        fields.clone_from(response.http2_fields());
        match response.rest() {
            _ if self.head_only => Rest::Nothing,
            Some(PrecomputedRest::Bytes(bytes)) => Rest::Whole(Source::Shared(Arc::clone(bytes))),
            Some(PrecomputedRest::File(part)) => Rest::File(part.clone()),
            None if response.small_body().is_empty() => Rest::Nothing,
            None => Rest::Whole(Source::Precomputed(response)),
        }
    }

    /// Puts bytes behind those that wait.
    fn send_piece(&mut self, source: Source, is_last: bool) {
        let piece = Piece::new(source, &self.sent);
        if let Outgoing::Answered(stream) = &mut self.outgoing {
            // Fails only where the stream has been reset; then the piece is lost, which shows.
            let _ = stream.send_data(piece, is_last);
        }
    }

    /// Asks the stream of an answer for its next piece.
    pub(super) fn next_chunk(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> Step {
        if self.sent.pending() >= AHEAD_BYTES {
            return Step::Waiting;
        }
        let ExchangeState::Streaming(stream) = &mut self.state else {
            return Step::Again;
        };
        self.poll_at = stream.look(context.local.moment());
        let chunk = match catch_unwind(AssertUnwindSafe(|| stream.poll_chunk(cx))) {
            Ok(Poll::Pending) => return Step::Waiting,
            Ok(Poll::Ready(Some(Ok(chunk)))) => chunk,
            Ok(Poll::Ready(None)) => {
                self.state = ExchangeState::Sending;
                self.incoming = None;
                self.send_piece(Source::Bytes(Vec::new()), true);
                return Step::Again;
            }
            failed => {
                if let Err(panic) = failed {
                    context.local.handler().panicked(panic_text(&*panic));
                }
                return self.fail();
            }
        };
        self.by = context.local.now_millis() + context.local.limits.stream_idle_millis_max;
        if !chunk.as_ref().is_empty() {
            let source = match chunk {
                Chunk::Bytes(bytes) => Source::Bytes(bytes),
                Chunk::Lent(lender) => Source::Lent(lender),
                Chunk::LentBriefly(lender) => Source::Bytes((*lender).as_ref().to_vec()),
            };
            self.send_piece(source, false);
        }
        Step::Again
    }

    /// Reads the next piece of a file.
    pub(super) fn next_part(&mut self) -> Step {
        if self.sent.pending() >= AHEAD_BYTES {
            return Step::Waiting;
        }
        let ExchangeState::File { part, at } = &mut self.state else {
            return Step::Again;
        };
        let left = usize::try_from(part.len - *at).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(PART_BYTES)];
        match part.file.read_at(&mut bytes, part.start + *at) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Step::Again,
            // It has become shorter, or cannot be read.
            Ok(0) | Err(_) => return self.fail(),
            Ok(len) => {
                bytes.truncate(len);
                *at += len as u64;
            }
        }
        let is_last = *at == part.len;
        if is_last {
            self.state = ExchangeState::Sending;
        }
        self.send_piece(Source::Bytes(bytes), is_last);
        Step::Again
    }

    /// Begins the end of an answer that cannot be whole. A reset drops the frames that wait, its head among them, so it
    /// goes once the bytes of the body have gone. Only a head without any is followed by an empty frame, which tells
    /// when it has gone: some clients count those.
    fn fail(&mut self) -> Step {
        self.state = ExchangeState::Failing;
        self.incoming = None;
        if self.sent.taken() == 0 && self.sent.pending() == 0 {
            self.send_piece(Source::Mark, false);
        }
        Step::Again
    }

    /// Resets the stream of an answer that has failed as soon as all that was made of it has gone.
    pub(super) fn reset_failed(&mut self) -> Step {
        if self.sent.is_waiting() && !self.sent.is_lost() {
            return Step::Waiting;
        }
        self.reset(Reason::INTERNAL_ERROR);
        Step::Over
    }

    /// Ready when the client has taken all of the answer, or never will.
    pub(super) fn poll_sent(&mut self, context: &StreamContext) -> Poll<()> {
        if matches!(self.outgoing, Outgoing::Over) || self.sent.is_lost() {
            return Poll::Ready(());
        }
        if self.sent.pending() > 0 {
            return Poll::Pending;
        }
        if let Some(pending) = &mut self.observed {
            pending.tell(self.status, self.sent.taken(), true);
        }
        context.note_answered();
        Poll::Ready(())
    }
}
