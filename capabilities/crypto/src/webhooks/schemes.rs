//! The schemes: which header fields have the signatures, and what is signed.

use super::refused;
use crate::limits::WEBHOOK_SIGNATURES_MAX;
use crate::names;
use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sampan_host::Error;

/// The prefix of secrets of Standard Webhooks: base64 follows.
const SECRET_PREFIX: &[u8] = b"whsec_";

/// A way of signing webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// `Stripe-Signature: t=1700000000,v1=hex,v1=hex`, over `t.body`.
    Stripe,
    /// `X-Hub-Signature-256: sha256=hex`, over the body.
    GitHub,
    /// <https://www.standardwebhooks.com>: `webhook-signature: v1,base64 v1,base64`, over `id.timestamp.body`.
    Standard,
}

/// The signatures of a request, and what they are of.
struct Signed {
    /// The signed bytes before the body.
    before: String,
    /// Seconds since 1970.
    time: Option<i64>,
    signatures: Vec<Vec<u8>>,
}

impl Scheme {
    /// Returns the scheme with this name.
    pub(super) fn named(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "stripe" => Self::Stripe,
            "github" => Self::GitHub,
            "standard" => Self::Standard,
            other => {
                let known = ["stripe", "github", "standard"];
                let place = "argument 1 (scheme)";
                return Err(names::unknown("scheme", place, other, &known));
            }
        })
    }

    /// Returns the names of the header fields that it reads.
    pub(super) fn headers(self) -> &'static [&'static str] {
        match self {
            Self::Stripe => &["stripe-signature"],
            Self::GitHub => &["x-hub-signature-256"],
            Self::Standard => &["webhook-id", "webhook-timestamp", "webhook-signature"],
        }
    }

    /// Checks that one of the secrets signed the body, at most `tolerance_seconds` before or after `now`.
    ///
    /// # Errors
    /// A header field is missing or malformed, the time is too far away, or no signature fits.
    pub(super) fn verify(
        self,
        secrets: &[Vec<u8>],
        body: &[u8],
        header: &dyn Fn(&str) -> Option<String>,
        now: i64,
        tolerance_seconds: i64,
    ) -> Result<(), Error> {
        // A wrong secret is the program's mistake, so it is told before anything that the client may have done.
        let keys = secrets.iter().map(|secret| self.key(secret));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let signed = self.read(header)?;
        if let Some(time) = signed.time
            && now.abs_diff(time) > tolerance_seconds.unsigned_abs()
        {
            let side = if time < now { "old" } else { "new" };
            return Err(refused(
                "webhook_timestamp",
                format!(
                    "the webhook is too {side}: its time differs by {} s, and {tolerance_seconds} s are accepted",
                    now.abs_diff(time)
                ),
            ));
        }
        let mut fits = false;
        for key in &keys {
            let mut mac = hmac::Context::with_key(key);
            mac.update(signed.before.as_bytes());
            mac.update(body);
            let tag = mac.sign();
            for signature in &signed.signatures {
                fits |= constant_time::verify_slices_are_equal(tag.as_ref(), signature).is_ok();
            }
        }
        match fits {
            true => Ok(()),
            false => Err(refused(
                "webhook_signature",
                "the signature of the webhook is wrong",
            )),
        }
    }

    fn key(self, secret: &[u8]) -> Result<hmac::Key, Error> {
        let key = |bytes: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, bytes);
        if self != Self::Standard {
            return Ok(key(secret));
        }
        let text = secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret);
        match STANDARD.decode(text) {
            Ok(bytes) if !bytes.is_empty() => Ok(key(&bytes)),
            _ => Err(Error::script(
                "a secret of Standard Webhooks must be \"whsec_\" and base64",
            )),
        }
    }

    /// Reads the signatures.
    fn read(self, header: &dyn Fn(&str) -> Option<String>) -> Result<Signed, Error> {
        let get = |name| header(name).ok_or_else(|| self.missing(name));
        match self {
            Self::Stripe => {
                let name = "stripe-signature";
                self.stripe(&get(name)?)
                    .ok_or_else(|| malformed(name, "t=SECONDS,v1=HEX"))
            }
            Self::GitHub => {
                let name = "x-hub-signature-256";
                let value = get(name)?;
                let signature = value.strip_prefix("sha256=").and_then(hex);
                Ok(Signed {
                    before: String::new(),
                    time: None,
                    signatures: vec![signature.ok_or_else(|| malformed(name, "sha256=HEX"))?],
                })
            }
            Self::Standard => {
                let (id, time) = (get("webhook-id")?, get("webhook-timestamp")?);
                if !is_id(&id) {
                    return Err(malformed("webhook-id", "ASCII without spaces and dots"));
                }
                let signatures = get("webhook-signature")?;
                let seconds =
                    seconds(&time).ok_or_else(|| malformed("webhook-timestamp", "SECONDS"))?;
                let signatures = signatures
                    .split(' ')
                    .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
                let signatures: Vec<_> = signatures.take(WEBHOOK_SIGNATURES_MAX).collect();
                if signatures.is_empty() {
                    return Err(malformed("webhook-signature", "v1,BASE64"));
                }
                Ok(Signed {
                    before: format!("{id}.{time}."),
                    time: Some(seconds),
                    signatures,
                })
            }
        }
    }

    /// Signatures of other versions beside `v1` are for others.
    fn stripe(self, value: &str) -> Option<Signed> {
        let mut time = None;
        let mut signatures = Vec::new();
        for part in value.split(',') {
            match part.trim().split_once('=')? {
                ("t", given) if time.is_none() => time = Some(given),
                ("t", _) => return None,
                ("v1", given) if signatures.len() < WEBHOOK_SIGNATURES_MAX => {
                    signatures.push(hex(given)?);
                }
                _ => {}
            }
        }
        let time = time?;
        (!signatures.is_empty()).then_some(Signed {
            before: format!("{time}."),
            time: Some(seconds(time)?),
            signatures,
        })
    }

    /// Returns the error for a request without a header field.
    #[cold]
    pub(super) fn missing(self, name: &str) -> Error {
        let names = self.headers().join("`, `");
        refused(
            "webhook_header",
            format!("the header field `{name}` is missing; this scheme has `{names}`"),
        )
    }
}

