//! Servers with native routes, alone and beside scripts.

use crate::support::{Log, get, post, project, send};
use sampan::host::{Args, Context, Error, Function, FunctionKind, Module, Type, Value};
use sampan::{App, ErrorKind, Request, Response};
use sampan_client::wait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn local(app: App) -> App {
    app.listen("127.0.0.1:0").workers(1).log(|_, _| {})
}

#[test]
fn native_routes_answer_without_a_project() {
    let app = App::new()
        .get("/", |_: Request| "root")
        .get("/users/:id", |request: Request| {
            let id = request.param("id").unwrap_or_default().into_owned();
            format!("{id} {:?} {}", request.query(), request.ip())
        })
        .get("/files/*rest", |request: Request| {
            request.param("rest").map(std::borrow::Cow::into_owned)
        })
        .post("/echo", |request: Request| request.body().to_vec())
        .delete("/", |_: Request| ())
        .get("/json", |_: Request| Response::json(&[1, 2]))
        .get("/later", async |request: Request| {
            tokio::task::yield_now().await;
            Response::text(format!("later {}", request.path())).header("X-A", "1")
        })
        .get("/failing", |_: Request| {
            Err::<&str, _>(sampan::Error::new(ErrorKind::Internal, "secret"))
        });
    let server = local(app).start().expect("it starts");
    let at = server.address();
    assert_eq!(get(at, "/").body, "root");
    assert_eq!(
        get(at, "/users/a%20b?x=1").body,
        "a b Some(\"x=1\") 127.0.0.1"
    );
    assert_eq!(get(at, "/files/a/b").body, "a/b");
    assert_eq!(post(at, "/echo", "body").body, "body");
    assert_eq!(get(at, "/json").body, "[1,2]");
    let later = get(at, "/later");
    assert_eq!(later.body, "later /later");
    assert!(later.head.contains("X-A: 1"), "{}", later.head);
    let failing = get(at, "/failing");
    assert_eq!(failing.status, 500);
    assert!(!failing.body.contains("secret"));
    assert_eq!(get(at, "/nowhere").status, 404);
    let wrong = post(at, "/", "");
    assert_eq!(wrong.status, 405);
    assert!(
        wrong.head.contains("Allow: GET, HEAD, DELETE, OPTIONS"),
        "{}",
        wrong.head
    );
    let deleted = send(
        at,
        "DELETE / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(deleted.status, 204);
    let head = send(
        at,
        "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((head.status, &*head.body), (200, ""));
    assert!(server.requests() >= 10);
    assert!(server.stop());
}

#[test]
fn patterns_may_have_a_host_and_text_beside_parameters() {
    let lua = "local app = require 'sampan'\napp.get('/x', function() return 'script' end)";
    let folder = project(&[("app.lua", lua)]);
    let app = App::new()
        .project(folder.path())
        .get("api.example.org/x", |_: Request| "host")
        .get(":tenant.example.org/:page", |request: Request| {
            let param = |name| request.param(name).unwrap_or_default().into_owned();
            format!("{} {}", param("tenant"), param("page"))
        })
        .get("/:name.:ext", |request: Request| {
            let param = |name| request.param(name).unwrap_or_default().into_owned();
            format!("{} {}", param("name"), param("ext"))
        });
    let server = local(app).start().expect("it starts");
    let at = server.address();
    let of_host = |host: &str| {
        let head = format!("Host: {host}\r\nConnection: close");
        send(at, &format!("GET /x HTTP/1.1\r\n{head}\r\n\r\n")).body
    };
    assert_eq!(of_host("API.example.org:80"), "host");
    assert_eq!(of_host("example.org"), "script");
    assert_eq!(of_host("ACME.example.org:80"), "acme x");
    assert_eq!(get(at, "/a%20b.tar.gz").body, "a b.tar gz");
    assert_eq!(get(at, "/.gz").status, 404);
    assert!(server.stop());
}

#[test]
fn a_body_that_is_not_the_json_of_a_handler_is_the_fault_of_its_client() {
    type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
    let log = Log::default();
    let app = App::new().post("/next", |request: Request| -> Result<String> {
        Ok((request.json::<i64>()? + 1).to_string())
    });
    let app = app.listen("127.0.0.1:0").workers(1).log(log.taker());
    let server = app.start().expect("it starts");
    let at = server.address();
    assert_eq!(post(at, "/next", "6").body, "7");
    for (body, fault) in [("", "EOF while parsing"), ("\"x\"", "invalid type")] {
        let answer = post(at, "/next", body);
        assert_eq!(answer.status, 400, "{body:?}");
        assert!(answer.body.contains(fault), "{}", answer.body);
    }
    assert!(server.stop());
    let text = log.text();
    assert!(!text.contains("failed:"), "{text}");
}

#[test]
fn native_routes_and_scripts_share_one_tree() {
    for (name, text) in [
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/script', function() return 'script' end)\n\
             app.get('/any/:any', function() return 'any' end)",
        ),
        (
            "app.js",
            "import { app } from 'sampan';\napp.get('/script', () => 'script');\n\
             app.get('/any/:any', () => 'any');",
        ),
    ] {
        let folder = project(&[(name, text), ("public/file.txt", "file")]);
        let app = App::new()
            .project(folder.path())
            .get("/native", |_: Request| "native")
            .get("/deep/*rest", |_: Request| "rest");
        let server = local(app).start().expect("it starts");
        let bodies = ["/native", "/script", "/any/other", "/deep/x", "/file.txt"]
            .map(|path| get(server.address(), path).body);
        assert_eq!(
            bodies,
            ["native", "script", "any", "rest", "file"],
            "{name}"
        );
        server.stop();
    }
}

#[test]
fn middleware_runs_around_native_routes_as_around_files() {
    let lua = "local app = require 'sampan'\n\
        app.use('*', function(req, next)\n\
          local res = next(req)\n\
          res.headers['x-around'] = 'yes'\n\
          res.headers['set-cookie'] = 'a=1'\n\
          return res\n\
        end)\n\
        app.use('/closed/*', function(req, next)\n\
          if req.headers['x-key'] ~= '7' then return app.json({ no = true }, { status = 401 }) end\n\
          return next(req)\n\
        end)\n\
        app.use('/status', function(req, next) local res = next(req) res.status = 202 return res end)\n\
        app.get('/script', function() return 'script' end)";
    let js = "import { app, json } from 'sampan';\n\
        app.use('*', async (req, next) => {\n\
          const res = await next(req);\n\
          res.headers.set('x-around', 'yes');\n\
          res.headers.set('set-cookie', 'a=1');\n\
          return res;\n\
        });\n\
        app.use('/closed/*', (req, next) =>\n\
          req.headers.get('x-key') === '7' ? next(req) : json({ no: true }, { status: 401 }));\n\
        app.get('/script', () => 'script');";
    for (name, text) in [("app.lua", lua), ("app.js", js)] {
        let folder = project(&[(name, text)]);
        let calls = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&calls);
        let app = App::new()
            .project(folder.path())
            .get("/open", |_: Request| {
                Response::json(&1).and_then(|one| one.header("Set-Cookie", "b=2"))
            })
            .get("/later", async |_: Request| {
                tokio::task::yield_now().await;
                "later"
            })
            .get("/status", |_: Request| "status")
            .get("/closed/x", move |_: Request| {
                counted.fetch_add(1, Ordering::SeqCst);
                "inside"
            });
        let server = local(app).start().expect("it starts");
        let at = server.address();
        let open = get(at, "/open");
        assert_eq!((open.status, &*open.body), (200, "1"), "{name}: {open:?}");
        for part in ["x-around: yes", "b=2", "a=1", "application/json"] {
            assert!(
                open.head.to_lowercase().contains(part),
                "{name}: {part} in {}",
                open.head
            );
        }
        assert!(!open.head.contains("x-native"), "{name}: {}", open.head);
        let later = get(at, "/later");
        assert_eq!(later.body, "later", "{name}: {later:?}");
        assert!(
            later.head.to_lowercase().contains("x-around: yes"),
            "{name}"
        );
        assert_eq!(get(at, "/closed/x").status, 401, "{name}");
        assert_eq!(calls.load(Ordering::SeqCst), 0, "{name}: it did not run");
        let request = "GET /closed/x HTTP/1.1\r\nHost: h\r\nX-Key: 7\r\nConnection: close\r\n\r\n";
        assert_eq!(send(at, request).body, "inside", "{name}");
        assert_eq!(calls.load(Ordering::SeqCst), 1, "{name}");
        let status = get(at, "/status");
        // A Response has its status for good.
        let wanted = if name == "app.lua" { 202 } else { 200 };
        assert_eq!((status.status, &*status.body), (wanted, "status"), "{name}");
        assert_eq!(get(at, "/script").body, "script", "{name}");
        server.stop();
    }
}

