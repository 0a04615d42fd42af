//! hyper, in this process, over a connection made of two buffers.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response};

use super::{ComparedServer, SeenRequest};

pub(super) struct HyperPeer;

impl ComparedServer for HyperPeer {
    fn ask(&mut self, bytes: &[u8]) -> io::Result<Vec<SeenRequest>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let service = hyper::service::service_fn(|request| record(request, seen.clone()));
        let wire = Wire {
            input: bytes.to_vec(),
            at: 0,
        };
        let mut connection = pin!(
            hyper::server::conn::http1::Builder::new()
                .half_close(true)
                .serve_connection(wire, service)
        );
        let mut cx = Context::from_waker(Waker::noop());
        // Nothing in it waits for anything but itself, so it ends after a bounded number of polls.
        for _ in 0..100_000 {
            if connection.as_mut().poll(&mut cx).is_ready() {
                break;
            }
        }
        let seen = seen
            .lock()
            .map_err(|_| io::Error::other("hyper panicked"))?
            .clone();
        Ok(seen)
    }
}

async fn record(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
) -> Result<Response<Nothing>, hyper::Error> {
    let (parts, mut incoming) = request.into_parts();
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        if let Ok(data) = frame?.into_data() {
            body.extend_from_slice(&data);
        }
    }
    let request = SeenRequest {
        method: parts.method.as_str().into(),
        target: parts.uri.to_string().into(),
        body,
    };
    if let Ok(mut seen) = seen.lock() {
        seen.push(request);
    }
    Ok(Response::new(Nothing))
}

/// An empty response body.
struct Nothing;

impl Body for Nothing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

/// Gives the input and then its end; throws away what is written.
struct Wire {
    input: Vec<u8>,
    at: usize,
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let len = buf.remaining().min(self.input.len() - self.at);
        let at = self.at;
        buf.put_slice(&self.input[at..at + len]);
        self.at += len;
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
