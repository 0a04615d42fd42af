//! The cost of rendering templates, without HTTP around it: `cargo bench -p sampan-lua --bench templates`.

use sampan_host::Module;
use sampan_lua::Lua;
use sampan_template::{ANSWERS, TemplateStore, Templates};
use std::sync::Arc;

// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static MODULES: &[&Module] = &[&ANSWERS];

const SOURCE: &str = "local app = require 'sampan'
local items, rows = {}, {}
for i = 1, 50 do
  items[i] = { name = 'Item ' .. i, on = i % 3 == 0 }
  rows[i] = { id = i, name = 'Name ' .. i, on = i % 2 == 0 }
end
app.get('/simple', function() return app.render('simple.html', { title = 'Title', heading = 'Hello & welcome' }) end)
app.get('/loop', function() return app.render('loop.html', { items = items }) end)
app.get('/full', function() return app.render('full.html', { title = 'Users', user = 'Ada', rows = rows }) end)
app.get('/same', function() return app.html('<p>as long as it takes</p>') end)";

fn main() {
    let limits = sampan_rig::patient_limits();
    let pages = sampan_rig::PAGES.iter();
    let pages = pages.map(|(name, text)| (*name, text.as_bytes().to_vec()));
    let templates = Arc::new(Templates::compile(pages).expect("templates"));
    let files = [("app.lua", SOURCE)];
    let app = sampan_rig::load("app.lua", &files, MODULES, limits, |setup| {
        setup.context.put(TemplateStore::new(templates));
        Lua::load(setup)
    });
    sampan_rig::time_routes(&app.expect("the script loads"));
}
