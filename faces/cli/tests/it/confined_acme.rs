//! A confined server gets its certificates, although it may connect to little else.

use crate::support::{Process, Scratch};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sampan_client::certificates::{connect, trusting};
use sampan_client::pebble::{Pebble, PebbleOptions};
use sampan_client::ports;
use sampan_testkit::wait;
use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;

const LUA: &str = r#"
local app = require "sampan"
app.get("/", function() return "by script" end)
"#;

const JS: &str = r#"
import { app } from "sampan";
app.get("/", () => "by script");
"#;

#[test]
fn a_confined_server_gets_certificates_from_the_directory_that_it_is_told() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let options = PebbleOptions {
            http_port: ports::free(),
            tls_port: ports::free(),
            ..PebbleOptions::default()
        };
        let Some(pebble) = Pebble::start(options) else {
            return;
        };
        let (port, directory, authority) =
            (options.tls_port, pebble.directory(), pebble.authority());
        // No script needs a port, so those of the configuration are all that is granted.
        let settings = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\nworkers = 1\n[sandbox]\nconnect = [\"9\"]\n\
             [tls.acme]\ndomains = \"localhost\"\ndirectory = \"{directory}\"\ndirectory_ca = {authority:?}\n"
        );
        let scratch = Scratch::new(&[(file, text), ("sampan.toml", &settings)]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        let mut process = Process::start(command.arg("run").arg(scratch.path()));
        let log = process.read_errors();
        let status = fs::read_to_string(format!("/proc/{}/status", process.id()));
        let status = status.expect("it runs");
        assert!(status.contains("Seccomp:\t2"), "{}", log.text());
        let folder = scratch.path().join("storage/.acme");
        let shown = std::fmt::from_fn(|f| write!(f, "a certificate: {}", log.text()));
        let file = wait::found(shown, || {
            let mut own = fs::read_dir(&folder).ok()?.flatten();
            own.find_map(|own| {
                let file = own.path().join("certificates/localhost.pem");
                file.exists().then_some(file)
            })
        });
        let chain = CertificateDer::pem_file_iter(file).expect("read");
        let chain: Vec<_> = chain.map(|one| one.expect("a certificate")).collect();
        let config = Arc::new(trusting(&[&chain[1]]));
        let answer = wait::found("an answer by that certificate", || {
            let mut stream = connect(process.address, &config, "localhost");
            let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request).ok()?;
            let mut answer = Vec::new();
            // Its end need not be orderly.
            let _ = stream.read_to_end(&mut answer);
            Some(String::from_utf8_lossy(&answer).into_owned())
        });
        assert!(answer.ends_with("by script"), "{answer}");
    }
}
