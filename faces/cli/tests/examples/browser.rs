//! The clinic in a browser: what a visitor does with the mouse and with keys alone, what axe-core finds, and pictures
//! of the pages for people to look at (`target/petclinic/*.png`).

use crate::support::{Process, Scratch};
use crate::webdriver::{Browser, ENTER, TAB};
use crate::{LANGUAGES, petclinic, petclinic_as_one_file, petclinic_command, root, sampan};
use sampan_client::certificates::Identity;
use sampan_testkit::{npm, wait};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The exit status of `install.sh` if it cannot install the browser.
const CANNOT_INSTALL: i32 = 3;

/// The most keys that lead to an element of a page.
const TABS_MAX: usize = 30;

/// The main pages, and names for their pictures.
const PAGES: [(&str, &str); 10] = [
    ("welcome", "/"),
    ("find", "/owners/find"),
    ("list", "/owners?lastName="),
    ("nobody", "/owners?lastName=nobody"),
    ("owner", "/owners/6"),
    ("new-owner", "/owners/new"),
    ("new-pet", "/owners/6/pets/new"),
    ("new-visit", "/owners/6/pets/7/visits/new"),
    ("vets", "/vets.html"),
    ("error", "/oups"),
];

/// One browser at a time: a machine with two cores has enough to do with it.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports whether this machine has the browser. It is installed where that can be done.
pub(crate) fn is_there() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let script = root().join("tests/browser/install.sh");
        let status = Command::new("sh").arg(script).status().expect("sh exists");
        assert!(
            status.success() || status.code() == Some(CANNOT_INSTALL),
            "install.sh failed: {status}"
        );
        if !status.success() {
            // Past the test harness, which hides what a passing test prints.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: there is no Chromium with its driver, and it cannot be installed here"
            );
        }
        status.success()
    })
}

/// Returns the folder for pictures and packages, below `target`.
pub(crate) fn results() -> PathBuf {
    let test = std::env::current_exe().expect("the test's path");
    let target = test.ancestors().nth(3).expect("a target folder");
    let folder = target.join("petclinic");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The source of axe-core; nothing where npm or its registry is not there.
pub(crate) fn axe() -> Option<String> {
    let folder = results().join("axe");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(
        root().join("tests/browser/package.json"),
        folder.join("package.json"),
    )
    .expect("copied");
    npm::install(&folder, &[])?;
    let file = folder.join("node_modules/axe-core/axe.min.js");
    Some(fs::read_to_string(file).expect("npm has installed it"))
}

/// The text of an element as it is shown; nothing where it is not there. In one step: the page changes by itself.
pub(crate) fn shown(browser: &mut Browser, selector: &str) -> String {
    let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
    let text = browser.run(script, &json!([selector]));
    text.as_str().expect("a text").to_owned()
}

/// Waits until a text is shown in an element.
pub(crate) fn wait_for(browser: &mut Browser, selector: &str, text: &str) {
    wait::until(format!("{text:?} in {selector}"), || {
        shown(browser, selector).contains(text)
    });
}

/// A server and a browser on its pages.
fn visit(language: &str, scratch: &Scratch) -> (Process, Browser) {
    let server = petclinic(language, scratch);
    let browser = Browser::start(server.address);
    (server, browser)
}

#[test]
fn find_add_and_edit() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let (_server, mut browser) = visit(language, &scratch);
        visit_the_clinic(&mut browser);
    }
}

/// Visits the clinic as one file, alone in an empty folder.
#[test]
fn one_file_is_the_same_clinic() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let server = petclinic_as_one_file(language, &scratch);
        let mut browser = Browser::start(server.address);
        visit_the_clinic(&mut browser);
        browser.open("/");
        let width = browser.run(
            "return getComputedStyle(document.querySelector('main')).maxInlineSize",
            &json!([]),
        );
        assert_ne!(width, json!("none"), "the style sheet is there");
        browser.follow("Deutsch");
        browser.follow("Tierärzte");
        assert_eq!(browser.text("h1"), "Tierärzte");
    }
}

