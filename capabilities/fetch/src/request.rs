//! The request of a script: its URL, its field lines and its options.

use crate::form::{encoded, wrong};
use crate::limits::MILLIS_MAX;
use sampan_host::fetch::{FetchBody, FetchOptions, FetchRequest, FieldLines, RedirectMode};
use sampan_host::names::snake_case;
use sampan_host::settings::units::{A_SIZE, bytes, millis};
use sampan_host::{Error, Value, refusals};

/// A request as a script has it.
#[derive(Default)]
pub(crate) struct ScriptRequest {
    method: Option<String>,
    url: String,
    fields: FieldLines,
    body: Option<Vec<u8>>,
    options: FetchOptions,
    /// True if the script wants all of the body with the head.
    pub(crate) is_whole: bool,
    /// True if the other runs of a request may read the body of the answer too: see [`crate::body::BODY`].
    pub(crate) is_bound: bool,
    /// True if a character of a header value is a byte.
    pub(crate) is_latin1: bool,
}

impl ScriptRequest {
    /// Reads what the engine passes on. `json` is a body as JSON.
    ///
    /// # Errors
    /// An option is not what it should be.
    pub(crate) fn read(request: Value, json: Value) -> Result<Self, Error> {
        let Value::Map(members) = request else {
            return Err(Error::script("no request"));
        };
        let mut made = Self::default();
        let (mut form, mut query) = (None, None);
        for (name, value) in members {
            match (&*name, value) {
                (_, Value::Null) => {}
                ("url", Value::Text(text)) => made.url = text,
                ("method", Value::Text(text)) => made.method = Some(text),
                ("latin1", Value::Bool(is)) => made.is_latin1 = is,
                ("headers", Value::List(lines)) => made.fields = field_lines(lines)?,
                // A table of Lua without fields.
                ("headers", Value::Map(none)) if none.is_empty() => {}
                ("body", Value::Text(text)) => made.body = Some(text.into_bytes()),
                ("body", Value::Bytes(bytes)) => made.body = Some(bytes),
                ("form", value) => form = Some(encoded("form", value)?),
                ("query", value) => query = Some(encoded("query", value)?),
                ("bound", Value::Bool(is)) => made.is_bound = is,
                ("whole", Value::Bool(is)) => made.is_whole = is,
                ("redirect", value) => made.options.redirect = redirect_mode(&value)?,
                ("timeout", value) => made.set_timeouts(value)?,
                ("body_bytes_max", value) => made.options.answer_bytes_max = Some(size(&value)?),
                ("decompress", Value::Bool(is)) => made.options.keeps_coding = !is,
                (known @ ("url" | "method" | "body"), value) => {
                    return Err(wrong(known, "a text", &value));
                }
                ("decompress", value) => return Err(wrong("decompress", "true or false", &value)),
                (unknown, _) => return Err(refusals::unknown_option(unknown, &OPTIONS)),
            }
        }
        if made.is_latin1 {
            made.fields
                .iter_mut()
                .for_each(|(_, value)| to_latin1(value));
        }
        if let Value::Text(json) = json {
            made.set_body(json.into_bytes(), "application/json")?;
        }
        if let Some(form) = form {
            made.set_body(form.into_bytes(), "application/x-www-form-urlencoded")?;
        }
        if let Some(query) = query {
            made.add_query(&query);
        }
        Ok(made)
    }

    /// Returns the request to send; `fed` is a body that comes piece by piece.
    ///
    /// # Errors
    /// The request has a body and a method that has none.
    pub(crate) fn with_body(self, fed: Option<FetchBody>) -> Result<FetchRequest, Error> {
        let body = match (fed, self.body) {
            (Some(fed), _) => fed,
            (None, Some(bytes)) => FetchBody::Bytes(bytes),
            (None, None) => FetchBody::None,
        };
        let has_body = !matches!(body, FetchBody::None);
        let method = self.method.unwrap_or_else(|| {
            let usual = if has_body { "POST" } else { "GET" };
            usual.to_owned()
        });
        if has_body && matches!(&*method, "GET" | "HEAD") {
            return Err(Error::script(format!(
                "a {method} request cannot have a body"
            )));
        }
        Ok(FetchRequest {
            method,
            url: self.url,
            fields: self.fields,
            body,
            options: self.options,
        })
    }

