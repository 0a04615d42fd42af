//! Routes with a name, and `app.url_for`, which makes their URLs.

use super::mixed::MixedPart;
use super::normal_form::normal_form;
use super::pattern::Pattern;
use super::segment::Segment;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sampan_host::names::nearest_name;
use sampan_host::{Args, Context, Error, ErrorKind, FunctionKind, Module, Type, Value, param, row};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The function for scripts.
pub static MODULE: Module = Module {
    name: "app",
    doc: "Routes and their URLs.",
    functions: &[row!("url_for"(
            param!("name": Type::Text, "The option `name` of a route."),
            param!("params"? Type::Map,
                "The parameters of its path. What is no parameter becomes the query; a list is a name that comes \
                 several times."),
        ) -> Type::Text, FunctionKind::Sync(url_for),
        "The path of a route, with its query. Not while the project loads.")],
    ..Module::EMPTY
};

/// Everything but the characters that RFC 3986 section 2.3 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

const RESERVED_IN_REST: &AsciiSet = &RESERVED.remove(b'/');

/// The routes of an isolate that have a name.
#[derive(Default)]
pub struct RouteNames(RefCell<BTreeMap<String, NamedRoute>>);

struct NamedRoute {
    pattern: Pattern,
    written: String,
    /// The parameters of its hosts.
    host_params: Vec<String>,
}

fn url_for(context: &Context, mut args: Args) -> Result<Value, Error> {
    let names = context.get::<RouteNames>();
    let names = names.ok_or_else(|| Error::new(ErrorKind::Internal, "no routes here"))?;
    names.url(&args.text(0), &args.take(1)).map(Value::Text)
}

impl RouteNames {
    /// Adds a route. The error says why it cannot have this name.
    pub(crate) fn add(&self, name: &str, pattern: &Pattern, written: &str) -> Result<(), String> {
        if name.is_empty() {
            return Err("the name of a route must not be empty".to_owned());
        }
        let mut names = self.0.borrow_mut();
        let host_param = pattern.host_param().map(str::to_owned);
        match names.get_mut(name) {
            // The same path with another method, or at another host.
            Some(known) if known.pattern.segments == pattern.segments => {
                known.host_params.extend(host_param);
                Ok(())
            }
            Some(known) => Err(format!(
                "the name {name:?} is that of the route {} already",
                known.written
            )),
            None => {
                let route = NamedRoute {
                    pattern: pattern.clone(),
                    written: written.to_owned(),
                    host_params: host_param.into_iter().collect(),
                };
                names.insert(name.to_owned(), route);
                Ok(())
            }
        }
    }

