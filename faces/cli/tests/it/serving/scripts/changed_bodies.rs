//! `[scripts] mode = "file"`: a request that waits for new code has its body as that code declares it.

use super::{ends_well, start, write};
use crate::support::{Process, Scratch};
use sampan_testkit::Client;

const SETTINGS: [&str; 2] = ["scripts.mode=file", "scripts.check_millis=0"];

/// Returns a project that answers `POST /u` with `word` and its body: whole as a value of JSON, or read as it comes.
fn app(file: &str, word: &str, options: &str) -> String {
    let is_streamed = options.contains("stream");
    match (file, is_streamed) {
        ("app.lua", true) => format!(
            "local app = require 'sampan'\napp.post('/u', {{ {options} }}, function(req)\n  local all = ''\n  \
             for chunk in req:chunks() do all = all .. chunk end\n  return '{word} ' .. all\nend)\n"
        ),
        ("app.lua", false) => format!(
            "local app = require 'sampan'\napp.post('/u', {{ {options} }}, function(req)\n  \
             return '{word} ' .. #req:text() .. ' ' .. (req:json().a or '')\nend)\n"
        ),
        (_, true) => format!(
            "import {{ app }} from 'sampan';\napp.post('/u', {{ {options} }}, async (req) => {{\n  let all = '';\n  \
             for await (const chunk of req.body) all += new TextDecoder().decode(chunk);\n  return '{word} ' + all;\n\
             }});\n"
        ),
        (_, false) => format!(
            "import {{ app }} from 'sampan';\napp.post('/u', {{ {options} }}, async (req) => {{\n  \
             const all = await req.text();\n  \
             return `{word} ${{all.length}} ${{JSON.parse(all).a ?? ''}}`;\n}});\n"
        ),
    }
}

fn options(file: &str, stream: bool, body_bytes_max: Option<&str>) -> String {
    let mut options = Vec::new();
    let (assign, key) = match file {
        "app.lua" => (" = ", "body_bytes_max"),
        _ => (": ", "bodyBytesMax"),
    };
    if stream {
        options.push(format!("stream{assign}true"));
    }
    if let Some(max) = body_bytes_max {
        options.push(format!("{key}{assign}'{max}'"));
    }
    options.join(", ")
}

/// A server whose project has declared `POST /u` in one way, and a client of it.
struct Changing {
    file: &'static str,
    scratch: Scratch,
    process: Process,
    client: Client,
}

impl Changing {
    fn begin(file: &'static str, stream: bool, body_bytes_max: Option<&str>) -> Self {
        let scratch = Scratch::new(&[(
            file,
            &app(file, "old", &options(file, stream, body_bytes_max)),
        )]);
        let process = start(&scratch, &SETTINGS);
        let client = process.client();
        Self {
            file,
            scratch,
            process,
            client,
        }
    }

    fn change(&self, stream: bool, body_bytes_max: Option<&str>) {
        let options = options(self.file, stream, body_bytes_max);
        write(&self.scratch, self.file, &app(self.file, "new", &options));
    }

    /// Posts a body over a connection of its own, with its length or in chunks.
    fn post(&mut self, body: &str, is_chunked: bool) -> (u16, String) {
        self.client = self.process.client();
        let request = match is_chunked {
            false => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
            true => format!(
                "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            ),
        };
        let request = format!("POST /u HTTP/1.1\r\nHost: h\r\n{request}");
        self.client.send(request.as_bytes()).expect("sent");
        let answer = self.client.read(false).expect("an answer");
        (answer.status, answer.text())
    }
}

const FILES: [&str; 2] = ["app.lua", "app.js"];

#[test]
fn a_body_that_was_to_be_read_as_it_comes_is_whole_for_the_new_code() {
    for file in FILES {
        for is_chunked in [false, true] {
            let mut changing = Changing::begin(file, true, None);
            let told = changing.post(r#"{"a":5}"#, is_chunked);
            assert_eq!(told, (200, r#"old {"a":5}"#.into()), "{file}");
            changing.change(false, None);
            for _ in 0..2 {
                let told = changing.post(r#"{"a":5}"#, is_chunked);
                assert_eq!(told, (200, "new 7 5".into()), "{file}");
            }
            ends_well(changing.process);
        }
    }
}

#[test]
fn a_whole_body_is_read_as_it_comes_by_the_new_code() {
    for file in FILES {
        let mut changing = Changing::begin(file, false, None);
        assert_eq!(changing.post(r#"{"a":5}"#, false).1, "old 7 5", "{file}");
        changing.change(true, None);
        for _ in 0..2 {
            let told = changing.post(r#"{"a":5}"#, false);
            assert_eq!(told, (200, r#"new {"a":5}"#.into()), "{file}");
        }
        ends_well(changing.process);
    }
}

#[test]
fn the_limit_of_the_new_code_holds_at_once() {
    let body = format!(r#"{{"a":"{}"}}"#, "x".repeat(5_000));
    for file in FILES {
        for was_streamed in [false, true] {
            for is_chunked in [false, true] {
                let mut changing = Changing::begin(file, was_streamed, Some("10 MB"));
                assert_eq!(changing.post(&body, is_chunked).0, 200, "{file}");
                changing.change(false, Some("100"));
                for _ in 0..2 {
                    let (status, _) = changing.post(&body, is_chunked);
                    assert_eq!(status, 413, "{file} {was_streamed} {is_chunked}");
                }
                ends_well(changing.process);
            }
        }
    }
}

/// The body that is refused is not there, so the code of the next request has it.
#[test]
fn a_refused_body_notices_a_higher_limit() {
    let body = format!(r#"{{"a":"{}"}}"#, "x".repeat(5_000));
    for file in FILES {
        let mut changing = Changing::begin(file, false, Some("100"));
        assert_eq!(changing.post(&body, false).0, 413, "{file}");
        changing.change(false, Some("10 MB"));
        assert_eq!(changing.post(&body, false).0, 413, "{file}");
        assert_eq!(changing.post(&body, false).0, 200, "{file}");
        ends_well(changing.process);
    }
}
