//! The body of a request on its way into a script, where the script reads it as it comes.

mod reading;

use crate::error::{Error, ErrorKind};
use crate::response::{Chunk, StreamedBody};
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::task::{Poll, ready};

/// A body that comes in pieces, to one reader at a time. Nothing is received while there is no reader, so a slow script
/// slows its client down.
#[derive(Clone)]
pub struct BodySource(Rc<Source>);

struct Source {
    /// Taken out while a reader reads.
    body: RefCell<Option<Box<dyn StreamedBody>>>,
    is_begun: Cell<bool>,
    /// The whole body, once it was requested.
    whole: OnceCell<Vec<u8>>,
}

impl fmt::Debug for BodySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodySource").finish_non_exhaustive()
    }
}

impl BodySource {
    /// A source of what `body` gives.
    pub fn new(body: Box<dyn StreamedBody>) -> Self {
        Self(Rc::new(Source {
            body: RefCell::new(Some(body)),
            is_begun: Cell::new(false),
            whole: OnceCell::new(),
        }))
    }

    /// Begins a read.
    ///
    /// # Errors
    /// When a read has begun before.
    pub fn begin(&self) -> Result<(), Error> {
        if self.0.is_begun.replace(true) {
            return Err(already_read());
        }
        Ok(())
    }

    /// The whole body, if it was read to its end by [`BodySource::read_whole`].
    pub fn whole(&self) -> Option<&[u8]> {
        self.0.whole.get().map(Vec::as_slice)
    }

    /// Polls for the next piece, for native code; `None` at the end.
    pub fn poll_piece(
        &self,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, Error>> {
        self.reader().poll(cx)
    }

    fn reader(&self) -> Reader {
        Reader {
            body: self.0.body.take(),
            source: Rc::clone(&self.0),
        }
    }
}

/// One read, which has the body for as long as it takes.
struct Reader {
    body: Option<Box<dyn StreamedBody>>,
    source: Rc<Source>,
}

impl Reader {
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
        let Some(body) = &mut self.body else {
            let text = "another read of this body has not ended yet";
            return Poll::Ready(Err(Error::script(text)));
        };
        let piece = ready!(body.poll_chunk(cx));
        *self.source.body.borrow_mut() = self.body.take();
        Poll::Ready(piece.transpose().map(|piece| piece.map(Chunk::into_bytes)))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            *self.source.body.borrow_mut() = Some(body);
        }
    }
}

/// Returns the error for reading a body a second time.
#[cold]
pub fn already_read() -> Error {
    Error::script("the body has already been read")
}

/// Returns the error for reading all bytes of a body that comes in pieces.
#[cold]
pub fn not_here(advice: &str) -> Error {
    let text = format!("the body of this route is read as it comes: {advice}");
    Error::new(ErrorKind::Script, text)
}
