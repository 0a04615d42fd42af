//! Sessions and shared rate limits on PostgreSQL, in one process and in several.

use super::each_app;
use super::serving::serve;
use crate::support::{Process, Scratch};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::wait;
use sampan_testkit::{Answer, Client};
use std::sync::Arc;
use std::thread;

const LUA: &str = r#"
local app = require "sampan"
local db = app.db

app.post("/login/:name", function(req)
  req.session:regenerate()
  req.session.user = req.params.name
end)
app.post("/twice/:name", function(req)
  local before = req.session.user
  db.query("SELECT 1 FROM pg_sleep(0.5)")
  req.session:regenerate()
  req.session[req.params.name] = before
end)
app.get("/all", function(req) return { user = req.session.user, a = req.session.a, b = req.session.b } end)
app.post("/logout", function(req) req.session:clear() end)
app.post("/leave", function(req)
  req.session:clear()
  req:flash("notice", "bye")
end)
app.get("/me", function(req) return { user = req.session.user or "none" } end)
app.post("/visit", function(req) req.session.visits = (req.session.visits or 0) + 1 end)
app.get("/visits", function(req) return { visits = req.session.visits or 0 } end)
app.post("/slow/:key", function(req)
  local before = req.session.user
  db.query("SELECT 1 FROM pg_sleep(0.2)")
  req.session[req.params.key] = before
end)
app.post("/flash", function(req) req:flash("notice", "saved") end)
app.get("/flashes", function(req) return { count = #req:flashes() } end)
app.get("/leaves", function(req)
  local count = #req:flashes()
  db.query("SELECT 1 FROM pg_sleep(?)", { req.query.seconds or 0 })
  return { count = count }
end)
app.get("/seldom", function(req)
  if req.query.look then return (req.session.user or "none") .. " " .. #req:flashes() end
  return "not looked"
end)
app.post("/end/:name", function(req) return { ended = app.session.end_all{ user = req.params.name } } end)
app.post("/others/:name", function(req)
  return { ended = app.session.end_all({ user = req.params.name }, req.session) }
end)
app.post("/gated/:name", function(req)
  local before = req.session.user
  db.query("SELECT wait_open('handler')")
  req.session:regenerate()
  req.session[req.params.name] = before
end)
app.on_error(function(req, err) return app.text("failed for " .. (req.session.user or "none"), { status = err.status }) end)
"#;

const JS: &str = r#"
import { app, db, session, text } from "sampan";

app.post("/login/:name", (req) => {
  req.session.regenerate();
  req.session.user = req.params.name;
});
app.post("/twice/:name", async (req) => {
  const before = req.session.user;
  await db.query("SELECT 1 FROM pg_sleep(0.5)");
  req.session.regenerate();
  req.session[req.params.name] = before;
});
app.get("/all", (req) => ({ user: req.session.user, a: req.session.a, b: req.session.b }));
app.post("/logout", (req) => req.session.clear());
app.post("/leave", (req) => {
  req.session.clear();
  req.flash("notice", "bye");
});
app.get("/me", (req) => ({ user: req.session.user ?? "none" }));
app.post("/visit", (req) => { req.session.visits = (req.session.visits ?? 0) + 1; });
app.get("/visits", (req) => ({ visits: req.session.visits ?? 0 }));
app.post("/slow/:key", async (req) => {
  const before = req.session.user;
  await db.query("SELECT 1 FROM pg_sleep(0.2)");
  req.session[req.params.key] = before;
});
app.post("/flash", (req) => req.flash("notice", "saved"));
app.get("/flashes", (req) => ({ count: req.flashes().length }));
app.get("/leaves", async (req) => {
  const count = req.flashes().length;
  await db.query("SELECT 1 FROM pg_sleep(?)", [Number(req.query.seconds ?? 0)]);
  return { count };
});
app.get("/seldom", (req) => {
  if (req.query.look) return `${req.session.user ?? "none"} ${req.flashes().length}`;
  return "not looked";
});
app.post("/end/:name", async (req) => ({ ended: await session.endAll({ user: req.params.name }) }));
app.post("/others/:name", async (req) => ({ ended: await session.endAll({ user: req.params.name }, req.session) }));
app.post("/gated/:name", async (req) => {
  const before = req.session.user;
  await db.query("SELECT wait_open('handler')");
  req.session.regenerate();
  req.session[req.params.name] = before;
});
app.onError((req, error) => text("failed for " + (req.session.user ?? "none"), { status: error.status }));
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

/// A browser that keeps the cookie of its session.
struct Browser {
    client: Client,
    cookie: String,
}

impl Browser {
    fn of(process: &Process) -> Self {
        Self {
            client: process.client(),
            cookie: String::new(),
        }
    }

    /// Returns the browser at another process.
    fn at(&self, process: &Process) -> Self {
        Self {
            client: process.client(),
            cookie: self.cookie.clone(),
        }
    }

    fn ask(&mut self, method: &str, path: &str) -> Answer {
        let cookie = &self.cookie;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: h\r\nCookie: {cookie}\r\nContent-Length: 0\r\n\r\n"
        );
        self.client.send(request.as_bytes()).expect("sent");
        let answer = self.client.read(false).expect("an answer");
        if let Some(set) = answer.header("set-cookie").first() {
            self.cookie = set.split(';').next().unwrap_or_default().to_owned();
        }
        answer
    }

    fn post(&mut self, path: &str) -> u16 {
        self.ask("POST", path).status
    }

    fn get(&mut self, path: &str) -> String {
        self.ask("GET", path).text()
    }
}

fn alone(file: &str, source: &str) -> Scratch {
    Scratch::new(&[(file, source)])
}

#[test]
fn two_processes_share_sessions() {
    for (server, file, scratch) in each_app(APPS, alone) {
        let database = server.database();
        let start = || Process::start(&mut serve(&scratch.file(file), &server.url(&database)));
        let (one, other) = (start(), start());
        // The first sessions of all begin at once: the table is made once.
        thread::scope(|scope| {
            for process in [&one, &other, &one, &other] {
                scope.spawn(|| assert_eq!(Browser::of(process).post("/login/first"), 204));
            }
        });
        let mut here = Browser::of(&one);
        assert_eq!(here.post("/login/ann"), 204);
        let mut there = here.at(&other);
        assert_eq!(there.get("/me"), r#"{"user":"ann"}"#, "{file}");
        // What both change at the same time is kept, key by key.
        thread::scope(|scope| {
            for (process, key) in [(&one, "a"), (&other, "b"), (&one, "c"), (&other, "d")] {
                let mut browser = here.at(process);
                scope.spawn(move || assert_eq!(browser.post(&format!("/slow/{key}")), 204));
            }
        });
        let data = "SELECT data FROM _sampan_sessions WHERE data ->> 'user' = 'ann'";
        let data = server.psql(&database, data);
        for key in ["a", "b", "c", "d"] {
            let member = format!("\"{key}\":\"ann\"");
            assert!(data.contains(&member), "{file}: no {member} in {data}");
        }
        // A message is given once.
        assert_eq!(there.post("/flash"), 204);
        for _ in 0..2 {
            let counts = thread::scope(|scope| {
                let pages = [&one, &other].map(|process| {
                    let mut browser = here.at(process);
                    scope.spawn(move || browser.get("/flashes"))
                });
                pages.map(|page| page.join().expect("a page"))
            });
            let seen = counts.iter().filter(|count| *count == r#"{"count":1}"#);
            assert_eq!(seen.count(), 1, "{file}: {counts:?}");
            assert_eq!(here.post("/flash"), 204);
        }
        assert_eq!(here.post("/logout"), 204);
        assert_eq!(there.get("/me"), r#"{"user":"none"}"#, "{file}");
        let ended = Browser::of(&other).ask("POST", "/end/first").text();
        assert_eq!(ended, r#"{"ended":4}"#, "{file}");
    }
}

#[test]
fn a_logout_leaves_no_way_to_the_session_that_follows() {
    for (server, file, scratch) in each_app(APPS, alone) {
        let database = server.database();
        let process = Process::start(&mut serve(&scratch.file(file), &server.url(&database)));
        let mut browser = Browser::of(&process);
        assert_eq!(browser.post("/login/ann"), 204);
        let mut old = browser.at(&process);
        assert_eq!(browser.post("/leave"), 204);
        let ways =
            "SELECT count(*) FROM _sampan_sessions WHERE data ->> '_sampan_moved_to' IS NOT NULL";
        assert_eq!(server.psql(&database, ways).trim(), "0", "{file}");
        assert_eq!(old.get("/me"), r#"{"user":"none"}"#, "{file}");
        assert_eq!(browser.get("/flashes"), r#"{"count":1}"#, "{file}");
    }
}

#[test]
fn two_requests_that_renew_a_session_at_once_both_have_its_content() {
    for (server, file, scratch) in each_app(APPS, alone) {
        let database = server.database();
        let start = || Process::start(&mut serve(&scratch.file(file), &server.url(&database)));
        let (one, other) = (start(), start());
        let mut old = Browser::of(&one);
        assert_eq!(old.post("/login/ann"), 204);
        let renewed = thread::scope(|scope| {
            let pages = [(&one, "a"), (&other, "b")].map(|(process, name)| {
                let mut browser = old.at(process);
                scope.spawn(move || {
                    assert_eq!(browser.post(&format!("/twice/{name}")), 204);
                    browser
                })
            });
            pages.map(|page| page.join().expect("renewed"))
        });
        let contents = renewed.map(|mut browser| {
            assert_ne!(browser.cookie, old.cookie);
            browser.get("/all")
        });
        for (content, name) in contents.iter().zip(["a", "b"]) {
            for key in ["user", name] {
                let member = format!("\"{key}\":\"ann\"");
                assert!(
                    content.contains(&member),
                    "{file}: no {member} in {content}"
                );
            }
        }
        assert_eq!(old.get("/me"), r#"{"user":"none"}"#, "{file}");
    }
}

/// Functions that wait until a gate is open, and a gate before each session with the value `late` is added.
const GATES: &str = "CREATE TABLE opened (gate text);
    CREATE FUNCTION wait_open(wanted text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
        WHILE NOT EXISTS (SELECT FROM opened WHERE gate = wanted) LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN 1;
    END $$;
    CREATE FUNCTION wait_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM wait_open('insert');
        RETURN NEW;
    END $$;
    CREATE TRIGGER late BEFORE INSERT ON _sampan_sessions FOR EACH ROW
        WHEN (NEW.data ->> 'late' IS NOT NULL) EXECUTE FUNCTION wait_insert();";

#[test]
fn a_session_that_begins_late_with_an_old_one_ends_with_the_others() {
    for end in ["/others/ann", "/end/ann"] {
        for (server, file, scratch) in each_app(APPS, alone) {
            let database = server.database();
            let psql = |sql: &str| server.psql(&database, sql);
            let process = Process::start(&mut serve(&scratch.file(file), &server.url(&database)));
            let mut browser = Browser::of(&process);
            assert_eq!(browser.post("/login/ann"), 204);
            // Else the index, which is made once, waits for the slow request.
            assert_eq!(browser.ask("POST", "/others/none").status, 200);
            psql(GATES);
            let is_at = |condition: &str| {
                let count = format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND {condition}"
                );
                psql(&count).trim() != "0"
            };
            let mut old = browser.at(&process);
            let late = thread::spawn(move || {
                assert_eq!(old.post("/gated/late"), 204);
                old
            });
            wait::until("the slow request has its session", || {
                is_at("wait_event = 'PgSleep' AND query LIKE '%handler%'")
            });
            assert_eq!(browser.post("/login/ann"), 204);
            psql("INSERT INTO opened VALUES ('handler')");
            wait::until("it begins another session", || {
                is_at("wait_event = 'PgSleep' AND query LIKE '%INSERT INTO _sampan_sessions%'")
            });
            let mut ending = browser.at(&process);
            let ending = thread::spawn(move || ending.ask("POST", end).status);
            wait::until("the sessions end", || {
                ending.is_finished() || is_at("wait_event_type = 'Lock'")
            });
            psql("INSERT INTO opened VALUES ('insert')");
            assert_eq!(ending.join().expect("an answer"), 200, "{file}: {end}");
            let mut late = late.join().expect("an answer");
            assert_eq!(late.get("/me"), r#"{"user":"none"}"#, "{file}: {end}");
        }
    }
}

#[test]
fn messages_go_back_where_the_client_leaves() {
    for (server, file, scratch) in each_app(APPS, alone) {
        let database = server.database();
        let url = server.url(&database);
        let process = Process::start(&mut serve(&scratch.file(file), &url));
        let mut browser = Browser::of(&process);
        assert_eq!(browser.post("/login/ann"), 204);
        let count = "SELECT count(*) FROM _sampan_sessions WHERE data ->> '_flash' IS NOT NULL";
        // The handler takes them itself; then its route is known for that, and they are taken before it runs.
        for turn in ["the first", "the second"] {
            assert_eq!(browser.post("/flash"), 204);
            assert_eq!(server.psql(&database, count).trim(), "1");
            let mut leaving = browser.at(&process);
            let request = format!(
                "GET /leaves?seconds=60 HTTP/1.1\r\nHost: h\r\nCookie: {}\r\n\r\n",
                leaving.cookie
            );
            leaving.client.send(request.as_bytes()).expect("sent");
            wait::until("the message is taken", || {
                server.psql(&database, count).trim() == "0"
            });
            drop(leaving);
            wait::until("the message is back", || {
                server.psql(&database, count).trim() == "1"
            });
            assert_eq!(
                browser.get("/leaves"),
                r#"{"count":1}"#,
                "{file}: {turn} time"
            );
            assert_eq!(browser.get("/flashes"), r#"{"count":0}"#, "{file}");
        }
    }
}

#[test]
fn a_route_that_seldom_looks_finds_its_session() {
    for (server, file, scratch) in each_app(APPS, alone) {
        let url = server.url(&server.database());
        let process = Process::start(&mut serve(&scratch.file(file), &url));
        let mut browser = Browser::of(&process);
        assert_eq!(browser.post("/login/ann"), 204);
        // Now it is known as a route that does not.
        assert_eq!(browser.get("/seldom"), "not looked");
        for messages in [0, 1, 0, 1] {
            let found = format!("ann {messages}");
            assert_eq!(browser.get("/seldom?look=1"), found, "{file}");
            assert_eq!(browser.post("/flash"), 204);
            // It gives back what it was given and has not taken.
            assert_eq!(browser.get("/seldom"), "not looked");
            assert_eq!(browser.get("/seldom"), "not looked");
            if messages == 1 {
                assert_eq!(browser.get("/flashes"), r#"{"count":1}"#, "{file}");
            }
        }
    }
}

#[test]
fn a_server_that_is_killed_gives_no_other_session_and_loses_no_visit() {
    for (file, source) in APPS {
        let Some(server) = PostgresServer::start() else {
            return;
        };
        let server = Arc::new(server);
        let scratch = Scratch::new(&[(file, source)]);
        let url = server.url(&server.database());
        let process = Process::start(&mut serve(&scratch.file(file), &url));
        let mut browser = Browser::of(&process);
        assert_eq!(browser.post("/login/ann"), 204);
        assert_eq!(browser.get("/me"), r#"{"user":"ann"}"#);
        let killer = {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                server.kill();
            })
        };
        let (mut kept, mut failed) = (0, 0);
        while failed < 20 || !killer.is_finished() {
            match browser.post("/visit") {
                204 => kept += 1,
                status => {
                    assert!(status >= 500, "{file}: {status}");
                    failed += 1;
                }
            }
            let me = browser.ask("GET", "/me");
            match me.status {
                200 => assert_eq!(me.text(), r#"{"user":"ann"}"#, "{file}"),
                status => {
                    assert!(status >= 500, "{file}: {status}");
                    // The error handler has no session either, rather than an empty one.
                    assert!(!me.text().contains("failed for"), "{file}: {}", me.text());
                }
            }
        }
        killer.join().expect("killed");
        server.resume();
        // It may still be starting.
        let visits = wait::found("an answer", || {
            let answer = browser.ask("GET", "/visits");
            (answer.status == 200).then(|| answer.text())
        });
        let visits: usize = visits
            .trim_start_matches(r#"{"visits":"#)
            .trim_end_matches('}')
            .parse()
            .unwrap_or_else(|_| panic!("{file}: {visits}"));
        assert!((kept..=kept + failed).contains(&visits), "{file}: {visits}");
        assert_eq!(browser.get("/me"), r#"{"user":"ann"}"#, "{file}");
    }
}

#[test]
fn missing_rights_are_errors_and_no_empty_sessions() {
    for (server, file, scratch) in each_app(APPS, alone) {
        let database = server.database();
        let role = format!("limited_{database}");
        let sql = |sql: &str| server.psql(&database, sql);
        sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'water'"));
        sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
        let url = server.url(&database);
        let owner = Process::start(&mut serve(&scratch.file(file), &url));
        let limited_url = url.replace("sampan:over%20the%20water", &format!("{role}:water"));
        assert_ne!(limited_url, url);
        let mut process = Process::start(&mut serve(&scratch.file(file), &limited_url));
        let log = process.read_errors();
        let mut limited = Browser::of(&process);
        assert_eq!(limited.get("/me"), r#"{"user":"none"}"#, "{file}");
        assert_eq!(limited.post("/login/ann"), 500, "{file}");
        log.until("permission denied for schema public");
        assert!(limited.cookie.is_empty(), "{file}: {}", limited.cookie);

        let mut browser = Browser::of(&owner);
        assert_eq!(browser.post("/login/ann"), 204);
        let mut limited = browser.at(&process);
        assert_eq!(limited.ask("GET", "/me").status, 500, "{file}");
        log.until("permission denied for table _sampan_sessions");
        sql(&format!("GRANT SELECT ON _sampan_sessions TO {role}"));
        assert_eq!(limited.get("/me"), r#"{"user":"ann"}"#, "{file}");
        assert_eq!(limited.post("/visit"), 500, "{file}");
        assert_eq!(limited.post("/logout"), 500, "{file}");
        assert_eq!(limited.cookie, browser.cookie, "{file}");
        sql(&format!("GRANT UPDATE ON _sampan_sessions TO {role}"));
        assert_eq!(limited.post("/visit"), 204, "{file}");
        assert_eq!(browser.get("/visits"), r#"{"visits":1}"#, "{file}");
        drop(process);
        sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

#[test]
fn two_processes_share_a_rate_limit() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let lua = r#"
        local app = require "sampan"
        app.use("/few", app.rate_limit{ limit = 10, per = 3600, shared = true })
        app.use("/own", app.rate_limit{ limit = 10, per = 3600 })
        app.get("/few", function() return "in" end)
        app.get("/own", function() return "in" end)
    "#;
    let js = r#"
        import { app } from "sampan";
        app.use("/few", app.rateLimit({ limit: 10, per: 3600, shared: true }));
        app.use("/own", app.rateLimit({ limit: 10, per: 3600 }));
        app.get("/few", () => "in");
        app.get("/own", () => "in");
    "#;
    for (file, source) in [("app.lua", lua), ("app.js", js)] {
        let scratch = Scratch::new(&[(file, source)]);
        let database = server.database();
        let start = || Process::start(&mut serve(&scratch.file(file), &server.url(&database)));
        let (one, other) = (start(), start());
        let allowed = |path: &str| {
            let counts = thread::scope(|scope| {
                let clients = [&one, &other, &one, &other].map(|process| {
                    scope.spawn(move || {
                        let mut browser = Browser::of(process);
                        let answers = (0..10).map(|_| browser.ask("GET", path).status);
                        answers.filter(|status| *status == 200).count()
                    })
                });
                clients.map(|client| client.join().expect("answers"))
            });
            counts.iter().sum::<usize>()
        };
        assert_eq!(
            allowed("/own"),
            20,
            "{file}: each process counts for itself"
        );
        assert_eq!(allowed("/few"), 10, "{file}: both count together");
        let refused = Browser::of(&other).ask("GET", "/few");
        assert_eq!(refused.status, 429, "{file}");
        assert!(!refused.header("retry-after").is_empty(), "{file}");
    }
}
