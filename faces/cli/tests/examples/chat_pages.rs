//! examples/chat, and the project of `sampan new --template chat`, in two browsers at once. Pictures are for people to look
//! at (`target/petclinic/chat-*.png`).

use crate::browser::{OVERFLOW, axe, faults_of, is_there, results, shown, turn, wait_for};
use crate::chat::{Member, chat, named};
use crate::support::{Process, Scratch};
use crate::webdriver::{Browser, ENTER};
use crate::{LANGUAGES, copied, sampan};
use sampan_testkit::wait;
use serde_json::json;
use std::net::SocketAddr;
use std::process::Command;

/// A browser whose user has a name and is in the first room.
fn visit(site: SocketAddr, name: &str) -> Browser {
    let mut browser = Browser::start(site);
    browser.open("/");
    browser.fill("#name", name);
    browser.submit("main button");
    browser.follow("Lobby");
    browser
}

fn say(browser: &mut Browser, text: &str) {
    browser.fill("#text", text);
    browser.press(ENTER);
}

#[test]
fn two_browsers_talk() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let server = chat(language, &scratch);
        let (mut ann, mut bob) = (visit(server.address, "Ann"), visit(server.address, "Bob"));
        for browser in [&mut ann, &mut bob] {
            wait_for(browser, ".people", "Ann\nBob");
        }
        say(&mut ann, "Hello Bob");
        for browser in [&mut ann, &mut bob] {
            wait_for(browser, ".messages li:last-child .text", "Hello Bob");
        }
        assert_eq!(bob.text(".messages .by b"), "Ann");
        assert!(ann.has(".messages .own") && !bob.has(".messages .own"));
        bob.fill("#text", "Hel");
        wait_for(&mut ann, ".typing", "Bob is typing…");
        say(&mut bob, "<b>Hello</b> Ann");
        wait_for(
            &mut ann,
            ".messages li:last-child .text",
            "<b>Hello</b> Ann",
        );
        assert_eq!(ann.text(".typing"), "", "he has sent it");
        // Who comes later reads it.
        bob.open("/");
        wait::until("he has left", || shown(&mut ann, ".people") == "Ann");
        bob.open("/rooms/1");
        assert_eq!(
            bob.text(".messages li:last-child .text"),
            "<b>Hello</b> Ann"
        );
    }
}

/// A project of `sampan new --template chat`, as it is made.
#[test]
fn a_new_chat_talks() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.args(["new", "talk", "--template", "chat", "--lang", language]);
        let made = command.current_dir(scratch.path()).output();
        assert!(made.expect("it starts").status.success());
        let server = Process::start(&mut sampan(&scratch.path().join("talk")));
        let mut ann = Browser::start(server.address);
        let mut bob = Browser::start(server.address);
        for (browser, name) in [(&mut ann, "Ann"), (&mut bob, "Bob")] {
            browser.open("/");
            browser.fill("#name", name);
        }
        for text in ["Hello", "Bob"] {
            say(&mut ann, text);
            wait_for(&mut bob, "#messages", &format!("Ann {text}"));
        }
        say(&mut bob, "Hello Ann");
        wait_for(&mut ann, "#messages", "Bob Hello Ann");
        assert_eq!(
            ann.property("#text", "value"),
            "",
            "what is sent leaves the field"
        );
    }
}

/// The server ends and comes back: pages connect again, show what they missed, and send what was written meanwhile.
#[test]
fn a_page_connects_again_and_shows_what_it_missed() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let scratch = Scratch::new(&[]);
    let mut server = chat("lua", &scratch);
    let site = server.address;
    let mut ann = visit(site, "Ann");
    say(&mut ann, "before");
    wait_for(&mut ann, ".messages li:last-child .text", "before");
    server.signal("TERM");
    assert_eq!(server.status(), Some(0));
    wait_for(&mut ann, ".state", "No connection");
    say(&mut ann, "meanwhile");
    wait_for(&mut ann, ".state", "is sent when");
    let mut command = copied("chat", "lua", &scratch);
    let _server = Process::start(command.arg("--listen").arg(site.to_string()));
    // The page may wait for long before it tries again, so a message is there before.
    let mut bob = named(site, "Bob");
    assert_eq!(bob.post("/rooms/1", "text=missed").status, 303);
    let shown =
        "return [...document.querySelectorAll('.messages .text')].map((one) => one.textContent)";
    let wanted = [
        json!(["before", "missed", "meanwhile"]),
        json!(["before", "meanwhile", "missed"]),
    ];
    wait_for(&mut ann, ".people", "Ann");
    wait::until("what was missed and what was written", || {
        wanted.contains(&ann.run(shown, &json!([])))
    });
    assert_eq!(ann.text(".state"), "");
    let page = bob.get("/rooms/1", "*/*").text();
    assert_eq!(
        page.matches(">meanwhile<").count(),
        1,
        "it is sent once: {page}"
    );
}

/// Pictures of the pages, wide and narrow, and what axe-core finds, where it is there.
#[test]
fn pages_of_the_chat() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let axe = axe();
    let scratch = Scratch::new(&[]);
    let server = chat("js", &scratch);
    let mut ann = visit(server.address, "Ann");
    let bob = named(server.address, "Bob");
    let mut bob_here = Member::enter(server.address, &bob, "/rooms/1/socket");
    let long = "Unbroken".repeat(24);
    bob_here.say("Good morning! Does somebody know when the new schedule comes out?");
    wait_for(&mut ann, ".messages", "schedule");
    say(&mut ann, "On Thursday, I think.");
    wait_for(&mut ann, ".messages", "Thursday");
    bob_here.say(&format!("{long}\nand a line"));
    bob_here.say("Thanks!");
    wait_for(&mut ann, ".messages", "Thanks");
    let mut faults = Vec::new();
    for (width, height) in [(1280, 800), (390, 844)] {
        ann.size(width, height);
        for scheme in ["light", "dark"] {
            ann.colours(scheme);
            for (name, path) in [
                ("room", "/rooms/1"),
                ("rooms", "/"),
                ("nowhere", "/rooms/9"),
                ("enter", "/enter"),
            ] {
                ann.open(path);
                if name == "room" {
                    wait::until("a socket", || shown(&mut ann, ".state").is_empty());
                    bob_here.say("");
                    wait_for(&mut ann, ".typing", "Bob is typing…");
                    let is_last_seen = "const list = document.querySelector('.messages');
                        const end = list.lastElementChild.getBoundingClientRect().bottom;
                        return end <= list.getBoundingClientRect().bottom && document.scrollingElement.scrollTop == 0";
                    assert_eq!(ann.run(is_last_seen, &json!([])), json!(true), "{width}");
                }
                let what = format!("chat-{name}-{width}-{scheme}");
                assert_eq!(
                    ann.run(OVERFLOW, &json!([])),
                    json!(0),
                    "{what} is wider than the window"
                );
                if let Some(axe) = &axe {
                    faults.extend(faults_of(&mut ann, axe, &what));
                }
                ann.picture(&results().join(format!("{what}.png")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
