//! Requests and answers as numbers and bytes in memory that JavaScript has too, so that a batch of them crosses in one
//! call.
//!
//! `package/serve/wire.js` has the same numbers.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use sampan_http::{Method, Response};
use sampan_serve::routing::normal_form::normal_form;

use super::exchanges::{Exchange, Exchanges, Key};

/// Numbers before the first record: how many requests, how many events, whether there is [more](More) to do, and
/// whether there are events of WebSockets.
pub(crate) const HEAD: usize = 4;
/// Numbers of one request.
pub(crate) const REQUEST: usize = 20;
/// Parameters whose places are in a request's record; JavaScript asks for others.
const PARAMS_MAX: usize = 4;
/// Numbers of one event.
pub(crate) const EVENT: usize = 3;
/// Numbers of one answer.
pub(crate) const ANSWER: usize = 6;
/// Room for so many events is left behind the requests.
const EVENTS_MAX: usize = 256;

/// The kind of an event of a request or a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The client of a request left.
    ClientLeft = 1,
    /// A stream has room again.
    Drained = 2,
    /// The client of a stream left.
    StreamLeft = 3,
    /// The time of requests was up; JavaScript asks which.
    TimeUp = 4,
    /// Streams were cut; JavaScript asks which.
    StreamsCut = 5,
}

/// The amount of work left for a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum More {
    /// No work: it waits for its clients.
    Nothing = 0,
    /// Probably some: its clients were busy just now: to look once more costs less than to be woken.
    Perhaps = 1,
    /// At once.
    Now = 2,
}

/// The content types that answers name by a number; 0 is none.
const CONTENT_TYPES: [&str; 6] = [
    "text/plain;charset=utf-8",
    "application/json",
    "text/html;charset=utf-8",
    "application/octet-stream",
    "text/plain; charset=utf-8",
    "text/html; charset=utf-8",
];

/// Writes batches for JavaScript.
pub(crate) struct BatchWriter<'a> {
    numbers: &'a mut [i32],
    bytes: &'a mut [u8],
    requests: usize,
    events: usize,
    used: usize,
}

impl<'a> BatchWriter<'a> {
    pub(crate) fn new(numbers: &'a mut [i32], bytes: &'a mut [u8]) -> Self {
        Self {
            numbers,
            bytes,
            requests: 0,
            events: 0,
            used: 0,
        }
    }

    /// Writes as many requests as there is room for.
    pub(crate) fn requests(&mut self, exchanges: &Exchanges) {
        exchanges.deliver(|exchange| self.request(exchange));
    }

    fn request(&mut self, exchange: &Exchange) -> bool {
        let at = HEAD + self.requests * REQUEST;
        if at + REQUEST + EVENTS_MAX * EVENT > self.numbers.len() {
            return false;
        }
        let request = &*exchange.request;
        let (target, body) = (request.target(), request.body());
        let host = request.host().unwrap_or_default();
        // The parameters are parts of the target.
        if self.bytes.len() - self.used < 4 * target.len() + host.len() {
            return false;
        }
        let mut record = [0; REQUEST];
        record[0] = exchange.key.place as i32;
        record[1] = exchange.key.serial as i32;
        record[2] = exchange.route.map_or(-1, |route| route as i32);
        record[3] = method_number(request.method());
        (record[4], record[5]) = self.put(target.as_bytes());
        record[17] = exchange.generation as i32;
        // It lies right behind.
        (_, record[19]) = self.put(host.as_bytes());
        record[6] = -1;
        record[7] = body.len() as i32;
        // A large one is asked for.
        if body.len() <= self.bytes.len() / 4 && body.len() <= self.bytes.len() - self.used {
            let (at, len) = self.put(body);
            (record[6], record[18]) = (at, (len < 0).into());
        }
        if exchange.route.is_some() {
            let path = normal_form(request.path());
            for index in 0..PARAMS_MAX {
                let Some(param) = exchange.params.of(&path, index) else {
                    break;
                };
                let param = decoded(param);
                if param.len() > self.bytes.len() - self.used {
                    break;
                }
                (record[9 + 2 * index], record[10 + 2 * index]) = self.put(param.as_bytes());
                record[8] += 1;
            }
        }
        self.numbers[at..at + REQUEST].copy_from_slice(&record);
        self.requests += 1;
        true
    }

