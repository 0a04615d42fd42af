//! Streamed bodies of a declared length: the bytes are counted, and a stream that has others fails.

use std::task::{Context, Poll, ready};

use super::{BodyError, BodyStream, Chunk, WorkerMoment};
use crate::codec::fault::Exceeded;

/// The count of a body whose length the head of its answer tells (RFC 9110 section 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthCheck {
    declared: u64,
    left: u64,
}

impl LengthCheck {
    /// Begins to count a body of `declared` bytes.
    pub fn new(declared: u64) -> LengthCheck {
        LengthCheck {
            declared,
            left: declared,
        }
    }

    /// Counts the next chunk.
    ///
    /// # Errors
    /// The body has more bytes than declared; nothing of the chunk may be sent then.
    pub fn count(&mut self, chunk_bytes: usize) -> Result<(), BodyError> {
        match self.left.checked_sub(chunk_bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.fault("more")),
        }
    }

    /// Reports whether the body is complete with a chunk of so many bytes.
    pub fn is_complete_with(&self, chunk_bytes: usize) -> bool {
        self.left == chunk_bytes as u64
    }

    /// Checks the end of the body.
    ///
    /// # Errors
    /// The body has fewer bytes than declared.
    pub fn end(&self) -> Result<(), BodyError> {
        match self.left {
            0 => Ok(()),
            _ => Err(self.fault("fewer")),
        }
    }

    #[cold]
    fn fault(&self, amount: &str) -> BodyError {
        let declared = self.declared;
        BodyError(format!(
            "the body has {amount} bytes than the {declared} of its Content-Length"
        ))
    }
}

/// A stream whose bytes are counted.
pub(crate) struct SizedStream {
    stream: Box<dyn BodyStream>,
    length: LengthCheck,
}

impl SizedStream {
    pub(crate) fn new(stream: Box<dyn BodyStream>, declared: u64) -> SizedStream {
        SizedStream {
            stream,
            length: LengthCheck::new(declared),
        }
    }
}

impl BodyStream for SizedStream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let next = ready!(self.stream.poll_chunk(cx));
        let checked = match &next {
            Some(Ok(chunk)) => self.length.count(chunk.as_ref().len()),
            Some(Err(_)) => Ok(()),
            None => self.length.end(),
        };
        Poll::Ready(match checked {
            Ok(()) => next,
            Err(fault) => Some(Err(fault)),
        })
    }

    fn look(&mut self, worker: WorkerMoment) -> u64 {
        self.stream.look(worker)
    }

    fn cut(&mut self, limit: Exceeded) {
        self.stream.cut(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_as_many_as_declared() {
        let mut length = LengthCheck::new(5);
        assert_eq!(length.count(3), Ok(()));
        let text = |error: Result<(), BodyError>| error.unwrap_err().0;
        assert_eq!(
            text(length.end()),
            "the body has fewer bytes than the 5 of its Content-Length"
        );
        assert_eq!(
            text(length.count(3)),
            "the body has more bytes than the 5 of its Content-Length"
        );
        assert!(length.is_complete_with(2) && !length.is_complete_with(1));
        assert_eq!(length.count(2), Ok(()));
        assert_eq!((length.count(0), length.end()), (Ok(()), Ok(())));
    }
}