#[test]
fn guards_check_native_routes() {
    let lua = "local app = require 'sampan'\napp.use('/limited', app.rate_limit { limit = 1, per = 3600 })";
    let folder = project(&[("app.lua", lua)]);
    let app = App::new()
        .project(folder.path())
        .get("/limited", |_: Request| "in")
        .post("/change", |_: Request| "changed");
    let server = local(app).start().expect("it starts");
    let at = server.address();
    assert_eq!(get(at, "/limited").body, "in");
    assert_eq!(get(at, "/limited").status, 429);
    let foreign = "POST /change HTTP/1.1\r\nHost: h\r\nSec-Fetch-Site: cross-site\r\nConnection: \
     close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(send(at, foreign).status, 403);
    assert_eq!(post(at, "/change", "").body, "changed");
    server.stop();
}

static COUNTER: Module = Module {
    name: "counter",
    doc: "Counts.",
    functions: &[
        Function {
            name: "next_number",
            params: &[],
            returns: Type::Int,
            doc: "The next number.",
            kind: FunctionKind::Sync(next_number),
        },
        Function {
            name: "slow_number",
            params: &[],
            returns: Type::Int,
            doc: "The next number, later.",
            kind: FunctionKind::Async(slow_number),
        },
    ],
    ..Module::EMPTY
};

