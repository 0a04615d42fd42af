//! `sampan dev --https`: the user's own authority, and what is told of it.

use super::{app, dev};
use crate::support::{Process, Scratch, ends_well};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sampan_client::certificates::{connect, trusting};
use std::io::{Read, Write};
use std::sync::Arc;

/// Asks by HTTPS, as a client that trusts the authority.
fn ask(process: &Process, authority: &CertificateDer<'static>) -> String {
    let config = Arc::new(trusting(&[authority]));
    let mut stream = connect(process.address, &config, "localhost");
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("sent");
    let mut answer = Vec::new();
    // Its end need not be orderly.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn the_authority_is_made_once_with_advice_and_is_trusted_at_each_start() {
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &app(file, "by HTTPS"))]);
        let data = Scratch::new(&[]);
        let authority = data.path().join("sampan/https/authority.pem");
        let mut made = None;
        for is_first in [true, false] {
            let mut command = dev(&scratch, &["--https"]);
            let process = Process::start(command.env("XDG_DATA_HOME", data.path()));
            let told = &process.first_lines;
            let file = authority.display().to_string();
            assert!(told.contains(&file), "{told}");
            assert_eq!(told.contains("curl --cacert "), is_first, "{told}");
            assert_eq!(
                told.contains("HTTPS by this user's own authority"),
                !is_first,
                "{told}"
            );
            let trusted = CertificateDer::from_pem_file(&authority).expect("read");
            let answer = ask(&process, &trusted);
            assert!(
                answer.starts_with("HTTP/1.1 200 ") && answer.contains("by HTTPS"),
                "{answer}"
            );
            assert_eq!(made.get_or_insert_with(|| trusted.clone()), &trusted);
            ends_well(process);
        }
    }
}
