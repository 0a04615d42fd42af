//! The body of a request on its way into a script, where the script reads it as it comes.

use crate::{Chunk, Error, ErrorKind, LocalFuture, ScriptLimits, StreamedBody, Value};
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::future::poll_fn;
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

    /// The next piece, as bytes; null at the end.
    pub fn read(&self) -> LocalFuture<Result<Value, Error>> {
        let mut reader = self.reader();
        Box::pin(poll_fn(move |cx| {
            let piece = ready!(reader.poll(cx));
            Poll::Ready(piece.map(|piece| piece.map_or(Value::Null, Value::Bytes)))
        }))
    }

    /// Polls for the next piece, for native code; `None` at the end.
    pub fn poll_piece(
        &self,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, Error>> {
        self.reader().poll(cx)
    }

    /// Reads the body to its end, and keeps it. Gives null.
    pub fn read_whole(&self, limits: &ScriptLimits) -> LocalFuture<Result<Value, Error>> {
        let (source, limits) = (self.clone(), limits.clone());
        Box::pin(async move {
            if source.whole().is_some() {
                return Ok(Value::Null);
            }
            source.begin()?;
            let mut whole = Vec::new();
            loop {
                let mut reader = source.reader();
                let Some(piece) = poll_fn(|cx| reader.poll(cx)).await? else {
                    break;
                };
                if whole.len() + piece.len() > limits.memory_bytes_max {
                    return Err(limits.value_too_large());
                }
                whole.extend_from_slice(&piece);
            }
            let _ = source.0.whole.set(whole);
            Ok(Value::Null)
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Waker};

    /// Gives one letter after another; not ready before each.
    struct Letters(Vec<u8>, bool);

    impl StreamedBody for Letters {
        fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
            self.1 = !self.1;
            if self.1 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(self.0.pop().map(|letter| Ok(vec![letter].into())))
        }
    }

    fn source() -> BodySource {
        BodySource::new(Box::new(Letters(b"cba".to_vec(), false)))
    }

    fn run(mut future: LocalFuture<Result<Value, Error>>) -> Result<Value, Error> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(done) = future.as_mut().poll(&mut cx) {
                return done;
            }
        }
    }

    #[test]
    fn one_reader_at_a_time() {
        let source = source();
        source.begin().unwrap();
        let mut first = source.read();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        let refused = run(source.read()).unwrap_err();
        assert!(refused.message().contains("has not ended"), "{refused}");
        assert!(matches!(run(first), Ok(Value::Bytes(piece)) if piece == b"a"));
        // A read that is given up leaves the rest to the next.
        let mut given_up = source.read();
        assert!(given_up.as_mut().poll(&mut cx).is_pending());
        drop(given_up);
        assert!(matches!(run(source.read()), Ok(Value::Bytes(piece)) if piece == b"b"));
        let again = source.begin().unwrap_err();
        assert!(again.message().contains("already been read"), "{again}");
    }

    #[test]
    fn the_whole_is_kept_and_has_a_limit() {
        let limits = ScriptLimits::default();
        let whole = source();
        run(whole.read_whole(&limits)).unwrap();
        run(whole.read_whole(&limits)).unwrap();
        assert_eq!(whole.whole(), Some(&b"abc"[..]));
        let few = ScriptLimits {
            memory_bytes_max: 2,
            ..limits
        };
        let refused = run(source().read_whole(&few)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Memory);
    }
}
