//! The client's end of a WebSocket of the app: frames in memory.

use super::limits::{LEFT_TIME_MAX, SOCKET_MESSAGE_BYTES_MAX};
use crate::sockets::frame;
use sampan_host::{Error, ErrorKind, Value};
use sampan_http::DirectSocket;
use sampan_http::websocket::{CloseFrame, Decoder, DecoderLimits, Event, Opcode, Role, codes};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// The client's end of a WebSocket, or the answer that refused it.
pub(super) struct TestSocket {
    pub(super) answer: Value,
    link: RefCell<Option<DirectSocket>>,
    decoder: RefCell<Decoder>,
    /// Messages that no one has received.
    inbox: RefCell<VecDeque<Value>>,
    /// The frame that has ended the socket.
    end: RefCell<Option<CloseFrame>>,
    has_sent_close: Cell<bool>,
}

impl TestSocket {
    pub(super) fn new(answer: Value, link: Option<DirectSocket>) -> Self {
        let limits = DecoderLimits {
            message_bytes_max: SOCKET_MESSAGE_BYTES_MAX,
            is_compressed: false,
        };
        Self {
            answer,
            link: RefCell::new(link),
            decoder: RefCell::new(Decoder::new(Role::Client, limits)),
            inbox: RefCell::default(),
            end: RefCell::default(),
            has_sent_close: Cell::default(),
        }
    }

    /// Ends the connection without a close frame.
    pub(super) fn leave(&self) {
        if let Some(link) = &*self.link.borrow() {
            link.leave();
        }
    }

    /// Waits for the app's end, but not for long.
    pub(super) async fn ended(&self) {
        let ended = tokio::time::timeout(LEFT_TIME_MAX, poll_fn(|cx| self.poll_ended(cx)));
        if ended.await.is_err()
            && let Some(link) = &*self.link.borrow()
        {
            link.abort();
        }
    }

    fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self.link.borrow_mut() {
            Some(link) => link.poll_ended(cx),
            None => Poll::Ready(()),
        }
    }

    /// Fails if the app has refused.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.link.borrow().is_some() {
            return Ok(());
        }
        let status = match self.answer.get("status") {
            Some(Value::Int(status)) => *status,
            _ => 0,
        };
        let body = match self.answer.get("body") {
            Some(Value::Text(text)) => text.as_str(),
            _ => "",
        };
        let text = format!("the app has refused the socket: {status} {body}");
        Err(Error::script(text.trim_end()))
    }

    /// Sends a frame that is a whole message.
    pub(super) fn send(&self, opcode: Opcode, payload: &[u8]) -> Result<(), Error> {
        self.check()?;
        if self.has_sent_close.get() || self.end.borrow().is_some() {
            return Err(self.is_closed());
        }
        self.write(opcode, payload);
        Ok(())
    }

    fn write(&self, opcode: Opcode, payload: &[u8]) {
        if let Some(link) = &*self.link.borrow() {
            link.send(&frame(opcode, payload));
        }
    }

    fn is_closed(&self) -> Error {
        let text = match &*self.end.borrow() {
            Some(CloseFrame { code, reason }) => format!("the socket is closed: {code} {reason}"),
            None => "the socket is closed: the test has closed it".to_owned(),
        };
        Error::script(text.trim_end())
    }

    /// Sends a close frame.
    ///
    /// # Errors
    /// The app has refused, or the socket is closed.
    pub(super) fn close(&self, frame: &CloseFrame) -> Result<(), Error> {
        self.send(Opcode::Close, &frame.payload())?;
        self.has_sent_close.set(true);
        Ok(())
    }

    /// Waits for bytes of the app, and takes what they are.
    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let bytes = match &*self.link.borrow() {
            Some(link) => ready!(link.poll_receive(cx)),
            None => Vec::new(),
        };
        if bytes.is_empty() {
            self.finish(CloseFrame::new(codes::ABNORMAL, ""));
            return Poll::Ready(Ok(()));
        }
        let mut input = &bytes[..];
        loop {
            let event = self.decoder.borrow_mut().next(&mut input);
            match event {
                Ok(None) => return Poll::Ready(Ok(())),
                Ok(Some(Event::Text(text))) => self.inbox.borrow_mut().push_back(Value::Text(text)),
                Ok(Some(Event::Bytes(bytes))) => {
                    self.inbox.borrow_mut().push_back(Value::Bytes(bytes));
                }
                Ok(Some(Event::Ping(payload))) if !self.has_sent_close.get() => {
                    self.write(Opcode::Pong, &payload);
                }
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => {}
                Ok(Some(Event::Close(frame))) => {
                    if !self.has_sent_close.replace(true) {
                        self.write(Opcode::Close, &frame.payload());
                    }
                    self.finish(frame);
                    return Poll::Ready(Ok(()));
                }
                Err(fault) => {
                    let text = format!("the app breaks the protocol of WebSockets: {fault}");
                    return Poll::Ready(Err(Error::new(ErrorKind::Internal, text)));
                }
            }
        }
    }

    fn finish(&self, frame: CloseFrame) {
        self.end.borrow_mut().get_or_insert(frame);
        self.leave();
    }

    pub(super) fn poll_receive(&self, cx: &mut Context<'_>) -> Poll<Result<Value, Error>> {
        loop {
            if let Some(message) = self.inbox.borrow_mut().pop_front() {
                return Poll::Ready(Ok(message));
            }
            if self.end.borrow().is_some() {
                return Poll::Ready(Err(self.is_closed()));
            }
            ready!(self.poll_next(cx))?;
        }
    }

    pub(super) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<Result<Value, Error>> {
        loop {
            let end = self.end.borrow().clone();
            let Some(CloseFrame { code, reason }) = end else {
                ready!(self.poll_next(cx))?;
                continue;
            };
            ready!(self.poll_ended(cx));
            return Poll::Ready(Ok(Value::Map(vec![
                ("code".into(), Value::Int(code.into())),
                ("reason".into(), Value::Text(reason)),
            ])));
        }
    }
}
