//! A client of HTTP/2 for the tests of the driver.

use std::future::Future;

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, Request};
use tokio::runtime::Runtime;

use super::Server;

/// One connection. It goes on only while something is awaited with [`Client::wait`].
pub struct Client {
    runtime: Runtime,
    pub requests: SendRequest<Bytes>,
    /// Ends with the connection.
    connection: Option<tokio::task::JoinHandle<Result<(), h2::Error>>>,
}

/// An answer that has been read to its end.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub fields: HeaderMap,
    pub body: Vec<u8>,
}

impl Answered {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub fn new(server: &Server) -> Client {
        Client::with(server, &mut h2::client::Builder::new())
    }

    pub fn with(server: &Server, builder: &mut h2::client::Builder) -> Client {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let socket = server.connect_http2();
        socket.set_nonblocking(true).unwrap();
        let (requests, connection) = runtime.block_on(async {
            let socket = tokio::net::TcpStream::from_std(socket).unwrap();
            builder.handshake(socket).await.unwrap()
        });
        let connection = Some(runtime.spawn(connection));
        Client {
            runtime,
            requests,
            connection,
        }
    }

    /// Waits for the end of the connection.
    pub fn end(&mut self) -> Result<(), h2::Error> {
        let connection = self.connection.take().unwrap();
        self.wait(connection).unwrap()
    }

    /// Waits for something that needs the connection.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let limited = async {
            let limit = std::time::Duration::from_secs(20);
            tokio::time::timeout(limit, future).await
        };
        self.runtime.block_on(limited).expect("it hangs")
    }

    /// Begins a request without a body.
    pub fn begin(&mut self, request: Request<()>) -> ResponseFuture {
        self.send(request, true).0
    }

    /// Begins a request; `is_last` says that no body follows.
    pub fn send(
        &mut self,
        request: Request<()>,
        is_last: bool,
    ) -> (ResponseFuture, h2::SendStream<Bytes>) {
        let requests = self.requests.clone();
        let mut ready = self.wait(requests.ready()).unwrap();
        ready.send_request(request, is_last).unwrap()
    }

    /// Reads an answer.
    pub fn read(&self, response: ResponseFuture) -> Answered {
        self.try_read(response).unwrap()
    }

    /// Reads an answer that may be cut.
    pub fn try_read(&self, response: ResponseFuture) -> Result<Answered, h2::Error> {
        self.wait(async {
            let (head, stream) = response.await?.into_parts();
            Ok(Answered {
                status: head.status.as_u16(),
                fields: head.headers,
                body: read_body(stream).await?,
            })
        })
    }

    pub fn ask(&mut self, request: Request<()>) -> Answered {
        let response = self.begin(request);
        self.read(response)
    }

    pub fn get(&mut self, path: &str) -> Answered {
        self.ask(get(path))
    }

    /// Sends a request with a body.
    pub fn post(&mut self, path: &str, body: &[u8]) -> Answered {
        let (response, mut stream) = self.send(post(path), false);
        stream
            .send_data(Bytes::copy_from_slice(body), true)
            .unwrap();
        self.read(response)
    }
}

pub fn get(path: &str) -> Request<()> {
    Request::get(format!("https://h{path}")).body(()).unwrap()
}

pub fn post(path: &str) -> Request<()> {
    Request::post(format!("https://h{path}")).body(()).unwrap()
}

pub async fn read_body(mut stream: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut body = Vec::new();
    while let Some(bytes) = stream.data().await {
        let bytes = bytes?;
        stream.flow_control().release_capacity(bytes.len())?;
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}
