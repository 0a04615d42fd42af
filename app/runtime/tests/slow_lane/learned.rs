//! Routes that were measured slow are known to the next process.

use super::{SETTINGS, Served, serve, serve_with};
use sampan_client::postgres::PostgresServer;
use sampan_client::wait;
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

const KEPT: &str = "sampan slow routes 1\n1 GET /computes\nend 1\n";

fn end(served: Served) {
    assert!(served.running.shutdown());
}

fn kept(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join("data.db-routes")).ok()
}

#[test]
fn a_new_process_knows_slow_routes_from_its_first_request() {
    for (file, text, times) in [("app.lua", LUA, 60_000_000), ("app.js", JS, 2_000_000)] {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        assert_eq!(served.ask("/computes"), "quick");
        wait::until("the route is known to be slow", || {
            served.ask(&format!("/computes?times={times}")) == "slow"
        });
        assert_eq!(served.ask("/quick"), "quick");
        end(served);
        assert_eq!(kept(folder.path()).as_deref(), Some(KEPT), "{file}");
        let served = serve(folder.path(), file, text);
        assert_eq!(served.ask("/computes"), "slow");
        assert_eq!(served.ask("/quick"), "quick");
        end(served);
        assert_eq!(kept(folder.path()).as_deref(), Some(KEPT), "{file}");
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
    wait::until("the route is known to be slow", || {
        served.ask("/computes?times=60000000") == "slow"
    });
    end(served);
    let kept = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(kept, KEPT);
    let served = serve_with(folder.path(), "app.lua", LUA, &settings);
    assert_eq!(served.ask("/computes"), "slow");
    end(served);
}

#[test]
fn a_damaged_file_is_told_of_once_and_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.db-routes");
    std::fs::write(&path, &KEPT[..KEPT.len() - 4]).expect("written");
    let served = serve(folder.path(), "app.lua", LUA);
    assert_eq!(served.ask("/computes"), "quick");
    let lines = served.logger.lines();
    let told = "data.db-routes: it is damaged: slow routes are measured anew";
    assert_eq!(lines.matches(told).count(), 1, "{lines}");
    end(served);
}
