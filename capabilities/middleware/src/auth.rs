//! Authentication: Basic (RFC 7617) and Bearer (RFC 6750) authentication, by a function of the script or by a fixed
//! list.

use crate::options::{GuardOptions, wrong};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sampan_host::sockets::KeptField;
use sampan_host::{
    Args, AskingGuard, Callback, Context, Error, ErrorKind, Guard, GuardStep, Hint,
    NativeMiddleware, Reader, RequestView, Value,
};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::rc::Rc;

/// Clients are known that leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The credentials of a request, by scheme.
#[derive(Clone, Copy)]
enum Scheme {
    Basic,
    Bearer,
}

/// The common state of both kinds of middleware know.
struct Challenge {
    scheme: Scheme,
    /// The value of `WWW-Authenticate`.
    field: String,
}

/// The name and the secret that a request brings; tokens have no name.
struct Credentials {
    name: String,
    secret: String,
}

/// The user who was let in.
struct Authenticated(Value);

/// A list of who may come in.
struct FixedAuth {
    challenge: Challenge,
    /// Names, and digests of the secrets. Digests have one length, and comparing them tells nothing of the secrets.
    known: Vec<(String, [u8; 32])>,
}

/// A function that knows who may come in.
struct ScriptAuth {
    challenge: Challenge,
    verify: Callback,
}

/// `app.basic_auth(options)`
pub(crate) fn basic_auth(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), &["realm", "users", "verify"])?;
    make(context, &options, Scheme::Basic, "users")
}

/// `app.bearer_auth(options)`
pub(crate) fn bearer_auth(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), &["realm", "tokens", "verify"])?;
    make(context, &options, Scheme::Bearer, "tokens")
}

/// `req.auth`
pub(crate) fn who(_: &Context, args: Args) -> Result<Value, Error> {
    let known = args.request().store().get::<Authenticated>();
    Ok(known.map_or(Value::Null, |known| known.0.clone()))
}

/// Keeps the field for a socket.
pub(crate) fn kept(_: &Context, request: &dyn RequestView) -> Option<KeptField> {
    let known = request.store().get::<Authenticated>()?;
    Some(KeptField::Value(known.0.clone()))
}

fn make(
    context: &Context,
    options: &GuardOptions<'_>,
    scheme: Scheme,
    list: &str,
) -> Result<Value, Error> {
    let realm = options
        .text("realm")?
        .unwrap_or_else(|| "restricted".to_owned());
    if realm.bytes().any(|b| b.is_ascii_control()) || !realm.is_ascii() {
        return Err(wrong("realm", "ASCII text of one line"));
    }
    let realm = realm.replace('\\', "\\\\").replace('"', "\\\"");
    let field = match scheme {
        Scheme::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
        Scheme::Bearer => format!("Bearer realm=\"{realm}\""),
    };
    let challenge = Challenge { scheme, field };
    match (options.function("verify")?, options.pairs(list)?) {
        (Some(verify), None) => Ok(NativeMiddleware::asking(
            context,
            ScriptAuth { challenge, verify },
        )),
        (None, Some(pairs)) => {
            if pairs.is_empty() {
                let text = format!("{list} is empty, so every request would be refused");
                return Err(Error::script(text).with_hint(Some(Hint::NoMembers)));
            }
            if let Some((name, _)) = pairs.iter().find(|(_, secret)| secret.is_empty()) {
                return Err(Error::script(format!(
                    "{list}: the secret of {name} is empty"
                )));
            }
            if let Scheme::Bearer = scheme {
                check_tokens(&pairs)?;
            }
            let pairs = pairs.into_iter();
            let known = pairs
                .map(|(name, secret)| (name, digest(&secret)))
                .collect();
            Ok(NativeMiddleware::guard(
                context,
                FixedAuth { challenge, known },
            ))
        }
        _ => Err(Error::script(format!("either verify or {list} is needed"))),
    }
}

