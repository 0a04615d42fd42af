//! The addresses of a server: several addresses, Unix sockets, sockets that systemd hands over; what systemd is told;
//! and `--user`.

use crate::support::{Process, Scratch, ends_well};
use sampan_client::certificates::Identity;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const APP: &str = "local app = require 'sampan'\n\
    app.get('/', function(req) return { ip = req.ip } end)\n\
    app.post('/', function(req) return { bytes = #req:bytes() } end)\n\
    app.get('/write', function() app.db.exec('CREATE TABLE IF NOT EXISTS t (x)') return 'x' end)\n";
/// The longest time that something may take on a machine that compiles meanwhile.
const TIME_MAX: Duration = Duration::from_secs(20);

fn run(scratch: &Scratch, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command
        .arg("run")
        .arg(scratch.path())
        .args(["--workers", "1"]);
    command.args(more);
    command
}

/// Sends one request over a Unix socket, and gives the whole answer.
fn ask(path: &Path, head: &str, body: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).expect("someone listens");
    stream.set_read_timeout(Some(TIME_MAX)).expect("set");
    let length = body.len();
    let head = format!("{head}Host: h\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(body).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_proxy_is_believed_behind_bytes_that_are_no_text() {
    let settings = "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n";
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", settings)]);
    let process = Process::start(&mut run(&scratch, &["--listen", "127.0.0.1:0"]));
    let mut stream = TcpStream::connect(process.address).expect("someone listens");
    stream.set_read_timeout(Some(TIME_MAX)).expect("set");
    let request = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Forwarded-For: \xff, 203.0.113.9\r\n\r\n";
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with(r#"{"ip":"203.0.113.9"}"#), "{answer}");
    ends_well(process);
}

#[test]
fn a_certificate_on_the_command_line_makes_it_https() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let identity = Identity::new(&["localhost"]);
    let certificate = identity.certificate_file().display().to_string();
    let key = identity.key_file().display().to_string();
    let listen = ["--listen", "127.0.0.1:0"];
    let options = ["--tls-cert", &certificate, "--tls-key", &key];
    let process = Process::start(run(&scratch, &listen).args(options));
    let mut stream = identity.tunnel(process.address);
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.ends_with(r#"{"ip":"127.0.0.1"}"#), "{answer}");
    ends_well(process);

    let mut command = run(&scratch, &listen);
    command.args(options).env("SAMPAN_TLS_REDIRECT", "true");
    command.env("SAMPAN_TLS_REDIRECT_LISTEN", "127.0.0.1:0");
    let process = Process::start_until(&mut command, "which redirects) with");
    ends_well(process);

    let stranger = Identity::new(&["localhost"]);
    let other = stranger.key_file().display().to_string();
    for (options, status, words) in [
        (&["--tls-cert", &certificate][..], 2, "--tls-key"),
        (
            &["--tls-cert", "/nowhere", "--tls-key", &key],
            1,
            "/nowhere",
        ),
        (
            &["--tls-cert", &certificate, "--tls-key", &other],
            1,
            "the key is not the one",
        ),
    ] {
        let output = run(&scratch, &listen).args(options).output();
        let output = output.expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{options:?}: {told}");
        assert!(told.contains(words), "{options:?}: {told}");
    }
}

#[test]
fn a_unix_socket_and_several_ports_are_served() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    fs::create_dir(scratch.path().join("public")).expect("a folder");
    let large = "x".repeat(3 << 20);
    fs::write(scratch.path().join("public/large.txt"), &large).expect("written");
    let toml = "[server]\nlisten = ['127.0.0.1:0', 'unix:app.sock', '[::1]:0']\n\
        trusted_proxies = ['unix:']\n[limits]\nbody_bytes_max = '4MB'\n[log]\naccess = 'common'\n";
    fs::write(scratch.path().join("sampan.toml"), toml).expect("written");
    let socket = scratch.path().join("app.sock");
    // One that a killed server has left.
    drop(UnixListener::bind(&socket).expect("bound"));
    let out = fs::File::create(scratch.path().join("access")).expect("a file");
    let process = Process::start_with_output(&mut run(&scratch, &[]), Stdio::from(out));
    let answer = process
        .client()
        .ask("GET", "/", &[], "")
        .expect("an answer");
    assert_eq!(answer.text(), "{\"ip\":\"127.0.0.1\"}");
    assert!(ask(&socket, "GET / HTTP/1.1\r\n", b"").ends_with("{\"ip\":\"unix:\"}"));
    let forwarded = "GET / HTTP/1.1\r\nX-Forwarded-For: 192.0.2.7\r\n";
    assert!(ask(&socket, forwarded, b"").ends_with("{\"ip\":\"192.0.2.7\"}"));
    // Not over TCP, whose clients nobody trusts.
    let lines = &["X-Forwarded-For: 192.0.2.7"];
    let answer = process
        .client()
        .ask("GET", "/", lines, "")
        .expect("an answer");
    assert_eq!(answer.text(), "{\"ip\":\"127.0.0.1\"}");
    assert!(ask(&socket, "GET /large.txt HTTP/1.1\r\n", b"").ends_with(&large));
    let told = ask(&socket, "POST / HTTP/1.1\r\n", large.as_bytes());
    assert!(
        told.ends_with(&format!("{{\"bytes\":{}}}", large.len())),
        "{told}"
    );
    let mode = fs::metadata(&socket).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o660);

    // Another server cannot have it, and leaves it alone.
    let output = run(
        &scratch,
        &["--listen", &format!("unix:{}", socket.display())],
    )
    .output();
    let output = output.expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && told.contains("app.sock is in use"),
        "{told}"
    );
    assert!(ask(&socket, "GET / HTTP/1.1\r\n", b"").contains("200 OK"));

    let log = ends_well(process);
    assert!(!log.contains("ERROR"), "{log}");
    assert!(!socket.exists(), "the file goes with the server");
    let access = fs::read_to_string(scratch.path().join("access")).expect("text");
    assert!(
        access.lines().any(|line| line.starts_with("unix: - - [")),
        "{access}"
    );
    assert!(
        access
            .lines()
            .any(|line| line.starts_with("192.0.2.7 - - [")),
        "{access}"
    );
}