#[cold]
fn malformed(name: &str, form: &str) -> Error {
    refused(
        "webhook_header",
        format!("the header field `{name}` is malformed; its form is {form}"),
    )
}

/// Reports whether this can be the id of a webhook. A dot would let a part of the signed body be sent as the id.
fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'.';
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Reads a time: digits only.
fn seconds(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Reads hexadecimal digits.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    if text.is_empty() || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD_SECRET: &[u8] = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn code(
        scheme: Scheme,
        secrets: &[&[u8]],
        body: &[u8],
        headers: &[(&str, &str)],
        now: i64,
    ) -> Option<String> {
        let secrets: Vec<Vec<u8>> = secrets.iter().map(|secret| secret.to_vec()).collect();
        let header = |name: &str| {
            let found = headers.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let verified = scheme.verify(&secrets, body, &header, now, 300);
        verified.err().map(|error| {
            let code = error.details().map(|details| details.code.to_string());
            code.unwrap_or_else(|| error.message().to_owned())
        })
    }

    /// The example of the specification of Standard Webhooks.
    #[test]
    fn standard_webhooks_are_verified() {
        let headers = |signature: &'static str| {
            [
                ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
                ("webhook-timestamp", "1614265330"),
                ("webhook-signature", signature),
            ]
        };
        let verify = |secrets: &[&[u8]], signature, now| {
            let body = b"{\"test\": 2432232314}";
            code(Scheme::Standard, secrets, body, &headers(signature), now)
        };
        let (right, now) = (
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            1_614_265_330,
        );
        assert_eq!(verify(&[STANDARD_SECRET], right, now), None);
        assert_eq!(verify(&[&STANDARD_SECRET[6..]], right, now), None);
        assert_eq!(verify(&[b"b3RoZXI=", STANDARD_SECRET], right, now), None);
        let several = "v1,AAAA v2,g0hM v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(verify(&[STANDARD_SECRET], several, now), None);
        for at in [now - 300, now + 300] {
            assert_eq!(verify(&[STANDARD_SECRET], right, at), None);
        }
        for at in [now - 301, now + 301] {
            let fault = verify(&[STANDARD_SECRET], right, at);
            assert_eq!(fault.as_deref(), Some("webhook_timestamp"));
        }
        let fault = |secrets, signature| verify(secrets, signature, now).expect("a fault");
        assert_eq!(fault(&[b"b3RoZXI="], right), "webhook_signature");
        assert_eq!(fault(&[STANDARD_SECRET], "v1,AAAA"), "webhook_signature");
        assert_eq!(fault(&[STANDARD_SECRET], "v2,AAAA"), "webhook_header");
        assert!(fault(&[b"whsec_!"], right).contains("base64"));
    }

    /// The signed text of an old webhook, cut at other dots: its body has a new time.
    #[test]
    fn an_old_webhook_of_standard_webhooks_is_not_verified_by_other_cuts() {
        let (old, now) = (1_614_265_330, 1_614_365_330);
        let text = format!("m1.{old}.{{\"note\":\"hi.{now}.[\"evil\"]\"}}");
        let key = Scheme::Standard.key(STANDARD_SECRET).expect("a secret");
        let tag = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
        let (signature, time) = (format!("v1,{tag}"), now.to_string());
        let verify = |id: &str, body: &str| {
            let headers = [
                ("webhook-id", id),
                ("webhook-timestamp", &*time),
                ("webhook-signature", &*signature),
            ];
            code(
                Scheme::Standard,
                &[STANDARD_SECRET],
                body.as_bytes(),
                &headers,
                now,
            )
        };
        let id = format!("m1.{old}.{{\"note\":\"hi");
        assert_eq!(
            verify(&id, "[\"evil\"]\"}").as_deref(),
            Some("webhook_header")
        );
        for id in ["", "m.1", "m 1", "m\u{e9}", "m\t1"] {
            assert_eq!(verify(id, "").as_deref(), Some("webhook_header"), "{id:?}");
        }
        assert_eq!(verify("m1", "").as_deref(), Some("webhook_signature"));
    }

    /// The example of GitHub's documentation.
    #[test]
    fn github_is_verified() {
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let verify = |body: &[u8], headers: &[(&str, &str)]| {
            let secret: &[u8] = b"It's a Secret to Everybody";
            code(Scheme::GitHub, &[secret], body, headers, 0)
        };
        let right = [("x-hub-signature-256", signature)];
        assert_eq!(verify(b"Hello, World!", &right), None);
        let fault = |body: &[u8], headers: &[(&str, &str)]| verify(body, headers).expect("a fault");
        assert_eq!(fault(b"Hello, World", &right), "webhook_signature");
        let cut = [("x-hub-signature-256", &signature[..signature.len() - 2])];
        assert_eq!(fault(b"Hello, World!", &cut), "webhook_signature");
        for wrong in ["sha1=00", "sha256=0", "sha256=", "sha256=zz"] {
            let headers = [("x-hub-signature-256", wrong)];
            assert_eq!(fault(b"Hello, World!", &headers), "webhook_header");
        }
        assert_eq!(fault(b"Hello, World!", &[]), "webhook_header");
    }

    #[test]
    fn malformed_fields_of_stripe_are_refused() {
        for wrong in [
            "",
            "t=1",
            "v1=00",
            "t=,v1=00",
            "t=-1,v1=00",
            "t=+1,v1=00",
            "t=1,t=1,v1=00",
            "t=1,v1=0",
            "t=1 v1=00",
            "t=99999999999999999999,v1=00",
        ] {
            let fault = code(
                Scheme::Stripe,
                &[b"s"],
                b"",
                &[("stripe-signature", wrong)],
                1,
            );
            assert_eq!(fault.as_deref(), Some("webhook_header"), "{wrong:?}");
        }
    }
}
