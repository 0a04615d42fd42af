//! Messages over WebSockets: an echo on each socket, or one message that all sockets get.
//!
//! The clients are a process of their own (`cargo xtask bench socket-client`), as they have thousands of open files.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::LoadResult;
use super::client_process::{READY, serve_on_runtime};
use super::websocket::{accepted, handshake, text_at, text_frame};
use crate::error::Error;

/// The text that a server of `/publish` sends to a socket once it is subscribed.
pub(super) const SUBSCRIBED: &str = "subscribed";

/// The longest time that a message may be on its way.
const PATIENCE: Duration = Duration::from_secs(20);

/// The room for what is read at once.
const READ_BYTES: usize = 32 * 1024;

/// The options of `cargo xtask bench socket-client`.
#[derive(Args)]
pub(crate) struct SocketClient {
    /// The server's address
    address: SocketAddr,
    /// The path: a message to /publish is for all sockets
    path: String,
    /// The text of each message
    text: String,
    /// The number of sockets
    sockets: usize,
}

/// Opens the sockets, says so, and sends messages for each line of standard input: the seconds, and the pause after a
/// message that is published, in milliseconds. Faults go to standard output, too.
///
/// # Errors
///
/// When standard output is closed.
pub(crate) fn socket_client(options: &SocketClient) -> Result<bool, Error> {
    serve_on_runtime(serve(options))
}

async fn serve(options: &SocketClient) -> io::Result<()> {
    let mut clients = Clients::open(options).await?;
    println!("{READY}");
    for line in io::stdin().lines() {
        let line = line?;
        let (seconds, millis) = line.trim().split_once(' ').unwrap_or_default();
        let seconds = seconds.parse().map_err(io::Error::other)?;
        let pause = millis.parse().map_err(io::Error::other)?;
        let (time, pause) = (Duration::from_secs(seconds), Duration::from_millis(pause));
        let begun = Instant::now();
        let micros = clients.send(time, pause).await?;
        println!("{}", LoadResult::of(micros, begun.elapsed()).to_line());
    }
    Ok(())
}

/// Open sockets that have been used.
enum Clients {
    Echo(Vec<Socket>, String),
    Publish(Crowd),
}

impl Clients {
    async fn open(options: &SocketClient) -> io::Result<Self> {
        let publishes = options.path == "/publish";
        let mut sockets = Vec::with_capacity(options.sockets);
        for _ in 0..options.sockets {
            let mut socket = Socket::open(options.address, &options.path).await?;
            if publishes {
                socket.receive(SUBSCRIBED).await?;
            } else {
                let frame = text_frame(&options.text);
                socket.echo(&frame, &options.text).await?;
            }
            sockets.push(socket);
        }
        if !publishes {
            return Ok(Self::Echo(sockets, options.text.clone()));
        }
        let crowd = Crowd::new(sockets, options);
        Ok(Self::Publish(
            crowd.ok_or_else(|| io::Error::other("no sockets"))?,
        ))
    }

    /// Sends messages for so long. Gives the time of each in microseconds.
    async fn send(&mut self, time: Duration, pause: Duration) -> io::Result<Vec<f64>> {
        let end = Instant::now() + time;
        match self {
            Self::Echo(sockets, text) => echo_all(sockets, text, end).await,
            Self::Publish(crowd) => crowd.publish(end, pause).await,
        }
    }
}

