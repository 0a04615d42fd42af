//! examples/chat: what is said in a room reaches all who are in it, stays, and is read after a break.

use crate::nginx::Nginx;
use crate::support::{Process, Scratch};
use crate::visitor::{Visitor, compared};
use crate::{ExampleDatabase, LANGUAGES, copied, databases, places, root, sampan};
use sampan_client::postgres::PostgresServer;
use sampan_http::websocket::{Event, Opcode};
use sampan_testkit::SocketClient;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The most lines that the app has in a language.
const LINES_MAX: usize = 150;

/// The messages that a page shows, and that a socket catches up with.
const MESSAGES_MAX: usize = 100;

pub(crate) fn chat(language: &str, scratch: &Scratch) -> Process {
    chat_on(&ExampleDatabase::InFile, language, scratch)
}

fn chat_on(database: &ExampleDatabase, language: &str, scratch: &Scratch) -> Process {
    let mut command = copied("chat", language, scratch);
    database.use_by(&mut command, scratch);
    Process::start(&mut command)
}

/// A visitor who has a name.
pub(crate) fn named(site: SocketAddr, name: &str) -> Visitor {
    let mut visitor = Visitor::new(site);
    let answer = visitor.post("/enter", &format!("name={name}"));
    assert_eq!(answer.status, 303, "{}", answer.text());
    visitor
}

/// A visitor's socket in a room.
pub(crate) struct Member(SocketClient);

impl Member {
    pub(crate) fn enter(site: SocketAddr, visitor: &Visitor, path: &str) -> Self {
        let headers = [("Cookie".to_owned(), visitor.cookie())];
        Self(SocketClient::connect(site, path, &headers).expect("a socket"))
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.0.send(Opcode::Text, text.as_bytes()).expect("sent");
    }

    /// The next message that has this member, and its value.
    fn until(&mut self, member: &str) -> Value {
        loop {
            match self.0.receive().expect("a message") {
                Some(Event::Text(text)) => {
                    let mut told: Value = serde_json::from_str(&text).expect("JSON");
                    if !told[member].is_null() {
                        return told[member].take();
                    }
                }
                other => panic!("waiting for {member}: {other:?}"),
            }
        }
    }

    /// The code with which the server closes the socket.
    fn until_closed(&mut self) -> u16 {
        loop {
            match self.0.receive().expect("a message") {
                Some(Event::Close(frame)) => return frame.code,
                Some(_) => {}
                None => panic!("an end without a frame"),
            }
        }
    }
}

fn texts(messages: &Value) -> Vec<&str> {
    let list = messages.as_array().expect("a list");
    list.iter()
        .map(|one| one["text"].as_str().expect("a text"))
        .collect()
}

