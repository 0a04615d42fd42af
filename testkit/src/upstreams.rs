//! Servers beside the app of a case: each says the same to everyone, as a faulty server does.

use crate::scenario::{OneOrMore, Request, Upstream};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Those of one case. They end with this.
pub(crate) struct Upstreams {
    named: Vec<(String, SocketAddr)>,
    has_ended: Arc<AtomicBool>,
}

impl Upstreams {
    /// Starts a thread for each.
    ///
    /// # Errors
    /// There is no port.
    pub(crate) fn start(upstreams: &[Upstream]) -> Result<Self, String> {
        let has_ended = Arc::new(AtomicBool::new(false));
        let mut named = Vec::new();
        for upstream in upstreams {
            let listener = TcpListener::bind("127.0.0.1:0");
            let listener = listener.map_err(|error| format!("no port: {error}"))?;
            let address = listener.local_addr().map_err(|error| error.to_string())?;
            named.push((upstream.name.clone(), address));
            let (upstream, has_ended) = (Arc::new(upstream.clone()), Arc::clone(&has_ended));
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if has_ended.load(Relaxed) {
                        return;
                    }
                    let upstream = Arc::clone(&upstream);
                    std::thread::spawn(move || drop(serve(stream, &upstream)));
                }
            });
        }
        Ok(Self { named, has_ended })
    }

    /// Tells their addresses in the fields of a request.
    pub(crate) fn name_in(&self, request: &mut Request) {
        for (name, address) in &self.named {
            let value = OneOrMore::One(address.to_string());
            request.headers.insert(format!("x-{name}"), value);
        }
    }
}

impl Drop for Upstreams {
    fn drop(&mut self) {
        self.has_ended.store(true, Relaxed);
        for (_, address) in &self.named {
            // Wakes the thread that accepts.
            drop(TcpStream::connect(address));
        }
    }
}

/// Answers what comes on a connection. Ends with an error when the client closes it.
fn serve(mut stream: TcpStream, upstream: &Upstream) -> std::io::Result<()> {
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    stream.write_all(upstream.answer.as_bytes())?;
    while !upstream.endless.is_empty() {
        stream.write_all(upstream.endless.as_bytes())?;
    }
    // Until the client closes.
    while upstream.stalls && stream.read(&mut buffer)? > 0 {}
    Ok(())
}