#[test]
fn what_is_no_socket_stays() {
    let scratch = Scratch::new(&[("app.lua", APP), ("notes.txt", "mine")]);
    let notes = scratch.path().join("notes.txt");
    for (path, told) in [
        (notes.clone(), "notes.txt is in use, or no socket"),
        (
            scratch.path().join("no/app.sock"),
            "its folder does not exist",
        ),
    ] {
        let listen = format!("127.0.0.1:0,unix:{}", path.display());
        let output = run(&scratch, &["--listen", &listen])
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(1) && errors.contains(told),
            "{errors}"
        );
    }
    assert_eq!(fs::read_to_string(notes).expect("still there"), "mine");
}

/// Runs a server with a socket as its file 3, as systemd does.
fn with_socket(scratch: &Scratch, socket: OwnedFd, script: &str) -> Command {
    let mut command = Command::new("sh");
    let inner = run(scratch, &["--listen", "127.0.0.1:0"]);
    let script = format!("exec 3<&0 </dev/null; {script} exec \"$@\"");
    command.args(["-c", &script, "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.stdin(Stdio::from(socket));
    command
}

#[test]
fn sockets_that_are_handed_over_are_used_and_stay_open() {
    const MINE: &str = "export LISTEN_FDS=1 LISTEN_PID=$$;";
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let tcp = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = tcp.local_addr().expect("an address");
    for _ in 0..2 {
        let socket = tcp.try_clone().expect("a socket").into();
        let process = Process::start(&mut with_socket(&scratch, socket, MINE));
        assert_eq!(process.address, address);
        let answer = process
            .client()
            .ask("GET", "/", &[], "")
            .expect("an answer");
        assert_eq!(answer.status, 200);
        ends_well(process);
        // Between two servers clients wait instead of being refused.
        assert!(std::net::TcpStream::connect(address).is_ok());
    }
    let path = scratch.path().join("given.sock");
    let unix = UnixListener::bind(&path).expect("bound");
    let socket = unix.try_clone().expect("a socket").into();
    let process = Process::start_until(
        &mut with_socket(&scratch, socket, MINE),
        "listening on unix:",
    );
    assert!(ask(&path, "GET / HTTP/1.1\r\n", b"").ends_with("{\"ip\":\"unix:\"}"));
    ends_well(process);
    assert!(path.exists(), "the file is not the server's");

    // Not meant for this process: then the configuration counts.
    let socket = tcp.try_clone().expect("a socket").into();
    let other = "export LISTEN_FDS=1 LISTEN_PID=1;";
    let process = Process::start(&mut with_socket(&scratch, socket, other));
    assert_ne!(process.address, address);
    ends_well(process);
    let no_socket = fs::File::open("/dev/null").expect("opened").into();
    let output = with_socket(&scratch, no_socket, MINE)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && told.contains("sampan: LISTEN_FDS: "),
        "{told}"
    );
}

/// Returns the message that systemd receives, until one message has `part`.
fn hears(socket: &UnixDatagram, part: &str) -> String {
    let deadline = Instant::now() + TIME_MAX;
    let mut bytes = [0; 4096];
    loop {
        let length = socket.recv(&mut bytes).expect("a message");
        let told = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if told.contains(part) {
            return told;
        }
        assert!(Instant::now() < deadline, "never told {part}");
    }
}

#[test]
fn systemd_is_told_of_start_reload_life_and_end() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let path = scratch.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("bound");
    socket.set_read_timeout(Some(TIME_MAX)).expect("set");
    let mut command = run(&scratch, &["--listen", "127.0.0.1:0"]);
    command
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "200000");
    let process = Process::start(&mut command);
    let told = hears(&socket, "READY=1");
    assert!(
        told.contains(&format!("STATUS=listening on http://{}", process.address)),
        "{told}"
    );
    for _ in 0..5 {
        hears(&socket, "WATCHDOG=1");
    }
    process.signal("HUP");
    assert!(hears(&socket, "RELOADING=1").contains("MONOTONIC_USEC="));
    hears(&socket, "READY=1");
    // What does not load ends the reload too: the project as it was goes on.
    fs::write(scratch.file("app.lua"), "no lua").expect("written");
    process.signal("HUP");
    hears(&socket, "RELOADING=1");
    hears(&socket, "READY=1");
    process.signal("TERM");
    hears(&socket, "STOPPING=1");
    assert_eq!(process.end().0, Some(0));
}

