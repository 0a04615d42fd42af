//! A way into TLS for clients that speak plain bytes: what they write is encrypted on its way, and what they read was.
//!
//! So every test of a connection can run over TLS as it is. Ends travel too: an orderly end of either side is a
//! `close_notify` and an orderly end on the other, and a reset is a reset. Nothing is read ahead of a client that reads
//! slowly.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use socket2::SockRef;

/// The most that is on its way in one step.
const STEP_BYTES: usize = 16 * 1024;

/// Connects to a server by TLS, as a client that asks for `name`. The plain end is returned; a thread moves the bytes
/// until both ends are closed.
///
/// # Errors
/// No server listens there.
pub fn tunnel(server: SocketAddr, config: Arc<ClientConfig>, name: &str) -> io::Result<TcpStream> {
    let server = TcpStream::connect(server)?;
    server.set_nodelay(true)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let plain = TcpStream::connect(listener.local_addr()?)?;
    plain.set_nodelay(true)?;
    let (inner, _) = listener.accept()?;
    inner.set_nodelay(true)?;
    for socket in [&server, &inner] {
        socket.set_nonblocking(true)?;
    }
    let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
    let tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
    let tunnel = Tunnel {
        server,
        client: inner,
        tls,
        to_client: Vec::new(),
        client_ended: false,
        server_ended: false,
        is_shut: false,
    };
    thread::Builder::new()
        .name("tunnel".to_owned())
        .spawn(move || tunnel.run())?;
    Ok(plain)
}

struct Tunnel {
    server: TcpStream,
    client: TcpStream,
    tls: ClientConnection,
    /// Plaintext from the server that the client has not taken.
    to_client: Vec<u8>,
    client_ended: bool,
    server_ended: bool,
    /// The client has been told of the server's end.
    is_shut: bool,
}

/// Reports whether an operation is to be tried again later.
fn is_later<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

impl Tunnel {
    fn run(mut self) {
        if self.carry().is_err() {
            // Not an orderly end, so the client is to see none.
            let _ = self.flush_client();
            let _ = SockRef::from(&self.client).set_linger(Some(Duration::ZERO));
        }
    }

    /// Moves bytes until both sides have ended.
    fn carry(&mut self) -> io::Result<()> {
        loop {
            while self.step()? {}
            if self.client_ended && self.server_ended {
                return Ok(());
            }
            self.wait()?;
        }
    }

    /// Waits for what could bring it further.
    fn wait(&self) -> io::Result<()> {
        let mut of_server = PollFlags::empty();
        let mut of_client = PollFlags::empty();
        if self.tls.wants_write() {
            of_server |= PollFlags::OUT;
        }
        if self.reads_server() {
            of_server |= PollFlags::IN;
        }
        if !self.to_client.is_empty() {
            of_client |= PollFlags::OUT;
        }
        if self.reads_client() {
            of_client |= PollFlags::IN;
        }
        // A closed client is noticed at the latest then, even where nothing is awaited of it.
        let time_max = Timespec {
            tv_sec: 0,
            tv_nsec: 50_000_000,
        };
        let mut files = [
            PollFd::new(&self.server, of_server),
            PollFd::new(&self.client, of_client),
        ];
        poll(&mut files, Some(&time_max))?;
        let is_reset = |file: &PollFd<'_>| file.revents().contains(PollFlags::ERR);
        // What a server has sent before is read first.
        if is_reset(&files[1]) || (is_reset(&files[0]) && !self.reads_server()) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }

    fn reads_server(&self) -> bool {
        !self.server_ended && self.to_client.is_empty() && self.tls.wants_read()
    }

    fn reads_client(&self) -> bool {
        !self.client_ended && !self.tls.is_handshaking() && !self.tls.wants_write()
    }

    /// Does what can be done now. False if that is nothing.
    fn step(&mut self) -> io::Result<bool> {
        let mut moved = false;
        while self.tls.wants_write() {
            let written = self.tls.write_tls(&mut self.server);
            if is_later(&written) {
                break;
            }
            written?;
            moved = true;
        }
        moved |= self.flush_client()?;
        if self.reads_server() {
            moved |= self.read_server()?;
        }
        if self.server_ended && self.to_client.is_empty() && !self.is_shut {
            self.is_shut = true;
            self.client.shutdown(Shutdown::Write)?;
        }
        if self.reads_client() {
            moved |= self.read_client()?;
        }
        Ok(moved)
    }

    fn flush_client(&mut self) -> io::Result<bool> {
        let mut moved = false;
        while !self.to_client.is_empty() {
            let written = self.client.write(&self.to_client);
            if is_later(&written) {
                break;
            }
            self.to_client.drain(..written?);
            moved = true;
        }
        Ok(moved)
    }

    fn read_server(&mut self) -> io::Result<bool> {
        let read = self.tls.read_tls(&mut self.server);
        if is_later(&read) {
            return Ok(false);
        }
        let len = read?;
        let processed = self.tls.process_new_packets();
        if let Err(error) = processed {
            // The alert is for the server; it comes or not.
            let _ = self.tls.write_tls(&mut self.server);
            return Err(io::Error::other(error));
        }
        let mut part = [0; STEP_BYTES];
        loop {
            match self.tls.reader().read(&mut part) {
                // The session has ended in order.
                Ok(0) => {
                    self.server_ended = true;
                    break;
                }
                Ok(len) => self.to_client.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The socket has ended before the session.
                Err(error) => return Err(error),
            }
        }
        if len == 0 && !self.server_ended {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(true)
    }

    fn read_client(&mut self) -> io::Result<bool> {
        let mut part = [0; STEP_BYTES];
        let read = self.client.read(&mut part);
        if is_later(&read) {
            return Ok(false);
        }
        match read? {
            0 => {
                self.client_ended = true;
                self.tls.send_close_notify();
            }
            len => self.tls.writer().write_all(&part[..len])?,
        }
        Ok(true)
    }
}
