//! Routes that were measured slow are known to the next process.

use super::{SETTINGS, Served, config, serve, serve_with};
use sampan_client::postgres::PostgresServer;
use sampan_client::wait;
use sha2::{Digest, Sha256};
use std::path::Path;

const LUA: &str = r#"
local app = require "sampan"
local function lane() return app.worker.index > app.worker.count and "slow" or "quick" end
app.get("/computes", function(req)
  local sum = 0
  for at = 1, req.query.times or 0 do sum = sum + at % 7 end
  return lane()
end)
app.get("/quick", lane)
"#;

const JS: &str = r#"
import { app } from "sampan";
const lane = () => (app.worker.index > app.worker.count ? "slow" : "quick");
app.get("/computes", (req) => {
  let sum = 0;
  for (let at = 0; at < Number(req.query.times ?? 0); at++) sum += at % 7;
  return lane();
});
app.get("/quick", lane);
"#;

/// Returns the file after a run of an app: one of its routes was slow, once.
fn kept_of(text: &str) -> String {
    let digest = Sha256::digest(text);
    let mark: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sampan slow routes 2\n{mark} 1 GET /computes\nend 1\n")
}

/// The number of times that a loop runs so that its run is long, in both languages.
const APPS: [(&str, &str, u32); 2] = [("app.lua", LUA, 60_000_000), ("app.js", JS, 2_000_000)];

fn end(served: Served) {
    assert!(served.running.shutdown());
}

fn wait_slow(served: &Served, times: u32) {
    wait::until("the route is known to be slow", || {
        served.ask(&format!("/computes?times={times}")) == "slow"
    });
}

fn kept(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join("data.db-routes")).ok()
}

#[test]
fn a_new_process_knows_slow_routes_from_its_first_request() {
    for (file, text, times) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        assert_eq!(served.ask("/computes"), "quick");
        wait_slow(&served, times);
        assert_eq!(served.ask("/quick"), "quick");
        end(served);
        assert_eq!(kept(folder.path()), Some(kept_of(text)), "{file}");
        let served = serve(folder.path(), file, text);
        assert_eq!(served.ask("/computes"), "slow");
        assert_eq!(served.ask("/quick"), "quick");
        end(served);
        assert_eq!(kept(folder.path()), Some(kept_of(text)), "{file}");
    }
}

#[test]
fn a_route_whose_file_has_changed_is_measured_anew() {
    for (file, text, times) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        wait_slow(&served, times);
        let changed = format!("{text}\n");
        std::fs::write(folder.path().join(file), &changed).expect("written");
        let reload = || {
            let new = config(folder.path(), &served.logger);
            served.running.reloader().reload(new).expect("reloaded");
        };
        reload();
        assert_eq!(served.ask("/computes"), "quick", "{file}");
        wait_slow(&served, times);
        reload();
        assert_eq!(served.ask("/computes"), "slow", "{file} is as it was");
        end(served);
        assert_eq!(kept(folder.path()), Some(kept_of(&changed)), "{file}");
        let served = serve(folder.path(), file, text);
        assert_eq!(served.ask("/computes"), "quick", "{file}");
        end(served);
    }
}

/// The app above with its handlers in a file of their own, and that file.
fn with_handlers(file: &str) -> (String, &'static str, String) {
    if file == "app.lua" {
        let app = "local app = require 'sampan'\nlocal handlers = require 'handlers'\n\
                   app.get('/computes', handlers.computes)\napp.get('/quick', handlers.quick)\n";
        let handlers = LUA
            .replace(
                "app.get(\"/computes\", ",
                "local handlers = {}\nhandlers.computes = (",
            )
            .replace(
                "app.get(\"/quick\", lane)",
                "handlers.quick = lane\nreturn handlers",
            );
        return (app.to_owned(), "handlers.lua", handlers);
    }
    let app = "import { app } from 'sampan';\nimport { computes, quick } from './handlers.js';\n\
               app.get('/computes', computes);\napp.get('/quick', quick);\n";
    let handlers = JS
        .replace("app.get(\"/computes\", ", "export const computes = (")
        .replace("app.get(\"/quick\", lane)", "export const quick = lane");
    (app.to_owned(), "handlers.js", handlers)
}

#[test]
fn a_route_is_measured_anew_when_the_file_of_its_handler_has_changed() {
    for (file, _, times) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let (app, other, handlers) = with_handlers(file);
        let write = |text: &str| {
            std::fs::write(folder.path().join(other), text).expect("written");
        };
        write(&handlers);
        let served = serve(folder.path(), file, &app);
        wait_slow(&served, times);
        let reload = || {
            let new = config(folder.path(), &served.logger);
            served.running.reloader().reload(new).expect("reloaded");
        };
        reload();
        assert_eq!(served.ask("/computes"), "slow", "{file}");
        write(&format!("{handlers}\n"));
        reload();
        assert_eq!(served.ask("/computes"), "quick", "{file}");
        wait_slow(&served, times);
        end(served);
        let served = serve(folder.path(), file, &app);
        assert_eq!(served.ask("/computes"), "slow", "{file} is as it was");
        end(served);
        write(&handlers);
        let served = serve(folder.path(), file, &app);
        assert_eq!(served.ask("/computes"), "quick", "{file}");
        end(served);
    }
}

#[test]
fn with_a_database_on_a_server_they_are_kept_in_the_storage_folder() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let url = server.url(&server.database());
    let settings = SETTINGS.replace("path = \"data.db\"", &format!("url = {url:?}"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("storage/.sampan-routes");
    let served = serve_with(folder.path(), "app.lua", LUA, &settings);
    assert_eq!(served.ask("/computes"), "quick");
    wait_slow(&served, 60_000_000);
    end(served);
    let kept = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(kept, kept_of(LUA));
    let served = serve_with(folder.path(), "app.lua", LUA, &settings);
    assert_eq!(served.ask("/computes"), "slow");
    end(served);
}

#[test]
fn a_damaged_file_is_told_of_once_and_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.db-routes");
    let whole = kept_of(LUA);
    std::fs::write(&path, &whole[..whole.len() - 4]).expect("written");
    let served = serve(folder.path(), "app.lua", LUA);
    assert_eq!(served.ask("/computes"), "quick");
    let lines = served.logger.lines();
    let told = "data.db-routes: it is damaged: slow routes are measured anew";
    assert_eq!(lines.matches(told).count(), 1, "{lines}");
    end(served);
}
