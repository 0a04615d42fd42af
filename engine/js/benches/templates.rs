//! The cost of rendering templates, without HTTP around it: `cargo bench -p sampan-js --bench templates`.

use sampan_host::Module;
use sampan_js::Js;
use sampan_template::{ANSWERS, TemplateStore, Templates};
use std::sync::Arc;

// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static MODULES: &[&Module] = &[&ANSWERS];

const SOURCE: &str = "import { app, render, html } from 'sampan';
const items = [], rows = [];
for (let i = 1; i <= 50; i++) {
  items.push({ name: `Item ${i}`, on: i % 3 === 0 });
  rows.push({ id: i, name: `Name ${i}`, on: i % 2 === 0 });
}
app.get('/simple', () => render('simple.html', { title: 'Title', heading: 'Hello & welcome' }));
app.get('/loop', () => render('loop.html', { items }));
app.get('/full', () => render('full.html', { title: 'Users', user: 'Ada', rows }));
app.get('/same', () => html('<p>as long as it takes</p>'));";

fn main() {
    let limits = sampan_rig::patient_limits();
    let pages = sampan_rig::PAGES.iter();
    let pages = pages.map(|(name, text)| (*name, text.as_bytes().to_vec()));
    let templates = Arc::new(Templates::compile(pages).expect("templates"));
    let files = [("app.js", SOURCE)];
    let app = sampan_rig::load("app.js", &files, MODULES, limits, |setup| {
        setup.context.put(TemplateStore::new(templates));
        Js::load(setup)
    });
    sampan_rig::time_routes(&app.expect("the script loads"));
}
