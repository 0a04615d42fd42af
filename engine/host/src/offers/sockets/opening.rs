//! The request that opened a socket, as scripts see it afterwards.

use super::kept::{KeptField, KeptFields};
use crate::future::LocalFuture;
use crate::json::Tape;
use crate::request::{Pairs, RequestView, Twice, cookies};
use crate::tables::module::Context;
use crate::value::Value;

/// The fields of the request that opened a socket. They are kept in one piece of text each, because there may be many
/// sockets and few handlers look.
pub struct Opening {
    path: Box<str>,
    url: Box<str>,
    ip: Box<str>,
    id: Box<str>,
    /// Names and values, each followed by a NUL, which neither can have.
    params: Box<str>,
    query: Box<str>,
    headers: Box<str>,
    /// The fields that scripts have set on the request, as [`OwnFields`] has them.
    own: Box<str>,
    /// The fields that capabilities have added to the request.
    kept: Vec<(&'static str, KeptField)>,
}

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
        let pairs = |pairs: Pairs| {
            let mut out = String::new();
            pairs.each(request, &mut |name, value| {
                if pairs == Pairs::Headers && LEFT_OUT.contains(&name) {
                    return;
                }
                out.push_str(&name.replace('\0', "\u{fffd}"));
                out.push('\0');
                out.push_str(&String::from_utf8_lossy(value).replace('\0', "\u{fffd}"));
                out.push('\0');
            });
            out.into_boxed_str()
        };
        Self {
            path: request.path().into(),
            url: request.url().into(),
            ip: request.ip().into(),
            id: (&*request.id()).into(),
            params: pairs(Pairs::Params),
            query: pairs(Pairs::Query),
            headers: pairs(Pairs::Headers),
            own: own.0.as_str().into(),
            kept: KeptFields::of(context, request),
        }
    }

    /// Returns the id of the request, in the log.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the path, as sent.
    pub fn path(&self) -> &str {
        &self.path
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
            ("path".to_owned(), Value::from(&*self.path)),
            ("url".to_owned(), Value::from(&*self.url)),
            ("ip".to_owned(), Value::from(&*self.ip)),
            ("id".to_owned(), Value::from(&*self.id)),
            ("params".to_owned(), map(&self.params, Pairs::Params)),
            ("query".to_owned(), map(&self.query, Pairs::Query)),
        ];
        let headers = map(&self.headers, Pairs::Headers);
        members.push(("cookies".to_owned(), cookies_of(&headers)));
        members.push(("headers".to_owned(), headers));
        let mut add = |name: &str, value: &dyn Fn() -> Value| {
            if !members.iter().any(|(known, _)| known == name) {
                members.push((name.to_owned(), value()));
            }
        };
        for (name, value) in OwnFields::each(&self.own) {
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
