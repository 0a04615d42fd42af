//! The client against servers that are written by hand, for each what it does with each of its connections.

mod coded;
mod connections;
mod hostile;
mod http2;
mod redirects;
mod secured;
mod uploads;

use sampan_http::client::{
    AddressPolicy, Client, ClientAnswer, ClientAnswerBody, ClientBody, ClientFault, ClientField,
    ClientLimits, ClientOptions, ClientRequest, ClientSettings, Lookups,
};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The work of a server on one connection.
pub(crate) type PeerTurn = Box<dyn FnOnce(TcpStream) + Send>;

/// A server that takes one connection after another, each with a turn of its own.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Peer {
    /// Starts a server with these turns; further connections are not taken.
    pub(crate) fn start(turns: Vec<PeerTurn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let thread = std::thread::spawn(move || {
            let running: Vec<_> = turns
                .into_iter()
                .map(|turn| {
                    let (socket, _) = listener.accept().expect("a connection");
                    std::thread::spawn(move || turn(socket))
                })
                .collect();
            drop(listener);
            for turn in running {
                turn.join().expect("a turn");
            }
        });
        Self { address, thread }
    }

    /// Starts a server with one connection.
    pub(crate) fn once(turn: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        Self::start(vec![Box::new(turn)])
    }

    /// Starts a server that answers one request with these bytes and closes.
    pub(crate) fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::once(move |mut socket| {
            read_head(&mut socket);
            let _ = socket.write_all(&bytes);
        })
    }

    /// Returns the URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until all turns have ended.
    pub(crate) fn ended(self) {
        self.thread.join().expect("the server");
    }
}

/// Reads a head; empty at the end of the connection.
pub(crate) fn read_head(socket: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => break,
        }
    }
    String::from_utf8(head).expect("text")
}

/// Answers with a text, and keeps the connection.
pub(crate) fn answer(socket: &mut impl Write, body: &str) {
    let len = body.len();
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{body}");
    socket.write_all(text.as_bytes()).expect("sent");
}

/// The settings of a client that may ask this machine.
pub(crate) fn settings(limits: ClientLimits) -> ClientSettings {
    ClientSettings {
        limits,
        policy: AddressPolicy::default().with_loopback(),
        ..ClientSettings::default()
    }
}

/// A client with these limits that may ask this machine.
pub(crate) fn client(limits: ClientLimits) -> Client {
    Client::new(Arc::new(settings(limits)), Lookups::default())
}

pub(crate) fn get(url: impl Into<String>) -> ClientRequest {
    request("GET", url, ClientBody::None)
}

pub(crate) fn request(method: &str, url: impl Into<String>, body: ClientBody) -> ClientRequest {
    ClientRequest {
        method: method.to_owned(),
        url: url.into(),
        fields: Vec::new(),
        body,
        options: ClientOptions::default(),
    }
}

pub(crate) fn field(name: &str, value: &str) -> ClientField {
    (name.as_bytes().into(), value.as_bytes().into())
}

/// Reads a body to its end.
pub(crate) async fn whole(body: Option<ClientAnswerBody>) -> Result<String, ClientFault> {
    let Some(mut body) = body else {
        return Ok(String::new());
    };
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.poll_piece(cx)).await? {
        assert!(!piece.is_empty());
        bytes.extend(piece);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Asks, and reads the answer to its end.
pub(crate) async fn text(
    client: &Client,
    request: ClientRequest,
) -> Result<(u16, String), ClientFault> {
    let answer = client.clone().fetch(request).await?;
    Ok((answer.status, whole(answer.body).await?))
}

pub(crate) fn field_of<'a>(answer: &'a ClientAnswer, name: &str) -> Option<&'a str> {
    let mut lines = answer.fields.iter();
    let (_, value) = lines.find(|(other, _)| **other == *name.as_bytes())?;
    Some(std::str::from_utf8(value).expect("text"))
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, test)
}
