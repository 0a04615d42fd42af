//! Additions of capabilities to requests: fields, methods, a store of each request's own, and header fields of its
//! answer.

use crate::support::{End, Rig, added_fields, block_on, get, load};
use sampan_host::{Isolate, RequestView};
use std::rc::Rc;

/// Calls the only route for this path, and keeps the request to look at.
fn ask(rig: &Rig, path: &str) -> (Rc<dyn RequestView>, End) {
    let call = rig.call(
        get(path),
        Some(rig.isolate.program().routes[0].handler),
        &[],
    );
    let request = Rc::clone(&call.request);
    (request, rig.start(call))
}

fn error(source: &str) -> String {
    let error = load(source).only(get("/")).expect_err("an error");
    error.message().to_owned()
}

#[test]
fn a_field_is_computed_once_and_only_if_it_is_asked_for() {
    let rig = load(
        "local app = require 'sampan'
        app.get('/', function(req)
          if not req.query.ask then return 'no' end
          return { req.visited_path, req.visited_path, req.id, req.visit_result }
        end)",
    );
    assert_eq!(rig.text(get("/")), "no");
    assert!(rig.notes.0.borrow().is_empty());
    for _ in 0..2 {
        assert_eq!(rig.text(get("/?ask=1")), r#"["/","/","r1",{"last_id":7}]"#);
    }
    assert_eq!(*rig.notes.0.borrow(), ["visitor of /", "visitor of /"]);
}

#[test]
fn what_fields_and_methods_refuse_is_an_error_of_the_script() {
    let handler =
        |body: &str| format!("local app = require 'sampan' app.get('/', function(req) {body} end)");
    for (body, expected) in [
        (
            "req:remember(5)",
            "req:remember: argument 1 (text) must be a string, not a number",
        ),
        (
            "req:add_field('x')",
            "req:add_field: argument 2 (text) must be a string, not nil",
        ),
        (
            "req.remember('x')",
            "expected a request: call its methods with a colon, as in req:json()",
        ),
        (
            "req.remember({}, 'x')",
            "expected a request: call its methods with a colon, as in req:json()",
        ),
        (
            "req.remember()",
            "expected a request: call its methods with a colon, as in req:json()",
        ),
        ("req:add_field('x', 'a\\nb')", "control byte in a header"),
        ("return req.broken_field", "no such visitor"),
    ] {
        assert_eq!(error(&handler(body)), expected, "{body}");
    }
}

#[test]
fn a_field_may_be_replaced_and_the_store_is_the_requests() {
    let rig = load(
        "local app = require 'sampan'
        app.use(function(req, next) req:remember('from middleware') req.visited_path = 'own' return next(req) end)
        app.get('/', function(req)
          return { req:recalled(), req:recalled_later(), req.visited_path, req:look_up(3), req:look_up(4, true) }
        end)",
    );
    let expected = r#"["from middleware","from middleware","own",3,4]"#;
    assert_eq!(rig.wrapped(get("/")).expect("an answer").text(), expected);
    let rig = load(
        "local app = require 'sampan' app.get('/', function(req) return { got = tostring(req:recalled()) } end)",
    );
    assert_eq!(rig.text(get("/")), r#"{"got":"nil"}"#);
}

#[test]
fn two_requests_that_wait_at_once_keep_what_is_theirs() {
    let rig = load(
        "local app = require 'sampan'
        app.get('/', function(req)
          req:remember(req.query.who)
          app.time.sleep(0.001)
          req:add_field('x-who', req:recalled())
          return app.text(req.visited_path .. ' ' .. req:recalled(), { headers = { ['x-own'] = req.query.who } })
        end)",
    );
    let (first, one) = ask(&rig, "/?who=ada");
    let (second, two) = ask(&rig, "/?who=bob");
    let (End::Waits(mut one, mut to_ada), End::Waits(mut two, mut to_bob)) = (one, two) else {
        panic!("both wait")
    };
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
}

#[test]
fn a_request_that_is_over_says_so() {
    let rig = load(
        "local app = require 'sampan'
        local kept
        app.get('/', function(req)
          if req.query.keep then kept = req return 'kept' end
          if req.query.field then return kept.visited_path end
          return kept:recalled()
        end)",
    );
    assert_eq!(rig.text(get("/?keep=1")), "kept");
    for path in ["/", "/?field=1"] {
        let error = rig.only(get(path)).expect_err("it is over");
        assert_eq!(error.message(), "the request is over");
    }
}
