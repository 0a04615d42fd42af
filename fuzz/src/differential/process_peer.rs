//! Peers in processes of their own: small servers in `fuzz/differential/` that answer each request with what they
//! saw, hexadecimal in a header, so that HEAD tells it too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{ComparedServer, SeenRequest};

/// A server that has said nothing for so long will not say more.
const SILENCE_MAX: Duration = Duration::from_millis(1_000);

/// The header in which the servers report.
const REPORT: &[u8] = b"x-seen: ";

pub(super) struct ProcessPeer {
    name: &'static str,
    child: Child,
    address: SocketAddr,
}

/// Starts `go` or `node`; the inner error says why it cannot be.
pub(super) fn start(name: &'static str) -> io::Result<Result<ProcessPeer, String>> {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("differential");
    if name == "node" {
        return spawn(name, Command::new(name).arg(sources.join("peer.mjs")));
    }
    let binary =
        std::env::temp_dir().join(format!("sampan-differential-go-{}", std::process::id()));
    let mut build = Command::new(name);
    build
        .args(["build", "-o"])
        .arg(&binary)
        .arg(sources.join("peer.go"));
    let started = match build.output() {
        Err(error) => Err(format!("go cannot be run: {error}")),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("go build failed: {said}"))
        }
        Ok(_) => spawn(name, &mut Command::new(&binary))?,
    };
    // The process keeps running without its file.
    let _ = std::fs::remove_file(binary);
    Ok(started)
}

/// Starts a server that prints its address as its first line.
fn spawn(name: &'static str, command: &mut Command) -> io::Result<Result<ProcessPeer, String>> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Err(format!("{name} cannot be run: {error}"))),
    };
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    match line.trim().parse() {
        Ok(address) => Ok(Ok(ProcessPeer {
            name,
            child,
            address,
        })),
        Err(_) => {
            child.kill()?;
            child.wait()?;
            Ok(Err(format!("its server did not start, and said {line:?}")))
        }
    }
}

impl Drop for ProcessPeer {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ComparedServer for ProcessPeer {
    fn ask(&mut self, bytes: &[u8]) -> io::Result<Vec<SeenRequest>> {
        let mut socket = TcpStream::connect(self.address)?;
        socket.set_read_timeout(Some(SILENCE_MAX))?;
        // A server that has refused the beginning may not take the rest.
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(Shutdown::Write);
        let (mut answer, mut part) = (Vec::new(), [0; 16 * 1024]);
        loop {
            match socket.read(&mut part) {
                Ok(0) => break,
                Ok(len) => answer.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                // Node leaves some connections open for ever, such as those that ask for another protocol.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    return Err(io::Error::other(format!(
                        "{}: {error} for {:?}",
                        self.name,
                        String::from_utf8_lossy(bytes)
                    )));
                }
            }
        }
        answer
            .split(|&byte| byte == b'\n')
            .filter_map(|line| line.to_ascii_lowercase().strip_prefix(REPORT).map(parse))
            .collect()
    }
}

/// `method target body`, each hexadecimal, with `.` between them.
fn parse(report: &[u8]) -> io::Result<SeenRequest> {
    let malformed = || {
        io::Error::other(format!(
            "malformed report {:?}",
            String::from_utf8_lossy(report)
        ))
    };
    let text = std::str::from_utf8(report).map_err(|_| malformed())?.trim();
    let mut parts = text.split('.').map(|hex| {
        (0..hex.len())
            .step_by(2)
            .map(|at| {
                hex.get(at..at + 2)
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            })
            .collect::<Option<Vec<u8>>>()
    });
    let mut part = || parts.next().flatten().ok_or_else(malformed);
    Ok(SeenRequest {
        method: part()?,
        target: part()?,
        body: part()?,
    })
}
