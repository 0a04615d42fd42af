//! The measured routes: the routes of the examples, the requests made to them, and a browser's headers.

mod bodies;
pub(crate) mod check;
mod faces;
mod http2;
mod pages;
pub(crate) mod rows;
pub(crate) mod sockets;

use std::borrow::Cow;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

/// The name in the path while measuring.
const NAME: &str = "world";

/// A name that is wrong unless the path is percent-decoded and the JSON escaped: `Zoë "x"`.
const HARD_NAME: (&str, &str) = ("Zo%C3%AB%20%22x%22", "Zoë \"x\"");

/// The body sent to the echo while measuring.
const ECHO: &str = r#"{"user":"ada","id":7,"score":1.5,"tags":["a","b"],"address":{"city":"London","zip":null},"active":true}"#;

/// The answer of the other server of `bench fetch`. `bench/peers/origin` has it too.
const ITEM: &str = r#"{"id":7,"name":"Ada Lovelace","tags":["math","engine"],"address":{"city":"London","zip":null},"active":true}"#;

/// A route of the examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Route {
    /// `GET /version`: precomputed where the server can
    Version,
    /// `GET /health`: JSON from a handler
    Health,
    /// `GET /greet/:name`: a parameter
    Greet,
    /// `POST /echo`: parses JSON and sends it back
    Echo,
    /// `POST /greet/:name`: a parameter and a JSON body
    GreetPost,
    /// `GET /headers`: text with 20 header fields
    Headers,
    /// `POST /length`: the text of a body of 10 kB
    Length10k,
    /// `POST /length`: the text of a body of 1 MB
    Length1m,
    /// `POST /count`: parses 10 kB of JSON, a list of objects of five fields
    Count10k,
    /// `POST /count`: parses 1 MB of such JSON
    Count1m,
    /// `GET /text/10k`: a string of 10 kB
    Text10k,
    /// `GET /text/100k`: a string of 100 kB
    Text100k,
    /// `GET /text/1m`: a string of 1 MB
    Text1m,
    /// `POST /write`: one INSERT
    Write,
    /// `POST /write-batch`: ten INSERTs in a transaction
    WriteBatch,
    /// `GET /read`: 20 rows by an index
    Read,
    /// `GET /mixed`: one INSERT and 20 rows
    Mixed,
    /// `GET /` of examples/hello: one INSERT
    Visit,
    /// `GET /visits` of examples/hello: 20 rows by the key
    Visits,
    /// `POST /upload`: counts 100 MB as they come
    Upload,
    /// `GET /download`: 100 MB in chunks of 64 kB
    Download,
    /// `GET /simple`: a page with two variables
    Simple,
    /// `GET /loop`: a page with a loop of 50 items and a conditional
    Loop,
    /// `GET /full`: a page of 2.9 kB with a base, blocks, an include, a loop and a filter
    Full,
    /// `GET /4k.txt`: a file of 4 kB
    File4k,
    /// `GET /100k.txt`: a file of 100 kB
    File100k,
    /// `GET /10m.txt`: a file of 10 MB
    File10m,
    /// `GET /`: the front page of PetClinic
    FrontPage,
    /// `GET /owners?lastName=`: the first page of its owners, from the database
    Owners,
    /// `GET /user/:id`: a parameter, in JSON
    User,
    /// Five routes at once: `/version`, `/health`, `/greet/:name`, `/user/:id`, `POST /echo`
    Five,
    /// `GET /file`: a text of 15 bytes from a script that is read for each request, in a state that no other request
    /// has seen
    FromFile,
    /// `GET /cached`: the same from a script that is in memory
    Cached,
    /// `GET /native`: a text of 15 bytes from a handler in Go
    Native,
    /// A full handshake of TLS 1.3, and one request
    FullHandshake,
    /// A resumed handshake of TLS 1.3, and one request
    ResumedHandshake,
    /// A WebSocket that echoes texts of 20 bytes
    Echo20,
    /// A WebSocket that echoes texts of 16 kB
    Echo16k,
    /// One message that is published to 10,000 WebSockets
    Publish,
    /// `GET /passed`: JSON of another server, passed on
    Passed,
    /// `GET /read`: JSON of another server, parsed, and a part of it in JSON
    ReadItem,
    /// A job that does nothing, from the table and back
    EmptyJob,
    /// `POST /insert`: one INSERT
    Insert,
    /// `POST /insert-insert`: two INSERTs
    InsertInsert,
    /// `POST /insert-enqueue`: an INSERT, and a job that is added
    InsertEnqueue,
    /// `POST /insert-ten`: an INSERT and ten more
    InsertTen,
    /// `POST /enqueue-ten`: an INSERT and ten jobs that are added
    EnqueueTen,
    /// `GET /quick`: JSON from a handler, while jobs run or not
    Quick,
    /// `GET /row/:id`: one row by its key
    Row,
    /// `GET /rows`: 20 rows by an index
    Rows,
    /// `POST /update`: reads 20 rows and updates each, in a transaction
    Update,
    /// `GET /quick` at 30 % of the most, alone
    QuickAlone,
    /// `GET /quick` beside requests that burn 100 ms
    QuickBesideSlow,
    /// `GET /quick` beside them after a restart
    QuickLearned,
    /// `GET /quick` beside logins and large reads
    QuickBesideLogins,
    /// `GET /work`, 1 ms, as many as are answered
    WorkBest,
    /// Half as many
    WorkHalf,
    /// Twice as many
    WorkTwice,
    /// Four times as many
    WorkFourTimes,
    /// `GET /work` of ten clients
    TenAlone,
    /// `GET /work` of ten clients beside one with 1,000 connections
    TenBesideCrowd,
}

