//! A room of WebSockets in which messages are published at a steady pace: `cargo xtask bench room-client`. Its members
//! read them, or have stopped reading.
//!
//! The clients are a process of their own, as they have thousands of open files.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;
use socket2::{Domain, Type};
use tokio::io::AsyncReadExt;

use super::client_process::{ClientProcess, READY, serve_on_runtime};
use super::socket_client::{SUBSCRIBED, Socket};
use super::websocket::{accepted, handshake, text_frame};
use crate::error::Error;
use crate::peers::placement::Placement;

/// The path of the room.
const PATH: &str = "/publish";
/// The length of a message.
const MESSAGE_BYTES: usize = 16_000;
/// The time from one message to the next.
const PAUSE: Duration = Duration::from_millis(250);
/// The messages that are published before anything is measured: more than the system keeps for a client of small
/// segments that does not read.
const FIRST_MESSAGES: usize = 12;
/// The largest segments of a client that does not read, and the room that it has for them: the system keeps little.
const STUCK_SEGMENT_BYTES: u32 = 536;
const STUCK_BUFFER_BYTES: usize = 4_096;

/// The options of `cargo xtask bench room-client`.
#[derive(Args)]
pub(crate) struct RoomClient {
    /// The server's address
    address: SocketAddr,
    /// The number of sockets beside the one that publishes
    members: usize,
    /// The members do not read
    #[arg(long)]
    stuck: bool,
    /// No message is published after the first ones
    #[arg(long)]
    quiet: bool,
}

/// Opens the sockets, publishes the first messages, says so, and publishes until standard input ends. Faults go to
/// standard output, too.
///
/// # Errors
///
/// When a socket cannot be opened, or the server ends that of the publisher.
pub(crate) fn room_client(options: &RoomClient) -> Result<bool, Error> {
    serve_on_runtime(serve(options))
}

async fn serve(options: &RoomClient) -> io::Result<()> {
    let mut stuck = Vec::new();
    for _ in 0..options.members {
        let stream = open(options.address, options.stuck)?;
        match options.stuck {
            true => stuck.push(stream),
            false => read_on(stream)?,
        }
    }
    let mut publisher = Socket::open(options.address, PATH).await?;
    publisher.receive(SUBSCRIBED).await?;
    let text = "x".repeat(MESSAGE_BYTES);
    let frame = text_frame(&text);
    for _ in 0..FIRST_MESSAGES {
        publisher.echo(&frame, &text).await?;
    }
    println!("{READY}");
    let (ended, mut end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    while tokio::time::timeout(PAUSE, &mut end).await.is_err() {
        if !options.quiet {
            publisher.echo(&frame, &text).await?;
        }
    }
    drop(stuck);
    Ok(())
}

/// Opens a socket, and reads the answer to its handshake.
fn open(address: SocketAddr, is_stuck: bool) -> io::Result<TcpStream> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if is_stuck {
        socket.set_recv_buffer_size(STUCK_BUFFER_BYTES)?;
        socket.set_tcp_mss(STUCK_SEGMENT_BYTES)?;
    }
    socket.connect(&address.into())?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(handshake(&address.to_string(), PATH).as_bytes())?;
    let (mut input, mut part) = (Vec::new(), [0; 1024]);
    while accepted(&input)?.is_none() {
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => input.extend_from_slice(&part[..len]),
        }
    }
    Ok(stream)
}

/// Reads all that comes from now on.
fn read_on(stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let mut stream = tokio::net::TcpStream::from_std(stream)?;
    tokio::task::spawn_local(async move {
        let mut space = vec![0; MESSAGE_BYTES];
        while let Ok(1..) = stream.read(&mut space).await {}
    });
    Ok(())
}

/// A running room; its sockets are open until it is dropped.
pub(crate) struct Room {
    _clients: ClientProcess,
}

impl Room {
    /// Starts the clients on the processors of the load with the options of [`RoomClient`], and waits until all are
    /// there and the first messages are published.
    ///
    /// # Errors
    ///
    /// When a socket cannot be opened, with its own words.
    pub(crate) fn open(
        placement: &Placement,
        address: SocketAddr,
        members: usize,
        options: &[&str],
    ) -> Result<Self, String> {
        let (address, count) = (address.to_string(), members.to_string());
        let mut arguments = vec!["room-client", address.as_str(), count.as_str()];
        arguments.extend(options);
        let opened = ClientProcess::open(|program| placement.load(program), &arguments);
        let clients = opened.map_err(|fault| format!("a room of {members} sockets: {fault}"))?;
        Ok(Self { _clients: clients })
    }
}
