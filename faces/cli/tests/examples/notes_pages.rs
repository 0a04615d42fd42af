//! examples/notes in browsers: its pages, and what axe-core finds on them.

use crate::LANGUAGES;
use crate::browser::{OVERFLOW, axe, faults_of, is_there, results, turn};
use crate::notes::notes;
use crate::support::Scratch;
use crate::webdriver::Browser;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sampan_testkit::wait;
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

/// Changes by one browser of a user appear on the pages that another has open.
#[test]
fn open_pages_follow_changes() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let server = notes(language, &scratch);
        let mut writer = Browser::start(server.address);
        let mut reader = Browser::start(server.address);
        for (browser, page) in [(&mut writer, "/register"), (&mut reader, "/login")] {
            browser.open(page);
            browser.fill("#name", "Ann");
            browser.fill("#password", "correct horse");
            browser.submit("main button");
        }
        let shows = |reader: &mut Browser, text: &str| {
            wait::until(format!("{language}: {text:?}"), || {
                reader.text("main").contains(text)
            });
            let is_same = reader.run("return window.isSame === true", &json!([]));
            assert_eq!(is_same, json!(true), "{language}: a reload");
        };
        reader.run("window.isSame = true", &json!([]));
        writer.open("/notes/new");
        writer.fill("#title", "Garden");
        writer.fill("#body", "Plant tulips");
        writer.submit("main button");
        assert_eq!(writer.text(".flash"), "The note was saved.", "{language}");
        shows(&mut reader, "Plant tulips");
        assert!(
            !reader.has(".flash"),
            "{language}: the message is for the writer"
        );

        reader.open("/notes/1");
        reader.run("window.isSame = true", &json!([]));
        writer.open("/notes/1/edit");
        writer.fill("#body", "Plant roses");
        writer.submit("main button");
        shows(&mut reader, "Plant roses");
        writer.open("/notes/1/delete");
        writer.submit("main button");
        shows(&mut reader, "This page does not exist");
    }
}