/// Visits the clinic by HTTPS, over which the browser speaks HTTP/2.
#[test]
fn https_is_the_same_clinic() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let identity = Identity::new(&["127.0.0.1"]);
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let mut command = petclinic_command(language, &scratch);
        command.arg("--tls-cert").arg(identity.certificate_file());
        command.arg("--tls-key").arg(identity.key_file());
        let server = Process::start(&mut command);
        let mut browser = Browser::start_secure(server.address);
        visit_the_clinic(&mut browser);
        let protocols = browser.run(
            "return performance.getEntries().map((one) => one.nextHopProtocol).filter(Boolean)",
            &json!([]),
        );
        let protocols = protocols.as_array().expect("a list");
        assert!(protocols.len() > 1, "the page and its style: {protocols:?}");
        assert!(protocols.iter().all(|one| one == "h2"), "{protocols:?}");
    }
}

/// Visits the clinic: finds an owner, adds and edits owners, pets and visits.
fn visit_the_clinic(browser: &mut Browser) {
    browser.open("/");
    browser.follow("Find owners");
    assert_eq!(browser.path(), "/owners/find");
    browser.fill("#lastName", "Davis");
    browser.submit("main button");
    assert_eq!(browser.path(), "/owners?lastName=Davis");
    browser.follow("Harold Davis");
    assert_eq!(browser.path(), "/owners/4");

    // A new owner: first with a fault, which keeps what was typed and has the focus.
    browser.open("/owners/find");
    browser.follow("Add owner");
    for (field, text) in [
        ("#firstName", "Ada"),
        ("#lastName", "Quill"),
        ("#address", "1 Main St."),
        ("#city", "Lodi"),
        ("#telephone", "12345"),
    ] {
        browser.fill(field, text);
    }
    browser.submit("main button");
    assert!(browser.has("#telephone-error"));
    assert_eq!(browser.property("#lastName", "value"), "Quill");
    assert_eq!(
        focused(browser),
        "telephone",
        "the first field with an error"
    );
    browser.fill("#telephone", "6085550000");
    browser.submit("main button");
    assert_eq!(browser.path(), "/owners/11");
    assert_eq!(browser.text(".flash"), "The owner was added.");
    browser.open("/owners/11");
    assert!(!browser.has(".flash"), "a message is shown once");

    // A pet, twice with one name, and a visit.
    browser.follow("Add pet");
    browser.fill("#name", "Rex");
    browser.fill_date("#birthDate", "2020-02-29");
    browser.run("document.querySelector('#type').value = 'dog'", &json!([]));
    browser.submit("main button");
    assert_eq!(browser.text(".flash"), "The pet was added.");
    assert_eq!(browser.text("section h3"), "Rex");
    browser.follow("Add pet");
    browser.fill("#name", "REX");
    browser.fill_date("#birthDate", "2020-02-29");
    browser.submit("main button");
    assert!(browser.text("#name-error").contains("already has a pet"));
    browser.open("/owners/11");
    browser.follow("Add visit");
    browser.fill("#description", "vaccination");
    browser.submit("main button");
    assert_eq!(browser.text(".flash"), "The visit was added.");
    assert!(browser.text("section table").contains("vaccination"));
    browser.follow("Edit pet");
    browser.fill("#name", "Rexi");
    browser.submit("main button");
    assert_eq!(browser.text("section h3"), "Rexi");
    browser.follow("Edit owner");
    browser.fill("#city", "Portage");
    browser.submit("main button");
    assert_eq!(browser.text(".flash"), "The owner was changed.");
    assert!(browser.text("main dl").contains("Portage"));
}

#[test]
fn the_language_is_chosen_on_any_page_and_stays() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let (_server, mut browser) = visit("lua", &scratch);
    browser.open("/owners?lastName=Es&page=1");
    browser.follow("Deutsch");
    assert_eq!(browser.text("h1"), "Besitzer");
    assert!(
        browser.text("main").contains("Escobito"),
        "the query is kept"
    );
    browser.follow("Tierärzte");
    assert_eq!(browser.text("h1"), "Tierärzte");
    browser.follow("فارسی");
    assert_eq!(browser.property("html", "dir"), "rtl");
    let brand = browser.run(
        "return document.querySelector('.brand').getBoundingClientRect().left",
        &json!([]),
    );
    assert!(
        brand.as_f64() > Some(640.0),
        "the page is mirrored: {brand}"
    );
}