/// The routes of `bench hello`, in the order of reports.
pub(crate) const HELLO: &[Route] = &[
    Route::Version,
    Route::Health,
    Route::Greet,
    Route::Echo,
    Route::GreetPost,
    Route::Headers,
    Route::Length10k,
    Route::Length1m,
    Route::Count10k,
    Route::Count1m,
    Route::Text10k,
    Route::Text100k,
    Route::Text1m,
];

/// The route of `bench limit`.
pub(crate) const LIMIT: &[Route] = &[Route::Health];

/// The routes of examples/hello without its database.
pub(crate) const GREETINGS: &[Route] = HELLO.split_at(5).0;

/// The routes of examples/bench_bodies.
pub(crate) const BODIES: &[Route] = HELLO.split_at(5).1;

/// The routes of examples/bench_db.
pub(crate) const EVENTS: &[Route] = &[Route::Write, Route::WriteBatch, Route::Read, Route::Mixed];

/// The routes of examples/hello that need its database.
pub(crate) const VISITS: &[Route] = &[Route::Visit, Route::Visits];

/// The routes of `bench db`, in the order of reports.
pub(crate) const DB: &[Route] = &[
    Route::Write,
    Route::WriteBatch,
    Route::Read,
    Route::Mixed,
    Route::Visit,
    Route::Visits,
];

/// The routes of `bench stream`, in the order of reports.
pub(crate) const STREAM: &[Route] = &[Route::Upload, Route::Download];

/// The routes of `bench template`, in the order of reports.
pub(crate) const TEMPLATE: &[Route] = &[Route::Simple, Route::Loop, Route::Full];

/// The routes of `bench static`, in the order of reports.
pub(crate) const STATIC: &[Route] = &[Route::File4k, Route::File100k, Route::File10m];

/// The routes of `bench petclinic`, in the order of reports.
pub(crate) const PETCLINIC: &[Route] = &[Route::FrontPage, Route::Owners];

/// The routes of `bench gust`, in the order of reports.
pub(crate) const GUST: &[Route] = &[
    Route::Version,
    Route::Health,
    Route::User,
    Route::Echo,
    Route::Five,
];

/// The routes of `bench golua`, in the order of reports.
pub(crate) const GOLUA: &[Route] = &[Route::FromFile, Route::Cached, Route::Native];

/// The routes of `bench h2`, in the order of reports.
pub(crate) const H2: &[Route] = TLS.split_at(2).0;

/// The routes of `bench tls`, in the order of reports.
pub(crate) const TLS: &[Route] = &[
    Route::Version,
    Route::Health,
    Route::FullHandshake,
    Route::ResumedHandshake,
];

/// The routes of `bench ws`, in the order of reports.
pub(crate) const WS: &[Route] = &[Route::Echo20, Route::Echo16k, Route::Publish];

/// The routes of `bench fetch`, in the order of reports.
pub(crate) const FETCH: &[Route] = &[Route::Passed, Route::ReadItem];