    fn set_body(&mut self, body: Vec<u8>, content_type: &str) -> Result<(), Error> {
        if self.body.is_some() {
            return Err(Error::script(
                "the options body, json and form exclude each other",
            ));
        }
        self.body = Some(body);
        let is_there =
            |(name, _): &(Box<[u8]>, Box<[u8]>)| name.eq_ignore_ascii_case(b"content-type");
        if !self.fields.iter().any(is_there) {
            let field = (b"content-type".as_slice(), content_type.as_bytes());
            self.fields.push((field.0.into(), field.1.into()));
        }
        Ok(())
    }

    /// Adds to the query of the URL, before its fragment.
    fn add_query(&mut self, query: &str) {
        if query.is_empty() {
            return;
        }
        let (front, fragment) = match self.url.find('#') {
            Some(at) => self.url.split_at(at),
            None => (&*self.url, ""),
        };
        let joint = match front.find('?') {
            None => "?",
            Some(at) if at + 1 == front.len() || front.ends_with('&') => "",
            Some(_) => "&",
        };
        self.url = format!("{front}{joint}{query}{fragment}");
    }

    fn set_timeouts(&mut self, value: Value) -> Result<(), Error> {
        let Value::Map(members) = value else {
            self.options.total_millis_max = Some(time("timeout", &value)?);
            return Ok(());
        };
        for (name, value) in members {
            let options = &mut self.options;
            let place = match &*snake_case(&name) {
                "connect" => &mut options.connect_millis_max,
                "head" => &mut options.head_millis_max,
                "total" => &mut options.total_millis_max,
                "idle" => &mut options.idle_millis_max,
                _ => return Err(refusals::unknown_option(&name, &TIMEOUTS)),
            };
            *place = Some(time(&name, &value)?);
        }
        Ok(())
    }
}

/// The options of a script beside those that its engine reads.
const OPTIONS: [&str; 5] = [
    "timeout",
    "redirect",
    "body_bytes_max",
    "decompress",
    "stream",
];

const TIMEOUTS: [&str; 4] = ["connect", "head", "total", "idle"];

/// Reads a flat list of names and values.
fn field_lines(lines: Vec<Value>) -> Result<FieldLines, Error> {
    let mut fields = Vec::with_capacity(lines.len() / 2);
    let mut lines = lines.into_iter();
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        fields.push((field_bytes(name)?, field_bytes(value)?));
    }
    Ok(fields)
}

fn field_bytes(value: Value) -> Result<Box<[u8]>, Error> {
    match value {
        Value::Text(text) => Ok(text.into_bytes().into()),
        Value::Bytes(bytes) => Ok(bytes.into()),
        Value::Int(number) => Ok(number.to_string().into_bytes().into()),
        Value::Float(number) => Ok(number.to_string().into_bytes().into()),
        other => Err(Error::script(format!(
            "the value of a header must be a text, not {}",
            other.type_name()
        ))),
    }
}

/// Makes one byte of each character; those above U+00FF stay, and are refused as what they are.
fn to_latin1(value: &mut Box<[u8]>) {
    if value.is_ascii() {
        return;
    }
    let characters = std::str::from_utf8(value).ok().map(str::chars);
    let bytes = characters.and_then(|mut all| {
        all.try_fold(Vec::new(), |mut bytes, character| {
            bytes.push(u8::try_from(character).ok()?);
            Some(bytes)
        })
    });
    if let Some(bytes) = bytes {
        *value = bytes.into();
    }
}

fn redirect_mode(value: &Value) -> Result<RedirectMode, Error> {
    match value {
        Value::Text(text) if text == "follow" => Ok(RedirectMode::Follow),
        Value::Text(text) if text == "manual" => Ok(RedirectMode::Manual),
        Value::Text(text) if text == "error" => Ok(RedirectMode::Error),
        Value::Text(text) => Err(Error::script(format!(
            "the option redirect must be \"follow\", \"manual\" or \"error\", not {text:?}"
        ))),
        other => Err(wrong("redirect", "a text", other)),
    }
}

/// Reads a time: a number of seconds, or a text such as `"500ms"`. Not 0, which would be no time at all or no limit.
fn time(name: &str, value: &Value) -> Result<u64, Error> {
    let seconds = |seconds: f64| (seconds * 1_000.0).ceil() as u64;
    let found = match value {
        Value::Int(number) => Some(seconds(*number as f64)),
        Value::Float(number) => Some(seconds(*number)),
        Value::Text(text) => millis(text),
        _ => None,
    };
    let found = found.filter(|found| (1..=MILLIS_MAX).contains(found));
    found.ok_or_else(|| {
        Error::script(format!(
            "the option {name} must be a number of seconds, or a text such as \"500ms\" or \"10s\": at least a \
             millisecond, at most a day"
        ))
        .naming([name])
    })
}

