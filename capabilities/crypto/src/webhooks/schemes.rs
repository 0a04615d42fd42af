//! The schemes: which header fields have the signatures, and what is signed.

use super::refused;
use crate::limits::{WEBHOOK_PUBLIC_SIGNATURES_MAX, WEBHOOK_SIGNATURES_MAX};
use crate::{ed25519, names};
use aws_lc_rs::signature::ParsedPublicKey;
use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sampan_host::Error;

/// The prefix of secrets of Standard Webhooks: base64 follows.
const SECRET_PREFIX: &[u8] = b"whsec_";
/// The prefix of public keys of Standard Webhooks.
const PUBLIC_PREFIX: &[u8] = b"whpk_";
/// The prefix of the private keys to them, which the senders have.
const PRIVATE_PREFIX: &[u8] = b"whsk_";

/// A way of signing webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// `Stripe-Signature: t=1700000000,v1=hex,v1=hex`, over `t.body`.
    Stripe,
    /// `X-Hub-Signature-256: sha256=hex`, over the body.
    GitHub,
    /// <https://www.standardwebhooks.com>: `webhook-signature: v1,base64 v1a,base64`, over `id.timestamp.body`.
    Standard,
}

/// A secret of a webhook, or a public key.
enum WebhookKey {
    Secret(Box<hmac::Key>),
    Public(Box<ParsedPublicKey>),
}

/// The signatures of a request, and what they are of.
struct Signed {
    /// The signed bytes before the body.
    before: String,
    /// Seconds since 1970.
    time: Option<i64>,
    /// Signatures by HMAC-SHA-256, with a secret.
    signatures: Vec<Vec<u8>>,
    /// Signatures by Ed25519, for public keys.
    public_signatures: Vec<Vec<u8>>,
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
            fits |= match key {
                WebhookKey::Secret(key) => signed.fits_secret(key, body),
                WebhookKey::Public(key) => signed.fits_public(key, body),
            };
        }
        match fits {
            true => Ok(()),
            false => Err(refused(
                "webhook_signature",
                "the signature of the webhook is wrong",
            )),
        }
    }

    fn key(self, secret: &[u8]) -> Result<WebhookKey, Error> {
        let key =
            |bytes: &[u8]| WebhookKey::Secret(Box::new(hmac::Key::new(hmac::HMAC_SHA256, bytes)));
        if self != Self::Standard {
            return Ok(key(secret));
        }
        if let Some(text) = secret.strip_prefix(PUBLIC_PREFIX) {
            return public_key(text).map(|key| WebhookKey::Public(Box::new(key)));
        }
        if secret.starts_with(PRIVATE_PREFIX) {
            return Err(Error::script(
                "a key \"whsk_\" signs webhooks: verify them with its public key, \"whpk_\" and base64",
            ));
        }
        let text = secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret);
        match STANDARD.decode(text) {
            Ok(bytes) if !bytes.is_empty() => Ok(key(&bytes)),
            _ => Err(Error::script(
                "a secret of Standard Webhooks must be \"whsec_\" and base64; a public key is \"whpk_\" and base64",
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
                    public_signatures: Vec::new(),
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
                let of = |version: &'static str, count_max: usize| {
                    let all = signatures.split(' ');
                    let all =
                        all.filter_map(|one| STANDARD.decode(one.strip_prefix(version)?).ok());
                    all.take(count_max).collect::<Vec<_>>()
                };
                let public_signatures = of("v1a,", WEBHOOK_PUBLIC_SIGNATURES_MAX);
                let signatures = of("v1,", WEBHOOK_SIGNATURES_MAX);
                if signatures.is_empty() && public_signatures.is_empty() {
                    return Err(malformed("webhook-signature", "v1,BASE64 or v1a,BASE64"));
                }
                Ok(Signed {
                    before: format!("{id}.{time}."),
                    time: Some(seconds),
                    signatures,
                    public_signatures,
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
            public_signatures: Vec::new(),
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

impl Signed {
    /// Reports whether a signature was made with a secret.
    fn fits_secret(&self, key: &hmac::Key, body: &[u8]) -> bool {
        let mut mac = hmac::Context::with_key(key);
        mac.update(self.before.as_bytes());
        mac.update(body);
        let tag = mac.sign();
        let mut fits = false;
        for signature in &self.signatures {
            fits |= constant_time::verify_slices_are_equal(tag.as_ref(), signature).is_ok();
        }
        fits
    }

    /// Reports whether a signature was made with the private key to this one.
    fn fits_public(&self, key: &ParsedPublicKey, body: &[u8]) -> bool {
        if self.public_signatures.is_empty() {
            return false;
        }
        let text = [self.before.as_bytes(), body].concat();
        let mut all = self.public_signatures.iter();
        all.any(|signature| key.verify_sig(&text, signature).is_ok())
    }
}

/// Reads the base64 of a public key.
fn public_key(text: &[u8]) -> Result<ParsedPublicKey, Error> {
    let bytes = STANDARD.decode(text).ok();
    let bytes = bytes.filter(|bytes| bytes.len() == ed25519::KEY_BYTES);
    let key = bytes.and_then(|bytes| ed25519::public_key_of_der(&bytes));
    key.ok_or_else(|| {
        Error::script(
            "a public key of Standard Webhooks must be \"whpk_\" and base64 of the 32 bytes of a key of Ed25519",
        )
    })
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
mod tests;