/// The routes of `bench jobs`, in the order of reports.
pub(crate) const JOBS: &[Route] = &[
    Route::EmptyJob,
    Route::Insert,
    Route::InsertInsert,
    Route::InsertEnqueue,
    Route::InsertTen,
    Route::EnqueueTen,
    Route::Quick,
];

/// The routes of `bench backup`, in the order of reports.
pub(crate) const BACKUP: &[Route] = EVENTS.split_at(2).0;

/// The states of `bench load`, in the order of reports.
pub(crate) const LOAD: &[Route] = &[
    Route::QuickAlone,
    Route::QuickBesideSlow,
    Route::QuickLearned,
    Route::QuickBesideLogins,
    Route::WorkBest,
    Route::WorkHalf,
    Route::WorkTwice,
    Route::WorkFourTimes,
    Route::TenAlone,
    Route::TenBesideCrowd,
];

/// The routes of `bench postgres`, in the order of reports.
pub(crate) const POSTGRES: &[Route] = &[
    Route::Row,
    Route::Rows,
    Route::Write,
    Route::WriteBatch,
    Route::Update,
];

/// The routes of `bench jobs` that write, and answer with the number of rows and jobs.
pub(crate) const WRITES: &[Route] = JOBS.split_at(1).1.split_at(5).0;

/// The files of `bench static`, and how many bytes each has.
pub(crate) const FILES: &[(&str, usize)] = &[
    ("4k.txt", 4_000),
    ("100k.txt", 100_000),
    ("10m.txt", 10_000_000),
];

pub(crate) use bodies::digits;

/// Takes one of these routes from the command line.
pub(crate) fn parser(routes: &[Route]) -> impl TypedValueParser<Value = Route> + use<> {
    let names: PossibleValuesParser = routes
        .iter()
        .filter_map(Route::to_possible_value)
        .collect::<Vec<_>>()
        .into();
    names.try_map(|name| Route::from_str(&name, false))
}

/// One request and the answer it must get.
pub(crate) struct RouteExchange {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// JSON, or empty for a request without a body.
    pub(crate) body: Cow<'static, str>,
    pub(crate) expected: ExpectedAnswer,
}

/// The expected answer.
pub(crate) enum ExpectedAnswer {
    /// 200 with this JSON value.
    Json(Value),
    /// 200 with a JSON object that has at least these fields.
    JsonWith(Value),
    /// 200 with JSON of which this holds.
    Fits(fn(&Value) -> bool),
    /// 200 with this text, and these field lines among others.
    Text {
        body: String,
        fields: Vec<(String, String)>,
    },
    /// 200 with this page.
    Page(&'static str),
    /// 200 with HTML that contains this, in any language.
    PageWith(&'static str),
    /// A client or server error: the body was not JSON, and a server that answers 200 has not parsed it.
    Refusal,
}

impl Route {
    /// The route as people write it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Version => "GET /version",
            Self::Health => "GET /health",
            Self::Greet => "GET /greet/:name",
            Self::Echo => "POST /echo",
            Self::GreetPost => "POST /greet/:name",
            Self::Headers => "GET /headers (20 fields)",
            Self::Length10k => "POST /length (text, 10 kB)",
            Self::Length1m => "POST /length (text, 1 MB)",
            Self::Count10k => "POST /count (JSON, 10 kB)",
            Self::Count1m => "POST /count (JSON, 1 MB)",
            Self::Text10k => "GET /text/10k",
            Self::Text100k => "GET /text/100k",
            Self::Text1m => "GET /text/1m",
            Self::Write => "POST /write",
            Self::WriteBatch => "POST /write-batch",
            Self::Read => "GET /read",
            Self::Mixed => "GET /mixed",
            Self::Visit => "GET / (INSERT)",
            Self::Visits => "GET /visits",
            Self::Upload => "POST /upload, 100 MB",
            Self::Download => "GET /download, 100 MB",
            Self::Simple => "GET /simple",
            Self::Loop => "GET /loop",
            Self::Full => "GET /full",
            Self::File4k => "GET a file of 4 kB",
            Self::File100k => "GET a file of 100 kB",
            Self::File10m => "GET a file of 10 MB",
            Self::FrontPage => "GET /",
            Self::Owners => "GET /owners?lastName=",
            Self::User => "GET /user/:id",
            Self::Five => "five routes at once",
            Self::FromFile => "GET /file (script from its file)",
            Self::Cached => "GET /cached (script in memory)",
            Self::Native => "GET /native (handler in Go)",
            Self::FullHandshake => "full handshake and GET /version",
            Self::ResumedHandshake => "resumed handshake and GET /version",
            Self::Echo20 => "WebSocket echo of 20 B",
            Self::Echo16k => "WebSocket echo of 16 kB",
            Self::Publish => "publish to 10,000 WebSockets",
            Self::Passed => "GET /passed (JSON of another server)",
            Self::ReadItem => "GET /read (JSON of another server, parsed)",
            Self::EmptyJob => "an empty job",
            Self::Insert => "POST /insert (1 INSERT)",
            Self::InsertInsert => "POST /insert-insert (2 INSERTs)",
            Self::InsertEnqueue => "POST /insert-enqueue (1 INSERT, 1 job)",
            Self::InsertTen => "POST /insert-ten (11 INSERTs)",
            Self::EnqueueTen => "POST /enqueue-ten (1 INSERT, 10 jobs)",
            Self::Quick => "GET /quick",
            Self::Row => "GET /row/:id (1 row by its key)",
            Self::Rows => "GET /rows (20 rows)",
            Self::Update => "POST /update (20 rows in a transaction)",
            Self::QuickAlone => "GET /quick at 30 % of the best",
            Self::QuickBesideSlow => "the same beside requests that burn 100 ms",
            Self::QuickLearned => "the same after a restart",
            Self::QuickBesideLogins => "the same beside 50 logins and 20 large reads",
            Self::WorkBest => "GET /work (1 ms), as many as are answered",
            Self::WorkHalf => "GET /work at half of that",
            Self::WorkTwice => "GET /work at twice that",
            Self::WorkFourTimes => "GET /work at four times that",
            Self::TenAlone => "GET /work of ten clients, at 30 % of the best",
            Self::TenBesideCrowd => "the same beside one client with 1,000 connections",
        }
    }