fn size(value: &Value) -> Result<u64, Error> {
    let found = match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::Float(number) if *number >= 0.0 => Some(*number as u64),
        Value::Text(text) => bytes(text),
        _ => None,
    };
    let found = found.filter(|bytes| *bytes > 0);
    found.ok_or_else(|| {
        Error::script(format!("the option body_bytes_max must be {A_SIZE}"))
            .naming(["body_bytes_max"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(members: &[(&str, Value)]) -> Value {
        let members = members.iter();
        Value::Map(
            members
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        )
    }

    fn read(members: &[(&str, Value)]) -> Result<FetchRequest, String> {
        let request = ScriptRequest::read(map(members), Value::Null);
        let request = request.and_then(|request| request.with_body(None));
        request.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_query_is_added_before_the_fragment() {
        let query = map(&[("a b", "ü&".into()), ("n", vec_of(&[1, 2]))]);
        for (url, expected) in [
            ("http://x/", "http://x/?a+b=%C3%BC%26&n=1&n=2"),
            ("http://x/?", "http://x/?a+b=%C3%BC%26&n=1&n=2"),
            ("http://x/?q=1#f", "http://x/?q=1&a+b=%C3%BC%26&n=1&n=2#f"),
        ] {
            let request = read(&[("url", url.into()), ("query", query.clone())]).expect(url);
            assert_eq!(request.url, expected);
        }
    }

    fn vec_of(numbers: &[i64]) -> Value {
        Value::List(numbers.iter().copied().map(Value::Int).collect())
    }

    #[test]
    fn the_method_follows_from_the_body() {
        let request = read(&[("form", map(&[("a", true.into())]))]).expect("a form");
        assert_eq!(request.method, "POST");
        assert!(matches!(request.body, FetchBody::Bytes(bytes) if bytes == b"a=true"));
        assert_eq!(&*request.fields[0].1, b"application/x-www-form-urlencoded");
        assert_eq!(read(&[]).expect("none").method, "GET");
        let refused = read(&[("method", "GET".into()), ("body", "x".into())]);
        assert_eq!(
            refused.err().as_deref(),
            Some("a GET request cannot have a body")
        );
    }

    #[test]
    fn times_and_sizes_are_numbers_or_have_units() {
        let timeouts = map(&[("connect", Value::Float(0.5)), ("idle", "2s".into())]);
        let request = read(&[
            ("timeout", timeouts),
            ("body_bytes_max", "2 KiB".into()),
            ("redirect", "error".into()),
        ])
        .expect("options");
        assert_eq!(
            request.options,
            FetchOptions {
                connect_millis_max: Some(500),
                idle_millis_max: Some(2_000),
                answer_bytes_max: Some(2_048),
                redirect: RedirectMode::Error,
                ..FetchOptions::default()
            }
        );
        let total = read(&[("timeout", Value::Int(3))]).expect("a timeout");
        assert_eq!(total.options.total_millis_max, Some(3_000));
    }

    #[test]
    fn wrong_options_are_named() {
        for (name, value, part) in [
            ("timeout", Value::Int(0), "a number of seconds"),
            ("timeout", Value::Float(f64::NAN), "a number of seconds"),
            ("timeout", Value::Int(86_401), "at most a day"),
            (
                "timeout",
                map(&[("heads", Value::Int(1))]),
                "unknown option 'heads'",
            ),
            ("body_bytes_max", Value::Int(-1), "a size such as"),
            (
                "redirect",
                "often".into(),
                "\"manual\" or \"error\", not \"often\"",
            ),
            ("form", Value::Int(1), "the option form must be"),
            ("form", map(&[("a", map(&[]))]), "form: a must be a text"),
            ("colour", Value::Int(1), "unknown option 'colour'"),
            ("body", Value::Int(1), "the option body must be a text"),
            ("headers", vec_of(&[]), ""),
        ] {
            let read = read(&[(name, value)]);
            match part {
                "" => assert!(read.is_ok()),
                part => {
                    let fault = read.err().unwrap_or_else(|| panic!("{name} {part}"));
                    assert!(fault.contains(part), "{fault}");
                }
            }
        }
    }

    #[test]
    fn characters_of_fields_are_bytes_where_the_engine_says_so() {
        let lines = Value::List(vec!["X-A".into(), "é".into()]);
        let request = read(&[("headers", lines.clone()), ("latin1", true.into())]);
        assert_eq!(&*request.expect("fields").fields[0].1, b"\xe9");
        let request = read(&[("headers", lines)]).expect("fields");
        assert_eq!(&*request.fields[0].1, "é".as_bytes());
    }
}
