//! The claims that are checked and written: `exp`, `nbf`, `iat`, `aud`, `iss` (RFC 7519 section 4.1).

use super::refused;
use crate::options;
use crate::signing::Algorithm;
use sampan_host::{Error, Value, clock};

/// The most that clocks may differ, in seconds.
const LEEWAY_SECONDS_MAX: f64 = 3_600.0;

/// The conditions for a token beside its signature.
#[derive(Default)]
pub(super) struct Checks {
    audience: Option<Vec<String>>,
    issuer: Option<Vec<String>>,
    leeway_seconds: f64,
    /// The only algorithms that the caller accepts.
    algorithms: Option<Vec<Algorithm>>,
}

impl Checks {
    /// Reads the options of `jwt_verify`.
    pub(super) fn read(given: Value) -> Result<Self, Error> {
        let mut checks = Self::default();
        let known = ["audience", "issuer", "leeway", "algorithms"];
        for (name, value) in options::members(given, &known)? {
            match name.as_str() {
                "audience" => checks.audience = Some(texts(&name, value)?),
                "issuer" => checks.issuer = Some(texts(&name, value)?),
                "algorithms" => {
                    let names = texts(&name, value)?;
                    let all = names.iter().map(|one| Algorithm::named(one, &name));
                    checks.algorithms = Some(all.collect::<Result<_, _>>()?);
                }
                _ => {
                    let seconds = number(&value).filter(|s| (0.0..=LEEWAY_SECONDS_MAX).contains(s));
                    checks.leeway_seconds = seconds.ok_or_else(|| {
                        Error::script(format!(
                            "leeway must be a number of seconds from 0 to {LEEWAY_SECONDS_MAX}"
                        ))
                    })?;
                }
            }
        }
        Ok(checks)
    }

    /// The only algorithms that the caller accepts, if it names some.
    pub(super) fn algorithms(&self) -> Option<&[Algorithm]> {
        self.algorithms.as_deref()
    }

    /// Checks the claims of a token whose signature is right.
    pub(super) fn check(&self, claims: &Value) -> Result<(), Error> {
        let now = now() as f64;
        if let Some(exp) = time(claims, "exp")?
            && now >= exp + self.leeway_seconds
        {
            return Err(refused("jwt_expired", "the token has expired"));
        }
        if let Some(nbf) = time(claims, "nbf")?
            && now + self.leeway_seconds < nbf
        {
            return Err(refused("jwt_not_yet_valid", "the token is not valid yet"));
        }
        let audience = match claims.get("aud") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Text(one)) => vec![one.as_str()],
            Some(Value::List(all)) => {
                let all = all.iter().map(text).collect::<Option<Vec<_>>>();
                all.ok_or_else(super::malformed)?
            }
            Some(_) => return Err(super::malformed()),
        };
        let is_ours = match &self.audience {
            Some(ours) => audience.iter().any(|one| ours.iter().any(|our| our == one)),
            // A verifier without an audience must refuse a token for an audience (section 4.1.3).
            None => audience.is_empty(),
        };
        if !is_ours {
            return Err(refused("jwt_audience", "the token is for another audience"));
        }
        let issuer = claims.get("iss").and_then(text);
        let is_known = |known: &Vec<String>| {
            issuer.is_some_and(|issuer| known.iter().any(|one| one == issuer))
        };
        if !self.issuer.as_ref().is_none_or(is_known) {
            return Err(refused("jwt_issuer", "the token is from another issuer"));
        }
        Ok(())
    }
}

/// The claims to sign, with `iat` and `exp` where the options of `jwt_sign` say when they expire.
pub(super) fn complete(claims: Option<Value>, options: Value) -> Result<Value, Error> {
    let Some(Value::Map(mut claims)) = claims else {
        return Err(Error::script("the claims must have names"));
    };
    for (_, value) in options::members(options, &["expires_in"])? {
        let seconds = number(&value).filter(|seconds| (0.0..9.0e15).contains(seconds));
        let seconds = seconds.ok_or_else(|| {
            Error::script("expires_in must be a number of seconds from 0").naming(["expires_in"])
        })?;
        if claims.iter().any(|(name, _)| name == "exp") {
            let text = "the claims have exp already: leave out expires_in";
            return Err(Error::script(text).naming(["expires_in"]));
        }
        let now = now() as i64;
        if !claims.iter().any(|(name, _)| name == "iat") {
            claims.push(("iat".to_owned(), Value::Int(now)));
        }
        claims.push(("exp".to_owned(), Value::Int(now + seconds as i64)));
    }
    Ok(Value::Map(claims))
}

/// A time of the claims, in seconds since 1970.
fn time(claims: &Value, name: &str) -> Result<Option<f64>, Error> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => number(value).map(Some).ok_or_else(super::malformed),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// A text, or a list of them.
fn texts(name: &str, given: Value) -> Result<Vec<String>, Error> {
    let all = match given {
        Value::List(all) => all,
        one => vec![one],
    };
    let texts: Option<Vec<String>> = all.iter().map(|one| text(one).map(str::to_owned)).collect();
    let texts = texts.filter(|texts| !texts.is_empty());
    texts.ok_or_else(|| Error::script(format!("{name} must be a string, or a list of strings")))
}

/// Seconds since 1970.
fn now() -> u64 {
    clock::since_1970().as_secs()
}
