//! A confined server gets its certificates, although it may connect to little else.

use crate::commands::command::run;
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
             [tls.acme]\ndirectory = \"{directory}\"\ndirectory_ca = {authority:?}\n"
        );
        let scratch = Scratch::new(&[(file, text), ("sampan.toml", &settings)]);
        let path = scratch.path().display().to_string();
        let tls = |args: &[&str]| run(&[&["tls"], args, &["--tls", "localhost", &path]].concat());
        let (code, output, _) = tls(&["status"]);
        assert!(
            code == 1 && output.starts_with("localhost: no certificate yet"),
            "{output}"
        );
        let (code, _, fault) = tls(&["renew"]);
        assert!(
            code == 1 && fault.contains("no server keeps the certificates"),
            "{fault}"
        );
        let (code, _, fault) = run(&["tls", "status", &path]);
        assert!(
            code == 1 && fault.contains("there are no certificates to get: set domains"),
            "{fault}"
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command
            .arg("run")
            .arg(scratch.path())
            .args(["--tls", "localhost"]);
        let mut process = Process::start(&mut command);
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
        let chain = CertificateDer::pem_file_iter(&file).expect("read");
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
        let (code, output, fault) = tls(&["status"]);
        assert!(
            code == 0 && output.starts_with("localhost: valid until "),
            "{output}{fault}"
        );
        let rows = |args: &[&str]| {
            let (code, output, fault) = tls(&[args, &["--json"]].concat());
            let rows = serde_json::from_str::<serde_json::Value>(&output);
            (code, rows.unwrap_or_else(|_| panic!("{output}{fault}")))
        };
        let (code, before) = rows(&["status"]);
        assert!(code == 0 && before[0]["valid"] == true, "{before}");
        let (code, renewed) = rows(&["renew"]);
        assert!(
            code == 0 && renewed[0]["domain"] == "localhost",
            "{renewed}"
        );
        assert!(
            renewed[0]["until"].is_string() && renewed[0]["fault"].is_null(),
            "{renewed}"
        );
        let renewed = CertificateDer::from_pem_file(&file).expect("read");
        assert_ne!(chain[0], renewed);
        pebble.stop();
        let (code, failed) = rows(&["renew"]);
        assert!(code == 1 && failed[0]["until"].is_null(), "{failed}");
        assert!(
            failed[0]["fault"]
                .as_str()
                .is_some_and(|fault| !fault.is_empty()),
            "{failed}"
        );
        let (code, output, _) = tls(&["status"]);
        assert!(
            code == 0 && output.contains("1 attempt failed: "),
            "{output}"
        );
    }
}
