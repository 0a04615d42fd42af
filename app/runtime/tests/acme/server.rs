//! A server that gets its certificates from Pebble, which asks it for the challenges.

use crate::rest_of;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sampan_client::certificates::{connect, trusting};
use sampan_client::pebble::{Pebble, PebbleOptions};
use sampan_client::{ports, wait};
use sampan_runtime::{AppConfig, Running, Server};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

const LUA: &str = r#"
local app = require "sampan"
app.get("/", function() return "by script" end)
app.get("/.well-known/*rest", function() error("a route was asked") end)
"#;

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("app.lua"), LUA).expect("written");
    folder
}

fn start(folder: &Path, pebble: &Pebble, options: PebbleOptions, more: &str) -> Running {
    let (tls, directory) = (options.tls_port, pebble.directory());
    let authority = pebble.authority();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:{tls}\"\nworkers = 1\n\
         [tls.acme]\ndirectory = \"{directory}\"\ndirectory_ca = {authority:?}\n{more}\n"
    );
    Server::start(AppConfig::from_text(folder, &text).expect("valid")).expect("it starts")
}

/// Asks the server by a certificate of this domain, which is in its folder.
fn ask(folder: &Path, domain: &str, server: SocketAddr) -> Option<String> {
    let own = std::fs::read_dir(folder.join("storage/.acme")).ok()?;
    let mut files = own
        .flatten()
        .map(|own| own.path().join(format!("certificates/{domain}.pem")));
    let file = files.find(|file| file.exists())?;
    let chain = CertificateDer::pem_file_iter(file).expect("read");
    let chain: Vec<_> = chain.map(|one| one.expect("a certificate")).collect();
    // Those above it are in the file, but for the root.
    let config = Arc::new(trusting(&[&chain[1]]));
    let mut stream = connect(server, &config, domain);
    let request = format!("GET / HTTP/1.1\r\nHost: {domain}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let answer = rest_of(&mut stream);
    answer.contains("by script").then_some(answer)
}

#[test]
fn a_domain_is_proved_by_plain_http() {
    let options = PebbleOptions {
        http_port: ports::free(),
        tls_port: ports::free(),
        ..PebbleOptions::default()
    };
    let Some(pebble) = Pebble::start(options) else {
        return;
    };
    let folder = project();
    let plain = SocketAddr::from(([127, 0, 0, 1], options.http_port));
    let more = format!(
        "domains = \"localhost\"\nemail = \"me@example.org\"\n[tls]\nredirect_listen = \"{plain}\""
    );
    let server = start(folder.path(), &pebble, options, &more);
    wait::found("an answer", || {
        ask(folder.path(), "localhost", server.address())
    });
    // Other paths are sent on, and tokens that were not asked for.
    let mut stream = TcpStream::connect(plain).expect("connected");
    let request =
        "GET /.well-known/acme-challenge/abc HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    assert!(rest_of(&mut stream).starts_with("HTTP/1.1 308 "));
    let challenges = folder.path().join("storage/.acme/challenges");
    assert_eq!(std::fs::read_dir(challenges).expect("there").count(), 0);
    assert!(server.shutdown());
    // The next server has it from the start, without the authority.
    pebble.stop();
    let pebble = Pebble::start(options).expect("it was there");
    let text = more.replace("domains", "profile = \"default\"\ndomains");
    let server = start(folder.path(), &pebble, options, &text);
    assert!(server.shutdown());
}

#[test]
fn a_domain_and_an_address_are_proved_in_the_handshake() {
    let options = PebbleOptions {
        http_port: ports::free(),
        tls_port: ports::free(),
        ..PebbleOptions::default()
    };
    let Some(pebble) = Pebble::start(options) else {
        return;
    };
    let folder = project();
    let more = "domains = [\"localhost\", \"127.0.0.1\"]\nprofile = \"shortlived\"";
    let server = start(folder.path(), &pebble, options, more);
    for domain in ["localhost", "127.0.0.1"] {
        wait::found(domain, || ask(folder.path(), domain, server.address()));
    }
    assert!(server.shutdown());
}

#[test]
fn without_a_certificate_handshakes_are_refused() {
    let folder = project();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[tls.acme]\ndomains = \"a.test\"\n\
                directory = \"http://127.0.0.1:1/dir\"";
    let config = AppConfig::from_text(folder.path(), text).expect("valid");
    let server = Server::start(config).expect("it starts");
    let config = Arc::new(trusting(&[]));
    let mut stream = connect(server.address(), &config, "a.test");
    let fault = stream.write_all(b"GET").expect_err("a refusal");
    assert!(fault.to_string().contains("AccessDenied"), "{fault}");
    // Those who ask for a challenge that there is none of are refused too.
    let mut config = trusting(&[]);
    config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
    let mut stream = connect(server.address(), &Arc::new(config), "a.test");
    assert!(stream.write_all(b"GET").is_err());
    assert!(server.shutdown());
}