/// Reports whether a text can be the token of Bearer authentication (RFC 6750 section 2.1).
fn is_token(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Refuses tokens by name that no request could bring: most often they have the line end of a file. Then all requests
/// would be refused, and nothing would tell why.
fn check_tokens(tokens: &[(String, String)]) -> Result<(), Error> {
    match tokens.iter().find(|(_, token)| !is_token(token)) {
        Some((name, _)) => Err(Error::script(format!(
            "the token of {name} has a character that the field Authorization cannot carry"
        ))),
        None => Ok(()),
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Reports whether the script's result refuses the credentials: what is false in JavaScript, in both languages. A count
/// of users that is 0 admits no client.
fn is_no(returned: &Value) -> bool {
    match returned {
        Value::Null | Value::Bool(false) | Value::Int(0) => true,
        Value::Float(number) => *number == 0.0 || number.is_nan(),
        Value::Text(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        _ => false,
    }
}

/// Compares in a time that does not depend on where they differ.
fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let pairs = one.iter().zip(other);
    pairs.fold(0, |found, (one, other)| black_box(found | (one ^ other))) == 0
}

impl Challenge {
    /// Returns the credentials of the request.
    fn credentials(&self, request: &dyn RequestView) -> Result<Credentials, Error> {
        let mut lines = 0;
        request.each_header(&mut |name, _| {
            lines += u32::from(name.eq_ignore_ascii_case("authorization"))
        });
        let field = request.header("authorization").filter(|_| lines == 1);
        let read = field.and_then(|field| self.scheme.read(field));
        read.ok_or_else(|| self.refuse(request))
    }

    /// 401, with what the client needs to try again.
    fn refuse(&self, request: &dyn RequestView) -> Error {
        match request.add_header("WWW-Authenticate", self.field.as_bytes()) {
            Ok(()) => Error::new(ErrorKind::Status(401), "unauthorized"),
            Err(error) => error,
        }
    }
}

impl Scheme {
    /// The credentials in a value of `Authorization`; nothing if it is malformed or of another scheme.
    fn read(self, field: &[u8]) -> Option<Credentials> {
        let (scheme, rest) = std::str::from_utf8(field).ok()?.split_once(' ')?;
        let rest = rest.trim_matches(' ');
        match self {
            Self::Basic if scheme.eq_ignore_ascii_case("basic") => {
                let text = String::from_utf8(BASE64.decode(rest).ok()?).ok()?;
                // RFC 7617 section 2: neither has control characters.
                if text.chars().any(char::is_control) {
                    return None;
                }
                let (name, secret) = text.split_once(':')?;
                Some(Credentials {
                    name: name.to_owned(),
                    secret: secret.to_owned(),
                })
            }
            Self::Bearer if scheme.eq_ignore_ascii_case("bearer") => {
                is_token(rest).then(|| Credentials {
                    name: String::new(),
                    secret: rest.to_owned(),
                })
            }
            _ => None,
        }
    }
}

impl Guard for FixedAuth {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        let given = self.challenge.credentials(request)?;
        let digest = digest(&given.secret);
        let has_names = matches!(self.challenge.scheme, Scheme::Basic);
        let mut found = None;
        for (name, known) in &self.known {
            // All entries are compared, so the time does not depend on the match.
            let is_it = is_same(known, &digest) & (!has_names || *name == given.name);
            if is_it {
                found = Some(name);
            }
        }
        let Some(name) = found else {
            return Err(self.challenge.refuse(request));
        };
        request.store().put(Authenticated(name.as_str().into()));
        Ok(GuardStep::Pass)
    }
}

impl AskingGuard for ScriptAuth {
    fn function(&self) -> Callback {
        Rc::clone(&self.verify)
    }

    fn ask(&self, request: &dyn RequestView) -> Result<Vec<Value>, Error> {
        let given = self.challenge.credentials(request)?;
        Ok(match self.challenge.scheme {
            Scheme::Basic => vec![given.name.into(), given.secret.into()],
            Scheme::Bearer => vec![given.secret.into()],
        })
    }

    fn decide(&self, request: &dyn RequestView, returned: Value) -> Result<bool, Error> {
        if is_no(&returned) {
            return Err(self.challenge.refuse(request));
        }
        request.store().put(Authenticated(returned));
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    #[test]
    fn the_tokens_that_are_taken_are_those_that_a_request_can_bring() {
        for token in [
            "token-1",
            "a.b_c~d+e/f==",
            "a-token\n",
            "a token",
            "a:b",
            "é",
            "",
        ] {
            let field = format!("Bearer {token}");
            let read = Scheme::Bearer.read(field.as_bytes());
            assert_eq!(is_token(token), read.is_some(), "{token:?}");
        }
    }

    #[test]
    fn a_token_that_no_request_can_bring_is_told_by_its_name() {
        let pair = |name: &str, token: &str| (name.to_owned(), token.to_owned());
        let good = pair("cron", "token-1");
        assert!(check_tokens(slice::from_ref(&good)).is_ok());
        let error = check_tokens(&[good, pair("ci", "secret-2\n")]).expect_err("a line end");
        let expected = "the token of ci has a character that the field Authorization cannot carry";
        assert_eq!(error.message(), expected);
    }
}