/// The id, or else the text, of the element that has the focus.
fn focused(browser: &mut Browser) -> String {
    let found = browser.run(
        "const e = document.activeElement; return e.id || e.textContent.trim()",
        &json!([]),
    );
    found.as_str().expect("a text").to_owned()
}

/// Presses Tab until an element has the focus, which must be seen on every one on the way.
fn tab_to(browser: &mut Browser, wanted: &str) {
    for _ in 0..TABS_MAX {
        if focused(browser) == wanted {
            return;
        }
        browser.press(TAB);
        let is_seen = browser.run(
            "const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
             return s.outlineStyle != 'none' && parseFloat(s.outlineWidth) >= 2 && r.top >= 0 && r.width > 0",
            &json!([]),
        );
        assert_eq!(
            is_seen,
            Value::Bool(true),
            "the focus is not seen on {}",
            focused(browser)
        );
    }
    panic!("no Tab leads to {wanted}");
}

#[test]
fn keys_alone_are_enough() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let (_server, mut browser) = visit("lua", &scratch);
    browser.open("/");
    browser.press(TAB);
    assert_eq!(focused(&mut browser), "Skip to the content");
    browser.press(ENTER);
    assert_eq!(focused(&mut browser), "content");
    tab_to(&mut browser, "Find owners");
    browser.enter();
    tab_to(&mut browser, "lastName");
    browser.press("Franklin");
    browser.enter();
    assert_eq!(browser.path(), "/owners/1");
    tab_to(&mut browser, "Edit owner");
    browser.enter();
    tab_to(&mut browser, "city");
    browser.press("\u{e009}a\u{e000}");
    browser.press("Lodi");
    browser.enter();
    assert_eq!(browser.path(), "/owners/1");
    assert!(browser.text("main dl").contains("Lodi"));
    tab_to(&mut browser, "Deutsch");
    browser.enter();
    assert_eq!(browser.path(), "/owners/1?lang=de");
}

/// Returns the faults that axe-core finds on the page that is open.
pub(crate) fn faults_of(browser: &mut Browser, axe: &str, what: &str) -> Vec<String> {
    browser.run(axe, &json!([]));
    let found = browser.run_async(
        "const done = arguments[0];
         axe.run(document).then((result) => done(result.violations.map((one) =>
           one.id + ': ' + one.nodes.map((node) => node.html).join(' | '))))",
    );
    let found = found.as_array().expect("a list");
    found
        .iter()
        .map(|fault| format!("{what}: {fault}"))
        .collect()
}

#[test]
fn axe_finds_nothing() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let Some(axe) = axe() else {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: npm is not available, so there is no axe-core"
        );
        return;
    };
    let scratch = Scratch::new(&[]);
    let (_server, mut browser) = visit("lua", &scratch);
    let mut faults = Vec::new();
    let mut check =
        |browser: &mut Browser, what: &str| faults.extend(faults_of(browser, &axe, what));
    for scheme in ["light", "dark"] {
        browser.colours(scheme);
        for (name, path) in PAGES {
            browser.open(path);
            check(&mut browser, &format!("{name}, {scheme}"));
        }
        for path in [
            "/owners/new",
            "/owners/6/pets/new",
            "/owners/6/pets/7/visits/new",
        ] {
            browser.open(path);
            browser.submit("main button");
            assert!(browser.has(".error"), "{path}: an empty form has errors");
            check(&mut browser, &format!("errors of {path}, {scheme}"));
        }
        browser.open("/owners/6?lang=fa");
        check(&mut browser, &format!("Persian, {scheme}"));
        browser.open("/?lang=en");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Gives how many pixels a page is wider than its window.
pub(crate) const OVERFLOW: &str =
    "return document.documentElement.scrollWidth - document.documentElement.clientWidth";

#[test]
fn pictures_of_the_pages() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let (_server, mut browser) = visit("lua", &scratch);
    let folder = results();
    for (width, height, device) in [(1280, 800, "wide"), (390, 844, "narrow")] {
        browser.size(width, height);
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            for (name, path) in PAGES {
                browser.open(path);
                if name == "new-owner" {
                    browser.submit("main button");
                }
                let overflow = browser.run(OVERFLOW, &json!([]));
                assert_eq!(
                    overflow,
                    json!(0),
                    "{name}, {device}: wider than the screen"
                );
                browser.picture(&folder.join(format!("{name}-{device}-{scheme}.png")));
            }
            for language in ["fa", "ko"] {
                browser.open(&format!("/owners/6?lang={language}"));
                browser.picture(&folder.join(format!("owner-{language}-{device}-{scheme}.png")));
            }
            browser.open("/?lang=en");
        }
    }
    println!("pictures: {}", folder.display());
}

