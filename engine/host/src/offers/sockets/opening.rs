//! The request that opened a socket, as scripts see it afterwards.

use super::kept::{KeptField, KeptFields};
use crate::future::LocalFuture;
use crate::json::Tape;
use crate::request::{Pairs, RequestView, Twice, cookies};
use crate::tables::module::Context;
use crate::value::Value;

/// The fields of the request that opened a socket. They are kept in one piece of text, because there may be many
/// sockets and few handlers look.
#[derive(Default)]
pub struct Opening {
    /// The parts, one behind the other.
    text: Box<str>,
    /// The end of each part.
    ends: [u32; PARTS],
    /// The fields that capabilities have added to the request.
    kept: Box<[(&'static str, KeptField)]>,
}

/// The parts of the text, in their order.
#[derive(Clone, Copy)]
enum Part {
    Path,
    Url,
    Ip,
    Id,
    /// Names and values, each followed by a NUL, which neither can have; the query and the headers too.
    Params,
    Query,
    Headers,
    /// The fields that scripts have set on the request, as [`OwnFields`] has them.
    Own,
}

/// The number of parts.
const PARTS: usize = Part::Own as usize + 1;

/// The fields that an opening has by itself, and the body, which it has not.
const FIELDS: [&str; 10] = [
    "method", "path", "url", "ip", "id", "params", "query", "cookies", "headers", "body",
];

/// The most that the values of script fields nest.
const DEPTH_MAX: usize = 64;

/// The fields that scripts have set on a request, as JSON, in its store. Each name and each value is followed by a NUL.
#[derive(Default)]
pub struct OwnFields(String);

impl OwnFields {
    /// Adds a field with a text of JSON. One that a socket knows by itself, or that has no value, is left out.
    pub fn add(&mut self, name: &str, json: &str) {
        let is_empty = json == "null" || (name == "state" && matches!(json, "{}" | "[]"));
        if FIELDS.contains(&name) || name.contains('\0') || is_empty {
            return;
        }
        for part in [name, "\0", json, "\0"] {
            self.0.push_str(part);
        }
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The fields, each with its value.
    fn each(text: &str) -> impl Iterator<Item = (&str, Value)> {
        let mut parts = text.split('\0');
        let mut tape = Tape::default();
        std::iter::from_fn(move || {
            let (name, json) = (parts.next()?, parts.next()?);
            let read = tape.read(json.as_bytes(), DEPTH_MAX).is_ok();
            let value = read.then(|| tape.value(json.as_bytes()));
            Some((name, value.unwrap_or_default()))
        })
    }
}

/// Field lines that every handshake has and no handler needs.
const LEFT_OUT: [&str; 5] = [
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
];

impl Opening {
    /// Copies the fields of a request.
    pub fn of(context: &Context, request: &dyn RequestView, own: &OwnFields) -> Self {
        let mut text = String::new();
        let mut ends = [0; PARTS];
        // A request is shorter; of a longer one the rest would be left out.
        let end = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let (url, ip, id) = (request.url(), request.ip(), request.id());
        let plain = [
            (Part::Path, request.path()),
            (Part::Url, &url),
            (Part::Ip, &ip),
            (Part::Id, &id),
        ];
        for (part, value) in plain {
            text.push_str(value);
            ends[part as usize] = end(&text);
        }
        let pairs = [
            (Part::Params, Pairs::Params),
            (Part::Query, Pairs::Query),
            (Part::Headers, Pairs::Headers),
        ];
        for (part, pairs) in pairs {
            pairs.each(request, &mut |name, value| {
                if pairs == Pairs::Headers && LEFT_OUT.contains(&name) {
                    return;
                }
                text.push_str(&name.replace('\0', "\u{fffd}"));
                text.push('\0');
                text.push_str(&String::from_utf8_lossy(value).replace('\0', "\u{fffd}"));
                text.push('\0');
            });
            ends[part as usize] = end(&text);
        }
        text.push_str(&own.0);
        ends[Part::Own as usize] = end(&text);
        Self {
            text: text.into(),
            ends,
            kept: KeptFields::of(context, request).into(),
        }
    }

    fn part(&self, part: Part) -> &str {
        let at = part as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start as usize..self.ends[at] as usize;
        self.text.get(range).unwrap_or_default()
    }

    /// Returns the id of the request, in the log.
    pub fn id(&self) -> &str {
        self.part(Part::Id)
    }

    /// Returns the path, as sent.
    pub fn path(&self) -> &str {
        self.part(Part::Path)
    }

    /// Returns what has to be read before an event's handler runs.
    pub fn before_event(&self) -> Vec<LocalFuture<()>> {
        let reads = self.kept.iter().filter_map(|(_, field)| match field {
            KeptField::Read { read, .. } => read(),
            KeptField::Value(_) | KeptField::Live(_) => None,
        });
        reads.collect()
    }

    /// Returns the fields for a script. Those that scripts have set take the place of those of capabilities.
    pub fn value(&self, context: &Context) -> Value {
        let mut members: Vec<(String, Value)> = vec![
            ("method".to_owned(), Value::from("GET")),
            ("path".to_owned(), Value::from(self.path())),
            ("url".to_owned(), Value::from(self.part(Part::Url))),
            ("ip".to_owned(), Value::from(self.part(Part::Ip))),
            ("id".to_owned(), Value::from(self.id())),
        ];
        let pairs = |part, pairs| map(self.part(part), pairs);
        members.push(("params".to_owned(), pairs(Part::Params, Pairs::Params)));
        members.push(("query".to_owned(), pairs(Part::Query, Pairs::Query)));
        let headers = pairs(Part::Headers, Pairs::Headers);
        members.push(("cookies".to_owned(), cookies_of(&headers)));
        members.push(("headers".to_owned(), headers));
        let mut add = |name: &str, value: &dyn Fn() -> Value| {
            if !members.iter().any(|(known, _)| known == name) {
                members.push((name.to_owned(), value()));
            }
        };
        for (name, value) in OwnFields::each(self.part(Part::Own)) {
            add(name, &|| value.clone());
        }
        for (name, field) in &self.kept {
            add(name, &|| match field {
                KeptField::Value(value) => value.clone(),
                KeptField::Live(make) | KeptField::Read { make, .. } => make(context),
            });
        }
        add("state", &|| Value::Map(Vec::new()));
        Value::Map(members)
    }
}

/// The cookies in the field of this name. Of a name that comes twice the first counts.
fn cookies_of(headers: &Value) -> Value {
    let mut members: Vec<(String, Value)> = Vec::new();
    if let Some(Value::Text(field)) = headers.get("cookie") {
        for (name, value) in cookies::pairs(field) {
            if !members.iter().any(|(known, _)| *known == *name) {
                members.push((name.into(), Value::from(value)));
            }
        }
    }
    Value::Map(members)
}

fn map(text: &str, pairs: Pairs) -> Value {
    let mut members: Vec<(String, Value)> = Vec::new();
    let mut parts = text.split('\0');
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        let known = members.iter_mut().find(|(known, _)| known == name);
        match (known, pairs.twice()) {
            (None, _) => members.push((name.to_owned(), Value::from(value))),
            (Some((_, Value::List(values))), Twice::List) => values.push(Value::from(value)),
            (Some((_, first)), Twice::List) => {
                *first = Value::List(vec![std::mem::take(first), Value::from(value)]);
            }
            (Some((_, Value::Text(first))), Twice::Join) => {
                first.push_str(", ");
                first.push_str(value);
            }
            _ => {}
        }
    }
    Value::Map(members)
}
