//! Mistakes of scripts that are told of.

use crate::app::{App, LANGUAGES};

const RETURNED: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/", function(req, events)
  events:send("begun")
  return app.text("log in", 401)
end)
app.sse("/fine", function(req, events)
  events:send("begun")
  return true
end)"#,
    r#"import { app, text } from "sampan";
app.sse("/", async (req, events) => {
  await events.send("begun");
  return text("log in", 401);
});
app.sse("/fine", async (req, events) => {
  await events.send("begun");
  return true;
});"#,
];

#[test]
fn an_answer_that_the_function_returns_is_an_error() {
    for file in LANGUAGES {
        let app = App::start(file, RETURNED, 1, "");
        let mut feed = app.open("/", &[]);
        assert_eq!(feed.event(), "data: begun");
        assert!(feed.is_cut(), "{file}");
        assert_eq!(app.open("/fine", &[]).rest(), "data: begun\n\n");
        assert!(app.running.shutdown());
    }
}

const OPTIONS: [&str; 2] = [
    r#"require("sampan").sse("/", { comprss = true }, function() end)"#,
    r#"import { app } from "sampan";
app.sse("/", { comprss: true }, () => {});"#,
];

#[test]
fn options_are_checked_when_the_file_is_loaded() {
    for file in LANGUAGES {
        let error = App::refusal(file, OPTIONS);
        assert!(error.contains("comprss"), "{error}");
        assert!(error.contains(&format!("{file}:")), "{error}");
    }
}

const UNAWAITED: &str = r#"import { app } from "sampan";
app.sse("/", async (req, events) => {
  for (let n = 0; n < 999; n += 1) events.send("x".repeat(10000));
  await events.send("end");
});"#;

#[test]
fn what_is_sent_without_await_arrives() {
    let app = App::start("app.js", ["", UNAWAITED], 1, "");
    let text = app.open("/", &[]).rest();
    assert!(text.ends_with("data: end\n\n"));
    assert_eq!(
        text.len(),
        999 * (10_000 + "data: \n\n".len()) + "data: end\n\n".len()
    );
    assert!(app.running.shutdown());
}