    /// The rows that a request writes.
    pub(crate) fn rows_written(self) -> u64 {
        match self {
            Self::Write | Self::Mixed | Self::Visit => 1,
            Self::WriteBatch => 10,
            Self::Insert | Self::InsertEnqueue | Self::EnqueueTen => 1,
            Self::InsertInsert => 2,
            Self::InsertTen => 11,
            _ => 0,
        }
    }

    /// The jobs that a request adds.
    pub(crate) fn jobs_added(self) -> u64 {
        match self {
            Self::InsertEnqueue => 1,
            Self::EnqueueTen => 10,
            _ => 0,
        }
    }

    /// The rows that a request writes or reads.
    pub(crate) fn rows(self) -> u64 {
        let read = match self {
            Self::Read | Self::Mixed | Self::Visits => rows::PAGE as u64,
            _ => 0,
        };
        self.rows_written() + read
    }

    /// Returns the request to send before, and its count, so that there is something to read.
    pub(crate) fn prepared(self) -> Option<(RouteExchange, usize)> {
        (self == Self::Visits).then(|| (Self::Visit.measured(), 2 * rows::PAGE))
    }

    /// The requests that are made in turn, for a route that stands for several.
    pub(crate) fn several(self) -> Vec<RouteExchange> {
        match self {
            Self::Five => faces::FIVE.iter().map(|route| route.measured()).collect(),
            _ => Vec::new(),
        }
    }

