//! The request that opened a socket, as scripts see it afterwards.

use crate::request::{Pairs, RequestView, Twice};
use crate::value::Value;

/// The fields of the request that opened a socket. They are kept in one piece of text each, because there may be many
/// sockets and few handlers look.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    path: Box<str>,
    ip: Box<str>,
    id: Box<str>,
    /// Names and values, each followed by a NUL, which neither can have.
    params: Box<str>,
    query: Box<str>,
    headers: Box<str>,
    /// The fields that capabilities have added to the request.
    kept: Vec<(&'static str, Value)>,
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
    pub fn of(request: &dyn RequestView) -> Self {
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
        let kept = request.store().get::<KeptFields>();
        Self {
            path: request.path().into(),
            ip: request.ip().into(),
            id: (&*request.id()).into(),
            params: pairs(Pairs::Params),
            query: pairs(Pairs::Query),
            headers: pairs(Pairs::Headers),
            kept: kept.map_or_else(Vec::new, |kept| (kept.0)()),
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

    /// Returns the fields for a script.
    pub fn value(&self) -> Value {
        let mut members: Vec<(String, Value)> = vec![
            ("path".to_owned(), Value::from(&*self.path)),
            ("ip".to_owned(), Value::from(&*self.ip)),
            ("id".to_owned(), Value::from(&*self.id)),
            ("params".to_owned(), map(&self.params, Pairs::Params)),
            ("query".to_owned(), map(&self.query, Pairs::Query)),
            ("headers".to_owned(), map(&self.headers, Pairs::Headers)),
        ];
        let kept = self.kept.iter();
        members.extend(kept.map(|(name, value)| ((*name).to_owned(), value.clone())));
        Value::Map(members)
    }
}

/// The fields of a request that stay when it has ended, in its store: a function that gives them.
pub struct KeptFields(pub Box<dyn Fn() -> Vec<(&'static str, Value)>>);

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
