//! Idle connections while the worker that they came to runs a script, in both languages.

use super::{Served, config_of, serve_with};
use sampan_client::{Client, wait};
use std::path::Path;

const SETTINGS: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n[workers]\nslow = 1\n\
    [limits]\nscript_millis_max = 60000\nshutdown_millis_max = 30000\n";

/// A request that computes until another one has ended that.
const LUA: &str = r#"
local app = require "sampan"
local HERE = { slow = false }
app.get("/", HERE, function() return "worker " .. app.worker.index end)
app.get("/burn", HERE, function()
  while not app.cache.get("end") do end
  return "worker " .. app.worker.index
end)
app.get("/end", HERE, function() app.cache.set("end", true) return "worker " .. app.worker.index end)
"#;

const JS: &str = r#"
import { app, cache } from "sampan";
const HERE = { slow: false };
app.get("/", HERE, () => `worker ${app.worker.index}`);
app.get("/burn", HERE, () => {
  while (!cache.get("end"));
  return `worker ${app.worker.index}`;
});
app.get("/end", HERE, () => {
  cache.set("end", true);
  return `worker ${app.worker.index}`;
});
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

fn serve(folder: &Path, file: &str, text: &str) -> Served {
    serve_with(folder, file, text, SETTINGS)
}

/// Clients that were answered once each and whose connections are parked.
fn parked(served: &Served, count: usize) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| served.client()).collect();
    for client in &mut clients {
        ask(client, "/");
    }
    wait_parked(served, count);
    clients
}

fn wait_parked(served: &Served, count: usize) {
    let running = &served.running;
    wait::until("parking", || {
        running.parked() == count && running.connections() == count
    });
}

fn ask(client: &mut Client, path: &str) -> String {
    let answer = client.ask("GET", path, &[], "").expect("an answer");
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

#[test]
fn parked_connections_are_measured() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        let clients = parked(&served, 3);
        let metrics = ask(&mut served.client(), "/_sampan/metrics");
        for line in ["sampan_connections_parked 3", "sampan_connections 4"] {
            assert!(metrics.lines().any(|one| one == line), "{line}: {metrics}");
        }
        drop(clients);
        assert!(served.running.shutdown());
    }
}

#[test]
fn the_next_request_goes_to_the_worker_that_is_free() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        let mut clients = parked(&served, 6);
        let before: u64 = served.running.requests().iter().sum();
        let request = b"GET /burn HTTP/1.1\r\nHost: h\r\n\r\n";
        clients[0].send(request).expect("sent");
        wait::until("it burns", || {
            served.running.requests().iter().sum::<u64>() > before
        });
        // The burning request ends only once the last of these has been answered.
        let mut free = Vec::new();
        for client in &mut clients[1..5] {
            free.push(ask(client, "/"));
        }
        free.push(ask(&mut clients[5], "/end"));
        let busy = clients[0].read(false).expect("an answer").text();
        for worker in free {
            assert_ne!(worker, busy, "{file}");
        }
        assert!(served.running.shutdown());
    }
}

#[test]
fn parked_connections_survive_a_reload_and_end_with_the_server() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        let mut clients = parked(&served, 3);
        let changed = text.replace("worker ", "new ");
        std::fs::write(folder.path().join(file), changed).expect("written");
        let config = config_of(folder.path(), &served.logger, SETTINGS);
        served.running.reloader().reload(config).expect("reloaded");
        for client in &mut clients {
            assert!(ask(client, "/").starts_with("new "), "{file}");
        }
        wait_parked(&served, 3);
        assert!(served.running.shutdown());
        for client in &mut clients {
            assert!(client.is_closed());
        }
    }
}