    /// The request that is measured, with its answer. The first of several.
    pub(crate) fn measured(self) -> RouteExchange {
        match self {
            Self::Version => get(
                "/version",
                ExpectedAnswer::Json(json!({ "version": "1.0" })),
            ),
            Self::Health => get(
                "/health",
                ExpectedAnswer::JsonWith(json!({ "status": "ok" })),
            ),
            Self::Greet => greet(NAME, NAME),
            Self::Echo => post(
                "/echo",
                ECHO,
                ExpectedAnswer::Json(serde_json::from_str(ECHO).unwrap_or_default()),
            ),
            Self::GreetPost => greet_post(NAME, NAME),
            Self::Headers => bodies::headers(),
            Self::Length10k => bodies::length(10_000),
            Self::Length1m => bodies::length(1_000_000),
            Self::Count10k => bodies::count(10_000),
            Self::Count1m => bodies::count(1_000_000),
            Self::Text10k => bodies::text("/text/10k", 10_000),
            Self::Text100k => bodies::text("/text/100k", 100_000),
            Self::Text1m => bodies::text("/text/1m", 1_000_000),
            Self::Write => post("/write", "", ExpectedAnswer::Fits(rows::is_new_event_id)),
            Self::WriteBatch => post(
                "/write-batch",
                "",
                ExpectedAnswer::Json(json!({ "inserted": 10 })),
            ),
            Self::Read => get(
                "/read",
                ExpectedAnswer::Fits(rows::are_newest_seeded_events),
            ),
            Self::Mixed => get("/mixed", ExpectedAnswer::Fits(rows::are_newest_events)),
            Self::Visit => get(
                "/",
                ExpectedAnswer::Json(json!({ "message": "visit recorded" })),
            ),
            Self::Visits => get("/visits", ExpectedAnswer::Fits(rows::are_newest_visits)),
            // The check of `bench stream` is in its load: each transfer is looked at.
            Self::Upload => post("/upload", "", ExpectedAnswer::Fits(Value::is_object)),
            Self::Download => get("/download", ExpectedAnswer::Fits(|_| true)),
            Self::Simple => get("/simple", ExpectedAnswer::Page(pages::SIMPLE)),
            Self::Loop => get("/loop", ExpectedAnswer::Page(pages::LOOP)),
            Self::Full => get("/full", ExpectedAnswer::Page(pages::FULL)),
            Self::File4k => bodies::text("/4k.txt", 4_000),
            Self::File100k => bodies::text("/100k.txt", 100_000),
            Self::File10m => bodies::text("/10m.txt", 10_000_000),
            Self::FrontPage => get("/", ExpectedAnswer::PageWith("PetClinic")),
            Self::Owners => get("/owners?lastName=", ExpectedAnswer::PageWith("6085551749")),
            Self::User => faces::user("42", "42"),
            Self::Five => Self::Version.measured(),
            Self::FromFile => faces::hello("/file", faces::FROM_LUA),
            Self::Cached => faces::hello("/cached", faces::FROM_LUA),
            Self::Native => faces::hello("/native", faces::FROM_GO),
            Self::FullHandshake | Self::ResumedHandshake => Self::Version.measured(),
            // The check of `bench ws` is in its load: each message is looked at.
            Self::Echo20 | Self::Echo16k => get("/echo", ExpectedAnswer::Fits(|_| true)),
            Self::Publish => get("/publish", ExpectedAnswer::Fits(|_| true)),
            Self::Passed => get(
                "/passed",
                ExpectedAnswer::Json(serde_json::from_str(ITEM).unwrap_or_default()),
            ),
            Self::Insert => self.write("/insert"),
            Self::InsertInsert => self.write("/insert-insert"),
            Self::InsertEnqueue => self.write("/insert-enqueue"),
            Self::InsertTen => self.write("/insert-ten"),
            Self::EnqueueTen => self.write("/enqueue-ten"),
            // The check of the work is in the benchmark, which chooses its length.
            Self::WorkBest
            | Self::WorkHalf
            | Self::WorkTwice
            | Self::WorkFourTimes
            | Self::TenAlone
            | Self::TenBesideCrowd => get("/work/1", ExpectedAnswer::Fits(Value::is_object)),
            Self::EmptyJob
            | Self::Quick
            | Self::QuickAlone
            | Self::QuickBesideSlow
            | Self::QuickLearned
            | Self::QuickBesideLogins => {
                get("/quick", ExpectedAnswer::Json(json!({ "status": "ok" })))
            }
            Self::Row => get("/row/500", ExpectedAnswer::Json(rows::seeded_row(500))),
            Self::Rows => get("/rows", ExpectedAnswer::Fits(rows::are_newest_seeded_rows)),
            Self::Update => post(
                "/update",
                "",
                ExpectedAnswer::Json(json!({ "updated": rows::PAGE })),
            ),
            Self::ReadItem => get(
                "/read",
                ExpectedAnswer::Json(json!({ "id": 7, "name": "Ada Lovelace" })),
            ),
        }
    }

    /// A request of examples/bench_jobs.
    fn write(self, path: &str) -> RouteExchange {
        let done = self.rows_written() + self.jobs_added();
        post(path, "", ExpectedAnswer::Json(json!({ "done": done })))
    }

