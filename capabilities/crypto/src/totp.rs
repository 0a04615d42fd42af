//! Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, six digits and steps of 30 seconds, as all apps know it.

use crate::limits::{
    TOTP_NAME_BYTES_MAX, TOTP_SECRET_BYTES_MAX, TOTP_SECRET_BYTES_MIN, TOTP_WINDOW_MAX,
};
use crate::{options, random};
use aws_lc_rs::{constant_time, hmac};
use sampan_host::{Args, Error, Value, clock};
use std::fmt::Write as _;

/// The size of a new secret: that of the digest (RFC 4226 section 4, R6).
const SECRET_BYTES: usize = 20;
/// The number of digits of a code.
const DIGITS: usize = 6;
/// The time that a code is for, in seconds.
const STEP_SECONDS: f64 = 30.0;
/// The number of steps before and after the current one whose codes count too, unless the script says otherwise.
const WINDOW: i64 = 1;
/// The digits of base32 (RFC 4648 section 6).
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// The bits of a digit of base32.
const BASE32_BITS: u32 = 5;

/// `crypto.totp_secret`.
pub(crate) fn secret() -> Result<Value, Error> {
    Ok(Value::Text(base32(&random::random(SECRET_BYTES)?)))
}

/// `crypto.totp_uri`, in the form that the apps agree on: <https://github.com/google/google-authenticator/wiki>.
pub(crate) fn uri(mut args: Args) -> Result<Value, Error> {
    let (mut secret, mut account, mut issuer) = (None, None, None);
    for (name, value) in options::members(args.take(0), &["secret", "account", "issuer"])? {
        let Value::Text(text) = value else {
            return Err(Error::script(format!("{name} must be a string")));
        };
        match name.as_str() {
            "secret" => secret = Some(base32(&secret_of(&text)?)),
            "account" => account = Some(label(&name, &text)?),
            _ => issuer = Some(label(&name, &text)?),
        }
    }
    let (Some(secret), Some(account), Some(issuer)) = (secret, account, issuer) else {
        return Err(Error::script(
            "crypto.totp_uri needs secret, account (such as the user's mail address) and issuer (the name of the app)",
        )
        .naming(["totp_uri"]));
    };
    Ok(Value::Text(format!(
        "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}"
    )))
}

/// `crypto.totp_verify`.
pub(crate) fn verify(mut args: Args) -> Result<Value, Error> {
    let secret = secret_of(&args.text(0))?;
    let code = args.text(1);
    let options = Conditions::read(args.take(2))?;
    let now = options.time.unwrap_or(clock::since_1970().as_secs_f64());
    // Users type the space that apps show in the middle.
    let code: Vec<u8> = code.bytes().filter(|byte| *byte != b' ').collect();
    if code.len() != DIGITS || !code.iter().all(u8::is_ascii_digit) {
        return Ok(Value::Null);
    }
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let step = (now / STEP_SECONDS) as i64;
    let mut found = None;
    // All are compared, so that the time tells nothing. The latest counts if several are equal.
    for counter in step - options.window..=step + options.window {
        let is_new = counter >= 0 && options.after.is_none_or(|after| counter > after);
        let expected = code_of(&key, counter, DIGITS);
        let is_equal = constant_time::verify_slices_are_equal(expected.as_bytes(), &code).is_ok();
        if is_equal && is_new {
            found = Some(counter);
        }
    }
    Ok(found.map_or(Value::Null, Value::Int))
}

/// The options of `crypto.totp_verify`.
struct Conditions {
    /// Seconds since 1970; now if it is not given.
    time: Option<f64>,
    /// The number of steps before and after the current one whose codes count too.
    window: i64,
    /// The counter of the last code that was accepted: neither its code nor an earlier one counts.
    after: Option<i64>,
}