/// Sends a message on each socket again and again, each after the echo of the one before. Gives the times in
/// microseconds.
async fn echo_all(sockets: &mut Vec<Socket>, text: &str, end: Instant) -> io::Result<Vec<f64>> {
    let mut tasks = Vec::with_capacity(sockets.len());
    for mut socket in sockets.drain(..) {
        let text = text.to_owned();
        tasks.push(tokio::task::spawn_local(async move {
            let (frame, mut micros) = (text_frame(&text), Vec::new());
            while micros.is_empty() || Instant::now() < end {
                let one = Instant::now();
                socket.echo(&frame, &text).await?;
                micros.push(one.elapsed().as_secs_f64() * 1e6);
            }
            Ok::<_, io::Error>((socket, micros))
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        let (socket, micros) = task.await.map_err(io::Error::other)??;
        sockets.push(socket);
        all.extend(micros);
    }
    Ok(all)
}

/// Sockets that all get what one of them publishes.
struct Crowd {
    publisher: tokio::net::tcp::OwnedWriteHalf,
    frame: Vec<u8>,
    members: usize,
    arrived: Rc<Arrived>,
}

/// The messages that have arrived.
#[derive(Default)]
struct Arrived {
    count: Cell<usize>,
    fault: Cell<Option<io::Error>>,
    changed: Notify,
}

impl Crowd {
    /// Has all sockets read from now on.
    fn new(sockets: Vec<Socket>, options: &SocketClient) -> Option<Self> {
        let (members, arrived) = (sockets.len(), Rc::new(Arrived::default()));
        let mut publisher = None;
        for Socket { stream, input } in sockets {
            let (mut reader, writer) = stream.into_split();
            let (arrived, text) = (Rc::clone(&arrived), options.text.clone());
            // A socket that is not written to ends with its writing half.
            let kept = publisher.replace(writer);
            tokio::task::spawn_local(async move {
                let (_kept, mut input) = (kept, input);
                loop {
                    match receive(&mut reader, &mut input, &text).await {
                        Ok(()) => {
                            arrived.count.set(arrived.count.get() + 1);
                            if arrived.count.get() == members {
                                arrived.changed.notify_one();
                            }
                        }
                        Err(fault) => {
                            arrived.fault.set(Some(fault));
                            return arrived.changed.notify_one();
                        }
                    }
                }
            });
        }
        Some(Self {
            publisher: publisher?,
            frame: text_frame(&options.text),
            members,
            arrived,
        })
    }

    /// Publishes messages, each after all sockets have got the one before, and after the pause.
    async fn publish(&mut self, end: Instant, pause: Duration) -> io::Result<Vec<f64>> {
        let mut micros = Vec::new();
        while micros.is_empty() || Instant::now() < end {
            let one = Instant::now();
            self.arrived.count.set(0);
            self.publisher.write_all(&self.frame).await?;
            let all = tokio::time::timeout(PATIENCE, self.arrived.changed.notified());
            let in_time = all.await;
            if let Some(fault) = self.arrived.fault.take() {
                return Err(fault);
            }
            in_time.map_err(|_| {
                let (count, members) = (self.arrived.count.get(), self.members);
                io::Error::other(format!("{count} of {members} sockets got a message"))
            })?;
            micros.push(one.elapsed().as_secs_f64() * 1e6);
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(micros)
    }
}

/// An open socket, and what was read beyond the last message.
pub(super) struct Socket {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Socket {
    pub(super) async fn open(address: SocketAddr, path: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let request = handshake(&address.to_string(), path);
        stream.write_all(request.as_bytes()).await?;
        let mut input = Vec::new();
        loop {
            if let Some(len) = accepted(&input)? {
                input.drain(..len);
                // What is idle owns nothing.
                input.shrink_to_fit();
                return Ok(Self { stream, input });
            }
            read(&mut stream, &mut input).await?;
        }
    }

    /// Sends a message, and waits until it comes back.
    pub(super) async fn echo(&mut self, frame: &[u8], text: &str) -> io::Result<()> {
        self.stream.write_all(frame).await?;
        self.receive(text).await
    }

    /// Waits for a message, which must be this text.
    pub(super) async fn receive(&mut self, text: &str) -> io::Result<()> {
        let received = receive(&mut self.stream, &mut self.input, text);
        tokio::time::timeout(PATIENCE, received).await?
    }
}

/// Waits for a message, which must be this text.
async fn receive(
    stream: &mut (impl AsyncReadExt + Unpin),
    input: &mut Vec<u8>,
    text: &str,
) -> io::Result<()> {
    loop {
        if let Some((start, end)) = text_at(input)? {
            if &input[start..end] != text.as_bytes() {
                return Err(io::Error::other("another message than was sent"));
            }
            input.drain(..end);
            return Ok(());
        }
        read(stream, input).await?;
    }
}

async fn read(stream: &mut (impl AsyncReadExt + Unpin), input: &mut Vec<u8>) -> io::Result<()> {
    if input.capacity() - input.len() < READ_BYTES / 2 && input.len() > 1_000 {
        input.reserve(READ_BYTES);
    }
    match stream.read_buf(input).await? {
        0 => Err(io::Error::other("the server ended a socket")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream as StdStream};
    use std::sync::{Arc, Mutex};
    use tokio::task::LocalSet;

    /// A server that echoes frames with `change`, or sends them to all sockets of `/publish`.
    fn server(change: fn(&mut Vec<u8>)) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let all = Arc::new(Mutex::new(Vec::new()));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || serve_one(stream, &all, change));
            }
        });
        address
    }

    fn serve_one(mut stream: StdStream, all: &Mutex<Vec<StdStream>>, change: fn(&mut Vec<u8>)) {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).expect("a request");
            head.push(byte[0]);
        }
        let accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        let answer = format!("HTTP/1.1 101 Switching Protocols\r\n{accept}\r\n\r\n");
        stream.write_all(answer.as_bytes()).expect("written");
        let publishes = head.starts_with(b"GET /publish ");
        if publishes {
            let mut members = all.lock().expect("no panic");
            members.push(stream.try_clone().expect("a copy"));
            stream.write_all(b"\x81\x0asubscribed").expect("written");
        }
        let mut frame = [0; 6];
        while stream.read_exact(&mut frame).is_ok() {
            let mut text = vec![0; usize::from(frame[1] & 0x7f)];
            stream.read_exact(&mut text).expect("a payload");
            let unmasked = text.iter().zip(frame[2..].iter().cycle());
            let mut message = vec![0x81, text.len() as u8];
            message.extend(unmasked.map(|(byte, mask)| byte ^ mask));
            change(&mut message);
            let mut members = all.lock().expect("no panic");
            match publishes {
                true => members
                    .iter_mut()
                    .for_each(|to| to.write_all(&message).expect("written")),
                false => stream.write_all(&message).expect("written"),
            }
        }
    }

    /// Sends messages on three sockets for a moment, and gives their number.
    fn messages(path: &str, change: fn(&mut Vec<u8>)) -> io::Result<usize> {
        let options = SocketClient {
            address: server(change),
            path: path.to_owned(),
            text: "a text".to_owned(),
            sockets: 3,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        LocalSet::new().block_on(&runtime, async {
            let mut clients = Clients::open(&options).await?;
            Ok(clients.send(Duration::ZERO, Duration::ZERO).await?.len())
        })
    }

    #[test]
    fn each_socket_gets_its_echo_and_all_get_what_is_published() {
        assert_eq!(messages("/echo", |_| {}).ok(), Some(3), "one on each");
        assert_eq!(messages("/publish", |_| {}).ok(), Some(1), "one for all");
    }

    #[test]
    fn a_wrong_message_is_found() {
        for path in ["/echo", "/publish"] {
            let fault = messages(path, |message| message[3] ^= 1)
                .err()
                .map(|fault| fault.to_string());
            assert_eq!(
                fault.as_deref(),
                Some("another message than was sent"),
                "{path}"
            );
        }
        assert!(
            messages("/echo", |message| message[0] = 0x82).is_err(),
            "bytes"
        );
    }
}
