//! A cookie that an answer sets is read by browsers as it was meant, and by the server as it was set. A sealed text that
//! was changed in any way does not open. A session in a cookie is the JSON object that was sealed, and nothing where
//! no key of the project sealed it.
//!
//! The first byte of an input says which of these it is about.

use crate::choices::Choices;
use crate::json::same;
use sampan_crypto::{KeySealer, SecretKeys};
use sampan_host::json::write_value;
use sampan_host::request::Pairs;
use sampan_host::set_cookie::{COOKIE_BYTES_MAX, SameSite, SetCookie};
use sampan_host::{Context, Sealer};
use sampan_rig::{TestRequest, get};
use sampan_session::{SessionConfig, SessionPlace, Sessions};
use serde_json::{Map, Value};
use std::rc::Rc;

/// Pieces of cookies and sessions.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"\0", b"\x01", b"\x02", b"\x03", b"\n", b"=", b";", b"; ", b"\"", b"__Host-", b"__Secure-", b"session", b"session=", b"a=b", b"a.example", b"/",
    b"; Path=/", b"\r\nSet-Cookie: x=1", b" ", b"\t", b",", b"\\", b"{\"a\":1}", b"{}", b"0 99999999999999 {\"user\":7}", b"_flash",
    b"{\"_flash\":[{\"kind\":\"k\",\"message\":1}]}", b"-1", b"1e400", b"\xff", b"AAAA", b"-_", b"18446744073709551615 ",
];

/// The key under which a session keeps messages for the next page.
const FLASHES: &str = "_flash";

pub(crate) fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    match choices.below(4) {
        0 => set(&mut choices),
        1 => read(choices.rest()),
        2 => seal(&mut choices),
        _ => session(&mut choices),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The cookies that a `Cookie` field has.
fn sent(field: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let each = &mut |name: &str, value: &[u8]| all.push((name.to_owned(), value.to_vec()));
    Pairs::Cookies.each(&asking(field), each);
    all
}

fn asking(field: &[u8]) -> TestRequest {
    TestRequest {
        headers: vec![("cookie".to_owned(), field.to_vec())],
        ..get("/")
    }
}

fn set(choices: &mut Choices<'_>) {
    let flags = choices.below(256);
    let has = |bit: usize| flags >> bit & 1 == 1;
    let same_site = [SameSite::Lax, SameSite::Strict, SameSite::None][flags % 3];
    let age = choices.below(256) as i64 - 1;
    let (name, value) = (text(choices.until(b'\n')), text(choices.until(b'\n')));
    let (path, domain) = (text(choices.until(b'\n')), text(choices.until(b'\n')));
    let mut cookie = SetCookie::new(&name, &value, has(2));
    (cookie.same_site, cookie.is_http_only, cookie.is_partitioned) = (same_site, has(3), has(4));
    cookie.max_age_seconds = has(5).then_some(age);
    if has(6) {
        cookie.path = &path;
    }
    cookie.domain = has(7).then_some(&*domain);
    let Ok(line) = cookie.field() else {
        return;
    };
    assert!(
        line.bytes().all(|byte| matches!(byte, b' '..=b'~')),
        "{line:?}"
    );
    assert!(name.len() + value.len() <= COOKIE_BYTES_MAX, "{line:?}");
    // As browsers do: RFC 6265bis section 5.6.
    let mut parts = line.split(';').map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    });
    assert_eq!(
        parts.next(),
        Some((name.clone(), value.clone())),
        "{line:?}"
    );
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut expected = Vec::new();
    expected.extend(
        cookie
            .max_age_seconds
            .map(|age| own("Max-Age", &age.to_string())),
    );
    expected.extend(cookie.domain.map(|domain| own("Domain", domain)));
    expected.push(own("Path", cookie.path.trim()));
    expected.extend(cookie.is_secure.then(|| own("Secure", "")));
    expected.extend(cookie.is_http_only.then(|| own("HttpOnly", "")));
    expected.push(own("SameSite", same_site.as_str()));
    expected.extend(cookie.is_partitioned.then(|| own("Partitioned", "")));
    assert_eq!(parts.collect::<Vec<_>>(), expected, "{line:?}");
    let needs_tls =
        same_site == SameSite::None || cookie.is_partitioned || name.starts_with("__Secure-");
    assert!(
        cookie.is_secure || !needs_tls && !name.starts_with("__Host-"),
        "{line:?}"
    );
    let is_of_host = cookie.domain.is_none() && cookie.path == "/";
    assert!(is_of_host || !name.starts_with("__Host-"), "{line:?}");
    let back = sent(format!("first=1; {name}={value};last=2").as_bytes());
    let own = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    assert_eq!(
        back,
        [own("first", "1"), own(&name, &value), own("last", "2")]
    );
}

/// Checks the cookies that are read from any field: they stand in it, and have no signs that separate cookies.
fn read(field: &[u8]) {
    for (name, value) in sent(field) {
        assert!(!name.is_empty() && !name.contains(['=', ';']), "{name:?}");
        assert!(!value.contains(&b';'), "{value:?}");
    }
}

