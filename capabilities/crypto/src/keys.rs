//! The project's secret keys, and what is sealed and signed with them.

use crate::limits::{KEY_CHARS_MIN, KEYS_MAX, PURPOSES_MAX};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hkdf, hmac, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sampan_host::{Error, ErrorKind, Sealer, Settings};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// The secret keys of a project, the current one first. Nothing prints them.
#[derive(Clone)]
pub struct SecretKeys(Vec<hkdf::Prk>);

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKeys({})", self.0.len())
    }
}

impl SecretKeys {
    /// Reads `[secrets]`.
    ///
    /// # Errors
    /// As [`SecretKeys::new`].
    pub fn from_settings(settings: &Settings) -> Result<Option<Self>, String> {
        let keys = Self::new(&settings.list("keys"));
        keys.map_err(|fault| format!("keys: {fault}"))
    }

    /// The keys of a configuration, the current one first; `None` if there is none.
    ///
    /// # Errors
    /// A key that is too short to be secret, or too many of them. The message does not show a key.
    pub fn new(texts: &[String]) -> Result<Option<Self>, String> {
        if texts.len() > KEYS_MAX {
            return Err(format!(
                "{} keys; at most {KEYS_MAX} are possible",
                texts.len()
            ));
        }
        for (at, text) in texts.iter().enumerate() {
            let chars = text.chars().count();
            if chars < KEY_CHARS_MIN {
                let place = at + 1;
                return Err(format!(
                    "key {place} has {chars} characters; it must have {KEY_CHARS_MIN} at least: make one with \
                     `openssl rand -base64 32`"
                ));
            }
        }
        // RFC 5869 section 3.1: a fixed salt tells these keys from the same text in another system.
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"sampan secrets keys");
        let keys: Vec<_> = texts
            .iter()
            .map(|text| salt.extract(text.as_bytes()))
            .collect();
        Ok((!keys.is_empty()).then_some(Self(keys)))
    }
}

/// Seals and signs with the project's keys, on one worker.
pub struct KeySealer {
    keys: SecretKeys,
    /// The derived keys for each purpose, kept because a derivation costs as much as a small seal.
    derived: RefCell<HashMap<String, Rc<[PurposeKeys]>>>,
}

impl fmt::Debug for KeySealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeySealer").field(&self.keys).finish()
    }
}

/// The keys derived from one key of the project for one purpose.
struct PurposeKeys {
    seal: LessSafeKey,
    sign: hmac::Key,
}

impl PurposeKeys {
    fn derive(key: &hkdf::Prk, purpose: &str) -> Self {
        let mut bytes = [0; 64];
        key.expand(&[purpose.as_bytes()], Length(bytes.len()))
            .and_then(|okm| okm.fill(&mut bytes))
            .expect("64 bytes are within the limit of HKDF");
        let (seal, sign) = bytes.split_at(32);
        let seal = UnboundKey::new(&AES_256_GCM, seal).expect("32 bytes are a key of AES-256");
        Self {
            seal: LessSafeKey::new(seal),
            sign: hmac::Key::new(hmac::HMAC_SHA256, sign),
        }
    }
}

/// The number of bytes that are derived.
pub(crate) struct Length(pub(crate) usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl KeySealer {
    /// A sealer with these keys.
    pub fn new(keys: SecretKeys) -> Self {
        Self {
            keys,
            derived: RefCell::default(),
        }
    }

    fn purpose(&self, purpose: &str) -> Rc<[PurposeKeys]> {
        if let Some(known) = self.derived.borrow().get(purpose) {
            return Rc::clone(known);
        }
        let keys = self.keys.0.iter();
        let made: Rc<[_]> = keys.map(|key| PurposeKeys::derive(key, purpose)).collect();
        let mut derived = self.derived.borrow_mut();
        if derived.len() >= PURPOSES_MAX {
            // A purpose may be a name that clients choose.
            derived.clear();
        }
        derived.insert(purpose.to_owned(), Rc::clone(&made));
        made
    }
}

impl Sealer for KeySealer {
    fn seal(&self, purpose: &str, bytes: &[u8]) -> Result<String, Error> {
        let keys = self.purpose(purpose);
        let sealed = seal(&keys[0].seal, b"", bytes)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let keys = self.purpose(purpose);
        keys.iter().find_map(|key| open(&key.seal, b"", &sealed))
    }

    fn sign(&self, purpose: &str, bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.purpose(purpose)[0].sign, bytes))
    }

    fn verify(&self, purpose: &str, bytes: &[u8], signature: &str) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
            return false;
        };
        // `hmac::verify` compares in constant time.
        let keys = self.purpose(purpose);
        keys.iter()
            .any(|key| hmac::verify(&key.sign, bytes, &signature).is_ok())
    }
}

