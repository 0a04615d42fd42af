//! Peers in processes of their own: small servers in `fuzz/differential/` that answer each request with what they
//! saw, hexadecimal in a header, so that HEAD tells it too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Peer, Seen};

/// A server that has said nothing for so long will not say more.
const SILENCE_MAX: Duration = Duration::from_millis(1_000);

/// The header in which the servers report.
const REPORT: &[u8] = b"x-seen: ";

pub(super) struct ProcessPeer {
    name: &'static str,
    child: Child,
    address: SocketAddr,
}

/// A running peer, or its name and why there is none.
type Started = Result<ProcessPeer, (&'static str, String)>;

/// Go's net/http, if `go` is installed.
pub(super) fn start_go() -> io::Result<Started> {
    let binary =
        std::env::temp_dir().join(format!("sampan-differential-go-{}", std::process::id()));
    let built = Command::new("go")
        .arg("build")
        .arg("-o")
        .arg(&binary)
        .arg(source("peer.go"))
        .stderr(Stdio::piped())
        .output();
    let started = match built {
        Err(error) => Err(("go", format!("go cannot be run: {error}"))),
        Ok(output) if !output.status.success() => Err((
            "go",
            format!(
                "go build failed: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
        )),
        Ok(_) => start("go", Command::new(&binary))?,
    };
    // The process keeps running without its file.
    let _ = std::fs::remove_file(binary);
    Ok(started)
}

/// Node's http, if `node` is installed.
pub(super) fn start_node() -> io::Result<Started> {
    let mut command = Command::new("node");
    command.arg(source("peer.mjs"));
    start("node", command)
}

fn source(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("differential")
        .join(name)
}

/// Starts a server that prints its address as its first line.
fn start(name: &'static str, mut command: Command) -> io::Result<Started> {
    let mut child = match command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
    {
        Ok(child) => child,
        Err(error) => return Ok(Err((name, format!("{name} cannot be run: {error}")))),
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
            Ok(Err((
                name,
                format!("its server did not start, and said {line:?}"),
            )))
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

impl Peer for ProcessPeer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ask(&mut self, bytes: &[u8]) -> io::Result<Vec<Seen>> {
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
fn parse(report: &[u8]) -> io::Result<Seen> {
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
    Ok(Seen {
        method: part()?,
        target: part()?,
        body: part()?,
    })
}