    /// All requests that must be answered rightly before the route is measured.
    pub(crate) fn checked(self) -> Vec<RouteExchange> {
        let mut exchanges = vec![self.measured()];
        let (path, name) = HARD_NAME;
        match self {
            Self::User => exchanges.push(faces::user(path, name)),
            Self::Five => exchanges.extend(faces::FIVE.iter().flat_map(|route| route.checked())),
            Self::Length10k | Self::Length1m => exchanges.push(bodies::wide_length()),
            Self::Count10k | Self::Count1m => {
                exchanges.push(post("/count", "[{\"id\":1}", ExpectedAnswer::Refusal));
            }
            Self::Greet => exchanges.push(greet(path, name)),
            Self::Echo => {
                exchanges.push(post(
                    "/echo",
                    "[1, \"\\u00e9\\n\"]",
                    ExpectedAnswer::Json(json!([1, "é\n"])),
                ));
                exchanges.push(post("/echo", "{\"user\":", ExpectedAnswer::Refusal));
            }
            Self::GreetPost => {
                exchanges.push(greet_post(path, name));
                exchanges.push(post("/greet/x", "{\"greeting\"", ExpectedAnswer::Refusal));
            }
            // Without parameters and bodies there is nothing hard about them.
            _ => {}
        }
        exchanges
    }
}

fn get(path: &str, expected: ExpectedAnswer) -> RouteExchange {
    RouteExchange {
        method: "GET",
        path: path.to_owned(),
        body: Cow::Borrowed(""),
        expected,
    }
}

fn post(path: &str, body: impl Into<Cow<'static, str>>, expected: ExpectedAnswer) -> RouteExchange {
    RouteExchange {
        method: "POST",
        path: path.to_owned(),
        body: body.into(),
        expected,
    }
}

fn greet(path: &str, name: &str) -> RouteExchange {
    let expected = ExpectedAnswer::Json(json!({ "greeting": format!("Hello, {name}") }));
    get(&format!("/greet/{path}"), expected)
}

fn greet_post(path: &str, name: &str) -> RouteExchange {
    let expected = ExpectedAnswer::Json(json!({ "greeting": format!("Hi, {name}") }));
    post(&format!("/greet/{path}"), r#"{"greeting":"Hi"}"#, expected)
}

/// The header lines of a request besides Host and the body's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Headers {
    /// No lines.
    Plain,
    /// Those that a browser sends: with Host 11 lines of 600 bytes.
    Browser,
    /// One that asks for gzip.
    Gzip,
}

impl Headers {
    /// The lines, as `Name: value`.
    pub(crate) fn lines(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &[],
            Self::Browser => BROWSER,
            Self::Gzip => &["Accept-Encoding: gzip"],
        }
    }
}

const BROWSER: &[&str] = &[
    "Connection: keep-alive",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Language: en-GB,en;q=0.9,de;q=0.7",
    "Cookie: session=7c1f04b2a95e4d0f8b36a1d2c3e4f506; theme=dark; consent=1; seen=2026-11-21; cart=0; lang=en; \
     tz=UTC; basket=0f3c9a1e77b24d58b6e10a2c",
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Site: same-origin",
    "Upgrade-Insecure-Requests: 1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_sends_eleven_lines_of_six_hundred_bytes() {
        let host = ["Host: 127.0.0.1:40000"];
        let lines = || host.iter().chain(Headers::Browser.lines());
        assert_eq!(lines().count(), 11);
        assert_eq!(
            lines().map(|line| line.len() + "\r\n".len()).sum::<usize>(),
            600
        );
        assert!(
            Headers::Browser
                .lines()
                .iter()
                .all(|line| line.contains(": "))
        );
    }

    #[test]
    fn the_other_server_has_the_item() {
        let file = crate::checkout::root().join("bench/peers/origin/nginx.conf");
        let configuration = std::fs::read_to_string(file).expect("a configuration");
        assert!(configuration.contains(&format!("return 200 '{ITEM}'")));
        assert!(serde_json::from_str::<Value>(ITEM).is_ok());
    }

    #[test]
    fn the_echo_is_json() {
        assert!(serde_json::from_str::<Value>(ECHO).is_ok_and(|value| value.is_object()));
    }
}
