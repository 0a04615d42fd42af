//! Errors are shown where one looks, and what a request cost is told.

use super::{PAGES, Page, app, dev, get, write};
use crate::support::{Process, Scratch};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

#[test]
fn broken_code_keeps_the_old_version_and_is_shown() {
    for (file, broken, place) in [
        (
            "app.lua",
            "local app = require 'sampan'\n\napp.get('/', function() retur <b> end)\n",
            "app.lua:3",
        ),
        (
            "app.js",
            "import { app } from 'sampan';\n\napp.get('/', () => { <b> });\n",
            "app.js:3",
        ),
    ] {
        let scratch = Scratch::new(&[(file, &app(file, "old"))]);
        let mut process = Process::start(&mut dev(&scratch, &[]));
        let log = process.read_errors();
        let mut page = Page::open(&process);
        write(&scratch, file, broken);
        let fault = page.hears_of_fault();
        let link = format!(
            "href=\"vscode://file{}/{place}\">{place}</a>",
            scratch.path().display()
        );
        assert!(fault.contains(&link), "{file}: {link}: {fault}");
        assert!(
            fault.contains("&lt;b&gt;") && !fault.contains("<b>"),
            "{fault}"
        );
        assert!(
            get(&process, "/", &[]).1.starts_with("<body>old<script"),
            "{file}"
        );
        // Whoever opens a page now is told too.
        assert!(Page::open(&process).state["fault"].is_string());
        write(&scratch, file, &app(file, "new"));
        page.hears_of_reload();
        assert!(page.state["fault"].is_null());
        assert!(
            get(&process, "/", &[]).1.starts_with("<body>new<script"),
            "{file}"
        );
        process.signal("TERM");
        assert_eq!(process.status(), Some(0));
        let log = log.join().expect("text");
        assert!(
            log.contains("ERROR not reloaded, the project as it was goes on: ")
                && log.contains(place),
            "{log}"
        );
    }
}

