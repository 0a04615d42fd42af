//! Webhooks: requests that another service signs, by the schemes of Stripe, GitHub and Standard Webhooks.
//!
//! All three sign the raw body with HMAC-SHA-256; Standard Webhooks may use Ed25519 instead. Stripe and Standard
//! Webhooks sign the time too, so that a request that was recorded cannot be sent again later. GitHub's scheme has no
//! time.

mod schemes;

use crate::limits::{WEBHOOK_SECRETS_MAX, WEBHOOK_TOLERANCE_SECONDS_MAX};
use crate::options::{self, bytes_of};
use sampan_host::{Args, Context, Error, ErrorKind, RequestView, Value, clock};
use schemes::Scheme;

/// The default number of seconds that the time of a webhook may differ from the server's.
const TOLERANCE_SECONDS: i64 = 300;

/// `crypto.verify_webhook`.
pub(crate) fn verify(_: &Context, mut args: Args) -> Result<Value, Error> {
    let scheme = Scheme::named(&args.text(0))?;
    let secrets = secrets(args.take(1))?;
    let body = bytes_of(args.take(2));
    let Value::Map(headers) = args.take(3) else {
        // An empty table is a list too.
        return Err(scheme.missing(scheme.headers()[0]));
    };
    let tolerance = tolerance(args.take(4))?;
    let header = |name: &str| {
        let mut members = headers.iter();
        let found = members.find(|(key, _)| key.eq_ignore_ascii_case(name));
        // One that is there twice has no value: scripts may see the other.
        let again = members.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found
            .filter(|_| again.is_none())
            .and_then(|(_, value)| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
    };
    check(scheme, &secrets, &body, &header, tolerance)
}

/// `req:verify_webhook`.
pub(crate) fn verify_request(_: &Context, mut args: Args) -> Result<Value, Error> {
    let scheme = Scheme::named(&args.text(0))?;
    let secrets = secrets(args.take(1))?;
    let tolerance = tolerance(args.take(2))?;
    let request = args.request();
    let body = body_of(&**request)?;
    let header = |name: &str| {
        let mut values = Vec::new();
        request.each_header(&mut |field, value| {
            if field.eq_ignore_ascii_case(name) {
                values.push(std::str::from_utf8(value).ok().map(str::to_owned));
            }
        });
        // One that is there twice has no value: scripts see both in one.
        match values.len() {
            1 => values.pop()?,
            _ => None,
        }
    };
    check(scheme, &secrets, body, &header, tolerance)
}

/// Returns the body as the client sent it.
fn body_of(request: &dyn RequestView) -> Result<&[u8], Error> {
    match request.body_source() {
        None => Ok(request.body()),
        Some(source) => source.whole().ok_or_else(|| {
            Error::script(
                "the body of this route comes as a stream: read it whole before its signature is checked, by \
                 text() or json() of the request; what was read in pieces is not kept",
            )
        }),
    }
}

fn check(
    scheme: Scheme,
    secrets: &[Vec<u8>],
    body: &[u8],
    header: &dyn Fn(&str) -> Option<String>,
    tolerance_seconds: i64,
) -> Result<Value, Error> {
    let now = clock::since_1970().as_secs() as i64;
    scheme
        .verify(secrets, body, header, now, tolerance_seconds)
        .map(|()| Value::Null)
}

/// Reads one secret, or a list of them.
fn secrets(given: Value) -> Result<Vec<Vec<u8>>, Error> {
    let all = match given {
        Value::List(all) => all,
        Value::Map(all) if all.is_empty() => Vec::new(),
        one => vec![one],
    };
    if all.is_empty() || all.len() > WEBHOOK_SECRETS_MAX {
        return Err(Error::script(format!(
            "there must be 1 to {WEBHOOK_SECRETS_MAX} secrets, not {}",
            all.len()
        )));
    }
    let secret = |value| match value {
        Value::Text(_) | Value::Bytes(_) => match bytes_of(value) {
            secret if secret.is_empty() => Err(Error::script(
                "the secret is empty: is the environment variable set that has it?",
            )),
            secret => Ok(secret),
        },
        Value::Null => Err(Error::script(
            "the secret is missing: is the environment variable set that has it?",
        )),
        _ => Err(Error::script("a secret must be text or bytes")),
    };
    all.into_iter().map(secret).collect()
}

fn tolerance(given: Value) -> Result<i64, Error> {
    let mut tolerance = TOLERANCE_SECONDS;
    for (_, value) in options::members(given, &["tolerance"])? {
        let seconds = match value {
            Value::Int(seconds) => seconds as f64,
            Value::Float(seconds) => seconds,
            _ => -1.0,
        };
        if !(1.0..=WEBHOOK_TOLERANCE_SECONDS_MAX).contains(&seconds) {
            return Err(Error::script(format!(
                "tolerance must be a number of seconds from 1 to {WEBHOOK_TOLERANCE_SECONDS_MAX}"
            )));
        }
        tolerance = seconds as i64;
    }
    Ok(tolerance)
}

/// Returns the error for a request that the service did not sign.
#[cold]
fn refused(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Status(401), message).with_code(code)
}