struct Count(Arc<AtomicU64>);

fn next_number(context: &Context, _: Args) -> Result<Value, Error> {
    let count = context
        .get::<Count>()
        .ok_or_else(|| Error::script("no counter"))?;
    Ok(Value::Int(count.0.fetch_add(1, Ordering::SeqCst) as i64))
}

fn slow_number(context: &Context, args: Args) -> sampan::host::LocalFuture<Result<Value, Error>> {
    let number = next_number(context, args);
    Box::pin(async move {
        tokio::task::yield_now().await;
        number
    })
}

#[test]
fn scripts_get_capabilities_of_the_program() {
    let lua = "local app = require 'sampan'\napp.get('/', function() return { app.counter.next_number(), \
     app.counter.slow_number() } end)";
    let js = "import { app, counter } from 'sampan';\napp.get('/', async () => [counter.nextNumber(), await \
     counter.slowNumber()]);";
    for (name, text) in [("app.lua", lua), ("app.js", js)] {
        let folder = project(&[(name, text)]);
        let count = Arc::new(AtomicU64::new(7));
        let given = Arc::clone(&count);
        let app = App::new()
            .project(folder.path())
            .module(&COUNTER)
            .with_context(move |context| context.put(Count(Arc::clone(&given))));
        let server = local(app).start().expect("it starts");
        assert_eq!(get(server.address(), "/").body, "[7,8]", "{name}");
        assert_eq!(count.load(Ordering::SeqCst), 9);
        server.stop();
    }
}

#[test]
fn a_reload_brings_new_scripts_and_keeps_native_routes() {
    let text = |body: &str| {
        format!("local app = require 'sampan'\napp.get('/', function() return '{body}' end)")
    };
    let folder = project(&[("app.lua", &text("old"))]);
    let app = App::new()
        .project(folder.path())
        .get("/native", |_: Request| "native");
    let server = local(app).start().expect("it starts");
    let at = server.address();
    assert_eq!(get(at, "/").body, "old");
    crate::support::write(folder.path(), "app.lua", &text("new"));
    server.reload().expect("it loads");
    assert_eq!(
        (&*get(at, "/").body, &*get(at, "/native").body),
        ("new", "native")
    );
    crate::support::write(folder.path(), "app.lua", "x = = 1");
    let error = server.reload().expect_err("no Lua");
    assert_eq!(
        (error.kind(), error.file(), error.line()),
        (ErrorKind::Load, Some("app.lua"), Some(1))
    );
    assert_eq!(get(at, "/").body, "new");
    server.stop();
}

#[tokio::test(flavor = "current_thread")]
async fn it_runs_inside_of_another_tokio_and_ends_with_its_future() {
    let log = Log::default();
    let app = App::new().listen("127.0.0.1:0").workers(1).log(log.taker());
    let running = tokio::spawn(app.get("/", |_: Request| "in tokio").run());
    wait::until_async("a start", || log.text().contains("listening on http://")).await;
    let text = log.text();
    let (_, rest) = text.split_once("listening on http://").expect("the line");
    let address = rest.split(' ').next().expect("an address");
    let address = address.parse().expect("an address");
    let answer = tokio::task::spawn_blocking(move || get(address, "/"))
        .await
        .expect("an answer");
    assert_eq!(answer.body, "in tokio");
    running.abort();
    let refused = || std::net::TcpStream::connect(address).is_err();
    wait::until_async("its end", refused).await;
}
