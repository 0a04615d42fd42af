//! `sampan dev` in a browser: pages load themselves again, style sheets change in place, errors are shown over the page
//! and as pages. Pictures of those are for people to look at (`target/petclinic/dev-*.png`).

use crate::browser::{axe, faults_of, is_there, results, turn};
use crate::support::{Process, Scratch};
use crate::webdriver::Browser;
use sampan_testkit::wait;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::time::Duration;

const APP: &str = r#"local app = require "sampan"
local db = app.db

local function discount(customer)
  local rate = customer.rate or error("customer " .. customer.name .. " has no <rate>: every customer needs one before its first order")
  return 1 - rate
end

app.get("/", function(req) return req:render("page.html", { word = "first" }) end)
app.get("/orders/:id", function(req)
  db.query("SELECT id, name FROM customers WHERE id = ?", { 1 })
  db.query("SELECT product, amount, price FROM items JOIN products USING (product_id) WHERE order_id = ? ORDER BY product", { 7 })
  return { total = 100 * discount({ name = "Ada" }) }
end)
app.get("/list", function(req) return req:render("list.html", { items = { { name = "one" } } }) end)
app.use(app.secure_headers{ csp = "default-src 'none'" })
"#;
const MIGRATION: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, product TEXT, price REAL);
CREATE TABLE items (order_id INTEGER, product_id INTEGER, amount INTEGER);
";
const PAGE: &str = "<!doctype html><html lang=\"en\"><title>A page</title><link rel=\"stylesheet\" \
 href=\"/a.css\"><body><main><h1>{{ word }}</h1></main></body></html>";

/// A project under `sampan dev`, and a browser.
fn develop(scratch: &Scratch) -> (Process, Browser) {
    for folder in ["templates", "migrations", "public"] {
        fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    for (file, text) in [
        ("app.lua", APP),
        ("migrations/0001_shop.sql", MIGRATION),
        ("templates/page.html", PAGE),
        (
            "templates/list.html",
            "<ul>\n{% for item in items %}\n  <li>{{ item.price.amount }}</li>\n{% endfor %}\n</ul>\n",
        ),
        ("public/a.css", "h1 { color: rgb(1, 2, 3) }"),
    ] {
        save(scratch, file, text);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("dev").arg(scratch.path());
    command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    let process = Process::start(&mut command);
    let browser = Browser::start(process.address);
    (process, browser)
}

fn save(scratch: &Scratch, file: &str, text: &str) {
    fs::write(scratch.path().join(file), text).expect("written");
}

/// Waits until a script in the page gives true. While pages change there is none in which it could run.
fn wait_for(browser: &mut Browser, script: &str) {
    wait::until(script, || {
        browser.try_run(script) == Some(Value::Bool(true))
    });
}

#[test]
fn a_page_follows_what_is_saved() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let (_process, mut browser) = develop(&scratch);
    browser.open("/");
    let colour = |rgb: &str| {
        format!("return getComputedStyle(document.querySelector('h1')).color == '{rgb}'")
    };
    wait_for(&mut browser, &colour("rgb(1, 2, 3)"));
    browser.run("window.isTheSame = true", &json!([]));
    save(&scratch, "public/a.css", "h1 { color: rgb(4, 5, 6) }");
    wait_for(&mut browser, &colour("rgb(4, 5, 6)"));
    assert_eq!(
        browser.run("return window.isTheSame", &json!([])),
        json!(true)
    );

    save(
        &scratch,
        "templates/page.html",
        &PAGE.replace("{{ word }}", "{{ word }}, again"),
    );
    wait_for(
        &mut browser,
        "return document.querySelector('h1').textContent == 'first, again' && !window.isTheSame",
    );

    // Broken code is told over the page, which stays; mended code takes its place.
    browser.run("window.isTheSame = true", &json!([]));
    save(
        &scratch,
        "app.lua",
        &APP.replace("return 1 - rate", "return 1 -"),
    );
    wait_for(
        &mut browser,
        "return document.querySelector('iframe')?.contentDocument?.querySelector('h1') != null",
    );
    let told = "return document.querySelector('iframe').contentDocument.body.textContent";
    let told = browser.run(told, &json!([]));
    assert!(told.to_string().contains("app.lua:7"), "{told}");
    // Its style comes from a file, which the policy of the page must allow.
    wait_for(
        &mut browser,
        "const page = document.querySelector('iframe').contentDocument;
         return getComputedStyle(page.querySelector('h1')).fontSize == '24px'",
    );
    assert_eq!(
        browser.run("return window.isTheSame", &json!([])),
        json!(true)
    );
    browser.picture(&results().join("dev-overlay.png"));
    save(&scratch, "app.lua", &APP.replace("first", "third"));
    wait_for(
        &mut browser,
        "return document.querySelector('h1').textContent == 'third, again' && !document.querySelector('iframe')",
    );

    // An error of a request is a page that follows too.
    browser.open("/orders/7");
    assert!(browser.text("h1").contains("has no <rate>"));
    save(
        &scratch,
        "app.lua",
        &APP.replace("name = \"Ada\"", "name = \"Ada\", rate = 0.5"),
    );
    wait_for(
        &mut browser,
        "return document.body.textContent.includes('50')",
    );

    // It loads itself again once for each save, not for ever. The last save is over. A page that would load itself
    // later tells no event before.
    wait::dawdle(Duration::from_millis(500));
    browser.open("/");
    browser.run("window.isTheSame = true", &json!([]));
    wait::dawdle(Duration::from_millis(500));
    assert_eq!(
        browser.run("return window.isTheSame", &json!([])),
        json!(true)
    );
}

#[test]
fn error_pages_fit_every_screen() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let (_process, mut browser) = develop(&scratch);
    let (folder, axe, mut faults) = (results(), axe(), Vec::new());
    for (width, height, device) in [(1280, 800, "wide"), (390, 844, "narrow")] {
        browser.size(width, height);
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            for (name, path) in [("script", "/orders/7?coupon=spring"), ("template", "/list")] {
                browser.open(path);
                let overflow = browser.run(
                    "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
                    &json!([]),
                );
                assert_eq!(
                    overflow,
                    json!(0),
                    "{name}, {device}: wider than the screen"
                );
                let what = format!("dev-{name}-{device}-{scheme}");
                if let Some(axe) = &axe {
                    faults.extend(faults_of(&mut browser, axe, &what));
                }
                browser.picture(&folder.join(format!("{what}.png")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
