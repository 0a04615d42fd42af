//! Requests that wait for large results of reader threads.

use super::serve;
use sampan_client::Client;

/// The requests that are sent at once.
const CROWD: usize = 20;

const LUA: &str = r#"
local app = require "sampan"
local SQL = [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT i, i AS j FROM n]]
local function read()
  local rows = app.db.query_async(SQL)
  return { lane = app.worker.index > app.worker.count and "slow" or "quick", rows = #rows }
end
app.get("/first", read)
app.get("/second", read)
app.get("/slow", { slow = true }, function() return "slow" end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";
const SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT i, i AS j FROM n";
async function read() {
  const rows = await db.queryAsync(SQL);
  return { lane: app.worker.index > app.worker.count ? "slow" : "quick", rows: rows.length };
}
app.get("/first", read);
app.get("/second", read);
app.get("/slow", { slow: true }, () => "slow");
"#;

#[test]
fn a_statement_that_had_a_large_result_makes_its_route_slow_before_the_next_one_is_there() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, text);
        let first = served.ask("/first");
        assert!(
            first.contains("\"quick\"") && first.contains("100000"),
            "{file}: {first}"
        );
        let mut crowd: Vec<Client> = (0..CROWD).map(|_| served.client()).collect();
        for client in &mut crowd {
            let request = b"GET /second HTTP/1.1\r\nHost: h\r\n\r\n";
            client.send(request).expect("sent");
        }
        let answers = crowd.iter_mut().map(|client| {
            let answer = client.read(false).expect("an answer");
            assert_eq!(answer.status, 200, "{file}: {}", answer.text());
            answer.text()
        });
        let quick = answers.filter(|text| text.contains("\"quick\"")).count();
        assert_eq!(
            quick, 1,
            "{file}: the request that began before it was known"
        );
    }
}
