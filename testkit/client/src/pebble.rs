//! Pebble, an ACME server for tests, with a directory of its own.

use crate::certificates::Identity;
use crate::{ports, wait};
use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A Pebble that runs.
pub struct Pebble {
    child: Child,
    port: u16,
    /// Its own certificate, which is its authority too.
    identity: Identity,
}

/// The settings of a Pebble.
#[derive(Clone, Copy, Debug, Default)]
pub struct PebbleOptions {
    /// The port of `http-01`.
    pub http_port: u16,
    /// The port of `tls-alpn-01`.
    pub tls_port: u16,
    /// True if it believes every challenge.
    pub believes_all: bool,
    /// True if accounts must be bound to the account `kid-1` of the authority.
    pub wants_account: bool,
}

/// The key of the account `kid-1` (base64url).
pub const ACCOUNT_KEY: &str = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";

/// The variable with the executable, for runs that must not be without it.
const EXECUTABLE: &str = "SAMPAN_TEST_PEBBLE";

/// Returns the executable; `None`, and a line that says so, if it cannot be had.
fn executable() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        if let Some(given) = std::env::var_os(EXECUTABLE) {
            return Some(given.into());
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/acme/install.sh");
        let output = Command::new("sh").arg(script).output().expect("a shell");
        match output.status.code() {
            Some(0) => {
                let text = String::from_utf8(output.stdout).expect("a path");
                Some(PathBuf::from(text.trim()))
            }
            _ => {
                println!("SKIPPED: Pebble cannot be built, so nothing is got from an ACME server");
                None
            }
        }
    });
    found.as_deref()
}

impl Pebble {
    /// Starts one; `None` if it cannot be had.
    pub fn start(options: PebbleOptions) -> Option<Self> {
        let executable = executable()?;
        let identity = Identity::new(&["localhost"]);
        let port = ports::free();
        let config = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": "",
            "certificate": identity.certificate_file(),
            "privateKey": identity.key_file(),
            "httpPort": options.http_port,
            "tlsPort": options.tls_port,
            "externalAccountBindingRequired": options.wants_account,
            "externalAccountMACKeys": { "kid-1": ACCOUNT_KEY },
            "retryAfter": { "authz": 1, "order": 1 },
            "profiles": {
                "default": { "description": "usual", "validityPeriod": 7_776_000 },
                "shortlived": { "description": "short", "validityPeriod": 518_400 },
            },
        }});
        let file = identity.key_file().with_file_name("pebble.json");
        std::fs::write(&file, config.to_string()).expect("written");
        let mut command = Command::new(executable);
        command.arg("-config").arg(file);
        command
            .env("PEBBLE_VA_NOSLEEP", "1")
            // It refuses one nonce of twenty by itself. Three in a row fail an attempt, and the next is minutes later.
            .env("PEBBLE_WFE_NONCEREJECT", "0")
            .env("PEBBLE_AUTHZREUSE", "0");
        if options.believes_all {
            command.env("PEBBLE_VA_ALWAYS_VALID", "1");
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut pebble = Self {
            child: child.expect("started"),
            port,
            identity,
        };
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        wait::until("Pebble listens", || {
            let ended = pebble.child.try_wait().expect("a child");
            assert!(ended.is_none(), "Pebble has ended: {ended:?}");
            TcpStream::connect(address).is_ok()
        });
        Some(pebble)
    }

    /// The URL of its directory.
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.port)
    }

    /// The file of the authority of that URL.
    pub fn authority(&self) -> PathBuf {
        self.identity.certificate_file()
    }

    /// Ends it, with all that it knows.
    pub fn stop(mut self) -> u16 {
        self.end();
        self.port
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Pebble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, .. } = self;
        f.debug_struct("Pebble")
            .field("port", port)
            .finish_non_exhaustive()
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.end();
    }
}
