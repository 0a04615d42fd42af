//! A server that speaks HTTPS, with scripts in both languages.

use sampan_client::certificates::{Authority, Identity, Secured, client_of, connect, trusting};
use sampan_client::{ports, wait};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

const LUA: &str = r#"
local app = require "sampan"
app.get("/", function(req)
  local tls = req.tls
  if not tls then return "plain " .. req.url end
  return table.concat({ tls.version, tls.cipher, tostring(tls.sni), tostring(tls.subject),
    #(tls.fingerprint or ""), req.url }, "|")
end)
app.get("/cookie", function(req)
  req.session.name = "a"
  return "set"
end)
"#;

const JS: &str = r#"
import { app } from "sampan";
app.get("/", (req) => {
  const tls = req.tls;
  if (!tls) return "plain " + req.url;
  return [tls.version, tls.cipher, tls.sni ?? "nil", tls.subject ?? "nil",
    (tls.fingerprint ?? "").length, req.url].join("|");
});
app.get("/cookie", (req) => {
  req.session.name = "a";
  return "set";
});
"#;

/// A project in one of the languages that speaks HTTPS by this certificate.
fn start(folder: &Path, identity: &Identity, more: &str) -> Running {
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n[tls]\ncert = {certificate:?}\nkey = {key:?}\n{more}\n"
    );
    let config = AppConfig::from_text(folder, &text).expect("valid");
    Server::start(config).expect("it starts")
}

fn project(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), text).expect("written");
    std::fs::create_dir(folder.path().join("public")).expect("a folder");
    let large: Vec<u8> = (0..300_000_u32).map(|at| (at / 7) as u8).collect();
    std::fs::write(folder.path().join("public/large.bin"), large).expect("written");
    folder
}

/// Sends a request that is the last of its connection. Returns the head and the body.
fn ask(stream: &mut (impl Read + Write), target: &str, host: &str) -> (String, Vec<u8>) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an orderly end");
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n");
    let end = end.expect("a head") + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).expect("text"), body)
}

fn text_of(mut stream: Secured) -> String {
    String::from_utf8(ask(&mut stream, "/", "localhost:1").1).expect("text")
}

#[test]
fn both_families_may_be_listed_with_one_port() {
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let folder = project("app.lua", LUA);
    let [port, plain] = [ports::free(), ports::free()];
    let text = format!(
        "[server]\nlisten = [\"0.0.0.0:{port}\", \"[::]:{port}\"]\nworkers = 1\n\
         [tls]\ncert = {certificate:?}\nkey = {key:?}\nredirect = true\n\
         redirect_listen = [\"[::]:{plain}\", \"0.0.0.0:{plain}\"]\n"
    );
    let config = AppConfig::from_text(folder.path(), &text).expect("valid");
    let server = Server::start(config).expect("it starts");
    let trusted = Arc::new(trusting(&[&identity.certificate]));
    for host in ["127.0.0.1", "[::1]"] {
        let at = |port: u16| -> SocketAddr { format!("{host}:{port}").parse().expect("valid") };
        let shown = text_of(connect(at(port), &trusted, "localhost"));
        assert!(shown.starts_with("TLSv1.3|"), "{host}: {shown}");
        let mut stream = TcpStream::connect(at(plain)).expect("it listens");
        let (head, _) = ask(&mut stream, "/", "localhost");
        assert!(head.starts_with("HTTP/1.1 308 "), "{host}: {head}");
    }
    assert!(server.shutdown());
}

