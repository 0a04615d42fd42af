//! Signatures of mails by DomainKeys Identified Mail: RFC 6376, with Ed25519 by RFC 8463. Header and body are made
//! canonical by "relaxed".

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{Ed25519KeyPair, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sampan_host::{Error, ErrorKind};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The header fields that are signed, if the mail has them.
const SIGNED: &[&str] = &[
    "from",
    "reply-to",
    "to",
    "cc",
    "subject",
    "date",
    "message-id",
    "in-reply-to",
    "references",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
];

/// The fewest bits of an RSA key (RFC 8301 section 3.2).
const RSA_BITS_MIN: usize = 1024;

/// Signs the mails of a domain.
pub(crate) struct Signer {
    domain: String,
    selector: String,
    key: Key,
}

enum Key {
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({}._domainkey.{})", self.selector, self.domain)
    }
}

impl Signer {
    /// Creates a signer. `key` is a PEM text with a private key of RSA or Ed25519.
    ///
    /// # Errors
    /// Fails if the key or a name is not valid. The message does not show the key.
    pub(crate) fn new(domain: &str, selector: &str, key: &str) -> Result<Self, String> {
        let is_name = |text: &str| {
            let is_char =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
            !text.is_empty() && text.bytes().all(is_char)
        };
        if !is_name(domain) {
            return Err(format!(
                "dkim_domain = {domain:?} is not the name of a domain"
            ));
        }
        if !is_name(selector) {
            return Err(format!("dkim_selector = {selector:?} is not a selector"));
        }
        let wrong = || {
            let form = "-----BEGIN PRIVATE KEY-----";
            format!(
                "dkim_key must be a private key of RSA (1024 bits or more) or Ed25519 as a PEM text: {form}"
            )
        };
        let (label, der) = pem(key).ok_or_else(wrong)?;
        let rsa = match label {
            "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der).ok(),
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der).ok(),
            _ => None,
        };
        let key = match rsa {
            Some(key) if key.public_modulus_len() * 8 < RSA_BITS_MIN => return Err(wrong()),
            Some(key) => Key::Rsa(key),
            None => {
                let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der);
                Key::Ed25519(key.map_err(|_| wrong())?)
            }
        };
        Ok(Self {
            domain: domain.to_owned(),
            selector: selector.to_owned(),
            key,
        })
    }

    /// Returns a mail with a signature in front.
    ///
    /// # Errors
    /// The key cannot sign.
    pub(crate) fn signed(&self, mail: &[u8], time: SystemTime) -> Result<Vec<u8>, Error> {
        let end = mail.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, body) = match end {
            Some(at) => (&mail[..at + 2], &mail[at + 4..]),
            None => (mail, &[][..]),
        };
        let head = String::from_utf8_lossy(head);
        let fields = fields(&head);
        let mut names = Vec::new();
        let mut text = String::new();
        for name in SIGNED {
            // Of fields with one name the last is signed first (section 5.4.2).
            let of_name = fields.iter().rev();
            for (_, field) in of_name.filter(|(found, _)| found.eq_ignore_ascii_case(name)) {
                names.push(*name);
                text.push_str(&relaxed_field(field));
                text.push_str("\r\n");
            }
        }
        // One more `from` than there is: none can be added (section 8.15).
        names.push("from");
        let algorithm = match self.key {
            Key::Rsa(_) => "rsa-sha256",
            Key::Ed25519(_) => "ed25519-sha256",
        };
        let seconds = time
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let hash = STANDARD.encode(digest(&SHA256, &relaxed_body(body)));
        let field = format!(
            "DKIM-Signature: v=1; a={algorithm}; c=relaxed/relaxed; d={}; s={};\r\n t={seconds}; bh={hash};\r\n \
             h={};\r\n b=",
            self.domain,
            self.selector,
            names.join(":\r\n  "),
        );
        text.push_str(&relaxed_field(&field));
        let signature = STANDARD.encode(self.sign(text.as_bytes())?);
        let mut out = field.into_bytes();
        for (at, line) in signature.as_bytes().chunks(72).enumerate() {
            if at > 0 {
                out.extend_from_slice(b"\r\n  ");
            }
            out.extend_from_slice(line);
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(mail);
        Ok(out)
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.key {
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(
                    &RSA_PKCS1_SHA256,
                    &SystemRandom::new(),
                    text,
                    &mut signature,
                )
                .map_err(|_| Error::new(ErrorKind::Internal, "dkim_key cannot sign"))?;
                Ok(signature)
            }
            // RFC 8463 section 3: the digest is what is signed.
            Key::Ed25519(key) => Ok(key.sign(digest(&SHA256, text).as_ref()).as_ref().to_vec()),
        }
    }
}

/// Returns the header fields, with their line breaks: their names and the whole fields.
fn fields(head: &str) -> Vec<(&str, &str)> {
    let mut fields = Vec::new();
    let mut rest = head;
    while !rest.is_empty() {
        let mut end = 0;
        loop {
            end = rest[end..]
                .find("\r\n")
                .map_or(rest.len(), |at| end + at + 2);
            if !rest[end..].starts_with([' ', '\t']) {
                break;
            }
        }
        let (field, after) = rest.split_at(end);
        if let Some((name, _)) = field.split_once(':') {
            fields.push((name.trim_end(), field.trim_end_matches("\r\n")));
        }
        rest = after;
    }
    fields
}

