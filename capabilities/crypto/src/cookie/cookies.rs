//! Cookies set and read. A signed one is `value.expires.signature`; an encrypted one seals eight bytes of its expiry
//! and the value. The expiry, in seconds since 1970 or 0 for none, is inside: a client that keeps a cookie for longer
//! has nothing of it.

use super::options::{self, DELETING, Protection, SETTING};
use crate::options::members;
use sampan_host::request::Pairs;
use sampan_host::set_cookie::SetCookie;
use sampan_host::{Args, Context, Error, RequestView, Value, clock, sealer};

pub(crate) fn set_cookie(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, given) = (args.text(0), args.text(1));
    let given_options = members(args.take(2), SETTING)?;
    let request = args.request();
    let over_tls = request.is_https();
    let mut cookie = SetCookie::new(&name, &given, over_tls);
    let protection = options::read(&given_options, &mut cookie)?;
    let expires = cookie
        .max_age_seconds
        .map_or(0, |seconds| now().saturating_add(seconds as u64));
    let protected = match protection {
        Protection::Plain => None,
        Protection::Signed => {
            // What is refused without a signature is refused with one.
            cookie.field()?;
            let signed = format!("{given}.{expires}");
            let signature = sealer::of(context)?.sign(&purpose(&name), signed.as_bytes());
            Some(format!("{signed}.{signature}"))
        }
        Protection::Encrypted => {
            let mut sealed = expires.to_be_bytes().to_vec();
            sealed.extend_from_slice(given.as_bytes());
            Some(sealer::of(context)?.seal(&purpose(&name), &sealed)?)
        }
    };
    if let Some(protected) = &protected {
        cookie.value = protected;
    }
    request.add_header("set-cookie", cookie.field()?.as_bytes())?;
    Ok(Value::Null)
}

pub(crate) fn delete_cookie(_: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, given_options) = (args.text(0), members(args.take(1), DELETING)?);
    let request = args.request();
    let mut cookie = SetCookie::new(&name, "", request.is_https());
    options::read(&given_options, &mut cookie)?;
    cookie.max_age_seconds = Some(0);
    request.add_header("set-cookie", cookie.field()?.as_bytes())?;
    Ok(Value::Null)
}

pub(crate) fn signed_cookie(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, sealer) = (args.text(0), sealer::of(context)?);
    Ok(text_or_nothing(sent(&**args.request(), &name).and_then(
        |sent| {
            let (signed, signature) = sent.rsplit_once('.')?;
            if !sealer.verify(&purpose(&name), signed.as_bytes(), signature) {
                return None;
            }
            let (value, expires) = signed.rsplit_once('.')?;
            is_current(expires.parse().ok()?).then(|| value.to_owned())
        },
    )))
}

pub(crate) fn encrypted_cookie(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, sealer) = (args.text(0), sealer::of(context)?);
    Ok(text_or_nothing(sent(&**args.request(), &name).and_then(
        |sent| {
            let opened = sealer.open(&purpose(&name), &sent)?;
            let (expires, value) = opened.split_first_chunk()?;
            let value = String::from_utf8(value.to_vec()).ok()?;
            is_current(u64::from_be_bytes(*expires)).then_some(value)
        },
    )))
}

/// The name is part of the purpose: one cookie's value is nothing in another.
fn purpose(name: &str) -> String {
    format!("cookie {name}")
}

/// The value of the first cookie with this name.
fn sent(request: &dyn RequestView, name: &str) -> Option<String> {
    let mut found = None;
    Pairs::Cookies.each(request, &mut |each, value| {
        if each == name && found.is_none() {
            found = Some(String::from_utf8_lossy(value).into_owned());
        }
    });
    found
}

fn text_or_nothing(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::Text)
}

fn is_current(expires: u64) -> bool {
    expires == 0 || now() < expires
}

/// Seconds since 1970.
fn now() -> u64 {
    clock::since_1970().as_secs()
}