#[test]
fn scripts_see_the_tls_of_their_clients() {
    let (identity, authority) = (Identity::new(&["localhost"]), Authority::new());
    let own = authority.issue("alice");
    let more = format!(
        "client_ca = {:?}\nclient_auth = \"optional\"\nhsts = \"max-age=60\"",
        authority.file()
    );
    for (name, text) in [("app.lua", LUA), ("app.js", JS)] {
        let folder = project(name, text);
        let server = start(folder.path(), &identity, &more);
        let trusted = [&identity.certificate];
        let anonymous = Arc::new(trusting(&trusted));
        let alice = client_of(rustls::DEFAULT_VERSIONS, &trusted, Some(&own));
        let stream = || connect(server.address(), &anonymous, "localhost");
        let url = "https://localhost:1/";
        let cipher = "TLS_AES_256_GCM_SHA384";
        assert_eq!(
            text_of(stream()),
            format!("TLSv1.3|{cipher}|localhost|nil|0|{url}"),
            "{name}"
        );
        let shown = text_of(connect(server.address(), &Arc::new(alice), "localhost"));
        assert_eq!(
            shown,
            format!("TLSv1.3|{cipher}|localhost|CN=alice,O=Example|64|{url}"),
            "{name}"
        );
        let (head, body) = ask(&mut stream(), "/large.bin", "localhost");
        assert_eq!(
            body,
            std::fs::read(folder.path().join("public/large.bin")).expect("read")
        );
        assert!(
            head.contains("\r\nStrict-Transport-Security: max-age=60\r\n"),
            "{head}"
        );
        let (head, _) = ask(&mut stream(), "/cookie", "localhost");
        assert!(
            head.contains("__Host-session=") && head.contains("; Secure"),
            "{head}"
        );
        let (head, body) = ask(&mut connect_plain(server.address()), "/", "localhost");
        assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
        assert!(body.starts_with(b"This port speaks HTTPS"), "{body:?}");
        assert!(server.shutdown());
    }
}

fn connect_plain(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).expect("connected")
}

