//! The body of a request that a script sends piece by piece.

use super::{FetchBody, FetchFault, effects, not_committed};
use crate::error::Error;
use crate::future::LocalFuture;
use crate::response::{Chunk, StreamedBody};
use crate::run::current_run::CurrentRun;
use crate::run::outbox::Verdict;
use crate::tables::module::Context;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{self, Poll, Waker};

/// The bytes that wait before a sender does.
const ROOM_BYTES: usize = 64 * 1024;

/// The bytes that may wait at all: a script that does not wait for its sends gets an error above them.
const WAITING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The script's end of a body. Clones are the same one. The body fails when the last is dropped before
/// [`Upload::end`].
#[derive(Clone)]
pub struct Upload(Rc<UploadEnd>);

struct UploadEnd(Rc<Pipe>);

#[derive(Default)]
struct Pipe {
    pieces: RefCell<VecDeque<Piece>>,
    waiting_bytes: Cell<usize>,
    end: RefCell<Option<Result<(), Error>>>,
    /// True once the reader has gone.
    is_gone: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    senders: RefCell<Vec<Waker>>,
}

struct Piece {
    bytes: Vec<u8>,
    /// False while writes that it may depend on are not committed.
    may_leave: Rc<Cell<bool>>,
}

impl Pipe {
    fn wake_reader(&self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_senders(&self) {
        for waker in self.senders.take() {
            waker.wake();
        }
    }

    fn finish(&self, end: Result<(), Error>) {
        self.end.borrow_mut().get_or_insert(end);
        self.wake_reader();
        self.wake_senders();
    }

    fn fault(&self) -> Error {
        match &*self.end.borrow() {
            Some(Err(error)) => error.clone(),
            Some(Ok(())) => Error::script("the body of this request has ended"),
            None => FetchFault::Closed.error("the request has ended and takes no more of its body"),
        }
    }

    fn poll_room(&self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        let has_failed = matches!(&*self.end.borrow(), Some(Err(_)));
        if self.is_gone.get() || has_failed {
            return Poll::Ready(Err(self.fault()));
        }
        if self.waiting_bytes.get() < ROOM_BYTES {
            return Poll::Ready(Ok(()));
        }
        self.senders.borrow_mut().push(cx.waker().clone());
        Poll::Pending
    }
}

impl Upload {
    /// Creates a body, and the end by which a script sends it.
    pub fn new(length: Option<u64>) -> (Self, FetchBody) {
        let pipe = Rc::new(Pipe::default());
        let body = Box::new(UploadBody(Rc::clone(&pipe)));
        let body = FetchBody::Stream { body, length };
        (Self(Rc::new(UploadEnd(pipe))), body)
    }

    /// Sends a piece, once everything that it may depend on is committed. The future waits until there is room for
    /// more; inside of a transaction, which would not end meanwhile, it does not. Nothing is sent of an empty piece:
    /// others have their turn.
    ///
    /// # Errors
    /// The request has ended, or more waits than may because earlier sends were not awaited.
    pub fn send(&self, context: &Context, bytes: Vec<u8>) -> LocalFuture<Result<(), Error>> {
        let is_empty = bytes.is_empty();
        let pushed = self.push(context, bytes);
        let pipe = Rc::clone(&self.0.0);
        Box::pin(async move {
            let pushed = pushed?;
            if is_empty {
                others_turn().await;
            }
            match pushed {
                true => poll_fn(|cx| pipe.poll_room(cx)).await,
                false => Ok(()),
            }
        })
    }

    /// Ends the body. Pieces that were sent before still leave.
    pub fn end(&self) {
        self.0.0.finish(Ok(()));
    }

    /// Ends the body with an error: the request fails with it.
    pub fn fail(&self, error: Error) {
        self.0.0.finish(Err(error));
    }

    /// Waits until the request takes no more of the body: it has ended, or failed.
    pub fn gone(&self) -> LocalFuture<()> {
        let pipe = Rc::clone(&self.0.0);
        Box::pin(poll_fn(move |cx| {
            if pipe.is_gone.get() {
                return Poll::Ready(());
            }
            pipe.senders.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        }))
    }

