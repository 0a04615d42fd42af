//! The signature of a request: AWS Signature Version 4, in the field `authorization`.

use crate::object::{hash, hex};
use aws_lc_rs::hmac;
use std::fmt::{self, Write};

/// The characters that stay as they are in a path or a query (RFC 3986 section 2.3).
const UNRESERVED: &[u8] = b"-._~";

/// The keys of an account.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) access: String,
    pub(crate) secret: String,
    /// The token of keys that are valid for a while only.
    pub(crate) token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.access)
    }
}

/// A request before it is signed.
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    /// The path, encoded.
    pub(super) path: &'a str,
    /// The parameters of the query, sorted by their names and not encoded.
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
    pub(super) region: &'a str,
    /// The time, such as `20130524T000000Z`.
    pub(super) time: &'a str,
}

impl Unsigned<'_> {
    /// Returns the fields that the request needs, the signature among them.
    pub(super) fn sign(&self, keys: &Keys) -> Vec<(&'static str, String)> {
        let body_hash = hash(self.body);
        let mut fields = vec![
            ("host", self.host.to_owned()),
            ("x-amz-content-sha256", body_hash.clone()),
            ("x-amz-date", self.time.to_owned()),
        ];
        if let Some(token) = &keys.token {
            fields.push(("x-amz-security-token", token.clone()));
        }
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let mut canonical = format!("{}\n{}\n{}\n", self.method, self.path, self.query());
        for (name, value) in &fields {
            let _ = writeln!(canonical, "{name}:{value}");
        }
        let _ = write!(canonical, "\n{names}\n{body_hash}");
        let date = self.time.get(..8).unwrap_or_default();
        let scope = format!("{date}/{}/s3/aws4_request", self.region);
        let canonical = hash(canonical.as_bytes());
        let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{canonical}", self.time);
        let mut key = format!("AWS4{}", keys.secret).into_bytes();
        for part in [date, self.region, "s3", "aws4_request"] {
            key = mac(&key, part);
        }
        let signature = hex(&mac(&key, &text));
        let access = &keys.access;
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={access}/{scope},SignedHeaders={names},Signature={signature}"
        );
        fields.push(("authorization", authorization));
        fields
    }

    /// Returns the query as it is signed and sent.
    pub(super) fn query(&self) -> String {
        let pairs = self.query.iter();
        let pairs =
            pairs.map(|(name, value)| format!("{}={}", encode(name, false), encode(value, false)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// Percent-encodes a text; a path keeps its slashes.
pub(super) fn encode(text: &str, is_path: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let stays =
            byte.is_ascii_alphanumeric() || UNRESERVED.contains(&byte) || (is_path && byte == b'/');
        match stays {
            true => encoded.push(char::from(byte)),
            false => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example "GET Bucket (List Objects)" of the documentation of Amazon S3.
    #[test]
    fn a_known_request_has_its_known_signature() {
        let keys = Keys {
            access: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let unsigned = Unsigned {
            method: "GET",
            host: "examplebucket.s3.amazonaws.com",
            path: "/",
            query: &[("max-keys", "2"), ("prefix", "J")],
            body: b"",
            region: "us-east-1",
            time: "20130524T000000Z",
        };
        let fields = unsigned.sign(&keys);
        let (_, authorization) = fields.last().expect("signed");
        let signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(authorization.ends_with(signature), "{authorization}");
    }

    #[test]
    fn names_are_encoded() {
        assert_eq!(encode("a b/ü+", true), "a%20b/%C3%BC%2B");
        assert_eq!(encode("a/b", false), "a%2Fb");
    }
}