/// Gives where the texts of the header, the heading and the footer begin, in pixels.
const LEFT_EDGES: &str = "return ['.brand', 'h1', 'footer a'].map((selector) => {
  const element = document.querySelector(selector);
  return element.getBoundingClientRect().left + parseFloat(getComputedStyle(element).paddingLeft);
})";

/// Gives the fields that have no border, or that look as if nothing could be typed into them.
const DULL_FIELDS: &str = "return [...document.querySelectorAll('main input, main select')].filter((field) => {
  const style = getComputedStyle(field);
  const isEnabled = field.matches(':enabled:read-write, select:enabled') && style.opacity == 1
    && style.backgroundColor == 'rgb(255, 255, 255)' && style.color == getComputedStyle(document.body).color;
  const hasBorder = style.borderStyle == 'solid' && parseFloat(style.borderWidth) >= 1
    && style.borderColor != style.backgroundColor;
  return !isEnabled || !hasBorder;
}).map((field) => field.id)";

/// A word of so many characters that no line can break.
fn unbroken(count: usize) -> String {
    "Unbroken".chars().cycle().take(count).collect()
}

#[test]
fn long_texts_fit_every_screen() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let (_server, mut browser) = visit("lua", &scratch);
    browser.colours("light");
    browser.open("/owners/new");
    for (field, chars) in [
        ("#firstName", 30),
        ("#lastName", 30),
        ("#address", 255),
        ("#city", 80),
    ] {
        browser.fill(field, &unbroken(chars));
    }
    browser.fill("#telephone", "6085550000");
    browser.submit("main button");
    browser.follow("Add pet");
    browser.fill("#name", &unbroken(30));
    browser.fill_date("#birthDate", "2020-02-29");
    browser.run("document.querySelector('#type').value = 'dog'", &json!([]));
    browser.submit("main button");
    browser.follow("Add visit");
    browser.fill("#description", &unbroken(255));
    browser.submit("main button");
    assert_eq!(browser.text(".flash"), "The visit was added.");
    let long = [
        "/owners?lastName=&page=3",
        "/owners/11",
        "/owners/11/edit",
        "/owners/11/pets/14/edit",
        "/owners/11/pets/14/visits/new",
    ];
    for width in [390, 1200] {
        browser.size(width, 844);
        for page in long.into_iter().chain(PAGES.map(|(_, page)| page)) {
            browser.open(page);
            let overflow = browser.run(OVERFLOW, &json!([]));
            assert_eq!(overflow, json!(0), "{page} at {width} pixels");
            let dull = browser.run(DULL_FIELDS, &json!([]));
            assert_eq!(dull, json!([]), "{page} at {width} pixels");
            let edges = browser.run(LEFT_EDGES, &json!([]));
            let edges: Vec<f64> = serde_json::from_value(edges).expect("numbers");
            let is_even = edges.iter().all(|edge| (edge - edges[0]).abs() < 0.5);
            assert!(is_even, "{page} at {width} pixels: {edges:?}");
        }
    }
}

#[test]
fn a_new_project_shows_a_long_word() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let project = scratch.path().join("new");
    let made = Command::new(env!("CARGO_BIN_EXE_sampan"))
        .arg("new")
        .arg(&project)
        .output()
        .expect("it starts");
    assert!(made.status.success(), "{made:?}");
    let server = Process::start(&mut sampan(&project));
    let mut browser = Browser::start(server.address);
    browser.colours("light");
    browser.size(390, 844);
    browser.open("/");
    let word = unbroken(190);
    browser.fill("#text", &word);
    browser.submit("main button");
    assert_eq!(
        browser.property(".notes li", "textContent"),
        json!(word),
        "the note"
    );
    assert_eq!(browser.run(OVERFLOW, &json!([])), json!(0));
    assert_eq!(browser.run(DULL_FIELDS, &json!([])), json!([]));
    browser.picture(&results().join("new-390.png"));
}
