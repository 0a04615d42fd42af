//! Both engines read the JSON that `serde_json` reads and refuse the rest, and what they write of it is the same value:
//! by the native reader and writer, and in JavaScript also by QuickJS's own.

use crate::json::same;
use sampan_host::Isolate;
use sampan_js::Js;
use sampan_lua::Lua;
use sampan_rig::{App, post};
use serde_json::Value;

/// Answers with what was sent.
const LUA: &str = "local app = require 'sampan'\n\
    app.post('/echo', function(req) return { value = req:json() } end)";

/// Answers with what was sent, as our reader and QuickJS's own read it, and with what QuickJS writes.
const JS: &str = "import { app } from 'sampan';\n\
    app.post('/echo', async (req) => ({ value: await req.json() }));\n\
    app.post('/own', async (req) => {\n\
      const value = JSON.parse(await req.text());\n\
      return { value, written: JSON.stringify(value) };\n\
    });";

/// Texts with more brackets may nest too deeply.
const BRACKETS_MAX: usize = 48;

struct Engines {
    lua: App<Lua>,
    js: App<Js>,
}

thread_local! {
    static ENGINES: Engines = {
        let limits = sampan_rig::patient_limits();
        let lua = sampan_rig::load("app.lua", &[("app.lua", LUA)], &[], limits.clone(), Lua::load);
        let js = sampan_rig::load("app.js", &[("app.js", JS)], &[], limits, Js::load);
        Engines {
            lua: lua.expect("the script loads"),
            js: js.expect("the script loads"),
        }
    };
}

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.matches(['[', '{']).count() > BRACKETS_MAX {
        return;
    }
    let expected = serde_json::from_str::<Value>(text);
    if expected
        .as_ref()
        .is_err_and(|error| error.to_string().contains("out of range"))
    {
        return;
    }
    ENGINES.with(|engines| {
        compare(
            "Lua",
            text,
            echoed(&engines.lua, "/echo", text),
            expected.as_ref().ok(),
        );
        compare(
            "JavaScript",
            text,
            echoed(&engines.js, "/echo", text),
            expected.as_ref().ok(),
        );
        // The language reads halves of surrogate pairs, and `text()` leaves out a byte order mark.
        if expected.is_err() && text.contains(['\\', '\u{feff}']) {
            return;
        }
        let own = echoed(&engines.js, "/own", text);
        let written = own
            .as_ref()
            .ok()
            .map(|own| own["written"].as_str().expect("a text"));
        let written = written.map(|written| serde_json::from_str::<Value>(written).expect("JSON"));
        if let (Some(written), Ok(expected)) = (&written, &expected) {
            assert!(
                same(written, expected),
                "QuickJS writes {written} of {text:?}"
            );
        }
        compare("QuickJS", text, own, expected.as_ref().ok());
    });
}

/// The answer of an app, or its error in words.
fn echoed<I: Isolate>(app: &App<I>, route: &str, text: &str) -> Result<Value, String> {
    let answer = app.route(route, post("/", "application/json", text));
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&answer.body).expect("an answer is JSON"))
}

fn compare(reader: &str, text: &str, found: Result<Value, String>, expected: Option<&Value>) {
    match (found, expected) {
        (Ok(found), Some(expected)) => {
            let found = found.get("value").unwrap_or(&Value::Null);
            assert!(same(found, expected), "{reader} makes {found} of {text:?}");
        }
        (Ok(found), None) => panic!("{reader} makes {found} of {text:?}, which is no JSON"),
        (Err(error), Some(_)) => panic!("{reader} refuses {text:?}: {error}"),
        (Err(_), None) => {}
    }
}
