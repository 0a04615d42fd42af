//! examples/notes in browsers: its pages, and what axe-core finds on them.

use crate::browser::{OVERFLOW, axe, faults_of, is_there, results, turn};
use crate::notes::notes;
use crate::support::Scratch;
use crate::webdriver::Browser;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use std::fs;

/// A PNG of one pixel.
const ONE_PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A visit of examples/notes: register, write with a picture, search. axe-core looks at each page, where it is there.
#[test]
fn notes_in_a_browser() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let axe = axe();
    let scratch = Scratch::new(&[]);
    let server = notes("lua", &scratch);
    let mut browser = Browser::start(server.address);
    let mut faults = Vec::new();
    let mut check = |browser: &mut Browser, what: &str| {
        if let Some(axe) = &axe {
            for scheme in ["light", "dark"] {
                browser.colours(scheme);
                faults.extend(faults_of(browser, axe, &format!("{what}, {scheme}")));
            }
        }
        browser.picture(&results().join(format!("notes-{what}.png")));
    };
    browser.open("/");
    assert_eq!(browser.path(), "/login");
    check(&mut browser, "login");
    browser.follow("Register");
    browser.fill("#name", "Ann");
    browser.fill("#password", "short");
    browser.submit("main button");
    assert!(browser.has("#password-error"));
    check(&mut browser, "register");
    browser.fill("#password", "correct horse");
    browser.submit("main button");
    assert_eq!(browser.path(), "/");
    browser.follow("New note");
    browser.fill("#title", "Clinic");
    browser.fill("#body", "A dog and a cat");
    browser.fill("#tags", "pets");
    let picture = scratch.path().join("one.png");
    fs::write(&picture, BASE64_STANDARD.decode(ONE_PIXEL).expect("base64")).expect("written");
    browser.choose("#image", &picture);
    check(&mut browser, "new");
    browser.submit("main button");
    assert_eq!(browser.text(".flash"), "The note was saved.");
    assert_eq!(browser.property("main img", "naturalWidth"), json!(1));
    check(&mut browser, "note");
    browser.follow("Notes");
    browser.fill("#q", "dog");
    browser.submit("main form button");
    browser.follow("Clinic");
    browser.follow("Notes");
    check(&mut browser, "list");
    browser.follow("New note");
    browser.fill("#title", &"Unbroken".repeat(20));
    browser.fill("#body", &"w".repeat(500));
    browser.fill("#tags", &"long".repeat(30));
    browser.submit("main button");
    for width in [390, 1280] {
        browser.size(width, 844);
        for page in [
            "/notes/9",
            "/notes/2",
            "/notes/2/edit",
            "/notes/2/delete",
            "/",
        ] {
            browser.open(page);
            let name = page.replace('/', "-");
            check(&mut browser, &format!("long{name}-{width}"));
            let overflow = browser.run(OVERFLOW, &json!([]));
            assert_eq!(overflow, json!(0), "{page} at {width} pixels");
        }
    }
    browser.submit("header button");
    assert_eq!(browser.path(), "/login");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
