//! Clients that connect, ask once and then say nothing: what an idle keep-alive connection costs the server.
//!
//! They are a process of their own (`cargo xtask bench idle-client`), so that their memory and their open files are
//! not the server's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use clap::Args;
use rustls::{ClientConnection, StreamOwned};

use crate::Error;
use crate::peers::certificate::{self, NAME};
use crate::peers::children::Child;
use crate::peers::placement::with_files;
use crate::peers::target::{Protocol, Target};
use sampan_client::Client;

/// The line that the client process prints once all its connections are idle.
const READY: &str = "ready";

/// The longest time that it may take to open all connections.
const READY_SECONDS_MAX: u64 = 60;

/// The options of `cargo xtask bench idle-client`.
#[derive(Args)]
pub(crate) struct IdleClient {
    /// The server's address
    address: SocketAddr,
    /// The number of connections to hold open
    connections: usize,
    /// Connect by TLS
    #[arg(long)]
    tls: bool,
}

/// Opens the connections, makes one request on each, says so, and holds them until standard input ends.
///
/// # Errors
///
/// When a connection cannot be opened or is not answered.
pub(crate) fn idle_client(options: &IdleClient) -> Result<bool, Error> {
    match options.tls {
        true => {
            let config = Arc::new(certificate::client(&crate::root())?);
            hold(options.connections, || secured(options.address, &config))
        }
        false => hold(options.connections, || plain(options.address)),
    }
}

fn hold<T>(count: usize, open: impl Fn() -> Result<T, Error>) -> Result<bool, Error> {
    let mut connections = Vec::with_capacity(count);
    for number in 1..=count {
        let opened = open().map_err(|error| format!("connection {number}: {error}"))?;
        connections.push(opened);
    }
    println!("{READY}");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(true)
}

fn plain(server: SocketAddr) -> Result<Client, Error> {
    let mut client = Client::connect(server)?;
    client.ask("GET", "/version", &[], "")?;
    Ok(client)
}

/// Connects by TLS, and waits for one answer.
fn secured(
    server: SocketAddr,
    config: &Arc<rustls::ClientConfig>,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Error> {
    let name = NAME.try_into()?;
    let tls = ClientConnection::new(Arc::clone(config), name)?;
    let mut stream = StreamOwned::new(tls, TcpStream::connect(server)?);
    stream.write_all(format!("GET /version HTTP/1.1\r\nHost: {NAME}\r\n\r\n").as_bytes())?;
    let (mut answer, mut part) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"}") {
        match stream.read(&mut part)? {
            0 => return Err("the server ended it".into()),
            len => answer.extend_from_slice(&part[..len]),
        }
    }
    Ok(stream)
}

/// A running client process; its connections are open until it is dropped.
pub(crate) struct IdleConnections {
    _child: Child,
}

impl IdleConnections {
    /// Starts the client and waits until all connections are idle.
    ///
    /// # Errors
    ///
    /// When it cannot open them all, with its own words.
    pub(crate) fn open(target: impl Into<Target>, connections: usize) -> Result<Self, String> {
        let target = target.into();
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = with_files(program);
        command.args([
            "idle-client",
            &target.address.to_string(),
            &connections.to_string(),
        ]);
        if target.protocol != Protocol::Http {
            command.arg("--tls");
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Child::start(&mut command).map_err(|error| error.to_string())?;
        let (output, errors) = (child.pipes().stdout.take(), child.pipes().stderr.take());
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            if let Some(pipe) = output {
                // An empty line is a client that ended, which the other side sees.
                let _ = BufReader::new(pipe).read_line(&mut line);
            }
            let mut words = String::new();
            if let (true, Some(mut pipe)) = (line.trim() != READY, errors) {
                let _ = pipe.read_to_string(&mut words);
            }
            let _ = sender.send((line, words));
        });
        match receiver.recv_timeout(Duration::from_secs(READY_SECONDS_MAX)) {
            Ok((line, _)) if line.trim() == READY => Ok(Self { _child: child }),
            Ok((_, words)) => Err(format!("{connections} idle connections: {}", words.trim())),
            Err(_) => Err(format!(
                "{connections} idle connections were not open after {READY_SECONDS_MAX} s"
            )),
        }
    }
}
