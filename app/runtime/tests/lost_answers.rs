//! In development an answer whose writes are lost tells why, and not only that something is.

use sampan_client::Client;
use sampan_host::Error;
use sampan_http::{Handler, HandlerSlot, Response};
use sampan_project::Project;
use sampan_runtime::{AppConfig, Development, Server};
use sampan_serve::{Dispatch, ErrorPages, View};
use std::rc::Rc;
use std::sync::Arc;

const JS: &str = r#"
import { app, db } from "sampan";
app.get("/forgotten", () => {
  db.transaction(async () => { throw new Error("the cause"); });
  return "done";
});
app.get("/statement", () => {
  db.transaction(async (tx) => { tx.exec("INSERT INTO missing VALUES (1)"); });
  return "done";
});
app.get("/awaited", async () => {
  await db.transaction(async (tx) => tx.exec("CREATE TABLE IF NOT EXISTS a(b)"));
  return "done";
});
app.get("/written", () => {
  db.exec("CREATE TABLE IF NOT EXISTS c(d)");
  return "done";
});
"#;

/// Answers with the text of the error.
#[derive(Debug)]
struct TextPages;

impl Development for TextPages {
    fn handler(self: Arc<Self>, _: Rc<Dispatch>, inner: Rc<dyn Handler>) -> HandlerSlot {
        HandlerSlot::new(inner)
    }

    fn error_pages(self: Arc<Self>, _: &Project) -> Box<dyn ErrorPages> {
        Box::new(TextPages)
    }
}

impl ErrorPages for TextPages {
    fn answer_to(&self, error: &Error, _: Option<&Error>, _: &Rc<View>) -> Response {
        let mut response = Response::new(error.kind().status());
        let body = response.body_mut();
        body.extend_from_slice(error.to_string().as_bytes());
        response
    }

    fn instead_of(&self, _: &Error, own: Response, _: &Rc<View>) -> Response {
        own
    }
}

#[test]
fn a_forgotten_transaction_that_fails_is_told_in_development() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("app.js"), JS).expect("written");
    let settings = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[db]\npath = \":memory:\"\n";
    for is_in_development in [false, true] {
        let mut config = AppConfig::from_text(folder.path(), settings).expect("valid");
        if is_in_development {
            config.program.development = Some(Arc::new(TextPages));
        }
        let running = Server::start(config).expect("it starts");
        let ask = |path: &str| {
            let mut client = Client::connect(running.address()).expect("connected");
            client.ask("GET", path, &[], "").expect("an answer").text()
        };
        let told = ask("/forgotten");
        let reason = "app.js:3: what this request wrote could not be committed: a db.transaction that the answer \
            depends on failed after the handler had returned: is await missing in front of it?";
        assert_eq!(told.contains(reason), is_in_development, "{told}");
        let told = ask("/statement");
        let cause = "is await missing in front of it? (no such table: missing (in: INSERT INTO missing VALUES (1)))";
        assert_eq!(told.contains(cause), is_in_development, "{told}");
        assert_eq!(ask("/awaited"), "done");
        assert_eq!(ask("/written"), "done");
        assert!(running.shutdown());
    }
}