impl Conditions {
    fn read(given: Value) -> Result<Self, Error> {
        /// Integers up to here are exact in both languages.
        const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
        let mut all = Self {
            time: None,
            window: WINDOW,
            after: None,
        };
        for (name, value) in options::members(given, &["time", "window", "after"])? {
            let number = match value {
                Value::Null => continue,
                Value::Int(number) => number as f64,
                Value::Float(number) => number,
                _ => f64::NAN,
            };
            let is_whole = number.fract() == 0.0;
            match name.as_str() {
                "time" if (0.0..=EXACT_MAX).contains(&number) => all.time = Some(number),
                "time" => {
                    let text = "time must be a number of seconds since 1970";
                    return Err(Error::script(text));
                }
                "window" if is_whole && (0.0..=f64::from(TOTP_WINDOW_MAX)).contains(&number) => {
                    all.window = number as i64;
                }
                "window" => {
                    return Err(Error::script(format!(
                        "window must be a whole number of steps of 30 seconds from 0 to {TOTP_WINDOW_MAX}"
                    )));
                }
                _ if is_whole && (-EXACT_MAX..=EXACT_MAX).contains(&number) => {
                    all.after = Some(number as i64);
                }
                _ => {
                    let text = "after must be what crypto.totp_verify returned the last time";
                    return Err(Error::script(text).naming(["totp_verify"]));
                }
            }
        }
        Ok(all)
    }
}

/// Returns the code of a counter (RFC 4226 section 5.3).
fn code_of(key: &hmac::Key, counter: i64, digits: usize) -> String {
    let tag = hmac::sign(key, &counter.to_be_bytes());
    let tag = tag.as_ref();
    let at = usize::from(tag.last().copied().unwrap_or_default() & 0xf);
    let word = tag.get(at..at + 4).unwrap_or_default();
    let number = word
        .iter()
        .fold(0u32, |number, byte| number << 8 | u32::from(*byte));
    let number = u64::from(number & 0x7fff_ffff) % 10u64.pow(digits as u32);
    format!("{number:0digits$}")
}

/// Reads a secret in base32, as people type it too: in small letters, in groups, with padding.
fn secret_of(text: &str) -> Result<Vec<u8>, Error> {
    let decoded = (text.len() <= TOTP_SECRET_BYTES_MAX * 4)
        .then(|| from_base32(text))
        .flatten();
    let sizes = TOTP_SECRET_BYTES_MIN..=TOTP_SECRET_BYTES_MAX;
    let decoded = decoded.filter(|bytes| sizes.contains(&bytes.len()));
    decoded.ok_or_else(|| {
        Error::script(format!(
            "the secret must be base32 of {TOTP_SECRET_BYTES_MIN} to {TOTP_SECRET_BYTES_MAX} bytes, as \
             crypto.totp_secret() gives it"
        ))
        .naming(["totp_secret"])
    })
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut bits, mut count) = (0u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= BASE32_BITS {
            count -= BASE32_BITS;
            text.push(digit(bits >> count));
        }
    }
    if count > 0 {
        text.push(digit(bits << (BASE32_BITS - count)));
    }
    text
}

