//! A client of a site: it connects again after a kill, and tells answers from what faults explain.

use crate::run::{Place, Site, add};
use sampan_testkit::{Answer, Client, wait};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait for an answer: longer than a server is ever stopped.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(29);
/// The pause while there is no server.
const PAUSE: Duration = Duration::from_millis(10);

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Told {
    /// An answer that is no error of the server.
    Answer(Answer),
    /// The server says that nothing was done, for a reason that is known.
    Refused,
    /// The server was killed meanwhile: it may be done or not.
    Cut,
}

/// A request in bytes, and its words for failures.
pub(crate) struct Request {
    words: String,
    bytes: Vec<u8>,
}

impl Request {
    /// A request with further field lines and a body.
    pub(crate) fn new(method: &str, path: &str, lines: &[&str], body: &[u8]) -> Self {
        let words = format!("{method} {path}");
        let mut head = format!("{words} HTTP/1.1\r\nHost: localhost\r\n");
        for line in lines {
            head += &format!("{line}\r\n");
        }
        if method == "POST" {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let bytes = [head.as_bytes(), b"\r\n", body].concat();
        Self { words, bytes }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path, &[], b"")
    }

    /// Returns the request as it is sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A request with a body in JSON.
    pub(crate) fn post(path: &str, body: &str) -> Self {
        let lines = ["Content-Type: application/json"];
        Self::new("POST", path, &lines, body.as_bytes())
    }
}

/// A client with one connection.
pub(crate) struct Visitor {
    pub(crate) site: Arc<Site>,
    connection: Option<(Place, Client)>,
}

impl Visitor {
    pub(crate) fn new(site: &Arc<Site>) -> Self {
        Self {
            site: Arc::clone(site),
            connection: None,
        }
    }

    /// Waits for a server, and returns its place.
    pub(crate) fn place(&self) -> Place {
        wait::found("a server", || {
            self.site.place().or_else(|| {
                wait::dawdle(PAUSE);
                None
            })
        })
    }

    /// Asks once.
    pub(crate) fn ask(&mut self, request: &Request) -> Told {
        let told = self.ask_all(std::slice::from_ref(request)).pop();
        told.unwrap_or(Told::Cut)
    }

    /// Sends requests in one go, and returns what came of each.
    pub(crate) fn ask_all(&mut self, requests: &[Request]) -> Vec<Told> {
        let (full, stopped) = (self.site.full.mark(), self.site.stopped.mark());
        let place = self.place();
        let mut all = Vec::with_capacity(requests.len());
        let answers = self.answers(place, requests, &mut all);
        let mut told: Vec<Told> = all
            .into_iter()
            .zip(requests)
            .map(|(answer, request)| self.judge(answer, request, (full, stopped)))
            .collect();
        if let Err(error) = answers {
            self.connection = None;
            let was_killed = self.site.place() != Some(place);
            if !was_killed {
                let request = requests.get(told.len()).unwrap_or(&requests[0]);
                self.site
                    .fail(format_args!("{}: no answer: {error}", request.words));
            }
        }
        let cut = requests.len() - told.len();
        add(&self.site.run.counts().cut, cut as u64);
        told.resize_with(requests.len(), || Told::Cut);
        told
    }

    fn answers(
        &mut self,
        place: Place,
        requests: &[Request],
        all: &mut Vec<Answer>,
    ) -> io::Result<()> {
        let (known, mut client) = match self.connection.take() {
            Some(connection) if connection.0 == place => connection,
            _ => {
                let mut client = Client::connect(place.address)?;
                client.set_read_time(ANSWER_TIME_MAX)?;
                (place, client)
            }
        };
        let bytes: Vec<&[u8]> = requests.iter().map(|request| &*request.bytes).collect();
        client.send(&bytes.concat())?;
        for _ in requests {
            let answer = client.read(false)?;
            if answer.is_cut {
                return Err(io::Error::other("the answer is cut off"));
            }
            let keeps_alive = answer.keeps_alive;
            all.push(answer);
            if !keeps_alive {
                return match all.len() == requests.len() {
                    true => Ok(()),
                    false => Err(io::Error::other("the server closes between answers")),
                };
            }
        }
        self.connection = Some((known, client));
        Ok(())
    }

    /// Tells an error that faults explain from one that nothing explains.
    fn judge(&self, answer: Answer, request: &Request, (full, stopped): (u64, u64)) -> Told {
        let counts = self.site.run.counts();
        match answer.status {
            500.. if self.site.full.was_since(full) => add(&counts.failed, 1),
            503 => add(&counts.refused, 1),
            // The time of a transaction passes in a stop too.
            504 if self.site.stopped.was_since(stopped) => add(&counts.late, 1),
            status @ 500.. => {
                let (words, text) = (&request.words, answer.text());
                self.site.fail(format_args!("{words}: {status}: {text}"));
            }
            _ => {
                add(&counts.right, 1);
                return Told::Answer(answer);
            }
        }
        Told::Refused
    }

    /// Records an answer that is wrong.
    pub(crate) fn wrong(&self, request: &Request, answer: &Answer, wanted: &str) {
        let (words, status, text) = (&request.words, answer.status, answer.text());
        self.site.fail(format_args!(
            "{words}: wanted {wanted}, got {status}: {text}"
        ));
    }

    /// Asks, and makes sure that the answer is 200 with this body.
    pub(crate) fn expect(&mut self, request: &Request, wanted: &str) -> Told {
        let told = self.ask(request);
        if let Told::Answer(answer) = &told
            && !(answer.status == 200 && same_json(&answer.text(), wanted))
        {
            self.wrong(request, answer, wanted);
        }
        told
    }

    /// Asks for a value in JSON; none where there is no answer, or another one than 200, which is recorded.
    pub(crate) fn value(&mut self, request: &Request) -> Option<serde_json::Value> {
        let Told::Answer(answer) = self.ask(request) else {
            return None;
        };
        let value = serde_json::from_slice(&answer.body).ok();
        if answer.status != 200 || value.is_none() {
            self.wrong(request, &answer, "200 and JSON");
            return None;
        }
        value
    }
}

/// Reports whether two texts are the same value in JSON.
pub(crate) fn same_json(text: &str, wanted: &str) -> bool {
    let parse = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    match (parse(text), parse(wanted)) {
        (Some(text), Some(wanted)) => text == wanted,
        _ => false,
    }
}