#[test]
fn root_becomes_another_user_once_it_listens() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        let output = run(&Scratch::new(&[("app.lua", APP)]), &["--user", "root"]).output();
        let told = String::from_utf8_lossy(&output.expect("it runs").stderr).into_owned();
        assert!(told.contains("only root can become \"root\""), "{told}");
        return;
    }
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let output = run(&scratch, &["--user", "nobody-at-all"])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && told.contains("there is no user \"nobody-at-all\""),
        "{told}"
    );
    // The project's folder is that user's, as `chown` makes it.
    let status = Command::new("chown")
        .args(["-R", "nobody"])
        .arg(scratch.path())
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let socket = scratch.path().join("app.sock");
    let listen = format!("127.0.0.1:0,unix:{}", socket.display());
    let process = Process::start(&mut run(
        &scratch,
        &["--listen", &listen, "--user", "nobody"],
    ));
    let user = fs::metadata(scratch.path()).expect("a folder").uid();
    assert_ne!(user, 0);
    // Every thread, in all four of its ids.
    let threads = fs::read_dir(format!("/proc/{}/task", process.id())).expect("threads");
    for thread in threads {
        let status = thread.expect("a thread").path().join("status");
        let status = fs::read_to_string(status).expect("text");
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let ids: Vec<u32> = ids
            .expect("ids")
            .split_whitespace()
            .map(|id| id.parse().expect("a number"))
            .collect();
        assert_eq!(ids, [user; 4], "{status}");
    }
    let answer = process
        .client()
        .ask("GET", "/write", &[], "")
        .expect("an answer");
    assert_eq!(answer.status, 200);
    for file in ["data.db", "app.sock"] {
        let owner = fs::metadata(scratch.path().join(file))
            .expect("a file")
            .uid();
        assert_eq!(owner, user, "{file}");
    }
    ends_well(process);
    assert!(!socket.exists());
}