#[test]
fn what_is_said_reaches_the_room_and_stays() {
    for (database, language) in places() {
        let scratch = Scratch::new(&[]);
        let server = chat_on(&database, language, &scratch);
        let site = server.address;
        let (mut ann, bob) = (named(site, "Ann"), named(site, "Bob"));
        let enter = |visitor: &Visitor, path: &str| {
            let mut member = Member::enter(site, visitor, path);
            assert_eq!(member.until("missed"), json!([]), "{language}");
            member
        };
        let mut ann_here = enter(&ann, "/rooms/1/socket");
        let mut bob_here = enter(&bob, "/rooms/1/socket");
        let mut bob_there = enter(&bob, "/rooms/2/socket");

        // Who is here is told to those in the room, and shown by the page.
        let mut joined = || ann_here.until("member")["data"]["name"].take();
        assert_eq!([joined(), joined()], ["Ann", "Bob"], "{language}");
        let is_shown = |visitor: &mut Visitor, name: &str| {
            let page = visitor.get("/rooms/1", "*/*").text();
            page.contains(&format!("<li>{name}</li>"))
        };
        assert!(
            is_shown(&mut ann, "Ann") && is_shown(&mut ann, "Bob"),
            "{language}"
        );

        ann_here.say("  Hello <b>  ");
        for member in [&mut ann_here, &mut bob_here] {
            let message = member.until("message");
            assert_eq!(message["name"], "Ann", "{language}");
            assert_eq!(message["text"], "Hello <b>", "{language}");
        }
        bob_here.say("");
        assert_eq!(ann_here.until("typing"), "Bob", "{language}");
        // A form, as from a browser without scripts.
        assert_eq!(ann.post("/rooms/1", "text=By+form").status, 303);
        assert_eq!(bob_here.until("message")["text"], "By form", "{language}");
        bob_there.say("elsewhere");
        assert_eq!(
            bob_there.until("message")["text"],
            "elsewhere",
            "{language}: a room of its own"
        );

        // Nothing, and too much, is not a message.
        bob_here.say("   ");
        bob_here.say(&"w".repeat(2_001));
        bob_here.say("third");
        let third = bob_here.until("message");
        assert_eq!(third["text"], "third", "{language}");

        // A socket that comes back gets what it missed.
        drop(ann_here);
        let mut late = Member::enter(site, &ann, "/rooms/1/socket?after=1");
        assert_eq!(
            texts(&late.until("missed")),
            ["By form", "third"],
            "{language}"
        );
        let page = ann.get("/rooms/1", "*/*").text();
        assert!(page.contains("Hello &lt;b&gt;"), "{language}: {page}");
        assert!(
            page.find("By form") < page.find("third"),
            "{language}: {page}"
        );
        assert!(!page.contains("elsewhere"), "{language}: {page}");

        drop(bob_here);
        while late.until("member")["data"]["name"] != "Bob" {}
        assert!(!is_shown(&mut ann, "Bob"), "{language}: he has left");

        for n in 0..MESSAGES_MAX {
            assert_eq!(
                ann.post("/rooms/3", &format!("text=number+{n}+x")).status,
                303
            );
        }
        ann.post("/rooms/3", "text=the+last");
        let mut whole = Member::enter(site, &ann, "/rooms/3/socket?after=x");
        let missed = whole.until("missed");
        assert_eq!(texts(&missed).len(), MESSAGES_MAX, "{language}");
        assert_eq!(
            texts(&missed)[0],
            "number 1 x",
            "{language}: the newest are sent"
        );
    }
}

#[test]
fn sockets_are_for_those_with_a_name_and_have_limits() {
    for (database, language) in places() {
        let scratch = Scratch::new(&[]);
        let server = chat_on(&database, language, &scratch);
        let site = server.address;
        let refused = |path: &str, headers: &[(String, String)]| {
            SocketClient::connect(site, path, headers).expect_err("refused")
        };
        assert!(
            refused("/rooms/1/socket", &[]).contains("303"),
            "{language}"
        );
        let ann = named(site, "Ann");
        let cookie = ("Cookie".to_owned(), ann.cookie());
        let error = refused("/rooms/9/socket", std::slice::from_ref(&cookie));
        assert!(error.contains(" 404 "), "{language}: {error}");
        let error = refused("/rooms/x/socket", std::slice::from_ref(&cookie));
        assert!(error.contains(" 404 "), "{language}: {error}");
        let origin = ("Origin".to_owned(), "https://other.example".to_owned());
        let error = refused("/rooms/1/socket", &[cookie, origin]);
        assert!(error.contains(" 403 "), "{language}: {error}");

        let mut noisy = Member::enter(site, &ann, "/rooms/1/socket");
        for _ in 0..40 {
            noisy.say("");
        }
        assert_eq!(noisy.until_closed(), 4008, "{language}");
        let mut binary = Member::enter(site, &ann, "/rooms/1/socket");
        binary.0.send(Opcode::Binary, b"\xff").expect("sent");
        assert_eq!(binary.until_closed(), 1003, "{language}");
        let mut large = Member::enter(site, &ann, "/rooms/1/socket");
        large.say(&"w".repeat(10_000));
        assert_eq!(large.until_closed(), 1009, "{language}");
    }
}