#[test]
fn plain_http_is_sent_on_and_gets_nothing_else() {
    let identity = Identity::new(&["localhost"]);
    let folder = project("app.lua", LUA);
    let plain = SocketAddr::from(([127, 0, 0, 1], ports::free()));
    let more = format!("redirect = true\nredirect_listen = \"{plain}\"\nhsts = \"max-age=60\"");
    let server = start(folder.path(), &identity, &more);
    let port = server.address().port();
    for target in ["/", "/large.bin", "/none?a=b%20c"] {
        let (head, body) = ask(&mut connect_plain(plain), target, "example.org:80");
        assert!(head.starts_with("HTTP/1.1 308 "), "{head}");
        assert!(
            head.contains(&format!(
                "\r\nLocation: https://example.org:{port}{target}\r\n"
            )),
            "{head}"
        );
        assert!(!head.contains("Strict-Transport-Security"), "{head}");
        assert_eq!(body, b"");
    }
    let mut stream = connect_plain(plain);
    stream
        .write_all(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an end");
    assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    assert!(server.shutdown());
    assert!(TcpStream::connect(plain).is_err(), "it listens no more");
}

#[test]
fn files_that_change_are_read_and_bad_ones_change_nothing() {
    let (identity, second) = (Identity::new(&["localhost"]), Identity::new(&["localhost"]));
    let folder = project("app.js", JS);
    let server = start(folder.path(), &identity, "");
    let trusted = [&identity.certificate, &second.certificate];
    let shown = || {
        // A client that resumes its session is shown no certificate.
        let config = Arc::new(trusting(&trusted));
        let mut stream = connect(server.address(), &config, "localhost");
        ask(&mut stream, "/", "localhost");
        stream
            .conn
            .peer_certificates()
            .map(|chain| chain[0].clone())
    };
    assert_eq!(shown().as_ref(), Some(&identity.certificate));
    identity.overwrite_with(&second);
    wait::until("the new certificate", || {
        shown().as_ref() == Some(&second.certificate)
    });
    std::fs::write(identity.key_file(), "no key").expect("written");
    let text = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n";
    let reloaded = server
        .reloader()
        .reload(AppConfig::from_text(folder.path(), text).expect("valid"));
    // The certificates stay in any case, and that they are gone from the configuration needs a restart.
    assert!(reloaded.expect("reloaded").need_restart.contains(&"[tls]"));
    assert_eq!(shown().as_ref(), Some(&second.certificate));
    assert!(server.shutdown());
}

#[test]
fn a_reload_reads_certificates_that_have_changed() {
    let (identity, second) = (Identity::new(&["localhost"]), Identity::new(&["localhost"]));
    let folder = project("app.lua", LUA);
    let logger = Logger::captured(Level::Info);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[tls]\ncert = {certificate:?}\nkey = {key:?}\n"
    );
    let config = || {
        let mut config = AppConfig::from_text(folder.path(), &text).expect("valid");
        config.program.logger = logger.clone();
        config
    };
    let server = Server::start(config()).expect("it starts");
    let trusted = [&identity.certificate, &second.certificate];
    let shown = || {
        let config = Arc::new(trusting(&trusted));
        let mut stream = connect(server.address(), &config, "localhost");
        let (head, _) = ask(&mut stream, "/", "localhost");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let chain = stream.conn.peer_certificates();
        chain.map(|chain| chain[0].clone())
    };
    assert_eq!(shown().as_ref(), Some(&identity.certificate));
    identity.overwrite_with(&second);
    server.reloader().reload(config()).expect("reloaded");
    assert_eq!(shown().as_ref(), Some(&second.certificate));
    std::fs::write(identity.key_file(), "no key").expect("written");
    server.reloader().reload(config()).expect("reloaded");
    assert_eq!(shown().as_ref(), Some(&second.certificate));
    let log = logger.lines();
    assert!(
        log.contains("the certificates have been read again"),
        "{log}"
    );
    let line = log
        .lines()
        .find(|line| line.contains("that were read before go on"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    assert!(
        line.contains("[tls] ") && line.contains("key.pem"),
        "{line}"
    );
    assert!(server.shutdown());
}

#[test]
fn a_server_does_not_start_with_files_that_it_cannot_use() {
    let identity = Identity::new(&["localhost"]);
    let folder = project("app.lua", LUA);
    std::fs::remove_file(identity.key_file()).expect("removed");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[tls]\ncert = {:?}\nkey = \"none.key\"\n",
        identity.certificate_file()
    );
    let config = AppConfig::from_text(folder.path(), &text).expect("valid");
    let fault = Server::start(config).err().expect("a fault");
    let file = folder.path().join("none.key");
    let expected = format!(
        "[tls] {}: cannot be read: No such file or directory (os error 2)",
        file.display()
    );
    assert_eq!(fault, expected);
}

const LUA_ASKING: &str = r#"
local app = require "sampan"
app.get("/:port", function(req)
  local ok, err = pcall(app.fetch, "https://localhost:" .. req.params.port .. "/")
  return ok and err.status or err.code .. " " .. tostring(err)
end)
"#;

const JS_ASKING: &str = r#"
import { app } from "sampan";
app.get("/:port", async (req) => {
  try {
    return `${(await fetch(`https://localhost:${req.params.port}/`)).status}`;
  } catch (error) {
    return `${error.cause.code} ${error.message}`;
  }
});
"#;

#[test]
fn scripts_are_told_why_a_certificate_is_not_trusted() {
    let expired = Identity::changed(&["localhost"], |params| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    });
    let (named, unknown) = (
        Identity::new(&["other.test"]),
        Identity::new(&["localhost"]),
    );
    for (identity, ca, reason) in [
        (&expired, &expired, "the server's certificate has expired"),
        (&named, &named, "is for another name (other.test)"),
        (
            &unknown,
            &expired,
            "name a file with the authority in [fetch]: ca = \"FILE\"",
        ),
    ] {
        let folder = project("app.lua", LUA);
        let asked = start(folder.path(), identity, "");
        for (name, text) in [("app.lua", LUA_ASKING), ("app.js", JS_ASKING)] {
            let folder = project(name, text);
            let config = format!(
                "[server]\nlisten = \"127.0.0.1:0\"\n[fetch]\nallow = [\"localhost\"]\nca = {:?}\n",
                ca.certificate_file()
            );
            let config = AppConfig::from_text(folder.path(), &config).expect("valid");
            let asking = Server::start(config).expect("it starts");
            let mut stream = TcpStream::connect(asking.address()).expect("connected");
            let target = format!("/{}", asked.address().port());
            let (_, body) = ask(&mut stream, &target, "localhost");
            let body = String::from_utf8(body).expect("text");
            assert!(
                body.starts_with("fetch_tls ") && body.contains(reason),
                "{name}: {body}"
            );
            assert!(asking.shutdown());
        }
        assert!(asked.shutdown());
    }
}