#[test]
fn an_error_is_a_page_with_all_that_is_known() {
    for (file, text, call) in [
        (
            "app.lua",
            "local app = require 'sampan'\nlocal function fail(id)\n  error('no <cat> ' .. id)\nend\n\
             app.get('/cats/:id', function(req)\n  app.db.query('SELECT 1 AS one')\n  fail(req.params.id)\nend)\n",
            "app.lua:7",
        ),
        (
            "app.js",
            "import { app, db } from 'sampan';\nfunction fail(id) {\n  throw new Error('no <cat> ' + id);\n}\n\
             app.get('/cats/:id', (req) => {\n  db.query('SELECT 1 AS one');\n  fail(req.params.id);\n});\n",
            "app.js:7",
        ),
    ] {
        let toml = "[dev]\neditor = 'idea://open?file={path}&line={line}'\n";
        let scratch = Scratch::new(&[(file, text), ("sampan.toml", toml)]);
        let process = Process::start(&mut dev(&scratch, &[]));
        let (status, page) = get(
            &process,
            "/cats/7?a=b",
            &["Accept: text/html", "X-Test: <x>"],
        );
        assert_eq!(status, 500);
        let path = scratch.path().display();
        for part in [
            "<h1>no &lt;cat&gt; 7</h1>",
            &format!(
                "<a target=\"_top\" href=\"idea://open?file={path}/{file}&amp;line=3\">{file}:3</a>"
            ),
            "class=\"here\"><i>3</i>",
            call,
            "SELECT 1 AS one",
            "<td>:id</td><td>7</td>",
            "/cats/7?a=b",
            "&lt;x&gt;",
            "/_sampan/dev/client.js",
        ] {
            assert!(page.contains(part), "{file}: {part}: {page}");
        }
        let (status, told) = get(&process, "/cats/7", &["Accept: application/json"]);
        let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(
            (status, &told["error"], &told["place"]),
            (500, &"no <cat> 7".into(), &format!("{file}:3").into())
        );
        assert!(told["stack"].to_string().contains(call), "{told}");
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

/// A template's error has two places, and an error handler that fails brings a second error: all are shown.
#[test]
fn both_places_and_both_stacks_are_shown() {
    for (file, text, [of_script, of_handler]) in [
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/', function(req) return req:render('a.html') end)\n\
             app.get('/twice', function() error('first') end)\n\
             app.on_error(function(fault, req)\n  error('second')\nend)\n",
            ["app.lua:3", "app.lua:5"],
        ),
        (
            "app.js",
            "import { app } from 'sampan';\napp.get('/', (req) => req.render('a.html'));\n\
             app.get('/twice', () => { throw new Error('first'); });\n\
             app.onError(() => {\n  throw new Error('second');\n});\n",
            ["app.js:3", "app.js:5"],
        ),
    ] {
        let scratch = Scratch::new(&[(file, text)]);
        write(
            &scratch,
            "templates/a.html",
            "<p>\n{{ missing.word }}\n</p>",
        );
        let process = Process::start(&mut dev(&scratch, &[]));
        let (_, page) = get(&process, "/", PAGES);
        let in_script = format!("/{file}:2\">{file}:2</a>");
        for part in [
            "/templates/a.html:2\">templates/a.html:2</a>",
            "{{ missing.word }}",
            &in_script,
        ] {
            assert!(page.contains(part), "{file}: {part}: {page}");
        }
        let (status, page) = get(&process, "/twice", PAGES);
        let shown = [
            "<h1>first</h1>",
            of_script,
            "The error handler failed too",
            "second",
            of_handler,
        ];
        for part in shown {
            assert!(
                status == 500 && page.contains(part),
                "{file}: {part}: {page}"
            );
        }
        let (_, told) = get(&process, "/twice", &[]);
        let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(
            (&told["error"], &told["on_error"]["error"]),
            (&"first".into(), &"second".into())
        );
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn every_request_is_told_with_its_statements_and_slow_ones_with_their_plan() {
    let app = "local app = require 'sampan'\nlocal db = app.db\n\
        app.get('/fast', function() db.exec('INSERT INTO t VALUES (1)') db.one('SELECT 1') return 'x' end)\n\
        app.get('/slow', function() db.one(\n'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i \
         < 70000) SELECT count(*) FROM n, t') return 'x' end)\n\
        app.get('/later', function() app.time.sleep(0.01) db.transaction(function(tx) tx:query('SELECT 2') end) \
         return 'x' end)\n";
    let toml = "[dev]\nslow_query = '1ms'\n";
    let scratch = Scratch::new(&[("app.lua", app), ("sampan.toml", toml)]);
    write(&scratch, "migrations/0001_t.sql", "CREATE TABLE t (x);");
    let mut process = Process::start(&mut dev(&scratch, &[]));
    let log = process.read_errors();
    for path in ["/fast?a=1", "/slow", "/later", "/nothing"] {
        get(&process, path, &[]);
    }
    log.until("GET /nothing");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    let line = |part: &str| {
        log.lines()
            .find(|line| line.contains(part))
            .unwrap_or_else(|| panic!("{part}: {log}"))
    };
    assert!(
        line("INFO GET /fast?a=1 200 ").contains(" ms, 2 SQL "),
        "{log}"
    );
    assert!(line("INFO GET /slow 200 ").contains(" ms, 1 SQL "), "{log}");
    assert!(
        line("INFO GET /later 200 ").contains(" ms, 1 SQL "),
        "{log}"
    );
    assert!(!line("INFO GET /nothing 404 ").contains("SQL"), "{log}");
    line("WARN slow statement, ");
    line("    read every row of t");
}

#[test]
fn a_server_in_operation_has_nothing_of_it() {
    let scratch = Scratch::new(&[(
        "app.lua",
        "local app = require 'sampan'\napp.get('/', function() error('secret') end)\n",
    )]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command
        .arg("run")
        .arg(scratch.path())
        .args(["--listen", "127.0.0.1:0"]);
    let process = Process::start(&mut command);
    assert_eq!(get(&process, "/_sampan/dev/client.js", &[]).0, 404);
    let (status, text) = get(&process, "/", PAGES);
    assert!(status == 500 && !text.contains("secret"), "{text}");
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));
}

#[test]
fn a_client_that_leaves_a_stream_of_events_is_told_as_such() {
    let app = "local app = require 'sampan'\n\
        app.sse('/events', function(req, events) events:send('begun') app.time.sleep(60) end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let mut process = Process::start(&mut dev(&scratch, &[]));
    let log = process.read_errors();
    let mut stream = TcpStream::connect(process.address).expect("connected");
    let head = "GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    while !answer.contains("begun") {
        let mut bytes = [0; 1024];
        let count = stream.read(&mut bytes).expect("an answer");
        assert!(count > 0, "{answer}");
        answer += &String::from_utf8_lossy(&bytes[..count]);
    }
    drop(stream);
    log.until("INFO GET /events 200 ");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert!(log.contains(" ms, the client left"), "{log}");
}

/// Asks a server for a path under a name of it.
fn get_as(process: &Process, host: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(process.address).expect("connected");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.get(9..12).and_then(|status| status.parse().ok());
    (status.expect("a status"), answer)
}

/// A page of another site may have a name that leads to this machine. It gets nothing.
#[test]
fn other_hosts_are_refused() {
    let scratch = Scratch::new(&[
        ("app.lua", &app("app.lua", "secret")),
        ("sampan.toml", "[dev]\nhosts = ['app.test']\n"),
    ]);
    let process = Process::start(&mut dev(&scratch, &[]));
    for (host, expected) in [
        ("localhost", 200),
        ("127.0.0.1:1234", 200),
        ("app.test", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
    ] {
        for path in [
            "/",
            "/_sampan/dev/client.js",
            "/_sampan/metrics",
            "/_sampan/health",
            "/_sampan/health/live",
        ] {
            let (status, body) = get_as(&process, host, path);
            assert_eq!(status, expected, "{host} {path}");
            assert_eq!(
                body.contains("secret"),
                expected == 200 && path == "/",
                "{body}"
            );
        }
    }
    let (_, body) = get_as(&process, "evil.example", "/");
    assert!(body.contains("hosts = [\"evil.example\"]"), "{body}");
}

/// An error's text may come from a client, and may name any file.
#[test]
fn only_loaded_scripts_and_templates_are_shown() {
    let cases = [
        (
            "app.lua",
            "local app = require 'sampan'\nrequire 'lib'\n\
             app.get('/', function(req) error(req.query.text, 0) end)\n",
            ("lib.lua", "return 'SHOWN'"),
            ("deploy.lua", "return 'SECRET'"),
        ),
        (
            "app.js",
            "import { app } from 'sampan';\nimport './lib.ts';\n\
             app.get('/', (req) => { throw new Error(req.query.text); });\n",
            ("lib.ts", "export default 'SHOWN' as string;"),
            ("deploy.js", "export default 'SECRET';"),
        ),
    ];
    for (file, app, loaded, unused) in cases {
        let scratch = Scratch::new(&[
            (file, app),
            (
                "sampan.toml",
                "[secrets]\nkeys = ['0123456789abcdef0123456789abcdef']\n",
            ),
            ("notes.txt", "SECRET notes"),
            loaded,
            unused,
        ]);
        write(&scratch, "templates/page.html", "SHOWN");
        let process = Process::start(&mut dev(&scratch, &[]));
        let page = |text: &str| get(&process, &format!("/?text={text}"), PAGES).1;
        for named in [
            "sampan.toml:2",
            "notes.txt:1",
            "data.db:1",
            "./sampan.toml:2",
            "../../etc/passwd:1",
            &format!("{}:1", unused.0),
        ] {
            // The second time too: to look at a file does not make it a loaded one.
            for page in [page(named), page(named)] {
                assert!(
                    !page.contains("SECRET") && !page.contains("0123456789abcdef"),
                    "{file} {named}: {page}"
                );
            }
        }
        for named in [loaded.0, "templates/page.html"] {
            let page = page(&format!("{named}:1"));
            assert!(page.contains("SHOWN"), "{file} {named}: {page}");
        }
    }
}

/// The page about an error stands above the project's own, and has its style whatever the project's policy is.
#[test]
fn pages_of_the_project_do_not_hide_the_error() {
    let scratch = Scratch::new(&[(
        "app.lua",
        "local app = require 'sampan'\n\
         app.use(app.secure_headers{ csp = \"default-src 'none'\" })\n\
         app.on_error(function(req, err) return app.html('<h1>sorry</h1>', 500) end)\n\
         app.get('/', function(req) app.db.query('SELECT ? AS a, ? AS b', { 7, 'x' }) error('broken') end)\n\
         app.get('/page', function() return app.html('<body>fine</body>') end)\n",
    )]);
    let process = Process::start(&mut dev(&scratch, &[]));
    let asked = process
        .client()
        .ask("GET", "/", PAGES, "")
        .expect("an answer");
    let page = asked.text();
    assert!(
        page.contains("broken") && page.contains("[7, &quot;x&quot;]"),
        "{page}"
    );
    assert!(
        !page.contains("<style") && page.contains("/_sampan/dev/page.css"),
        "{page}"
    );
    let policy = asked.header("content-security-policy").join(" | ");
    assert!(
        policy.contains("style-src 'self'") && policy.contains("script-src 'self'"),
        "{policy}"
    );
    let own = page
        .split("href=\"/_sampan/dev/own/")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let own = own.expect("a link to the project's own page");
    let (status, body) = get(&process, &format!("/_sampan/dev/own/{own}"), &[]);
    assert!(
        status == 500 && body.contains("<h1>sorry</h1>"),
        "{status} {body}"
    );
    // Programs get what the project answers.
    assert!(
        get(&process, "/", &["Accept: application/json"])
            .1
            .contains("sorry")
    );
    let page = process
        .client()
        .ask("GET", "/page", &[], "")
        .expect("an answer");
    let policy = page.header("content-security-policy").join(" | ");
    assert!(
        policy.contains("script-src 'self'") && policy.contains("connect-src 'self'"),
        "{policy}"
    );
}