/// The pages of a visit that need no socket; every answer.
fn pages(database: &ExampleDatabase, language: &str) -> Vec<String> {
    let scratch = Scratch::new(&[]);
    let server = chat_on(database, language, &scratch);
    let mut visitor = Visitor::new(server.address);
    let mut told = Vec::new();
    for (request, status, expected) in [
        ("GET /", 303, "/enter"),
        ("GET /rooms/1", 303, "/enter"),
        ("POST /rooms/1 text=x", 303, "/enter"),
        ("GET /enter", 200, "Your name"),
        ("POST /enter name=+", 422, "aria-invalid"),
        ("POST /enter name=%3CAnn%3E", 303, "/"),
        ("GET /", 200, "&lt;Ann&gt;</span>"),
        ("GET /rooms/1", 200, "role=\"log\""),
        ("GET /rooms/9", 404, "no such room"),
        ("GET /rooms/x", 404, "no such room"),
        ("GET /rooms/99999999999999999999", 404, "no such room"),
        ("POST /rooms/9 text=x", 404, "no such room"),
        ("POST /rooms/new name=", 422, "name-error"),
        ("POST /rooms/new name=Garden", 303, "/rooms/4"),
        ("POST /rooms/new name=GARDEN", 303, "/rooms/4"),
        ("GET /rooms/4", 200, "Garden – Chat"),
        ("POST /rooms/4 ", 303, "/rooms/4"),
        ("POST /rooms/4 text=a&text=b", 303, "/rooms/4"),
        ("POST /leave ", 303, "/enter"),
        ("GET /rooms/4", 303, "/enter"),
    ] {
        let answer = match request.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["GET", path] => visitor.get(path, "text/html"),
            ["POST", path, form] => visitor.post(path, form),
            _ => panic!("not a request: {request}"),
        };
        let text = compared(&answer);
        assert_eq!(answer.status, status, "{language} {request}\n{text}");
        assert!(
            text.contains(expected),
            "{language} {request}: no {expected}\n{text}"
        );
        assert_eq!(
            answer.header("content-security-policy").len(),
            1,
            "{language} {request}"
        );
        told.push(text);
    }
    told
}

#[test]
fn both_languages_have_the_same_pages() {
    for database in databases() {
        let [lua, js] = LANGUAGES.map(|language| pages(&database, language));
        for (lua, js) in lua.iter().zip(&js) {
            assert_eq!(lua, js);
        }
    }
}

#[test]
fn several_processes_are_one_chat() {
    let Some(postgres) = PostgresServer::shared() else {
        return;
    };
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        drop(copied("chat", language, &scratch));
        let url = postgres.url(&postgres.database());
        let all: Vec<Process> = (0..3)
            .map(|_| {
                let mut command = sampan(&scratch.path().join(format!("app.{language}")));
                Process::start(command.args(["--db", &url]))
            })
            .collect();
        let addresses: Vec<SocketAddr> = all.iter().map(|one| one.address).collect();
        let nginx = Nginx::before(&addresses);
        let front = nginx.as_ref().map_or(addresses[0], |nginx| nginx.address);
        // A session that one of them has begun is known to all.
        let (mut ann, bob) = (named(front, "Ann"), named(addresses[0], "Bob"));
        assert!(ann.get("/", "*/*").text().contains("Ann</span>"));
        for address in &addresses {
            let page = ann.at(*address).get("/rooms/1", "*/*");
            assert_eq!(page.status, 200, "{language}: {}", page.text());
        }
        let mut here: Vec<Member> = [&addresses[..], &[front]]
            .concat()
            .into_iter()
            .map(|address| {
                let mut member = Member::enter(address, &bob, "/rooms/1/socket");
                assert_eq!(member.until("missed"), json!([]), "{language}");
                member
            })
            .collect();
        assert_eq!(ann.post("/rooms/1", "text=By+form").status, 303);
        for member in &mut here {
            assert_eq!(member.until("message")["text"], "By form", "{language}");
        }
        here[1].say("By socket");
        for member in &mut here {
            assert_eq!(member.until("message")["text"], "By socket", "{language}");
        }
        // So is its end.
        assert_eq!(bob.at(addresses[2]).post("/leave", "").status, 303);
        let answer = bob.at(addresses[1]).get("/", "*/*");
        assert_eq!(answer.header("location"), ["/enter"], "{language}");
    }
}

#[test]
fn the_chat_is_short() {
    for language in LANGUAGES {
        let file = root().join(format!("examples/chat/app.{language}"));
        let text = std::fs::read_to_string(file).expect("the app");
        assert!(text.lines().count() < LINES_MAX, "{language}");
    }
}
