//! examples/assistant with the stand-in for a model beside it: answers come piece by piece, errors are told, and a visitor
//! who leaves ends the answer.

use crate::support::{Process, Scratch};
use crate::{LANGUAGES, copied, root, sampan};
use sampan_testkit::{Client, wait};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The most lines that the app and its model have in a language.
const LINES_MAX: usize = 120;

/// The assistant and its model, both in the same language.
pub(crate) struct Assistant {
    pub(crate) site: SocketAddr,
    pub(crate) model: Process,
    _app: Process,
    _scratch: Scratch,
}

impl Assistant {
    pub(crate) fn start(language: &str, key: &str) -> Self {
        let scratch = Scratch::new(&[]);
        let mut command = copied("assistant", language, &scratch);
        let model = scratch.path().join(format!("model/app.{language}"));
        let model = Process::start(&mut sampan(&model));
        command.env("ASSISTANT_URL", format!("http://{}/v1", model.address));
        command.env("ASSISTANT_KEY", key);
        command.env("SAMPAN_FETCH_ALLOW", "127.0.0.1");
        let app = Process::start(&mut command);
        Self {
            site: app.address,
            model,
            _app: app,
            _scratch: scratch,
        }
    }

    /// Waits until the model is sending so many answers.
    pub(crate) fn wait_for_streams(&self, count: u32) {
        let mut client = Client::connect(self.model.address).expect("it listens");
        wait::until(format!("{count} answers under way"), || {
            let answer = client.ask("GET", "/streams", &[], "").expect("an answer");
            answer.text() == count.to_string()
        });
    }
}

/// The body of a request for the answer to a question.
fn question(text: &str) -> String {
    json!({ "messages": [{ "role": "user", "content": text }] }).to_string()
}

/// The text of an answer, and its last event.
fn ask(site: SocketAddr, text: &str) -> (String, String) {
    let mut client = Client::connect(site).expect("it listens");
    let answer = client.ask("POST", "/answer", &[], &question(text));
    let answer = answer.expect("an answer");
    assert_eq!(answer.header("content-type"), ["text/event-stream"]);
    let (mut words, mut end) = (String::new(), String::new());
    for event in answer.text().split_terminator("\n\n") {
        let (name, data) = event.split_once("data: ").expect("data");
        let data: Value = serde_json::from_str(data).expect("JSON");
        let text = data["text"].as_str().unwrap_or_default();
        match name.trim_end() {
            "" => words.push_str(text),
            name => end = format!("{name}: {text}"),
        }
    }
    (words, end)
}

#[test]
fn answers_are_passed_on_and_errors_told() {
    for language in LANGUAGES {
        let mut assistant = Assistant::start(language, "test-key");
        let site = assistant.site;
        let is_told = |question: &str, words: &str, end: &str| {
            let (shown, ended) = ask(site, question);
            assert_eq!(shown, words, "{language}: {ended}");
            assert!(ended.starts_with(end), "{language}: {ended}");
        };
        is_told(
            "Hello, Zürich",
            "You said: “Hello, Zürich”. I only repeat it.",
            "event: done",
        );
        is_told("too many", "", "event: fault: The model has too much to do");
        is_told(
            "it will break",
            "You said: “it will ",
            "event: fault: The answer broke off",
        );
        assistant.model.signal("KILL");
        assistant.model.status();
        is_told("Hello", "", "event: fault: The model cannot be reached");
        let stranger = Assistant::start(language, "another-key");
        let (_, end) = ask(stranger.site, "Hello");
        assert!(end.contains("does not accept the key"), "{end}");
    }
}

#[test]
fn a_visitor_who_leaves_ends_the_answer() {
    for language in LANGUAGES {
        let assistant = Assistant::start(language, "test-key");
        let mut visitor = TcpStream::connect(assistant.site).expect("it listens");
        let body = question("a long answer");
        let head = format!(
            "POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        visitor.write_all((head + &body).as_bytes()).expect("sent");
        // The first words are there while the model writes others.
        let mut seen = String::new();
        while !seen.contains("word ") {
            let mut bytes = [0; 1024];
            let count = visitor.read(&mut bytes).expect("a piece");
            assert!(count > 0, "{language}: {seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        assistant.wait_for_streams(1);
        drop(visitor);
        assistant.wait_for_streams(0);
    }
}

#[test]
fn the_assistant_is_short() {
    for language in LANGUAGES {
        for file in ["app", "model/app"] {
            let file = root().join(format!("examples/assistant/{file}.{language}"));
            let text = std::fs::read_to_string(&file).expect("the app");
            assert!(text.lines().count() < LINES_MAX, "{}", file.display());
        }
    }
}