const OLD: &str = "an old key of the project, 40 characters";
const NEW: &str = "the new key of the project, 41 characters";

fn sealer(keys: &[&str]) -> KeySealer {
    let texts: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    KeySealer::new(SecretKeys::new(&texts).expect("valid").expect("some"))
}

thread_local! {
    /// Sealers of a project before, while and after its key is replaced.
    static SEALERS: [Rc<KeySealer>; 3] = [&[OLD][..], &[NEW, OLD], &[NEW]].map(|keys| Rc::new(sealer(keys)));
}

fn seal(choices: &mut Choices<'_>) {
    let [before, during, after] = SEALERS.with(Clone::clone);
    let edit = (choices.below(4), choices.below(256), choices.below(256));
    let (purpose, data) = (text(choices.until(b'\n')), choices.rest());
    let sealed = before.seal(&purpose, data).expect("it can be sealed");
    let signature = before.sign(&purpose, data);
    for known in [&before, &during] {
        assert_eq!(known.open(&purpose, &sealed).as_deref(), Some(data));
        assert!(known.verify(&purpose, data, &signature));
    }
    assert_eq!(after.open(&purpose, &sealed), None, "sealed by another key");
    assert!(!after.verify(&purpose, data, &signature));
    let other = format!("{purpose}.");
    assert_eq!(during.open(&other, &sealed), None, "for another purpose");
    assert!(!during.verify(&other, data, &signature));
    for whole in [&sealed, &signature] {
        let changed = changed(whole, edit);
        if changed != *whole {
            assert_eq!(
                during.open(&purpose, &changed),
                None,
                "{whole} as {changed}"
            );
            assert!(
                !during.verify(&purpose, data, &changed),
                "{whole} as {changed}"
            );
        }
    }
    assert_eq!(
        during.open(&purpose, &text(data)),
        None,
        "what is not sealed opens"
    );
}

/// A text with one change at a place: another character, one more, one less, or an end.
fn changed(whole: &str, (how, at, sign): (usize, usize, usize)) -> String {
    let mut bytes = whole.as_bytes().to_vec();
    let (at, sign) = (at % bytes.len(), sign as u8 & 0x7f);
    match how {
        0 => bytes[at] = sign,
        1 => bytes.insert(at, sign),
        2 => drop(bytes.remove(at)),
        _ => bytes.truncate(at),
    }
    text(&bytes)
}

fn session(choices: &mut Choices<'_>) {
    let [_, sealer, _] = SEALERS.with(Clone::clone);
    let is_sealed = !choices.once_in(4);
    let payload = choices.rest();
    let cookie = match is_sealed {
        true => sealer.seal("session", payload).expect("it can be sealed"),
        false => text(payload),
    };
    let config = SessionConfig {
        place: SessionPlace::Cookie,
        ..SessionConfig::default()
    };
    let context = Context::default();
    context.put(Sessions::in_cookie(config, sealer));
    let request = asking(format!("other=1; session={cookie}").as_bytes());
    let session = sampan_session::of(&context, &request).expect("a session");
    let mut written = Vec::new();
    write_value(&mut written, &session.values(), 1000).expect("values of JSON");
    let found: Value = serde_json::from_slice(&written).expect("JSON");
    let expected = stored(payload).filter(|_| is_sealed);
    let Some(expected) = expected else {
        assert_eq!(found, Value::Object(Map::new()), "a session out of nothing");
        return;
    };
    let Some(expected) = expected else {
        return;
    };
    assert!(same(&found, &expected), "{found} was {expected}");
    for (key, value) in expected.as_object().into_iter().flatten() {
        let mut written = Vec::new();
        write_value(&mut written, &session.get(key), 1000).expect("a value of JSON");
        let found: Value = serde_json::from_slice(&written).expect("JSON");
        assert!(same(&found, value), "{key}: {found} was {value}");
    }
}

/// The values in `began ends data`; none if that has ended or is nothing of the kind. Inner `None` where readers of
/// JSON differ: deep nesting, numbers out of range, repeated names.
fn stored(payload: &[u8]) -> Option<Option<Value>> {
    let payload = std::str::from_utf8(payload).ok()?;
    let (began, rest) = payload.split_once(' ')?;
    let (ends, data) = rest.split_once(' ')?;
    began.parse::<u64>().ok()?;
    let ends: u64 = ends.parse().ok()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    if u128::from(ends) <= now.expect("after 1970").as_millis() {
        return None;
    }
    let is_deep = data.matches(['[', '{']).count() > 16;
    // An escape may spell a name in another way.
    let is_repeated = |name: &str| data.matches(&format!("\"{name}\"")).count() > 1;
    match serde_json::from_str(data) {
        _ if is_deep || is_repeated(FLASHES) || data.contains('\\') => Some(None),
        Ok(Value::Object(members)) if members.keys().any(|name| is_repeated(name)) => Some(None),
        Ok(Value::Object(mut members)) => {
            members.remove(FLASHES);
            Some(Some(Value::Object(members)))
        }
        Err(error) if error.to_string().contains("out of range") => Some(None),
        Ok(_) | Err(_) => None,
    }
}
