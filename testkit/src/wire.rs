//! The way of a case's requests to its server: HTTP/1.1 as it is, or another protocol that a test program brings.

use crate::scenario::Request;
use sampan_client::{Answer, Client, wait};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A protocol that the requests of cases are sent by.
pub trait CaseWire: Send + Sync {
    /// Sections that the configuration of the server gets for it, as text of `sampan.toml`.
    fn sections(&self) -> String;

    /// Reports whether it can carry a request.
    fn carries(&self, request: &Request) -> bool;

    /// Connects.
    ///
    /// # Errors
    /// The reason, in words.
    fn connect(&self, server: SocketAddr) -> Result<Box<dyn CaseClient>, String>;
}

/// A connection to the server of a case.
pub trait CaseClient {
    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// No answer comes, or one that is malformed: the reason, in words.
    fn exchange(&mut self, request: &Request) -> Result<Answer, String>;

    /// Sends a request, and leaves after this time without reading an answer.
    ///
    /// # Errors
    /// The request cannot be sent.
    fn leave(self: Box<Self>, request: &Request, after: Duration) -> Result<(), String>;

    /// Waits for the server to close the connection, where the protocol has it closed behind an answer. False if the
    /// server does not.
    fn is_closed(&mut self) -> bool;
}

/// HTTP/1.1 without TLS.
#[derive(Clone, Copy, Debug)]
pub struct PlainWire;

impl CaseWire for PlainWire {
    fn sections(&self) -> String {
        String::new()
    }

    fn carries(&self, _: &Request) -> bool {
        true
    }

    fn connect(&self, server: SocketAddr) -> Result<Box<dyn CaseClient>, String> {
        let stream = TcpStream::connect(server);
        Http1Client::over(stream.map_err(|error| format!("cannot connect: {error}"))?)
    }
}

/// A client of HTTP/1.1, over a socket or the plain end of a tunnel.
#[derive(Debug)]
pub struct Http1Client(Client);

impl Http1Client {
    /// Takes over a connection.
    ///
    /// # Errors
    /// It has ended already.
    pub fn over(stream: TcpStream) -> Result<Box<dyn CaseClient>, String> {
        let server = stream.peer_addr();
        let client = server.and_then(|server| Client::over(stream, server));
        let client = client.map_err(|error| format!("cannot connect: {error}"))?;
        Ok(Box::new(Self(client)))
    }
}

impl CaseClient for Http1Client {
    fn exchange(&mut self, request: &Request) -> Result<Answer, String> {
        let sent = self.0.send(&bytes(request));
        // A server may answer before it has read all, and close: the answer tells more than the failed write.
        self.0
            .read(request.method() == "HEAD")
            .map_err(|error| match sent {
                Ok(()) => format!("no answer: {error}"),
                Err(sent) => format!("no answer: {error} (nor could all be sent: {sent})"),
            })
    }

    fn leave(mut self: Box<Self>, request: &Request, after: Duration) -> Result<(), String> {
        let sent = self.0.send(&bytes(request));
        sent.map_err(|error| error.to_string())?;
        wait::dawdle(after);
        Ok(())
    }

    fn is_closed(&mut self) -> bool {
        self.0.is_closed()
    }
}

/// The bytes of a request.
fn bytes(request: &Request) -> Vec<u8> {
    if let Some(raw) = &request.raw {
        return raw.as_bytes().to_vec();
    }
    let body = request.body_to_send();
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method(), request.path);
    for (name, value) in request.fields_to_send() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend(body.unwrap_or_default());
    bytes
}
