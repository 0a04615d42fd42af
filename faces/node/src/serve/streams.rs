//! Bodies of answers that JavaScript writes piece by piece.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use sampan_http::codec::Exceeded;
use sampan_http::{BodyError, BodyStream, Chunk, LengthCheck};
use slab::Slab;

use super::exchanges::Key;

/// Above so many bytes that the client has not taken, JavaScript is asked to wait.
const WAITING_BYTES_MAX: usize = 256 * 1024;

struct Pieces {
    key: Key,
    /// Method and path of the request.
    title: String,
    waiting: RefCell<VecDeque<Vec<u8>>>,
    waiting_bytes: Cell<usize>,
    end: Cell<Option<Result<(), ()>>>,
    /// True if JavaScript waits for room.
    is_full: Cell<bool>,
    waker: Cell<Option<Waker>>,
}

/// The fate of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The next may follow.
    More,
    /// The next should wait for [`Streams::take_drained`].
    Full,
    /// The client has left.
    Gone,
}

/// A stream that the server has cut.
pub(crate) struct CutStream {
    pub(crate) key: Key,
    /// Method and path of the request.
    pub(crate) title: String,
    pub(crate) reason: String,
}

/// The streams of one server.
#[derive(Default)]
pub(crate) struct Streams {
    open: RefCell<Slab<Rc<Pieces>>>,
    last_serial: Cell<u32>,
    /// Those that have room again.
    drained: RefCell<Vec<Key>>,
    /// Those whose client left.
    left: RefCell<Vec<Key>>,
    /// Those that were cut, of which JavaScript has not been told.
    cut: RefCell<Vec<CutStream>>,
}

impl Streams {
    /// A new stream, and its end that the connection reads. `title` has method and path of the request, `declared` the
    /// length that the head of the answer tells.
    pub(crate) fn begin(
        self: &Rc<Self>,
        title: String,
        declared: Option<u64>,
    ) -> (Key, Box<dyn BodyStream>) {
        let serial = self.last_serial.get().wrapping_add(1) & i32::MAX as u32;
        self.last_serial.set(serial);
        let mut open = self.open.borrow_mut();
        let entry = open.vacant_entry();
        let key = Key {
            place: entry.key() as u32,
            serial,
        };
        let pieces = Rc::new(Pieces {
            key,
            title,
            waiting: RefCell::default(),
            waiting_bytes: Cell::default(),
            end: Cell::default(),
            is_full: Cell::default(),
            waker: Cell::default(),
        });
        entry.insert(Rc::clone(&pieces));
        let body = StreamedBody {
            pieces,
            streams: Rc::clone(self),
            length: declared.map(LengthCheck::new),
            cut: None,
        };
        (key, Box::new(body))
    }

    fn find(&self, key: Key) -> Option<Rc<Pieces>> {
        let open = self.open.borrow();
        let pieces = open.get(key.place as usize)?;
        (pieces.key == key).then(|| Rc::clone(pieces))
    }

    /// Adds a piece.
    pub(crate) fn write(&self, key: Key, piece: &[u8]) -> Written {
        let Some(pieces) = self.find(key) else {
            return Written::Gone;
        };
        pieces.waiting.borrow_mut().push_back(piece.to_vec());
        let bytes = pieces.waiting_bytes.get() + piece.len();
        pieces.waiting_bytes.set(bytes);
        wake(&pieces);
        if bytes < WAITING_BYTES_MAX {
            return Written::More;
        }
        pieces.is_full.set(true);
        Written::Full
    }

    /// Ends a stream, or cuts it.
    pub(crate) fn end(&self, key: Key, is_whole: bool) {
        if let Some(pieces) = self.find(key) {
            pieces.end.set(Some(is_whole.then_some(()).ok_or(())));
            wake(&pieces);
        }
    }

    /// The streams that have room again since the last time.
    pub(crate) fn take_drained(&self) -> Vec<Key> {
        self.drained.take()
    }

    /// The streams whose client left since the last time.
    pub(crate) fn take_left(&self) -> Vec<Key> {
        self.left.take()
    }

    /// The streams that were cut since the last time.
    pub(crate) fn take_cut(&self) -> Vec<CutStream> {
        self.cut.take()
    }

    /// Reports whether there are such.
    pub(crate) fn has_cut(&self) -> bool {
        !self.cut.borrow().is_empty()
    }
}

fn wake(pieces: &Pieces) {
    if let Some(waker) = pieces.waker.take() {
        waker.wake();
    }
}

struct StreamedBody {
    pieces: Rc<Pieces>,
    streams: Rc<Streams>,
    length: Option<LengthCheck>,
    /// The reason for which the server cuts the stream.
    cut: Option<String>,
}

impl StreamedBody {
    /// The next piece, before its length is checked.
    fn poll_piece(&self, cx: &Context<'_>) -> Poll<Option<Result<Vec<u8>, BodyError>>> {
        let pieces = &*self.pieces;
        if let Some(piece) = pieces.waiting.borrow_mut().pop_front() {
            let bytes = pieces.waiting_bytes.get() - piece.len();
            pieces.waiting_bytes.set(bytes);
            if bytes == 0 && pieces.is_full.replace(false) {
                self.streams.drained.borrow_mut().push(pieces.key);
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        match pieces.end.get() {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(())) => Poll::Ready(Some(Err(BodyError("the stream was cut".into())))),
            None => {
                pieces.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }

    /// Counts a piece, or checks the end where there is none.
    fn check(&mut self, piece_bytes: Option<usize>) -> Result<(), BodyError> {
        let Some(length) = &mut self.length else {
            return Ok(());
        };
        let checked = match piece_bytes {
            Some(bytes) => length.count(bytes),
            None => length.end(),
        };
        checked.inspect_err(|error| self.cut = Some(error.0.clone()))
    }
}

impl BodyStream for StreamedBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let next = match ready!(self.poll_piece(cx)).transpose() {
            Ok(next) => next,
            Err(error) => return Poll::Ready(Some(Err(error))),
        };
        Poll::Ready(match self.check(next.as_ref().map(Vec::len)) {
            Ok(()) => next.map(|piece| Ok(Chunk::Bytes(piece))),
            Err(error) => Some(Err(error)),
        })
    }

    fn cut(&mut self, limit: Exceeded) {
        let seconds = limit.max / 1000;
        self.cut = Some(match limit.name {
            "stream_idle_millis_max" => format!("cut: there was no piece for {seconds} s"),
            "shutdown_millis_max" => {
                format!("cut: the server stopped, and has waited {seconds} s for its end")
            }
            name => format!("cut: {name} is {}", limit.max),
        });
    }
}

impl Drop for StreamedBody {
    fn drop(&mut self) {
        let key = self.pieces.key;
        self.streams.open.borrow_mut().remove(key.place as usize);
        if let Some(reason) = self.cut.take() {
            self.streams.cut.borrow_mut().push(CutStream {
                key,
                title: self.pieces.title.clone(),
                reason,
            });
        } else if self.pieces.end.get().is_none() {
            self.streams.left.borrow_mut().push(key);
        }
    }
}
