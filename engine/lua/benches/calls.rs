//! The cost of a call of a handler without any HTTP or database around it: `cargo bench -p sampan-lua --bench calls`.
//! See
//! [`sampan_rig::time_routes`].
//!
//! 20 rows of two integers and two short texts are the measure: made into tables only, and made into tables and written
//! as JSON.

use sampan_host::{Module, ScriptLimits};
use sampan_lua::Lua;

// As the server has it: a good part of the work is small blocks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static MODULES: &[&Module] = &[&sampan_rig::BENCH];

const SOURCE: &str = r#"
local app = require "sampan"
app.get("/nothing", function() end)
app.get("/tables", function() app.bench.rows() end)
app.get("/rows", function() return app.bench.rows() end)
app.get("/one", function() return app.bench.one() end)
local plain = {}
for i = 1, 20 do plain[i] = { id = i, kind = "click", payload = "some text", ts = 1700000000 + i } end
app.get("/plain", function() return plain end)
local kept = app.bench.rows()
app.get("/kept", function() return kept end)
app.get("/bracket", function() app.bench.bracket(function() end) end)
app.get("/batch", function() app.bench.batch() end)
"#;

fn main() {
    let files = [("app.lua", SOURCE)];
    let app = sampan_rig::load(
        "app.lua",
        &files,
        MODULES,
        ScriptLimits::default(),
        Lua::load,
    );
    sampan_rig::time_routes(&app.expect("the script loads"));
}
