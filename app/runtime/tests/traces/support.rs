//! Servers that are traced, and a collector that keeps what they send.

use sampan_client::{Answer, Client, wait};
use sampan_runtime::{AppConfig, Running, Server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as the collector got it.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// An HTTP server that keeps all requests, and answers them with one status.
#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    status: Arc<AtomicU16>,
    received: Arc<Mutex<Vec<Received>>>,
}

/// A span as the collector got it.
#[derive(Clone, Debug)]
pub(crate) struct Collected(pub(crate) Value);

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        Self::serve(listener)
    }

    pub(crate) fn serve(listener: TcpListener) -> Self {
        let collector = Self {
            address: listener.local_addr().expect("an address"),
            status: Arc::new(AtomicU16::new(200)),
            received: Arc::default(),
        };
        let own = collector.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                thread::spawn(move || own.answer(&stream));
            }
        });
        collector
    }

    fn answer(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(received) = read(&mut reader) {
            let status = self.status.load(Ordering::SeqCst);
            let is_own = received.path == "/v1/traces";
            self.received.lock().expect("unbroken").push(received);
            let status = if is_own { status } else { 200 };
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
            if (&*stream).write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Returns a collector at an address where nothing listens.
    pub(crate) fn down(address: SocketAddr) -> Self {
        Self {
            address,
            status: Arc::default(),
            received: Arc::default(),
        }
    }

    /// Answers with this status from now on.
    pub(crate) fn answer_with(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    pub(crate) fn received(&self, path: &str) -> Vec<Received> {
        let all = self.received.lock().expect("unbroken");
        all.iter().filter(|one| one.path == path).cloned().collect()
    }

    /// Returns all spans that were sent.
    pub(crate) fn spans(&self) -> Vec<Collected> {
        let mut spans = Vec::new();
        for received in self.received("/v1/traces") {
            let body: Value = serde_json::from_slice(&received.body).expect("JSON");
            for resource in body["resourceSpans"].as_array().expect("a list") {
                for scope in resource["scopeSpans"].as_array().expect("a list") {
                    let all = scope["spans"].as_array().expect("a list");
                    spans.extend(all.iter().cloned().map(Collected));
                }
            }
        }
        spans
    }

    /// Waits for a span with this name.
    #[track_caller]
    pub(crate) fn span(&self, name: &str) -> Collected {
        wait::found(format!("the span {name:?}"), || {
            self.spans().into_iter().find(|span| span.name() == name)
        })
    }
}

impl Collected {
    pub(crate) fn text(&self, member: &str) -> &str {
        self.0[member].as_str().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.text("name")
    }

    pub(crate) fn attribute(&self, key: &str) -> Option<String> {
        let all = self.0["attributes"].as_array().expect("a list");
        let found = all.iter().find(|one| one["key"] == key)?;
        let value = found["value"]
            .as_object()
            .expect("a value")
            .values()
            .next()?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.0["status"]["code"] == 2
    }

    pub(crate) fn nanos(&self, member: &str) -> u64 {
        self.text(member).parse().expect("a number as text")
    }
}

fn read(reader: &mut impl BufRead) -> Option<Received> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|bytes| *bytes > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Received {
        path,
        headers,
        body,
    })
}

/// A server that runs, its project, and its collector.
pub(crate) struct Traced {
    _folder: tempfile::TempDir,
    pub(crate) server: Running,
    pub(crate) collector: Collector,
}

/// The languages: the file of each, and its program of these two.
pub(crate) fn both(lua: &'static str, js: &'static str) -> [(&'static str, &'static str); 2] {
    [("app.lua", lua), ("app.js", js)]
}

/// Starts a server; `keys` are those of `[trace]` beside the endpoint, with sections behind them.
pub(crate) fn start(app: (&str, &str), keys: &str) -> Traced {
    start_for(Collector::start(), app, keys)
}

pub(crate) fn start_for(collector: Collector, (name, text): (&str, &str), keys: &str) -> Traced {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(name), text).expect("written");
    let templates = folder.path().join("templates");
    fs::create_dir_all(&templates).expect("a folder");
    fs::write(templates.join("page.html"), "<p>{{ n }}</p>").expect("written");
    let toml = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[fetch]\nallow = [\"127.0.0.1\"]\n\
         [trace]\nendpoint = \"http://{}\"\nservice_name = \"shop\"\n{keys}\n",
        collector.address
    );
    let config = AppConfig::from_text(folder.path(), &toml).expect("valid");
    Traced {
        server: Server::start(config).expect("it starts"),
        _folder: folder,
        collector,
    }
}

impl Traced {
    pub(crate) fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut client = Client::connect(self.server.address()).expect("it listens");
        let lines = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let lines: Vec<String> = lines.collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        client.ask("GET", path, &lines, "").expect("an answer")
    }
}
