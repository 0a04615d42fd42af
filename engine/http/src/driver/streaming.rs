//! Streamed bodies: their chunks on the way into the output, and their end.

use std::task::Poll;
use std::time::Duration;

use socket2::SockRef;

use super::connection::Connection;
use super::exchange::panic_text;
use crate::codec::{Exceeded, encode_chunk, encode_last_chunk};
use crate::response::{BodyError, BodyStream};

/// A streamed body under way.
pub(super) struct Streaming {
    pub(super) stream: Box<dyn BodyStream>,
    pub(super) chunked: bool,
    /// When it is given up unless a chunk comes before.
    pub(super) by: u64,
}

/// What a stream gives when it is ready.
type Chunk = Option<Result<Vec<u8>, BodyError>>;

impl Connection {
    /// Frames what a stream gave, or ends the connection where it failed.
    pub(super) fn take_chunk(&mut self, polled: std::thread::Result<Poll<Chunk>>) -> Poll<()> {
        let chunked = self
            .streaming
            .as_ref()
            .is_some_and(|streaming| streaming.chunked);
        match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Some(Ok(chunk)))) => {
                let out = self.output.buffer(&self.local.pool);
                if chunked {
                    encode_chunk(out, &chunk);
                } else {
                    out.extend_from_slice(&chunk);
                }
                let by = self.local.now_millis() + self.local.limits.stream_idle_millis_max;
                if let Some(streaming) = &mut self.streaming {
                    streaming.by = by;
                }
                return Poll::Ready(());
            }
            Ok(Poll::Ready(None)) => {
                if chunked {
                    encode_last_chunk(self.output.buffer(&self.local.pool));
                }
                self.streaming = None;
                if !self.observed.is_empty() {
                    let end = self.output.total_bytes();
                    self.observed.end_stream(end);
                    // The last bytes may have been sent before the end was known.
                    self.observed.sent(self.output.sent_bytes());
                }
                self.restart_reading();
                return Poll::Ready(());
            }
            Ok(Poll::Ready(Some(Err(_)))) => {}
            Err(panic) => self.local.handler().panicked(panic_text(&*panic)),
        }
        self.abort_stream();
        Poll::Ready(())
    }

    /// Ends the connection after what is in the output, so that the client sees that the body is not whole.
    /// Without a final chunk it does; a body that only the connection's end delimits needs a reset instead of
    /// an orderly end.
    pub(super) fn abort_stream(&mut self) {
        self.last = true;
        self.linger = false;
        self.queue.clear();
        self.running = None;
        if self
            .streaming
            .take()
            .is_some_and(|streaming| !streaming.chunked)
        {
            // Fails only on a socket that is closed already.
            let _ = SockRef::from(&*self.socket).set_linger(Some(Duration::ZERO));
        }
    }

    /// Tells the stream that it is cut.
    pub(super) fn tell_stream(&mut self, name: &'static str, max: u64) {
        if let Some(streaming) = &mut self.streaming {
            streaming.stream.cut(Exceeded { name, max });
        }
    }
}
