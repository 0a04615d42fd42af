//! The cost of a call of a handler without any HTTP or database around it: `cargo bench -p sampan-js --bench calls`.
//! See
//! [`sampan_rig::time_routes`].

use sampan_host::{Module, ScriptLimits};
use sampan_js::Js;

// As the server has it: a good part of the work is small blocks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static MODULES: &[&Module] = &[&sampan_rig::BENCH];

const SOURCE: &str = r#"
import { app, json, bench } from "sampan";
app.get("/nothing", () => undefined);
app.get("/text", () => "text");
app.get("/greet/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));
app.post("/echo", async (req) => await req.json());
app.post("/parse", (req) => { req.json(); });
const text = '{"name":"World","numbers":[1,2,3],"nested":{"ok":true}}';
app.get("/builtin-parse", () => { JSON.parse(text); });
app.get("/async", async () => "text");
app.get("/object", () => ({ a: 1, b: "two", c: [1, 2, 3], d: { e: null, f: true } }));
const rows = Array.from({ length: 20 }, (_, id) => ({ id, path: "/some/path", ts: 1700000000 + id }));
app.get("/plain-rows", () => rows);
app.get("/all-rows", () => bench.rows());
app.get("/rows-objects", () => { bench.rows(); });
app.get("/rows-batch", () => bench.batch());
app.get("/bracket", () => { bench.bracket(() => {}); });
app.get("/stringify", () => JSON.stringify(rows));
app.get("/builder", () => json({ ok: true }, 201));
app.get("/response", () => new Response("text"));
app.get("/header", (req) => req.headers.get("user-agent"));
app.get("/query", (req) => req.query.a);
app.get("/middleware/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));
app.use((req, next) => next(req));
"#;

fn main() {
    let files = [("app.js", SOURCE)];
    let app = sampan_rig::load("app.js", &files, MODULES, ScriptLimits::default(), Js::load);
    sampan_rig::time_routes(&app.expect("the script loads"));
}
