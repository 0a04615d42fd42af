//! WebSockets over HTTP/2 (RFC 8441) for a client that knows frames only: a thread moves the bytes between a plain
//! connection and the stream of an extended CONNECT.

use bytes::Bytes;
use h2::ext::Protocol;
use h2::{RecvStream, SendStream};
use sampan_client::wait;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The bytes that are moved in one step.
const STEP_BYTES: usize = 16 * 1024;

/// A stream that the server has opened: its plain end, and the head of the answer as HTTP/1.1 would have it.
pub(crate) struct OpenStream {
    pub(crate) plain: TcpStream,
    pub(crate) head: String,
}

/// Connects with prior knowledge, and opens a stream.
///
/// # Errors
/// The server refuses, with the head of its answer, or cannot be reached.
pub(crate) fn open(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
) -> Result<OpenStream, String> {
    let mut request = http::Request::connect(format!("http://{address}{path}"))
        .extension(Protocol::from_static("websocket"))
        .header("sec-websocket-version", "13");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| error.to_string())?;
    let (ours, theirs) = pair().map_err(|error| error.to_string())?;
    let (tell, told) = sync_channel(1);
    let carry = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        if let Ok(runtime) = runtime {
            runtime.block_on(run(address, request, theirs, tell));
        }
    };
    let named = thread::Builder::new().name("http2".to_owned());
    named.spawn(carry).map_err(|error| error.to_string())?;
    let head = told.recv().map_err(|error| error.to_string())??;
    Ok(OpenStream { plain: ours, head })
}

/// Two ends of a connection.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    other.set_nonblocking(true)?;
    other.set_nodelay(true)?;
    Ok((one, other))
}

async fn run(
    address: SocketAddr,
    request: http::Request<()>,
    plain: TcpStream,
    tell: SyncSender<Result<String, String>>,
) {
    let told = |error: &dyn std::fmt::Display| Err(error.to_string());
    let opened = begin(address, request).await;
    let (stream, answer) = match opened {
        Ok(opened) => opened,
        Err(error) => return drop(tell.send(told(&error))),
    };
    let (head, receiving) = answer.into_parts();
    let mut text = format!("HTTP/2 {}\r\n", head.status.as_u16());
    for (name, value) in &head.headers {
        text.push_str(&format!(
            "{name}: {}\r\n",
            String::from_utf8_lossy(value.as_bytes())
        ));
    }
    if head.status != http::StatusCode::OK {
        return drop(tell.send(Err(format!("the server refused:\n{text}"))));
    }
    let plain = match tokio::net::TcpStream::from_std(plain) {
        Ok(plain) => plain,
        Err(error) => return drop(tell.send(told(&error))),
    };
    let (reading, writing) = plain.into_split();
    if tell.send(Ok(text)).is_ok() {
        tokio::join!(upwards(reading, stream), downwards(receiving, writing));
    }
}

async fn begin(
    address: SocketAddr,
    request: http::Request<()>,
) -> Result<(SendStream<Bytes>, http::Response<RecvStream>), Box<dyn std::error::Error>> {
    let socket = tokio::net::TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let (requests, connection) = h2::client::handshake(socket).await?;
    let connection = tokio::task::spawn(connection);
    // The server says first that it knows the protocol (RFC 8441 section 3).
    let is_known = || requests.is_extended_connect_protocol_enabled() || connection.is_finished();
    wait::until_async("the settings of the server", is_known).await;
    let mut requests = requests.ready().await?;
    let (response, stream) = requests.send_request(request, false)?;
    Ok((stream, response.await?))
}

/// Moves what the client writes. Its end is that of the stream.
async fn upwards(mut plain: OwnedReadHalf, mut stream: SendStream<Bytes>) {
    let mut part = vec![0; STEP_BYTES];
    loop {
        let len = plain.read(&mut part).await.unwrap_or(0);
        if len == 0 {
            let _ = stream.send_data(Bytes::new(), true);
            return;
        }
        let mut sent = 0;
        while sent < len {
            stream.reserve_capacity(len - sent);
            let Some(Ok(room)) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else {
                return;
            };
            let piece = Bytes::copy_from_slice(&part[sent..len.min(sent + room)]);
            sent += piece.len();
            if stream.send_data(piece, false).is_err() {
                return;
            }
        }
    }
}

/// Moves what the server sends. Nothing is received ahead of a client that reads slowly.
async fn downwards(mut stream: RecvStream, mut plain: OwnedWriteHalf) {
    while let Some(Ok(piece)) = stream.data().await {
        if plain.write_all(&piece).await.is_err() {
            return;
        }
        let _ = stream.flow_control().release_capacity(piece.len());
    }
    let _ = plain.shutdown().await;
}
