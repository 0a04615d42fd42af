//! A request to another server, and the sending of its body.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use super::fault::{ClientFault, ClientFaultKind};
use super::reach::Wire;
use super::settings::ClientOptions;
use crate::codec::{SentBody, encode_chunk, encode_last_chunk};
use crate::response::BodyStream;

/// A field line: name and value.
pub type ClientField = (Box<[u8]>, Box<[u8]>);

/// A request to another server.
pub struct ClientRequest {
    /// The method.
    pub method: String,
    /// The URL: `http` or `https`.
    pub url: String,
    /// The field lines; those that frame a message are dropped.
    pub fields: Vec<ClientField>,
    /// The body.
    pub body: ClientBody,
    /// The options.
    pub options: ClientOptions,
}

/// The body of a request.
pub enum ClientBody {
    /// No body.
    None,
    /// These bytes, which can be sent again.
    Bytes(Bytes),
    /// A stream, and its length if that is known.
    Stream(Box<dyn BodyStream>, Option<u64>),
}

impl ClientBody {
    /// Returns a copy to send again; `None` for a stream.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::None => Some(Self::None),
            Self::Bytes(bytes) => Some(Self::Bytes(bytes.clone())),
            Self::Stream(..) => None,
        }
    }

    /// Returns the framing that its head has. Methods that mean something with a body say that there is none.
    pub(super) fn framing(&self, method: &str) -> SentBody {
        match self {
            Self::None if matches!(method, "POST" | "PUT" | "PATCH") => SentBody::Bytes(0),
            Self::None => SentBody::None,
            Self::Bytes(bytes) => SentBody::Bytes(bytes.len() as u64),
            Self::Stream(_, Some(length)) => SentBody::Bytes(*length),
            Self::Stream(_, None) => SentBody::Chunked,
        }
    }
}

/// The part of a body that has still to be made.
pub(super) enum Source {
    Nothing,
    Stream {
        stream: Box<dyn BodyStream>,
        /// The bytes that are missing from the length that was said; `None` in chunks.
        left: Option<u64>,
    },
}

impl Source {
    /// Polls for the next piece; `None` at the end.
    pub(super) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<crate::response::Chunk>, ClientFault>> {
        let Self::Stream { stream, left } = self else {
            return Poll::Ready(Ok(None));
        };
        let fault = |text: String| ClientFault::new(ClientFaultKind::Upload, text);
        loop {
            let piece = ready!(stream.poll_chunk(cx)).transpose();
            let piece = piece.map_err(|error| fault(format!("the body failed: {}", error.0)));
            let len = match &piece {
                Ok(Some(piece)) => piece.as_ref().len() as u64,
                _ => 0,
            };
            let ended = match (&piece, left.as_mut()) {
                (Ok(Some(_)), None) => false,
                (Ok(Some(_)), Some(left)) if len <= *left => {
                    *left -= len;
                    false
                }
                (Ok(None), None | Some(0)) => true,
                (Ok(_), Some(_)) => {
                    let text = "the body is not as long as its length says".to_owned();
                    *self = Self::Nothing;
                    return Poll::Ready(Err(fault(text)));
                }
                (Err(_), _) => true,
            };
            if ended {
                *self = Self::Nothing;
            } else if len == 0 {
                continue;
            }
            return Poll::Ready(piece);
        }
    }
}

/// The bytes of a request on their way into a connection of HTTP/1.1.
pub(super) struct Sending {
    /// The head and the beginning of the body, or a piece of the body.
    out: Vec<u8>,
    written: usize,
    /// Bytes of the body that follow `out`.
    bytes: Bytes,
    source: Source,
    needs_flush: bool,
    /// Counts the writes, so that progress is noticed.
    pub(super) writes: u64,
}

/// The state of a request that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendState {
    /// The connection takes no more for now.
    Full,
    /// The next piece of the body has not been made yet.
    Starved,
    /// All of it is sent.
    Done,
}

/// A body up to so many bytes is sent with its head in one write.
const JOINED_BYTES_MAX: usize = 16 * 1024;

impl Sending {
    /// Begins to send a head, which is in `out`, and a body.
    pub(super) fn new(mut out: Vec<u8>, body: ClientBody) -> Self {
        let mut rest = Bytes::new();
        let source = match body {
            ClientBody::None => Source::Nothing,
            ClientBody::Bytes(bytes) => {
                match bytes.len() <= JOINED_BYTES_MAX {
                    true => out.extend_from_slice(&bytes),
                    false => rest = bytes,
                }
                Source::Nothing
            }
            ClientBody::Stream(stream, left) => Source::Stream { stream, left },
        };
        Self {
            out,
            written: 0,
            bytes: rest,
            source,
            needs_flush: true,
            writes: 0,
        }
    }

    /// Returns the buffer, to be used again.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Writes what the connection takes.
    pub(super) fn poll(
        &mut self,
        wire: &mut Wire,
        cx: &mut Context<'_>,
    ) -> Result<SendState, SendFault> {
        loop {
            let (bytes, is_out) = match self.written < self.out.len() {
                true => (&self.out[self.written..], true),
                false => (&self.bytes[..], false),
            };
            if !bytes.is_empty() {
                match Pin::new(&mut *wire).poll_write(cx, bytes) {
                    Poll::Pending => return Ok(SendState::Full),
                    Poll::Ready(Ok(0)) => {
                        return Err(SendFault::Wire(std::io::ErrorKind::WriteZero.into()));
                    }
                    Poll::Ready(Ok(len)) if is_out => self.written += len,
                    Poll::Ready(Ok(len)) => drop(self.bytes.split_to(len)),
                    Poll::Ready(Err(error)) => return Err(SendFault::Wire(error)),
                }
                self.writes += 1;
                self.needs_flush = true;
                continue;
            }
            if let Source::Nothing = self.source {
                return self.flush(wire, cx, SendState::Done);
            }
            self.out.clear();
            self.written = 0;
            let is_chunked = matches!(self.source, Source::Stream { left: None, .. });
            match self.source.poll_piece(cx) {
                Poll::Pending => return self.flush(wire, cx, SendState::Starved),
                Poll::Ready(Err(fault)) => return Err(SendFault::Body(fault)),
                Poll::Ready(Ok(Some(piece))) if is_chunked => {
                    encode_chunk(&mut self.out, piece.as_ref())
                }
                Poll::Ready(Ok(Some(crate::response::Chunk::Bytes(piece)))) => {
                    self.bytes = piece.into()
                }
                Poll::Ready(Ok(Some(piece))) => self.out.extend_from_slice(piece.as_ref()),
                Poll::Ready(Ok(None)) if is_chunked => encode_last_chunk(&mut self.out),
                Poll::Ready(Ok(None)) => {}
            }
        }
    }

    /// TLS keeps bytes that the socket has not taken until it is flushed.
    fn flush(
        &mut self,
        wire: &mut Wire,
        cx: &mut Context<'_>,
        state: SendState,
    ) -> Result<SendState, SendFault> {
        if self.needs_flush {
            match Pin::new(wire).poll_flush(cx) {
                Poll::Pending => return Ok(SendState::Full),
                Poll::Ready(Ok(())) => self.needs_flush = false,
                Poll::Ready(Err(error)) => return Err(SendFault::Wire(error)),
            }
        }
        Ok(state)
    }
}

/// The reason for which a request is not sent to its end.
#[derive(Debug)]
pub(super) enum SendFault {
    /// The connection takes no more. The server may have answered before.
    Wire(std::io::Error),
    /// The body failed.
    Body(ClientFault),
}
