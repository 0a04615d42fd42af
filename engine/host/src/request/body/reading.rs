//! Reads of a body as a script asks for them: futures of values.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::request::body::BodySource;
use crate::run::limits::ScriptLimits;
use crate::value::Value;
use std::future::poll_fn;
use std::task::{Poll, ready};

impl BodySource {
    /// The next piece, as bytes; null at the end.
    pub fn read(&self) -> LocalFuture<Result<Value, Error>> {
        let mut reader = self.reader();
        Box::pin(poll_fn(move |cx| {
            let piece = ready!(reader.poll(cx));
            Poll::Ready(piece.map(|piece| piece.map_or(Value::Null, Value::Bytes)))
        }))
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::response::{Chunk, StreamedBody};
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
