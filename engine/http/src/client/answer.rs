//! The answer of another server: its head, and its body as it comes.

use std::task::{Context, Poll, ready};

use super::coding::Decompressor;
use super::fault::{ClientFault, ClientFaultKind};
use super::http1::Http1Body;
use super::http2::Http2Body;
use super::request::ClientField;
use super::timer::Timer;

/// The answer of another server.
pub struct ClientAnswer {
    /// The status, 200 to 999.
    pub status: u16,
    /// The reason phrase; empty over HTTP/2.
    pub status_text: String,
    /// The field lines in their order, with names in lower case. Those of a body that was decompressed do not have
    /// `content-encoding` and `content-length`.
    pub fields: Vec<ClientField>,
    /// The URL that answered.
    pub url: String,
    /// True if a redirect was followed.
    pub is_redirected: bool,
    /// The body; `None` where there cannot be one.
    pub body: Option<ClientAnswerBody>,
}

/// The body of an answer. The connection is closed when it is dropped before its end.
pub struct ClientAnswerBody {
    pub(super) source: BodySource,
    pub(super) timer: Timer,
    pub(super) coding: Option<Decompressor>,
    /// The bytes that have been given.
    pub(super) bytes: u64,
    /// 0 for no end.
    pub(super) bytes_max: u64,
    /// The URL in faults.
    pub(super) label: String,
}

/// The head of an answer. Names of fields are in lower case.
pub(super) struct AnsweredHead {
    pub(super) status: u16,
    pub(super) status_text: String,
    pub(super) fields: Vec<ClientField>,
}

impl AnsweredHead {
    /// Returns the values of a field.
    pub(super) fn values<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.fields.iter();
        let lines = lines.filter(move |(other, _)| **other == *name);
        lines.map(|(_, value)| &**value)
    }
}

/// The connection of a body.
pub(super) enum BodySource {
    Ended,
    Http1(Box<Http1Body>),
    Http2(Box<Http2Body>),
}

impl BodySource {
    /// Polls for the next piece as it came; `None` at the end.
    pub(super) fn poll_piece(
        &mut self,
        timer: &mut Timer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        match self {
            Self::Ended => Poll::Ready(Ok(None)),
            Self::Http1(body) => body.poll_piece(timer, cx),
            Self::Http2(body) => body.poll_piece(timer, cx),
        }
    }
}

impl ClientAnswerBody {
    /// Polls for the next piece, which is not empty; `None` at the end.
    ///
    /// # Errors
    /// The connection ended, a time limit passed, the body is too large or malformed.
    pub fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        let piece = ready!(self.next(cx));
        if !matches!(piece, Ok(Some(_))) {
            self.source = BodySource::Ended;
        }
        Poll::Ready(piece.map_err(|fault| fault.of(&self.label)))
    }

    /// Takes note that the reader does something else until it polls again: that time is not idle. The time of the
    /// whole goes on.
    pub fn pause(&mut self) {
        self.timer.progressed();
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        let piece = match self.coding {
            Some(_) => ready!(self.decompressed(cx))?,
            None => ready!(self.received(cx))?,
        };
        // The end itself is never late.
        if piece.is_some()
            && !matches!(self.source, BodySource::Ended)
            && let Some(fault) = self.timer.over()
        {
            return Poll::Ready(Err(fault));
        }
        self.bytes += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        if self.bytes_max > 0 && self.bytes > self.bytes_max {
            let max = self.bytes_max;
            let text =
                format!("the body of the answer has more than the {max} bytes that are allowed");
            return Poll::Ready(Err(ClientFault::new(ClientFaultKind::TooLarge, text)));
        }
        Poll::Ready(Ok(piece))
    }

    fn received(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        self.source.poll_piece(&mut self.timer, cx)
    }

    fn decompressed(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        loop {
            if let Some(coding) = &mut self.coding
                && let Some(piece) = coding.next()?
            {
                return Poll::Ready(Ok(Some(piece)));
            }
            let received = ready!(self.received(cx))?;
            match (received, &mut self.coding) {
                (Some(piece), Some(coding)) => coding.push(piece),
                (None, Some(coding)) => {
                    coding.finish()?;
                    return Poll::Ready(Ok(None));
                }
                (received, None) => return Poll::Ready(Ok(received)),
            }
        }
    }
}

impl std::fmt::Debug for ClientAnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientAnswerBody").finish_non_exhaustive()
    }
}
