//! The apps of `tests/frameworks`, unchanged, served through their default exports by the host's contract.

mod common;

use common::{App, TestAnswer, TestRequest, get, load_with, post};
use sampan_host::{Isolate, ScriptLimits};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `bundle.sh` exits with this where npm or its registry is not there.
const NO_NPM: i32 = 3;

/// An app bundled into one file, or nothing where that cannot be made on this machine.
fn bundle(name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frameworks");
    let test = std::env::current_exe().expect("the test's path");
    let target: PathBuf = test.ancestors().nth(3).expect("a target folder").to_owned();
    let out = target.join("frameworks");
    let status = Command::new("sh")
        .arg(folder.join("bundle.sh"))
        .arg(&out)
        .status()
        .ok()?;
    match status.code() {
        Some(0) => {
            let bundled = out.join("bundled").join(name);
            Some(std::fs::read_to_string(bundled).expect("bundle.sh made its file"))
        }
        Some(NO_NPM) => None,
        _ => panic!("bundle.sh failed: {status}"),
    }
}

fn fetch(app: &App, request: TestRequest) -> TestAnswer {
    let fetch = app.isolate.program().fetch;
    app.run(app.call(request, fetch, &[])).expect("an answer")
}

/// Status, content type and body, the stream's included.
fn shown(app: &App, request: TestRequest) -> String {
    let mut answer = fetch(app, request);
    if answer.stream.is_some() {
        answer.body = app.read(&mut answer).expect("a body");
    }
    let content_type = answer
        .header("content-type")
        .unwrap_or("-")
        .to_lowercase()
        .replace("; ", ";");
    format!("{} {content_type} {}", answer.code(), answer.text())
}

fn with(mut request: TestRequest, name: &str, value: &str) -> TestRequest {
    request
        .headers
        .push((name.to_owned(), value.as_bytes().to_vec()));
    request
}

#[test]
fn a_hono_app_is_served_unchanged() {
    let Some(source) = bundle("hono.mjs") else {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: npm is not available, so there is no Hono app to serve"
        );
        return;
    };
    let limits = ScriptLimits {
        script_millis_max: 2_000,
        ..ScriptLimits::default()
    };
    let app = load_with(&[("app.js", &source)], limits).expect("the bundle loads");
    for (request, expected) in [
        (get("/"), "200 text/plain;charset=utf-8 hello"),
        (
            get("/json"),
            r#"200 application/json {"ok":true,"list":[1,"ü",null]}"#,
        ),
        (
            get("/html"),
            "200 text/html;charset=utf-8 <p>&lt;escaped&gt; &amp; more</p>",
        ),
        (get("/status"), "204 - "),
        (
            get("/user/ada/post/7"),
            r#"200 application/json {"id":"7","name":"ada"}"#,
        ),
        (
            get("/files/a/b.txt"),
            "200 text/plain;charset=utf-8 file a/b.txt",
        ),
        (
            get("/query?q=1&q=2&x=y"),
            r#"200 application/json {"one":"1","all":["1","2"],"rest":{"q":"1","x":"y"}}"#,
        ),
        (get("/sub/deep"), "200 text/plain;charset=utf-8 deep"),
        (get("/timed/x"), "200 text/plain;charset=utf-8 yes"),
        (get("/logged/x"), "200 text/plain;charset=utf-8 logged"),
        (
            post("/json", "application/json", r#"{"a":[1,{}]}"#),
            r#"200 application/json {"a":[1,{}]}"#,
        ),
        (
            post("/text", "text/plain", "abc"),
            "200 text/plain;charset=utf-8 ABC",
        ),
        (
            post("/bytes", "application/octet-stream", "abc"),
            "200 - cba",
        ),
        (
            post("/twice", "application/json", "{}"),
            r#"200 application/json ["{}",{}]"#,
        ),
        (
            post(
                "/form",
                "application/x-www-form-urlencoded",
                "a=1&b=x+y&a=2",
            ),
            r#"200 application/json {"a":["1","2"],"b":"x y"}"#,
        ),
        (
            get("/text-stream"),
            "200 text/plain;charset=utf-8 one\ntwo\ndrei ü\n",
        ),
    ] {
        let path = request.path.clone();
        assert_eq!(shown(&app, request), expected, "{path}");
    }
    assert_eq!(
        fetch(&app, get("/redirect")).header("location"),
        Some("/json")
    );
    let header = fetch(&app, with(get("/header"), "X-In", "in"));
    assert_eq!((header.code(), header.text().as_str()), (201, "in"));
    let tagged = fetch(&app, get("/etag/data"));
    let tag = tagged.header("etag").expect("a tag").to_owned();
    assert_eq!(
        fetch(&app, with(get("/etag/data"), "If-None-Match", &tag)).code(),
        304
    );
    assert_eq!(fetch(&app, get("/admin/page")).code(), 401);
    assert_eq!(
        fetch(
            &app,
            with(
                get("/admin/page"),
                "Authorization",
                "Basic YWRtaW46cMOkc3N3b3Jk"
            )
        )
        .code(),
        200
    );
    assert!(fetch(&app, get("/cookie")).header("set-cookie").is_some());
    assert!(shown(&app, get("/sse")).contains("event: tick"));
    assert_eq!(fetch(&app, get("/slow")).code(), 504);
    assert_eq!(fetch(&app, get("/nowhere")).code(), 404);
    let parts = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: \
     text/x\r\n\r\nhi\r\n--B--\r\n";
    let form = post("/form", "multipart/form-data; boundary=B", parts);
    assert_eq!(
        shown(&app, form),
        r#"200 application/json {"f":{"file":"a.txt","type":"text/x","size":2}}"#
    );
    assert!(
        app.reports.borrow().is_empty(),
        "{:?}",
        app.reports.borrow()
    );
}

#[test]
fn an_itty_router_is_served_unchanged() {
    let Some(source) = bundle("itty.mjs") else {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: npm is not available, so there is no itty-router to serve"
        );
        return;
    };
    let app = load_with(&[("app.js", &source)], ScriptLimits::default()).expect("it loads");
    for (request, expected) in [
        (
            get("/hello/zoe?a=1&a=2&b=x"),
            r#"200 application/json;charset=utf-8 {"name":"zoe","query":{"a":["1","2"],"b":"x"},"user":"ada"}"#,
        ),
        (
            with(get("/todos/42/7"), "cookie", "theme=dark"),
            r#"200 application/json;charset=utf-8 {"id":"42","ip":"7","cookies":{"theme":"dark"}}"#,
        ),
        (
            get("/context"),
            r#"200 application/json;charset=utf-8 {"ip":"192.0.2.1","id":"r1","own":null}"#,
        ),
        (
            post("/echo", "application/json", "[1]"),
            r#"200 application/json;charset=utf-8 {"body":[1]}"#,
        ),
        (
            get("/broken"),
            r#"418 application/json;charset=utf-8 {"status":418,"error":"a teapot"}"#,
        ),
        (
            get("/nowhere"),
            r#"404 application/json;charset=utf-8 {"status":404,"error":"Not Found"}"#,
        ),
    ] {
        let path = request.path.clone();
        assert_eq!(shown(&app, request), expected, "{path}");
    }
}