/// Seals with AES-256-GCM: a random nonce, the encrypted bytes, the tag. `extra` is bound to it and not part of it.
pub(crate) fn seal(key: &LessSafeKey, extra: &[u8], bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut nonce = [0; NONCE_LEN];
    rand::fill(&mut nonce).map_err(|_| no_random_numbers())?;
    let mut sealed = Vec::with_capacity(NONCE_LEN + bytes.len() + AES_256_GCM.tag_len());
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(bytes);
    let nonce = Nonce::assume_unique_for_key(nonce);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(extra), &mut sealed[NONCE_LEN..]);
    let tag = tag.map_err(|_| Error::script("too many bytes to seal at once"))?;
    sealed.extend_from_slice(tag.as_ref());
    Ok(sealed)
}

/// Opens a text that was sealed by this key with the same extra bytes.
pub(crate) fn open(key: &LessSafeKey, extra: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let mut bytes = rest.to_vec();
    let opened = key
        .open_in_place(nonce, Aad::from(extra), &mut bytes)
        .ok()?;
    let length = opened.len();
    bytes.truncate(length);
    Some(bytes)
}

#[cold]
pub(crate) fn no_random_numbers() -> Error {
    Error::new(ErrorKind::Internal, "the system gives no random numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "an old key of the project, 40 characters";
    const NEW: &str = "the new key of the project, 41 characters";

    fn sealer(keys: &[&str]) -> KeySealer {
        let texts: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        KeySealer::new(SecretKeys::new(&texts).expect("valid").expect("some"))
    }

    #[test]
    fn what_is_sealed_opens_for_its_purpose_only() {
        let sealer = sealer(&[OLD]);
        for bytes in [&b""[..], b"a", &[0xff; 5000]] {
            let text = sealer.seal("session", bytes).expect("sealed");
            assert_eq!(sealer.open("session", &text).as_deref(), Some(bytes));
            assert_eq!(sealer.open("cookie", &text), None);
            assert_ne!(
                text,
                sealer.seal("session", bytes).expect("sealed"),
                "a fresh nonce"
            );
        }
        let signature = sealer.sign("cookie", b"value");
        assert_eq!(signature.len(), 43);
        assert!(sealer.verify("cookie", b"value", &signature));
        assert!(!sealer.verify("session", b"value", &signature));
        assert!(!sealer.verify("cookie", b"valuf", &signature));
    }

    #[test]
    fn each_changed_character_is_noticed() {
        let sealer = sealer(&[OLD]);
        let text = sealer.seal("session", b"user 7").expect("sealed");
        let signature = sealer.sign("session", b"user 7");
        let changed = |text: &str, at: usize| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).expect("ASCII")
        };
        for at in 0..text.len() {
            assert_eq!(sealer.open("session", &changed(&text, at)), None, "{at}");
            assert_eq!(sealer.open("session", &text[..at]), None, "{at}");
        }
        for at in 0..signature.len() {
            assert!(
                !sealer.verify("session", b"user 7", &changed(&signature, at)),
                "{at}"
            );
            assert!(
                !sealer.verify("session", b"user 7", &signature[..at]),
                "{at}"
            );
        }
        for text in ["", "=", "a b", "é", "AAAA"] {
            assert_eq!(sealer.open("session", text), None, "{text}");
            assert!(!sealer.verify("session", b"", text), "{text}");
        }
    }

    #[test]
    fn keys_are_replaced_one_by_one() {
        let (before, during, after) = (sealer(&[OLD]), sealer(&[NEW, OLD]), sealer(&[NEW]));
        let (text, signature) = (
            before.seal("a", b"1").expect("sealed"),
            before.sign("a", b"1"),
        );
        assert_eq!(during.open("a", &text).as_deref(), Some(&b"1"[..]));
        assert!(during.verify("a", b"1", &signature));
        assert_eq!(after.open("a", &text), None);
        assert!(!after.verify("a", b"1", &signature));
        let (text, signature) = (
            during.seal("a", b"2").expect("sealed"),
            during.sign("a", b"2"),
        );
        assert_eq!(after.open("a", &text).as_deref(), Some(&b"2"[..]));
        assert!(after.verify("a", b"2", &signature));
        assert_eq!(before.open("a", &text), None);
    }

    #[test]
    fn purposes_without_number_are_not_all_kept() {
        let sealer = sealer(&[OLD]);
        for number in 0..PURPOSES_MAX * 3 {
            sealer.sign(&number.to_string(), b"");
        }
        assert!(sealer.derived.borrow().len() <= PURPOSES_MAX);
    }

    #[test]
    fn short_keys_are_refused_and_not_shown() {
        let fault = SecretKeys::new(&[OLD.into(), "hunter2".into()]).expect_err("too short");
        assert!(
            fault.starts_with("key 2 has 7 characters; it must have 32"),
            "{fault}"
        );
        assert!(!fault.contains("hunter2"));
        SecretKeys::new(&vec![OLD.to_owned(); KEYS_MAX + 1]).expect_err("too many");
        assert!(SecretKeys::new(&[]).expect("valid").is_none());
        let keys = SecretKeys::new(&[OLD.into()]).expect("valid");
        assert_eq!(format!("{keys:?}"), "Some(SecretKeys(1))");
    }
}
