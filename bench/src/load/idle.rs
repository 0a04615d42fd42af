//! Clients that connect, ask once and then say nothing: what an idle keep-alive connection costs the server.
//!
//! They are a process of their own (`cargo xtask bench idle-client`), so that their memory and their open files are
//! not the server's.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use clap::Args;
use rustls::{ClientConnection, StreamOwned};

use super::client_process::{ClientProcess, READY, told};
use crate::error::Error;
use crate::peers::certificate::{self, NAME};
use crate::peers::placement::with_files;
use crate::peers::target::{Protocol, Target};
use sampan_client::Client;

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

/// Opens the connections, makes one request on each, says so, and holds them until standard input ends. Faults go to
/// standard output, too.
///
/// # Errors
///
/// When there is no certificate.
pub(crate) fn idle_client(options: &IdleClient) -> Result<bool, Error> {
    let held = match options.tls {
        true => {
            let config = Arc::new(certificate::client(&crate::checkout::root())?);
            hold(options.connections, || secured(options.address, &config))
        }
        false => hold(options.connections, || plain(options.address)),
    };
    Ok(told(&held))
}

fn hold<T>(count: usize, open: impl Fn() -> Result<T, Error>) -> Result<(), Error> {
    let mut connections = Vec::with_capacity(count);
    for number in 1..=count {
        let opened = open().map_err(|error| format!("connection {number}: {error}"))?;
        connections.push(opened);
    }
    println!("{READY}");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
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
    _clients: ClientProcess,
}

impl IdleConnections {
    /// Starts the client and waits until all connections are idle.
    ///
    /// # Errors
    ///
    /// When it cannot open them all, with its own words.
    pub(crate) fn open(target: impl Into<Target>, connections: usize) -> Result<Self, String> {
        let target = target.into();
        let (address, count) = (target.address.to_string(), connections.to_string());
        let mut arguments = vec!["idle-client", address.as_str(), count.as_str()];
        arguments.extend((target.protocol != Protocol::Http).then_some("--tls"));
        let clients = ClientProcess::open(with_files, &arguments)
            .map_err(|fault| format!("{connections} idle connections: {fault}"))?;
        Ok(Self { _clients: clients })
    }
}
