//! Additions of capabilities to requests: fields, methods, a store of each request's own, and header fields of its
//! answer.

mod common;

use common::{App, End, added_fields, end, get, load};
use sampan_host::{HandlerId, Isolate, RequestView};
use sampan_rig::block_on;
use std::rc::Rc;

/// Calls the only route for this path, and keeps the request to look at.
fn ask(app: &App, path: &str) -> (Rc<dyn RequestView>, End) {
    let call = app.call(
        get(path),
        Some(app.isolate.program().routes[0].handler),
        &[],
    );
    let request = Rc::clone(&call.request);
    (request, app.start(call))
}

fn error(source: &str) -> String {
    let app = load(source);
    let error = app.only(get("/")).expect_err("an error");
    error.message().to_owned()
}

#[test]
fn a_field_is_computed_once_and_only_if_it_is_asked_for() {
    let app = load(
        "import { app } from 'sampan';
        app.get('/', (req) => (req.query.ask ? [req.visitedPath, req.visitedPath, req.id, req.visitResult] : 'no'));",
    );
    assert_eq!(app.text(get("/")), "no");
    assert!(app.notes.0.borrow().is_empty());
    for _ in 0..2 {
        assert_eq!(app.text(get("/?ask=1")), r#"["/","/","r1",{"lastId":7}]"#);
    }
    assert_eq!(*app.notes.0.borrow(), ["visitor of /", "visitor of /"]);
}

#[test]
fn what_fields_and_methods_refuse_is_an_error_of_the_script() {
    let handler = |body: &str| {
        format!("import {{ app }} from 'sampan'; app.get('/', (req) => {{ {body} }});")
    };
    for (body, expected) in [
        (
            "req.remember(5)",
            "req.remember: argument 1 (text) must be a string, not a number",
        ),
        (
            "req.addField('x')",
            "req.addField: argument 2 (text) must be a string, not undefined",
        ),
        (
            "const f = req.remember; f('x')",
            "this is not a request of the server",
        ),
        (
            "req.remember.call({}, 'x')",
            "this is not a request of the server",
        ),
        (
            "Object.getPrototypeOf(req).visitedPath",
            "this is not a request of the server",
        ),
        ("req.addField('x', 'a\\nb')", "control byte in a header"),
        ("req.brokenField", "no such visitor"),
        (
            "req.lookUp(1, true)",
            "takes too long (req.lookUp: await req.lookUpAsync)",
        ),
    ] {
        assert_eq!(error(&handler(body)), expected, "{body}");
    }
}

#[test]
fn a_field_may_be_replaced_and_the_store_is_the_requests() {
    let app = load(
        "import { app } from 'sampan';
        app.use((req, next) => { req.remember('from middleware'); req.visitedPath = 'own'; return next(); });
        app.get('/', async (req) => [req.recalled(), await req.recalledLater(), req.visitedPath, req.lookUp(3), \
         Object.keys(req)]);",
    );
    let expected = r#"["from middleware","from middleware","own",3,["visitedPath"]]"#;
    assert_eq!(app.wrapped(get("/")).expect("an answer").text(), expected);
    let app = load("import { app } from 'sampan'; app.get('/', (req) => [req.recalled()]);");
    assert_eq!(app.text(get("/")), "[null]");
}

#[test]
fn two_requests_that_await_one_promise_keep_what_is_theirs() {
    let app = load(
        "import { app, text } from 'sampan';
        let release; const shared = new Promise((resolve) => { release = resolve; });
        app.get('/', async (req) => {
          if (req.query.go) return release();
          req.remember(req.query.who);
          await shared;
          req.addField('x-who', req.recalled());
          return text(`${req.visitedPath} ${req.recalled()}`, { headers: { 'x-own': req.query.who } });
        });",
    );
    let (first, one) = ask(&app, "/?who=ada");
    let (second, two) = ask(&app, "/?who=bob");
    let (third, go) = ask(&app, "/?go=1");
    let (End::Waits(mut one, mut to_ada), End::Waits(mut two, mut to_bob), End::Answer(_)) =
        (one, two, go)
    else {
        panic!("two wait for the third")
    };
    // Both went on in the turn of the third.
    block_on(|cx| two.poll(cx, &mut to_bob)).expect("an answer");
    block_on(|cx| one.poll(cx, &mut to_ada)).expect("an answer");
    assert_eq!(
        (to_ada.text(), to_ada.header("x-own")),
        ("/ ada".to_owned(), Some("ada"))
    );
    assert_eq!(
        (to_bob.text(), to_bob.header("x-own")),
        ("/ bob".to_owned(), Some("bob"))
    );
    assert_eq!(added_fields(&*first), ["x-who: ada"]);
    assert_eq!(added_fields(&*second), ["x-who: bob"]);
    assert!(added_fields(&*third).is_empty());
}

#[test]
fn a_method_of_a_request_that_is_over_says_so() {
    let app = load(
        "import { app } from 'sampan';
        let kept;
        app.get('/', (req) => { if (req.query.keep) { kept = req; req.remember('x'); return; } return \
         kept.recalled(); });",
    );
    let (request, _) = ask(&app, "/?keep=1");
    assert_eq!(app.text(get("/")), "x", "it goes on");
    end(&*request);
    let error = app.only(get("/")).expect_err("it is over");
    assert_eq!(error.message(), "the request is over");
}

#[test]
fn a_fetch_export_finds_them_in_its_third_argument() {
    let app = load(
        "export default { fetch: async (req, env, ctx) => {
          ctx.remember('kept'); ctx.addField('x-a', 'b');
          return Response.json([ctx.id, ctx.ip, ctx.visitedPath, ctx.recalled(), await ctx.recalledLater(), \
           req.remember, req.visitedPath]);
        } };",
    );
    let fetch: Option<HandlerId> = app.isolate.program().fetch;
    let call = app.call(get("/p"), fetch, &[]);
    let request = Rc::clone(&call.request);
    let text = app.run(call).expect("an answer").text();
    assert_eq!(text, r#"["r1","192.0.2.1","/p","kept","kept",null,null]"#);
    assert_eq!(added_fields(&*request), ["x-a: b"]);
}
