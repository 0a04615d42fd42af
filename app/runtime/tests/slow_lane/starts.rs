//! The first slow route: its requests wait for the isolates that start because of it.

use super::{config, serve};
use sampan_client::wait;

/// `{LOAD}` is the code that only isolates of the slow lane run as they load.
const LUA: &str = r#"
local app = require "sampan"
local function compute(times)
  local sum = 0
  for at = 1, times do sum = sum + at % 7 end
end
local is_apart = app.worker.index > app.worker.count
if is_apart then {LOAD} end
app.get("/computes", function(req)
  compute(req.query.times or 0)
  return is_apart and "slow" or "quick"
end)
"#;

const JS: &str = r#"
import { app } from "sampan";
function compute(times) {
  let sum = 0;
  for (let at = 0; at < times; at++) sum += at % 7;
}
const isApart = app.worker.index > app.worker.count;
if (isApart) {LOAD}
app.get("/computes", (req) => {
  compute(Number(req.query.times ?? 0));
  return isApart ? "slow" : "quick";
});
"#;

/// The apps, the number of times that a loop runs so that its run is long, a load that takes several times as long, and
/// one that fails.
const APPS: [(&str, &str, u32, &str, &str); 2] = [
    (
        "app.lua",
        LUA,
        60_000_000,
        "compute(400000000)",
        "error('not here')",
    ),
    (
        "app.js",
        JS,
        2_000_000,
        "compute(20000000)",
        "throw new Error('not here')",
    ),
];

#[test]
fn requests_of_the_first_slow_route_wait_for_the_isolates() {
    for (file, text, times, load, _) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, &text.replace("{LOAD}", load));
        assert_eq!(served.ask(&format!("/computes?times={times}")), "quick");
        let log = served.logger.lines();
        assert!(!log.contains("slow routes run in"), "{file}: {log}");
        assert_eq!(served.ask("/computes"), "slow", "{file}");
        assert!(served.running.shutdown());
    }
}

#[test]
fn isolates_that_start_after_a_refused_reload_load_the_code_that_serves() {
    for (file, text, times, _, _) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, &text.replace("{LOAD}", "compute(1)"));
        std::fs::write(folder.path().join(file), "(").expect("written");
        let broken = config(folder.path(), &served.logger);
        let reloaded = served.running.reloader().reload(broken);
        reloaded.expect_err("it does not load");
        assert_eq!(served.ask(&format!("/computes?times={times}")), "quick");
        assert_eq!(served.ask("/computes"), "slow", "{file}");
        assert!(served.running.shutdown());
    }
}

#[test]
fn isolates_that_do_not_start_keep_no_request_waiting() {
    for (file, text, times, _, load) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, &text.replace("{LOAD}", load));
        assert_eq!(served.ask(&format!("/computes?times={times}")), "quick");
        wait::until("the workers answer", || {
            let answer = served.client().ask("GET", "/computes", &[], "");
            let answer = answer.expect("an answer");
            assert!(matches!(answer.status, 200 | 503), "{}", answer.text());
            answer.status == 200 && served.logger.lines().contains("slow routes go on among")
        });
        assert_eq!(served.ask("/computes"), "quick", "{file}");
        assert!(served.running.shutdown());
    }
}
