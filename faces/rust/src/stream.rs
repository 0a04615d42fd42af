//! Bodies that come in pieces, of answers and of requests.

use crate::error::Error;
use futures_core::Stream;
use sampan_http::{BodyError, BodyStream, Chunk};
use sampan_serve::native::NativeRequest;
use std::fmt::{self, Display};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// The number of bytes read at once of what becomes the body of an answer.
const READ_BYTES: usize = 64 * 1024;

/// The body of an answer from a stream.
pub(crate) struct Pieces<S>(pub(crate) Pin<Box<S>>);

impl<S, B, E> BodyStream for Pieces<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]> + 'static,
    E: Display,
{
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let next = ready!(self.0.as_mut().poll_next(cx));
        Poll::Ready(next.map(|piece| match piece {
            Ok(piece) => Ok(Chunk::Lent(Box::new(piece))),
            Err(error) => Err(BodyError(error.to_string())),
        }))
    }
}

/// The body of an answer from what is read.
pub(crate) struct Reader<R>(pub(crate) Pin<Box<R>>);

impl<R: AsyncRead> BodyStream for Reader<R> {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let mut bytes = vec![0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = ready!(self.0.as_mut().poll_read(cx, &mut buffer));
        let len = buffer.filled().len();
        Poll::Ready(match read {
            Err(error) => Some(Err(BodyError(error.to_string()))),
            Ok(()) if len == 0 => None,
            Ok(()) => {
                bytes.truncate(len);
                Some(Ok(Chunk::Bytes(bytes)))
            }
        })
    }
}

/// The body of a request, read as it arrives: what a handler with two parameters takes. It is a [`Stream`] of pieces,
/// and an [`AsyncRead`].
///
/// Nothing is received while the handler does not read, so a slow handler slows its client down. The limit of the route
/// holds: a body that is larger gives an error, which answers 413 if the handler returns it.
/// `limits.handler_millis_max` begins again with each piece.
///
/// ```
/// # use sampan::{App, Error, Request, RequestBody, body_bytes_max};
/// async fn count(_: Request, mut body: RequestBody) -> Result<String, Error> {
///     let mut bytes = 0;
///     while let Some(piece) = body.next().await {
///         bytes += piece?.len();
///     }
///     Ok(format!("{bytes} bytes"))
/// }
///
/// let app = App::new().post("/count", body_bytes_max(10 << 30, count));
/// # drop(app);
/// ```
pub struct RequestBody {
    request: NativeRequest,
    state: ReadState,
    /// The rest of a piece for [`AsyncRead`], and where it begins.
    piece: Vec<u8>,
    at: usize,
}

enum ReadState {
    New,
    Reading,
    Ended,
}

impl RequestBody {
    pub(crate) fn new(request: NativeRequest) -> Self {
        Self {
            request,
            state: ReadState::New,
            piece: Vec::new(),
            at: 0,
        }
    }

    /// The next piece, never an empty one; `None` at the end, and after an error.
    ///
    /// # Errors
    /// [`ErrorKind::Body`](crate::ErrorKind::Body); also where middleware of the script has read the body.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, Error>> {
        std::future::poll_fn(|cx| self.poll_piece(cx)).await
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, Error>>> {
        if self.at < self.piece.len() {
            let rest = self.piece.split_off(self.at);
            (self.piece, self.at) = (Vec::new(), 0);
            return Poll::Ready(Some(Ok(rest)));
        }
        let polled = match self.state {
            ReadState::Ended => return Poll::Ready(None),
            ReadState::Reading => ready!(self.request.poll_body(cx)),
            ReadState::New => {
                self.state = ReadState::Reading;
                match self.request.begin_body() {
                    Ok(()) => ready!(self.request.poll_body(cx)),
                    Err(error) => Some(Err(error)),
                }
            }
        };
        if !matches!(polled, Some(Ok(_))) {
            self.state = ReadState::Ended;
        }
        Poll::Ready(polled.map(|piece| piece.map_err(|error| Error::of_body(&error))))
    }
}

impl Stream for RequestBody {
    type Item = Result<Vec<u8>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_piece(cx)
    }
}

impl AsyncRead for RequestBody {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let body = &mut *self;
        if body.at == body.piece.len() {
            match ready!(body.poll_piece(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                Some(Ok(piece)) => (body.piece, body.at) = (piece, 0),
            }
        }
        let len = buffer.remaining().min(body.piece.len() - body.at);
        buffer.put_slice(&body.piece[body.at..body.at + len]);
        body.at += len;
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestBody").field(&self.request).finish()
    }
}