/// Makes a header field canonical (section 3.4.2), without a line break at its end.
fn relaxed_field(field: &str) -> String {
    let (name, value) = field.split_once(':').unwrap_or((field, ""));
    let words: Vec<&str> = value
        .split([' ', '\t', '\r', '\n'])
        .filter(|word| !word.is_empty())
        .collect();
    format!(
        "{}:{}",
        name.trim_end().to_ascii_lowercase(),
        words.join(" ")
    )
}

/// Makes a body canonical (section 3.4.4).
fn relaxed_body(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut empty = 0;
    let mut lines = body.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Spaces and tabs alone: no other byte is white space there.
        let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
        let line = &line[..line.iter().rposition(is_text).map_or(0, |last| last + 1)];
        if line.is_empty() {
            // Behind the last line break there is no line.
            empty += usize::from(lines.peek().is_some());
            continue;
        }
        for _ in 0..std::mem::take(&mut empty) {
            out.extend_from_slice(b"\r\n");
        }
        let mut was_space = false;
        for byte in line {
            let is_space = matches!(byte, b' ' | b'\t');
            if !is_space {
                out.push(*byte);
            } else if !was_space {
                out.push(b' ');
            }
            was_space = is_space;
        }
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Returns the label and the bytes of a PEM text with one block.
fn pem(text: &str) -> Option<(&str, Vec<u8>)> {
    let (label, rest) = text
        .trim()
        .strip_prefix("-----BEGIN ")?
        .split_once("-----")?;
    let body = rest.strip_suffix(format!("-----END {label}-----").as_str())?;
    let body: String = body.split_ascii_whitespace().collect();
    Some((label, STANDARD.decode(body).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::signature::{ED25519, KeyPair as _, UnparsedPublicKey};
    use std::time::Duration;

    /// The key of RFC 8463 appendix A.2, in the form of PKCS #8.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3/1mC6mIRN+l1vr1CcYx8bTNUuhtvSOS2ve7Zg
        -----END PRIVATE KEY-----";

    #[test]
    fn the_examples_of_the_rfc_are_made_canonical() {
        // RFC 6376 section 3.4.5.
        let head = "A: X\r\nB : Y\t\r\n\tZ  \r\n";
        let fields: Vec<_> = fields(head)
            .iter()
            .map(|(_, field)| relaxed_field(field))
            .collect();
        assert_eq!(fields, ["a:X", "b:Y Z"]);
        let body = relaxed_body(b" C \r\nD \t E\r\n\r\n\r\n");
        assert_eq!(body, b" C\r\nD E\r\n");
        assert_eq!(relaxed_body(b""), b"");
        assert_eq!(relaxed_body(b"\r\n\r\n"), b"");
        assert_eq!(relaxed_body(b"a"), b"a\r\n");
        // White space is spaces and tabs (section 2.8).
        let body = relaxed_body(b"a\x0c \t\r\n\x0c\r\nb\r\r\n");
        assert_eq!(body, b"a\x0c\r\n\x0c\r\nb\r\r\n");
        // RFC 8463 appendix A.3.
        let body = b"Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n";
        let hash = STANDARD.encode(digest(&SHA256, &relaxed_body(body)));
        assert_eq!(hash, "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");
    }

    #[test]
    fn a_signature_fits_the_mail_and_no_other() {
        let signer = Signer::new("example.org", "s1", KEY).expect("a key");
        let Key::Ed25519(key) = &signer.key else {
            panic!("not Ed25519");
        };
        let mail = "From: a@example.org\r\nSubject: one\r\n two\r\nX-Other: 1\r\n\r\nhello\r\n";
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let signed = signer.signed(mail.as_bytes(), time).expect("signed");
        let signed = String::from_utf8(signed).expect("ASCII");
        let (field, rest) = signed.split_once("\r\nFrom:").expect("in front");
        assert!(mail.ends_with(rest));
        assert!(field.lines().all(|line| line.len() <= 100), "{field}");
        let (without, signature) = field.rsplit_once("b=").expect("a signature");
        let signature: String = signature.split_ascii_whitespace().collect();
        let signature = STANDARD.decode(signature).expect("base64");
        let fits = |subject: &str| {
            let text = format!(
                "from:a@example.org\r\nsubject:{subject}\r\n{}",
                relaxed_field(&format!("{without}b="))
            );
            let public = UnparsedPublicKey::new(&ED25519, key.public_key().as_ref());
            public
                .verify(digest(&SHA256, text.as_bytes()).as_ref(), &signature)
                .is_ok()
        };
        assert!(fits("one two"));
        assert!(!fits("one three"));
        assert!(
            field.contains("h=from:\r\n  subject:\r\n  from;"),
            "{field}"
        );
    }

    #[test]
    fn wrong_keys_are_told_and_not_shown() {
        for key in [
            "",
            "secret",
            "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----",
        ] {
            let fault = Signer::new("example.org", "s1", key).expect_err("no key");
            assert!(
                fault.starts_with("dkim_key must be") && !fault.contains("c2Vj"),
                "{fault}"
            );
        }
        assert!(Signer::new("example.org; d=x", "s1", KEY).is_err());
        assert!(Signer::new("example.org", "", KEY).is_err());
    }
}
