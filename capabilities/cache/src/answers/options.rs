//! The options of `app.cached`.

use crate::limits::TTL_SECONDS_MAX;
use sampan_host::names::snake_case;
use sampan_host::{Error, Value, refusals};
use std::time::Duration;

const OPTIONS: &[&str] = &["seconds", "query", "vary", "ignore_cookies"];

/// The options that a script gave.
#[derive(Debug)]
pub(super) struct AnswerCacheOptions {
    /// The time for which an answer is kept.
    pub(super) ttl: Duration,
    /// The parameters of the query that count; `None` for all.
    pub(super) query: Option<Vec<String>>,
    /// The header fields of requests that count, in lower case.
    pub(super) vary: Vec<String>,
    /// The cookies that do not count.
    pub(super) ignored_cookies: Vec<String>,
}

impl AnswerCacheOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// An option is unknown or of a wrong kind, or `seconds` is missing.
    pub(super) fn read(given: Value) -> Result<Self, Error> {
        let mut ttl = None;
        let (mut query, mut vary, mut ignored_cookies) = (None, Vec::new(), Vec::new());
        let members = match given {
            Value::Map(members) => members,
            _ => Vec::new(),
        };
        for (name, value) in members {
            match snake_case(&name).as_str() {
                "seconds" => ttl = Some(seconds(&value)?),
                "query" => query = Some(texts("query", value)?),
                "vary" => vary = fields(value)?,
                "ignore_cookies" => ignored_cookies = texts("ignore_cookies", value)?,
                _ => return Err(refusals::unknown_option(&name, OPTIONS)),
            }
        }
        let Some(ttl) = ttl else {
            let text = "seconds is needed: how long an answer is given again";
            return Err(Error::script(text).naming(["seconds"]));
        };
        Ok(Self {
            ttl,
            query,
            vary,
            ignored_cookies,
        })
    }
}

fn seconds(given: &Value) -> Result<Duration, Error> {
    let seconds = match given {
        Value::Int(seconds) => *seconds as f64,
        Value::Float(seconds) => *seconds,
        _ => 0.0,
    };
    if seconds.is_nan() || seconds <= 0.0 || seconds > TTL_SECONDS_MAX {
        let text = format!("seconds must be a number above 0, at most {TTL_SECONDS_MAX}");
        return Err(Error::script(text).naming(["seconds"]));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Reads a list of texts. An empty table of Lua is an empty list.
fn texts(name: &'static str, given: Value) -> Result<Vec<String>, Error> {
    let wrong = || Error::script(format!("{name} must be a list of texts")).naming([name]);
    match given {
        Value::List(items) => {
            let text = |item| match item {
                Value::Text(text) if !text.is_empty() => Ok(text),
                _ => Err(wrong()),
            };
            items.into_iter().map(text).collect()
        }
        Value::Map(members) if members.is_empty() => Ok(Vec::new()),
        _ => Err(wrong()),
    }
}

/// Reads the names of header fields. Requests with a cookie or `Authorization` are never answered alike.
fn fields(given: Value) -> Result<Vec<String>, Error> {
    let mut fields = texts("vary", given)?;
    for field in &mut fields {
        field.make_ascii_lowercase();
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let fault = match field.as_str() {
            "cookie" | "authorization" => "belongs to one client: its answers are not kept",
            "*" => "stands for all that requests differ in: list the fields",
            name if !name.bytes().all(is_token) => "is not the name of a header field",
            _ => continue,
        };
        return Err(Error::script(format!("vary: {field:?} {fault}")).naming(["vary"]));
    }
    fields.sort_unstable();
    fields.dedup();
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(members: &[(&str, Value)]) -> Result<AnswerCacheOptions, Error> {
        let members = members.iter();
        let members = members.map(|(name, value)| ((*name).to_owned(), value.clone()));
        AnswerCacheOptions::read(Value::Map(members.collect()))
    }

    #[test]
    fn times_are_above_zero_and_finite() {
        for wrong in [
            Value::Int(0),
            Value::Int(-1),
            Value::Int(i64::MAX),
            Value::Float(f64::NAN),
            Value::Float(f64::INFINITY),
            Value::Text("10".to_owned()),
            Value::Null,
        ] {
            read(&[("seconds", wrong.clone())]).expect_err(&format!("{wrong:?}"));
        }
        let options = read(&[("seconds", Value::Float(0.5))]).expect("half a second");
        assert_eq!(options.ttl, Duration::from_millis(500));
        read(&[]).expect_err("seconds is missing");
        read(&[("seconds", Value::Int(1)), ("ttl", Value::Int(1))]).expect_err("no such option");
    }

    #[test]
    fn fields_of_one_client_are_refused() {
        let vary = |names: &[&str]| {
            let names = names.iter().map(|name| Value::from(*name)).collect();
            read(&[("seconds", Value::Int(1)), ("vary", Value::List(names))])
        };
        let options = vary(&["X-Tenant", "accept-language", "x-tenant"]).expect("two fields");
        assert_eq!(options.vary, ["accept-language", "x-tenant"]);
        for wrong in ["Cookie", "AUTHORIZATION", "*", "a b", "a\0", ""] {
            vary(&[wrong]).expect_err(wrong);
        }
    }

    #[test]
    fn an_empty_table_of_lua_is_an_empty_list() {
        let none = Value::Map(Vec::new());
        let options = read(&[("seconds", Value::Int(1)), ("query", none)]).expect("no parameter");
        assert_eq!(options.query.as_deref(), Some(&[][..]));
    }
}