    /// Adds a piece. Returns whether its sender waits for room.
    fn push(&self, context: &Context, bytes: Vec<u8>) -> Result<bool, Error> {
        let pipe = &self.0.0;
        if pipe.is_gone.get() || pipe.end.borrow().is_some() {
            return Err(pipe.fault());
        }
        let waiting = pipe.waiting_bytes.get();
        if waiting >= ROOM_BYTES && waiting + bytes.len() > WAITING_BYTES_MAX {
            return Err(Error::script(
                "more of the request's body waits than may: await each piece",
            ));
        }
        let effects = effects(context)?;
        let request = context
            .get::<CurrentRun>()
            .and_then(|current| current.request());
        let is_in_transaction = effects.are_in_transaction(request.as_ref())?;
        if bytes.is_empty() {
            return Ok(!is_in_transaction);
        }
        pipe.waiting_bytes.set(waiting + bytes.len());
        let may_leave = Rc::new(Cell::new(false));
        pipe.pieces.borrow_mut().push_back(Piece {
            bytes,
            may_leave: Rc::clone(&may_leave),
        });
        let told = Rc::clone(pipe);
        effects.when_settled(request.as_ref(), move |verdict| {
            may_leave.set(verdict == Verdict::Committed);
            match verdict {
                Verdict::Committed => told.wake_reader(),
                Verdict::Failed => told.finish(Err(not_committed())),
            }
        })?;
        Ok(!is_in_transaction)
    }
}

impl Drop for UploadEnd {
    fn drop(&mut self) {
        let text = "the script gave up the body of the request before its end";
        self.0.finish(Err(Error::script(text)));
    }
}

/// Ends at the next turn.
fn others_turn() -> impl Future<Output = ()> {
    let mut has_waited = false;
    poll_fn(move |cx| match std::mem::replace(&mut has_waited, true) {
        true => Poll::Ready(()),
        false => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
}

/// The reader's end of a body.
struct UploadBody(Rc<Pipe>);

impl StreamedBody for UploadBody {
    fn poll_chunk(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        let pipe = &self.0;
        if let Some(Err(error)) = &*pipe.end.borrow() {
            return Poll::Ready(Some(Err(error.clone())));
        }
        let mut pieces = pipe.pieces.borrow_mut();
        if pieces.front().is_some_and(|piece| piece.may_leave.get())
            && let Some(piece) = pieces.pop_front()
        {
            let left = pipe.waiting_bytes.get() - piece.bytes.len();
            pipe.waiting_bytes.set(left);
            if left < ROOM_BYTES {
                pipe.wake_senders();
            }
            return Poll::Ready(Some(Ok(piece.bytes.into())));
        }
        if pieces.is_empty() && pipe.end.borrow().is_some() {
            return Poll::Ready(None);
        }
        *pipe.reader.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for UploadBody {
    fn drop(&mut self) {
        self.0.is_gone.set(true);
        self.0.wake_senders();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outbox::Outbox;

    fn setup() -> (Context, Outbox, Upload, Box<dyn StreamedBody>) {
        let (context, outbox) = (Context::default(), Outbox::default());
        context.put(outbox.clone());
        let (upload, FetchBody::Stream { body, .. }) = Upload::new(None) else {
            unreachable!("a stream");
        };
        (context, outbox, upload, body)
    }

    fn next(body: &mut Box<dyn StreamedBody>) -> Poll<Option<Result<Vec<u8>, String>>> {
        let polled = body.poll_chunk(&mut task::Context::from_waker(Waker::noop()));
        polled.map(|piece| {
            piece.map(|piece| {
                let piece = piece.map(Chunk::into_bytes);
                piece.map_err(|error| error.message().to_owned())
            })
        })
    }

    fn is_pending(future: &mut LocalFuture<Result<(), Error>>) -> bool {
        let mut cx = task::Context::from_waker(Waker::noop());
        future.as_mut().poll(&mut cx).is_pending()
    }

    #[test]
    fn pieces_leave_in_their_order_after_their_commit() {
        let (context, outbox, upload, mut body) = setup();
        outbox.open();
        drop(upload.send(&context, b"held".to_vec()));
        outbox.settle(Verdict::Committed);
        drop(upload.send(&context, b"free".to_vec()));
        outbox.open();
        drop(upload.send(&context, b"late".to_vec()));
        upload.end();
        assert_eq!(next(&mut body), Poll::Ready(Some(Ok(b"held".to_vec()))));
        assert_eq!(next(&mut body), Poll::Ready(Some(Ok(b"free".to_vec()))));
        assert!(next(&mut body).is_pending());
        outbox.settle(Verdict::Committed);
        assert_eq!(next(&mut body), Poll::Ready(Some(Ok(b"late".to_vec()))));
        assert_eq!(next(&mut body), Poll::Ready(None));
    }

    #[test]
    fn an_empty_piece_is_none_and_gives_others_their_turn() {
        let (context, _, upload, mut body) = setup();
        for _ in 0..3 {
            let mut sent = upload.send(&context, Vec::new());
            assert!(is_pending(&mut sent));
            assert!(!is_pending(&mut sent));
        }
        assert!(next(&mut body).is_pending());
        upload.end();
        assert_eq!(next(&mut body), Poll::Ready(None));
    }

    #[test]
    fn a_lost_group_ends_the_body() {
        let (context, outbox, upload, mut body) = setup();
        outbox.open();
        drop(upload.send(&context, b"lost".to_vec()));
        outbox.settle(Verdict::Failed);
        let Poll::Ready(Some(Err(error))) = next(&mut body) else {
            panic!("it was sent");
        };
        assert!(error.contains("nothing is sent"), "{error}");
    }

    #[test]
    fn a_sender_waits_for_room() {
        let (context, _, upload, mut body) = setup();
        let mut sent = upload.send(&context, vec![1; ROOM_BYTES]);
        assert!(is_pending(&mut sent));
        assert!(next(&mut body).is_ready());
        assert!(!is_pending(&mut sent));
        // Without waiting there is an end too.
        let mut unawaited = 0;
        while unawaited * ROOM_BYTES <= WAITING_BYTES_MAX {
            drop(upload.send(&context, vec![1; ROOM_BYTES]));
            unawaited += 1;
        }
        let mut sent = upload.send(&context, vec![1; ROOM_BYTES]);
        let mut cx = task::Context::from_waker(Waker::noop());
        assert!(matches!(sent.as_mut().poll(&mut cx), Poll::Ready(Err(_))));
    }

    #[test]
    fn each_end_notices_when_the_other_has_gone() {
        let (context, _, upload, body) = setup();
        let mut waiting = upload.send(&context, vec![1; ROOM_BYTES]);
        assert!(is_pending(&mut waiting));
        drop(body);
        let mut cx = task::Context::from_waker(Waker::noop());
        assert!(matches!(
            waiting.as_mut().poll(&mut cx),
            Poll::Ready(Err(_))
        ));
        assert!(upload.gone().as_mut().poll(&mut cx).is_ready());

        let (_, _, upload, mut body) = setup();
        drop(upload);
        assert!(matches!(next(&mut body), Poll::Ready(Some(Err(_)))));
    }
}