fn digit(bits: u32) -> char {
    char::from(BASE32[(bits & 0x1f) as usize])
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        if byte == b' ' || byte == b'-' {
            continue;
        }
        let byte = byte.to_ascii_uppercase();
        let value = BASE32.iter().position(|digit| *digit == byte)?;
        bits = bits << BASE32_BITS | value as u32;
        count += BASE32_BITS;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// Escapes a name for the path and the query of the URI. A colon divides the two names there.
fn label(name: &str, text: &str) -> Result<String, Error> {
    let is_fine = !text.contains(':') && !text.contains(char::is_control);
    if !is_fine || !(1..=TOTP_NAME_BYTES_MAX).contains(&text.len()) {
        return Err(Error::script(format!(
            "{name} must have 1 to {TOTP_NAME_BYTES_MAX} bytes, without colons and control characters"
        )));
    }
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(byte.into());
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, values: Vec<Value>) -> Args {
        let mut rows = crate::MODULE.functions.iter();
        let row = rows.find(|row| row.name == name).expect("a row");
        Args::check("crypto", row, values).expect("arguments")
    }

    fn map(members: &[(&str, Value)]) -> Value {
        let members = members.iter();
        Value::Map(
            members
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        )
    }

    /// RFC 6238 appendix B, the column of SHA-1.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let secret = b"12345678901234567890";
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
        for (time, code) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000_i64, "65353130"),
        ] {
            assert_eq!(code_of(&key, time / 30, 8), code, "{time}");
            let given = vec![
                base32(secret).into(),
                code[2..].into(),
                map(&[("time", time.into())]),
            ];
            let found = verify(call("totp_verify", given)).expect("verified");
            assert_eq!(found, Value::Int(time / 30), "{time}");
        }
    }

    /// RFC 4226 appendix D.
    #[test]
    fn codes_have_six_digits() {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"12345678901234567890");
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
            "399871", "520489",
        ];
        for (counter, code) in (0..).zip(codes) {
            assert_eq!(code_of(&key, counter, DIGITS), code, "{counter}");
        }
    }

    #[test]
    fn a_code_counts_once_and_within_its_window() {
        let verify = |code: &str, options: &[(&str, Value)]| {
            let secret = base32(b"12345678901234567890");
            let given = vec![secret.into(), code.into(), map(options)];
            verify(call("totp_verify", given))
        };
        let found =
            |code: &str, options: &[(&str, Value)]| verify(code, options).expect("a result");
        // The code of counter 3.
        let code = "969429";
        let at = |time: i64| ("time", Value::Int(time));
        assert_eq!(found(code, &[at(90)]), Value::Int(3));
        assert_eq!(found("969 429", &[at(119)]), Value::Int(3));
        for time in [60, 149] {
            assert_eq!(found(code, &[at(time)]), Value::Int(3), "{time}");
            let strict = [at(time), ("window", 0.into())];
            assert_eq!(found(code, &strict), Value::Null, "{time}");
        }
        for time in [59, 150] {
            assert_eq!(found(code, &[at(time)]), Value::Null, "{time}");
            let wide = [at(time), ("window", 2.into())];
            assert_eq!(found(code, &wide), Value::Int(3), "{time}");
        }
        let after = |counter: i64| found(code, &[at(90), ("after", counter.into())]);
        assert_eq!(after(2), Value::Int(3));
        assert_eq!(after(3), Value::Null);
        assert_eq!(after(4), Value::Null);
        assert_eq!(
            found(code, &[at(90), ("after", Value::Null)]),
            Value::Int(3)
        );
        for wrong in ["969428", "", "96942", "9694290", "９６９４２９", "-96942"] {
            assert_eq!(found(wrong, &[at(90)]), Value::Null, "{wrong:?}");
        }
        for (name, value) in [
            ("window", Value::Int(11)),
            ("window", Value::Int(-1)),
            ("window", Value::Float(0.5)),
            ("window", "1".into()),
            ("time", Value::Int(-1)),
            ("time", Value::Float(f64::NAN)),
            ("after", Value::Float(0.5)),
        ] {
            let fault = verify(code, &[(name, value)]).expect_err("refused");
            assert!(fault.message().starts_with(name), "{}", fault.message());
        }
    }

    /// RFC 4648 section 10, without the padding.
    #[test]
    fn base32_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
            let padded = format!("{text:=<0$}", text.len().next_multiple_of(8));
            for text in [text, &padded, &text.to_lowercase()] {
                assert_eq!(
                    from_base32(text).as_deref(),
                    Some(bytes.as_bytes()),
                    "{text}"
                );
            }
        }
        assert_eq!(from_base32("mz x-Q").as_deref(), Some(&b"fo"[..]));
        for wrong in ["M1", "M=Y", "M8", "ä"] {
            assert_eq!(from_base32(wrong), None, "{wrong}");
        }
        let Ok(Value::Text(secret)) = secret() else {
            panic!("no secret");
        };
        assert_eq!(secret.len(), 32);
        assert_eq!(secret_of(&secret).expect("a secret").len(), SECRET_BYTES);
        for wrong in ["", "MZXW6YTB", &"A".repeat(1000)] {
            assert!(secret_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_escaped_in_uris() {
        let secret = "JBSWY3DPEHPK3PXPJBSWY3DP";
        let uri = |account: &str, issuer: &str| {
            let names = map(&[
                ("secret", secret.into()),
                ("account", account.into()),
                ("issuer", issuer.into()),
            ]);
            uri(call("totp_uri", vec![names]))
        };
        assert_eq!(
            uri("ann@example.org", "Boats & Söhne").expect("a URI"),
            Value::from(
                "otpauth://totp/Boats%20%26%20S%C3%B6hne:ann%40example.org?secret=JBSWY3DPEHPK3PXPJBSWY3DP\
                 &issuer=Boats%20%26%20S%C3%B6hne"
            )
        );
        for (account, issuer) in [("a:b", "x"), ("a", "x:y"), ("", "x"), ("a\n", "x")] {
            assert!(uri(account, issuer).is_err(), "{account:?} {issuer:?}");
        }
    }
}