    /// Copies bytes, for which there is room. The length is below zero if they are not ASCII.
    fn put(&mut self, bytes: &[u8]) -> (i32, i32) {
        let at = self.used;
        self.used += bytes.len();
        self.bytes[at..self.used].copy_from_slice(bytes);
        let len = bytes.len() as i32;
        (at as i32, if bytes.is_ascii() { len } else { -len })
    }

    /// Writes events; returns those for which there was no room.
    pub(crate) fn events(&mut self, event: Event, mut keys: Vec<Key>) -> Vec<Key> {
        while let Some(key) = keys.last() {
            let at = HEAD + self.requests * REQUEST + self.events * EVENT;
            if at + EVENT > self.numbers.len() {
                break;
            }
            let record = [event as i32, key.place as i32, key.serial as i32];
            self.numbers[at..at + EVENT].copy_from_slice(&record);
            self.events += 1;
            keys.pop();
        }
        keys
    }

    /// Says whether JavaScript is to ask for events of WebSockets.
    pub(crate) fn tell_sockets(&mut self, has_events: bool) {
        self.numbers[3] = has_events.into();
    }

    /// Writes the head. Returns how many requests there are.
    pub(crate) fn finish(self, more: More) -> usize {
        self.numbers[0] = self.requests as i32;
        self.numbers[1] = self.events as i32;
        self.numbers[2] = more as i32;
        self.requests
    }
}

/// A parameter without its percent-encoding.
pub(crate) fn decoded(param: &str) -> Cow<'_, str> {
    percent_decode_str(param).decode_utf8_lossy()
}

fn method_number(method: Method) -> i32 {
    match method {
        Method::Get => 0,
        Method::Head => 1,
        Method::Post => 2,
        Method::Put => 3,
        Method::Patch => 4,
        Method::Delete => 5,
        Method::Options => 6,
        Method::Trace => 7,
        Method::Connect => 8,
        Method::Other => 9,
    }
}

/// One answer of a batch.
pub(crate) struct AnswerRecord<'a> {
    pub(crate) key: Key,
    pub(crate) status: u16,
    content_type: usize,
    headers: &'a [u8],
    body: &'a [u8],
}

impl<'a> AnswerRecord<'a> {
    /// The answers of a batch; one whose numbers lead out of `bytes` is left out.
    pub(crate) fn all(
        numbers: &'a [i32],
        bytes: &'a [u8],
        count: usize,
    ) -> impl Iterator<Item = Self> {
        let mut used = 0;
        let records = numbers.chunks_exact(ANSWER).take(count);
        records.map_while(move |record| {
            let headers_end = used + usize::try_from(record[4]).ok()?;
            let end = headers_end + usize::try_from(record[5]).ok()?;
            let answer = AnswerRecord {
                key: Key {
                    place: record[0] as u32,
                    serial: record[1] as u32,
                },
                status: u16::try_from(record[2]).unwrap_or(500),
                content_type: record[3] as usize,
                headers: bytes.get(used..headers_end)?,
                body: bytes.get(headers_end..end)?,
            };
            used = end;
            Some(answer)
        })
    }

    /// The answer.
    ///
    /// # Errors
    /// A header field that cannot be sent.
    pub(crate) fn response(&self) -> Result<Response, String> {
        let mut response = Response::new(self.status);
        if let Some(content_type) = CONTENT_TYPES.get(self.content_type.wrapping_sub(1)) {
            if self.body.is_empty() {
                // The default type of an answer is that of its bytes: one without any names it itself.
                let named = response.header(b"content-type", content_type.as_bytes());
                named.map_err(|error| error.to_string())?;
            } else {
                response.content_type(content_type);
            }
        }
        put_headers(&mut response, self.headers)?;
        if !self.body.is_empty() {
            response.body_mut().extend_from_slice(self.body);
        }
        Ok(response)
    }
}

/// Sets header fields: names and values in turn, each with a line feed behind it, which neither can have.
///
/// # Errors
/// A field that cannot be sent.
pub(crate) fn put_headers(response: &mut Response, text: &[u8]) -> Result<(), String> {
    let mut parts = text.split(|byte| *byte == b'\n');
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        response
            .header(name, value)
            .map_err(|error| format!("{}: {error}", String::from_utf8_lossy(name)))?;
    }
    Ok(())
}