    /// The URL of a route.
    ///
    /// # Errors
    /// There is no such name; a parameter is missing, or its value can stand in no path.
    pub fn url(&self, name: &str, params: &Value) -> Result<String, Error> {
        let names = self.0.borrow();
        let Some(route) = names.get(name) else {
            let known: Vec<&str> = names.keys().map(String::as_str).collect();
            return Err(unknown(name, &known));
        };
        let params = match params {
            Value::Map(params) => &params[..],
            _ => &[],
        };
        let mut url = String::new();
        for segment in &route.pattern.segments {
            url.push('/');
            match segment {
                Segment::Literal(text) => url.push_str(text),
                Segment::Mixed(part) => url.push_str(&mixed(route, params, part)?),
                Segment::Param(key) => {
                    let text = param(route, params, key)?;
                    // In a path these lead elsewhere.
                    if matches!(&*text, "" | "." | "..") {
                        return Err(wrong_value(route, key, &text));
                    }
                    url.extend(utf8_percent_encode(&text, RESERVED));
                }
                Segment::Rest(key) => {
                    let text = param(route, params, key)?;
                    let mut parts = text.split('/');
                    if parts.any(|part| matches!(part, "." | "..")) {
                        return Err(wrong_value(route, key, &text));
                    }
                    url.extend(utf8_percent_encode(&text, RESERVED_IN_REST));
                }
            }
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (key, value) in params {
            if route.host_params.contains(key) && *value != Value::Null {
                return Err(Error::script(format!(
                    "the parameter {key:?} of {} is a part of its host, and this makes the path alone: leave it out, \
                     or write the host in front of the path",
                    route.written
                )));
            }
            if route.pattern.params().any(|param| param == key) {
                continue;
            }
            match value {
                Value::Null => {}
                Value::List(items) => {
                    for item in items {
                        query.append_pair(key, &text_of(key, item)?);
                    }
                }
                value => {
                    query.append_pair(key, &text_of(key, value)?);
                }
            }
        }
        let query = query.finish();
        if !query.is_empty() {
            url.push('?');
            url.push_str(&query);
        }
        Ok(url)
    }
}

fn unknown(name: &str, known: &[&str]) -> Error {
    let text = match nearest_name(name, known.iter().map(|&name| name.to_owned()).collect()) {
        Some(near) => format!("no route has the name {name:?}: did you mean {near:?}?"),
        None if known.is_empty() => {
            format!("no route has the name {name:?}: give it the option `name`")
        }
        None => format!(
            "no route has the name {name:?}; there are {}",
            known.join(", ")
        ),
    };
    Error::script(text)
}

fn param(route: &NamedRoute, params: &[(String, Value)], key: &str) -> Result<String, Error> {
    match params.iter().find(|(name, _)| name == key) {
        Some((_, value)) if *value != Value::Null => text_of(key, value),
        _ => Err(Error::script(format!(
            "the parameter {key:?} of {} is missing",
            route.written
        ))),
    }
}

fn wrong_value(route: &NamedRoute, key: &str, text: &str) -> Error {
    Error::script(format!(
        "the parameter {key:?} of {} cannot be {text:?}",
        route.written
    ))
}

/// A part of text and parameters. A value that the router would not find again in it is refused: where `:name.:ext` has
/// an `ext` with a dot, another `name` would arrive.
fn mixed(
    route: &NamedRoute,
    params: &[(String, Value)],
    part: &MixedPart,
) -> Result<String, Error> {
    let mut out = part.head().to_owned();
    let mut given = Vec::new();
    for (key, behind) in part.params() {
        let text = param(route, params, key)?;
        if text.is_empty() {
            return Err(wrong_value(route, key, &text));
        }
        let encoded = utf8_percent_encode(&text, RESERVED).to_string();
        out.push_str(&encoded);
        out.push_str(behind);
        given.push((key, normal_form(&encoded).into_owned()));
    }
    // In a path this leads elsewhere.
    if let ("..", Some((key, value))) = (&*out, given.last()) {
        return Err(wrong_value(route, key, value));
    }
    let whole = normal_form(&out);
    let found = part.values(&whole).into_iter().flatten();
    for ((key, value), found) in given.iter().zip(found) {
        if found != value {
            return Err(Error::script(format!(
                "the parameters of {} give {whole:?}, in which {key:?} would be {found:?}",
                route.written
            )));
        }
    }
    Ok(out)
}

fn text_of(key: &str, value: &Value) -> Result<String, Error> {
    Ok(match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Float(number) if number.is_finite() => number.to_string(),
        _ => {
            return Err(Error::script(format!(
                "the parameter {key:?} must be a text, a number or a boolean"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> RouteNames {
        let names = RouteNames::default();
        for (name, pattern) in [
            ("home", "/"),
            ("owner", "/owners/:id"),
            ("file", "/files/*path"),
            ("version", "/v{:major}/@:user"),
            ("image", "/{:w}x{:h}/:name.:ext"),
            ("dotted", "/.:x"),
        ] {
            let parsed = Pattern::parse(pattern).expect(pattern);
            names.add(name, &parsed, pattern).expect(name);
        }
        names
    }

    fn url(name: &str, params: &[(&str, Value)]) -> Result<String, String> {
        let params = params.iter();
        let params = params.map(|(key, value)| ((*key).to_owned(), value.clone()));
        let url = names().url(name, &Value::Map(params.collect()));
        url.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn urls_are_encoded_and_keep_what_is_over_as_their_query() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (name, params, expected) in [
            ("home", vec![], "/"),
            ("home", vec![("q", text("a b&c"))], "/?q=a+b%26c"),
            ("owner", vec![("id", Value::Int(7))], "/owners/7"),
            (
                "owner",
                vec![("id", Value::Float(7.0)), ("page", Value::Int(2))],
                "/owners/7?page=2",
            ),
            (
                "owner",
                vec![("id", text("a/b?ö"))],
                "/owners/a%2Fb%3F%C3%B6",
            ),
            (
                "owner",
                vec![("id", text("x")), ("none", Value::Null)],
                "/owners/x",
            ),
            (
                "file",
                vec![("path", text("a/b c.txt"))],
                "/files/a/b%20c.txt",
            ),
            (
                "version",
                vec![("major", Value::Int(2)), ("user", text("a/@é"))],
                "/v2/@a%2F%40%C3%A9",
            ),
            (
                "image",
                vec![
                    ("w", Value::Int(64)),
                    ("h", Value::Int(48)),
                    ("name", text("a.tar")),
                    ("ext", text("gz")),
                    ("page", Value::Int(1)),
                ],
                "/64x48/a.tar.gz?page=1",
            ),
            ("dotted", vec![("x", text(".a"))], "/..a"),
            (
                "home",
                vec![("tag", Value::List(vec![text("a"), text("b")]))],
                "/?tag=a&tag=b",
            ),
        ] {
            assert_eq!(url(name, &params).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_makes_no_url_says_why() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (name, params, part) in [
            ("ower", vec![], "did you mean \"owner\"?"),
            (
                "owner",
                vec![],
                "the parameter \"id\" of /owners/:id is missing",
            ),
            ("owner", vec![("id", text(".."))], "cannot be \"..\""),
            ("owner", vec![("id", text(""))], "cannot be \"\""),
            (
                "owner",
                vec![("id", Value::List(Vec::new()))],
                "must be a text",
            ),
            ("file", vec![("path", text("a/../b"))], "cannot be"),
            (
                "version",
                vec![("major", Value::Int(2))],
                "the parameter \"user\" of /v{:major}/@:user is missing",
            ),
            (
                "version",
                vec![("major", text("")), ("user", text("x"))],
                "the parameter \"major\" of /v{:major}/@:user cannot be \"\"",
            ),
            (
                "image",
                vec![
                    ("w", text("1x1")),
                    ("h", text("1x1")),
                    ("name", text("a")),
                    ("ext", text("b")),
                ],
                "give \"1x1x1x1\", in which \"w\" would be \"1x1x1\"",
            ),
            (
                "image",
                vec![
                    ("w", Value::Int(1)),
                    ("h", Value::Int(1)),
                    ("name", text("a")),
                    ("ext", text("tar.gz")),
                ],
                "give \"a.tar.gz\", in which \"name\" would be \"a.tar\"",
            ),
            ("dotted", vec![("x", text("."))], "cannot be \".\""),
        ] {
            let error = url(name, &params).expect_err(name);
            assert!(error.contains(part), "{error}");
        }
        let other = Pattern::parse("/other").expect("a pattern");
        names().add("owner", &other, "/other").expect_err("taken");
    }

    #[test]
    fn a_parameter_of_a_host_is_no_part_of_a_url() {
        let names = RouteNames::default();
        for text in ["a.example/o/:id", ":t.example/o/:id", ":u.b.example/o/:id"] {
            let pattern = Pattern::parse_with_host(text).expect(text);
            names.add("owner", &pattern, text).expect(text);
        }
        let url = |more: &str, value| {
            let params = [("id".to_owned(), Value::Int(7)), (more.to_owned(), value)];
            let url = names.url("owner", &Value::Map(params.into()));
            url.map_err(|error| error.message().to_owned())
        };
        assert_eq!(url("q", Value::Int(1)).as_deref(), Ok("/o/7?q=1"));
        for param in ["t", "u"] {
            assert_eq!(url(param, Value::Null).as_deref(), Ok("/o/7"));
            let error = url(param, Value::Text("acme".to_owned())).expect_err(param);
            assert!(error.contains("is a part of its host"), "{error}");
        }
    }
}
