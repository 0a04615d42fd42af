//! examples/notes in browsers: its pages, and what axe-core finds on them.

use crate::LANGUAGES;
use crate::browser::{OVERFLOW, axe, faults_of, is_there, results, turn};
use crate::notes::notes;
use crate::support::Scratch;
use crate::webdriver::Browser;
use sampan_testkit::wait;
use serde_json::json;
use std::fs;

/// The width and the height of [`picture`].
const PICTURE_SIDES: [u32; 2] = [320, 200];

/// A BMP of 24 bits per pixel, without compression.
fn picture() -> Vec<u8> {
    let [width, height] = PICTURE_SIDES;
    let mut bytes = b"BM".to_vec();
    let body = width * height * 3;
    for number in [
        54 + body,
        0,
        54,
        40,
        width,
        height,
        1 | 24 << 16,
        0,
        body,
        0,
        0,
        0,
        0,
    ] {
        bytes.extend(number.to_le_bytes());
    }
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    bytes
        .extend(pixels.flat_map(|(x, y)| [(x * 255 / width) as u8, (y * 255 / height) as u8, 128]));
    bytes
}

/// A visit of examples/notes: register, write with a picture, search. axe-core looks at each page, where it is there.
#[test]
fn notes_in_a_browser() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let axe = axe();
    let scratch = Scratch::new(&[]);
    let (server, mailbox) = notes("lua", &scratch);
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
    browser.fill("#email", "ann@example.org");
    browser.fill("#password", "short");
    browser.submit("main button");
    assert!(browser.has("#password-error"));
    let has_focus = "return document.activeElement.id";
    assert_eq!(browser.run(has_focus, &json!([])), json!("password"));
    check(&mut browser, "register");
    browser.fill("#password", "correct horse");
    browser.submit("main button");
    assert_eq!(browser.path(), "/sent");
    check(&mut browser, "sent");
    browser.open(&mailbox.next_link());
    check(&mut browser, "confirm");
    browser.submit("main button");
    assert_eq!(browser.path(), "/login");
    assert!(browser.text(".flash").contains("is confirmed"));
    check(&mut browser, "confirmed");
    browser.follow("You forgot your password?");
    check(&mut browser, "forgotten");
    browser.fill("#email", "ann@example.org");
    browser.submit("main button");
    assert_eq!(browser.path(), "/sent");
    browser.open(&mailbox.next_link());
    browser.fill("#password", "battery staple");
    check(&mut browser, "password");
    browser.submit("main button");
    assert!(browser.text(".flash").contains("was changed"));
    browser.fill("#email", "ann@example.org");
    browser.fill("#password", "battery staple");
    browser.submit("main button");
    assert_eq!(browser.path(), "/");
    browser.follow("New note");
    browser.fill("#title", "Clinic");
    browser.fill("#body", "A dog and a cat");
    browser.fill("#tags", "pets");
    let file = scratch.path().join("picture.bmp");
    fs::write(&file, picture()).expect("written");
    browser.choose("#image", &file);
    check(&mut browser, "new");
    browser.submit("main button");
    assert_eq!(browser.text(".flash"), "The note was saved.");
    let [width, _] = PICTURE_SIDES;
    assert_eq!(browser.property("main img", "naturalWidth"), json!(width));
    check(&mut browser, "note");
    browser.follow("Notes");
    // A job makes the thumbnail, and the page shows it when it is there.
    let shown = "return document.querySelector('.cards img')?.naturalWidth";
    wait::until("a thumbnail", || {
        browser.run(shown, &json!([])) == json!(160)
    });
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
    browser.size(380, 844);
    for page in ["login", "register", "forgotten", "sent", "confirm"] {
        browser.open(&format!("/{page}"));
        check(&mut browser, &format!("{page}-380"));
        let overflow = browser.run(OVERFLOW, &json!([]));
        assert_eq!(overflow, json!(0), "{page}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Fills the form of a page that registers or logs in.
fn enter(browser: &mut Browser, page: &str) {
    browser.open(page);
    browser.fill("#email", "ann@example.org");
    browser.fill("#password", "correct horse");
    browser.submit("main button");
}

/// A visit in both languages: register, write with a picture, see its thumbnail.
#[test]
fn a_picture_gets_a_thumbnail() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let (server, mailbox) = notes(language, &scratch);
        let mut browser = Browser::start(server.address);
        enter(&mut browser, "/register");
        browser.open(&mailbox.next_link());
        browser.submit("main button");
        enter(&mut browser, "/login");
        browser.open("/notes/new");
        browser.fill("#title", "Clinic");
        browser.fill("#body", "A dog and a cat");
        let file = scratch.path().join("picture.bmp");
        fs::write(&file, picture()).expect("written");
        browser.choose("#image", &file);
        browser.submit("main button");
        assert_eq!(browser.text(".flash"), "The note was saved.", "{language}");
        browser.open("/");
        let shown = "return document.querySelector('.cards img')?.naturalWidth";
        wait::until(format!("{language}: a thumbnail"), || {
            browser.run(shown, &json!([])) == json!(160)
        });
    }
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
        let (server, mailbox) = notes(language, &scratch);
        let mut writer = Browser::start(server.address);
        let mut reader = Browser::start(server.address);
        enter(&mut writer, "/register");
        writer.open(&mailbox.next_link());
        writer.submit("main button");
        enter(&mut writer, "/login");
        enter(&mut reader, "/login");
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
