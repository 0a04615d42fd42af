//! Handshakes of TLS 1.3, full or resumed, each followed by one request: `GET /version`.
//!
//! The clients are a process of their own (`cargo xtask bench handshake-client`), on the processors of the load.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, StreamOwned};

use super::{LoadResult, output_of};
use crate::error::Error;
use crate::peers::certificate::{self, NAME};
use crate::peers::placement::Placement;
use crate::routes::Route;

/// The threads that shake hands, each with one connection at a time.
pub(crate) const THREADS: usize = 16;

/// The longest time that the server may say nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// The options of `cargo xtask bench handshake-client`.
#[derive(Args)]
pub(crate) struct HandshakeClient {
    /// The server's address
    address: SocketAddr,
    /// The duration
    seconds: u32,
    /// Resume sessions
    #[arg(long)]
    resume: bool,
}

/// Connects for so long.
///
/// # Errors
///
/// When the server ends a connection, or does not resume what it should.
pub(super) fn load(
    placement: &Placement,
    server: SocketAddr,
    route: Route,
    seconds: u32,
) -> Result<LoadResult, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = placement.load(program);
    command.args([
        "handshake-client",
        &server.to_string(),
        &seconds.to_string(),
    ]);
    if route == Route::ResumedHandshake {
        command.arg("--resume");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let [output, errors] = output_of(&mut command, seconds, "handshake-client")?;
    LoadResult::from_line(&output).ok_or_else(|| errors.trim().to_owned())
}

/// Shakes hands for as long as it is told, and prints the figures.
///
/// # Errors
///
/// As [`load`].
pub(crate) fn handshake_client(options: &HandshakeClient) -> Result<bool, Error> {
    let begun = Instant::now();
    let end = begun + Duration::from_secs(u64::from(options.seconds));
    let mut threads = Vec::with_capacity(THREADS);
    for _ in 0..THREADS {
        let client = Client::new(options.address, options.resume)?;
        threads.push(thread::spawn(move || client.run(end)));
    }
    let mut micros = Vec::new();
    for thread in threads {
        micros.extend(thread.join().map_err(|_| "a thread panicked")??);
    }
    println!("{}", LoadResult::of(micros, begun.elapsed()).to_line());
    Ok(true)
}

struct Client {
    server: SocketAddr,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    resumes: bool,
}

impl Client {
    fn new(server: SocketAddr, resumes: bool) -> Result<Self, String> {
        let mut config = certificate::client(&crate::checkout::root())?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if !resumes {
            config.resumption = Resumption::disabled();
        }
        let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
        Ok(Self {
            server,
            config: Arc::new(config),
            name,
            resumes,
        })
    }

    /// The time of each connection in microseconds.
    fn run(&self, end: Instant) -> Result<Vec<f64>, String> {
        let mut micros = Vec::new();
        if self.resumes {
            // The first has nothing to resume.
            self.connect()?;
        }
        let wanted = match self.resumes {
            true => HandshakeKind::Resumed,
            false => HandshakeKind::Full,
        };
        while micros.is_empty() || Instant::now() < end {
            let one = Instant::now();
            let kind = self.connect()?;
            if kind != Some(wanted) {
                return Err(format!("a handshake was {kind:?} instead of {wanted:?}"));
            }
            micros.push(one.elapsed().as_secs_f64() * 1e6);
        }
        Ok(micros)
    }

    fn connect(&self) -> Result<Option<HandshakeKind>, String> {
        let told = |error: &dyn std::fmt::Display| format!("a handshake failed: {error}");
        let socket = TcpStream::connect(self.server).map_err(|error| told(&error))?;
        socket.set_nodelay(true).map_err(|error| told(&error))?;
        socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| told(&error))?;
        let tls = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let mut stream = StreamOwned::new(tls.map_err(|error| told(&error))?, socket);
        let request = format!("GET /version HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .map_err(|error| told(&error))?;
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                return Err(told(&error));
            }
            _ => {}
        }
        match answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"{\"version\":\"1.0\"}") {
            true => Ok(stream.conn.handshake_kind()),
            false => Err("a wrong answer after a handshake".to_owned()),
        }
    }
}
