//! Streams over HTTP/2.

use crate::app::{App, LANGUAGES};
use crate::feed::retry_of;
use h2::RecvStream;
use h2::client::SendRequest;
use sampan_client::wait;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

const STREAMS: [&str; 2] = [
    r#"local app = require "sampan"
local left = "none"
app.sse("/:name", function(req, events)
  events:subscribe("all")
  events:send("hello " .. req.params.name)
  events:wait()
  left = req.params.name
end)
app.post("/", function() app.publish("all", "message") end)
app.get("/left/last", function() return left end)"#,
    r#"import { app } from "sampan";
let left = "none";
app.sse("/:name", async (req, events) => {
  events.subscribe("all");
  await events.send(`hello ${req.params.name}`);
  await events.wait();
  left = req.params.name;
});
app.post("/", () => { app.publish("all", "message"); });
app.get("/left/last", () => left);"#,
];

/// A connection whose frames are handled on a thread of its own.
struct Connection {
    runtime: Runtime,
    requests: SendRequest<bytes::Bytes>,
}

impl Connection {
    fn open(app: &App) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let address = app.running.address();
        let (requests, connection) = runtime.block_on(async {
            let socket = TcpStream::connect(address).await.expect("connected");
            h2::client::handshake(socket).await.expect("a handshake")
        });
        runtime.spawn(connection);
        Self { runtime, requests }
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let limited = async { tokio::time::timeout(Duration::from_secs(60), future).await };
        self.runtime.block_on(limited).expect("it hangs")
    }

    fn get(&self, path: &str) -> RecvStream {
        let request = http::Request::get(format!("http://h{path}")).body(());
        self.wait(async {
            let mut ready = self.requests.clone().ready().await.expect("ready");
            let request = request.expect("a request");
            let (response, _) = ready.send_request(request, true).expect("sent");
            let response = response.await.expect("an answer");
            assert_eq!(response.headers()["content-type"], "text/event-stream");
            response.into_body()
        })
    }

    /// Reads until this has come, or the stream ends.
    fn until(&self, stream: &mut RecvStream, end: &str) -> String {
        let mut text = String::new();
        self.wait(async {
            while !text.ends_with(end) || end.is_empty() {
                let Some(piece) = stream.data().await else {
                    break;
                };
                let piece = piece.expect("a piece");
                let _ = stream.flow_control().release_capacity(piece.len());
                text += std::str::from_utf8(&piece).expect("UTF-8");
            }
        });
        text
    }
}

#[test]
fn many_streams_share_a_connection_of_http2() {
    for file in LANGUAGES {
        let sections = "h2c = true\n[sse]\nheartbeat_millis = 50\n";
        let app = App::start(file, STREAMS, 1, sections);
        let connection = Connection::open(&app);
        let (mut ann, mut bob) = (connection.get("/Ann"), connection.get("/Bob"));
        assert_eq!(connection.until(&mut ann, "\n\n"), "data: hello Ann\n\n");
        connection.until(&mut bob, "data: hello Bob\n\n");
        connection.until(&mut bob, ":\n\n");
        app.post("/");
        connection.until(&mut ann, "\ndata: message\n\n");
        connection.until(&mut bob, "\ndata: message\n\n");
        drop(bob);
        wait::until("the end of one", || app.get("/left/last") == "Bob");
        app.post("/");
        connection.until(&mut ann, "\ndata: message\n\n");

        let App { running, folder } = app;
        let stopping = std::thread::spawn(move || running.shutdown());
        assert!(retry_of(&connection.until(&mut ann, "")) > 0);
        assert!(stopping.join().expect("no panic"));
        drop(folder);
    }
}
