//! A counter of those who are here, kept by the `finally` of a stream, after ten thousand have left.

use crate::commands::command::serve;
use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use socket2::SockRef;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// The number of clients that come and leave in all.
const CLIENTS: usize = 10_000;
/// Open files that are left to the other tests of this process.
const RESERVED_FILES: usize = 300;

/// `here` counts who is here, `written` who has got a chunk, `left` who has gone.
const LUA: &str = r#"
local app = require "sampan"
local time, here, left, written = app.time, 0, 0, 0

app.get("/stream/:stage", function(req)
  local stage = req.params.stage
  return app.stream(function(write)
    here = here + 1
    local _, err = pcall(function()
      if stage == "begun" then time.sleep(600) end
      write("hello")
      written = written + 1
      if stage == "waits" then time.sleep(600) end
      while true do time.sleep(0.5) write("more") end
    end)
    here = here - 1
    assert(err.code == "cancelled", err)
    left = left + 1
  end)
end)
app.get("/count", function() return { here = here, left = left, written = written } end)
"#;

const JS: &str = r#"
import { app, stream, time } from "sampan";
let here = 0, left = 0, written = 0;

app.get("/stream/:stage", (req) => {
  const { stage } = req.params;
  return stream(async (write) => {
    here++;
    try {
      if (stage === "begun") await time.sleep(600);
      await write("hello");
      written++;
      if (stage === "waits") await time.sleep(600);
      for (;;) { await time.sleep(0.5); await write("more"); }
    } catch (error) {
      if (error.code !== "cancelled") throw error;
      left++;
    } finally {
      here--;
    }
  });
});
app.get("/count", () => ({ here, left, written }));
"#;

/// Ten thousand streams of JavaScript take 200 MB.
const LIMITS: &str = "[workers]\nslow = 0\n[overload]\nenabled = false\n\
    [limits]\nmemory_bytes_max = 500000000\nstream_idle_millis_max = 600000\n";

/// Returns how many clients can be here at once: each needs a file of this process and one of the server, which has the
/// same limit or a higher one.
fn at_once() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("limits of this process");
    let files = limits.lines().find_map(|line| {
        let soft = line
            .strip_prefix("Max open files")?
            .split_whitespace()
            .next();
        soft?.parse::<usize>().ok()
    });
    let files = files.expect("a limit of open files");
    files.saturating_sub(RESERVED_FILES).clamp(1, CLIENTS)
}

/// Asks until the server counts so.
fn until(process: &Process, here: usize, left: usize, written: usize) {
    let expected = format!(r#"{{"here":{here},"left":{left},"written":{written}}}"#);
    let mut client = process.client();
    wait::until(&expected, || {
        let answer = client.ask("GET", "/count", &[], "").expect("an answer");
        answer.text() == expected
    });
}

fn comes(process: &Process, nth: usize) -> TcpStream {
    let stage = ["begun", "waits", "writes"][nth % 3];
    let mut client = TcpStream::connect(process.address).expect("the server listens");
    let request = format!("GET /stream/{stage} HTTP/1.1\r\nHost: h\r\n\r\n");
    client.write_all(request.as_bytes()).expect("sent");
    client
}

/// Every second one leaves by a reset, the others by an orderly end.
fn leaves(client: TcpStream, nth: usize) {
    if nth.is_multiple_of(2) {
        let socket = SockRef::from(&client);
        socket.set_linger(Some(Duration::ZERO)).expect("an option");
    }
    drop(client);
}

#[test]
fn a_presence_counter_is_right_after_ten_thousand_clients_have_left() {
    for (name, source) in [("app.lua", LUA), ("app.js", JS)] {
        let scratch = Scratch::new(&[(name, source), ("sampan.toml", LIMITS)]);
        let process = Process::start(&mut serve(&scratch.file(name), 1));
        let (mut gone, mut written) = (0, 0);
        while gone < CLIENTS {
            let wave = at_once().min(CLIENTS - gone);
            let clients: Vec<_> = (0..wave).map(|nth| comes(&process, nth)).collect();
            // All but the first of each three get a chunk.
            written += wave - wave.div_ceil(3);
            until(&process, wave, gone, written);
            for (nth, client) in clients.into_iter().enumerate() {
                leaves(client, nth);
            }
            gone += wave;
            until(&process, 0, gone, written);
        }
        process.signal("TERM");
        let (status, errors) = process.end();
        assert_eq!(status, Some(0), "{errors}");
        assert!(!errors.contains("error"), "{name}: {errors}");
    }
}
