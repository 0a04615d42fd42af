//! Bodies of native answers that come in pieces: what goes wrong with them is known too late for any answer, so the log
//! says it.

use crate::request::request_view::{AnsweredRequest, View};
use sampan_host::log::Log;
use sampan_host::{Error, ErrorKind};
use sampan_http::codec::Exceeded;
use sampan_http::{Body, BodyError, BodyStream, Chunk, LengthCheck, Response, WorkerMoment};
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The next result of a stream when it is ready.
type NextChunk = Option<Result<Chunk, BodyError>>;

/// A stream of the program. It knows nothing of the project, so a reload does not end it.
struct FollowedStream {
    stream: Box<dyn BodyStream>,
    /// The count of its bytes, where the head of the answer has told their number.
    length: Option<LengthCheck>,
    request: AnsweredRequest,
    logger: Rc<dyn Log>,
}

/// Makes the stream that is the body of an answer report its failures to the log.
pub(super) fn follow(response: &mut Response, view: &View, logger: &Rc<dyn Log>) {
    let length = response.declared_length().map(LengthCheck::new);
    let body = response.body_as_mut();
    *body = match mem::take(body) {
        Body::Stream(stream) => Body::Stream(Box::new(FollowedStream {
            stream,
            length,
            request: view.remains(),
            logger: Rc::clone(logger),
        })),
        body => body,
    };
}

impl FollowedStream {
    /// Counts what was made, where the head has told how much comes.
    fn count(&mut self, next: NextChunk) -> NextChunk {
        let counted = match (&mut self.length, &next) {
            (Some(length), Some(Ok(chunk))) => length.count(chunk.as_ref().len()),
            (Some(length), None) => length.end(),
            _ => Ok(()),
        };
        match counted {
            Ok(()) => next,
            Err(fault) => Some(Err(fault)),
        }
    }

    #[cold]
    fn log(&self, kind: ErrorKind, text: String) {
        self.request.log(&*self.logger, &Error::new(kind, text));
    }
}

impl BodyStream for FollowedStream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let polled = self.stream.poll_chunk(cx).map(|next| self.count(next));
        if let Poll::Ready(Some(Err(error))) = &polled {
            self.log(ErrorKind::Internal, format!("(stream) {}", error.0));
        }
        polled
    }

    fn look(&mut self, worker: WorkerMoment) -> u64 {
        self.stream.look(worker)
    }

    fn cut(&mut self, limit: Exceeded) {
        let Exceeded { name, max } = limit;
        let why = match name {
            "shutdown_millis_max" => "by the shutdown",
            _ => "as it sent nothing for too long",
        };
        self.log(
            ErrorKind::Timeout,
            format!("(stream) cut, {why} ({name}, {max} ms)"),
        );
        self.stream.cut(limit);
    }
}
