//! Keys of tokens, each with the one algorithm that it is for (RFC 7518 section 3).

use crate::limits::JWT_SECRET_BYTES_MIN;
use crate::{bytes_of, ed25519, options, pem};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, ParsedPublicKey,
    RsaKeyPair, RsaParameters, RsaSignatureEncoding,
};
use sampan_host::{Error, Value};

/// An algorithm, by the name that tokens give it.
#[derive(Clone, Copy)]
pub(super) struct Algorithm(&'static (&'static str, Family));

enum Family {
    Hmac(hmac::Algorithm),
    Rsa(&'static RsaParameters, &'static RsaSignatureEncoding),
    Ecdsa(
        &'static EcdsaVerificationAlgorithm,
        &'static EcdsaSigningAlgorithm,
    ),
    Ed25519,
}

static ALGORITHMS: [(&str, Family); 10] = [
    ("HS256", Family::Hmac(hmac::HMAC_SHA256)),
    ("HS384", Family::Hmac(hmac::HMAC_SHA384)),
    ("HS512", Family::Hmac(hmac::HMAC_SHA512)),
    (
        "RS256",
        Family::Rsa(
            &signature::RSA_PKCS1_2048_8192_SHA256,
            &signature::RSA_PKCS1_SHA256,
        ),
    ),
    (
        "RS384",
        Family::Rsa(
            &signature::RSA_PKCS1_2048_8192_SHA384,
            &signature::RSA_PKCS1_SHA384,
        ),
    ),
    (
        "RS512",
        Family::Rsa(
            &signature::RSA_PKCS1_2048_8192_SHA512,
            &signature::RSA_PKCS1_SHA512,
        ),
    ),
    (
        "ES256",
        Family::Ecdsa(
            &signature::ECDSA_P256_SHA256_FIXED,
            &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        ),
    ),
    (
        "ES384",
        Family::Ecdsa(
            &signature::ECDSA_P384_SHA384_FIXED,
            &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        ),
    ),
    (
        "ES512",
        Family::Ecdsa(
            &signature::ECDSA_P521_SHA512_FIXED,
            &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
        ),
    ),
    ("EdDSA", Family::Ed25519),
];

impl Algorithm {
    fn named(name: &str) -> Result<Self, Error> {
        let found = ALGORITHMS.iter().find(|(known, _)| *known == name);
        found.map(Self).ok_or_else(|| {
            let known: Vec<&str> = ALGORITHMS.iter().map(|(known, _)| *known).collect();
            Error::script(format!(
                "the algorithm {name:?} is not known; there is {}",
                known.join(", ")
            ))
        })
    }

    /// The name.
    pub(super) fn name(self) -> &'static str {
        self.0.0
    }
}

/// A key.
pub(super) struct Key {
    pub(super) algorithm: Algorithm,
    /// The key id in tokens.
    pub(super) kid: Option<String>,
    /// The secret, or the text of PEM.
    bytes: Vec<u8>,
}

impl Key {
    /// Reads a key as scripts give it: `{ algorithm = "HS256", key = "...", kid = "1" }`.
    pub(super) fn read(given: Value) -> Result<Self, Error> {
        if !matches!(given, Value::Map(_)) {
            return Err(Error::script(
                "a key of a token must have its algorithm beside it, such as { algorithm = \"HS256\", key = secret }",
            ));
        }
        let (mut algorithm, mut kid, mut bytes) = (None, None, None);
        for (name, value) in options::members(given, &["algorithm", "key", "kid"])? {
            match (name.as_str(), value) {
                ("algorithm", Value::Text(name)) => algorithm = Some(Algorithm::named(&name)?),
                ("kid", Value::Text(text)) => kid = Some(text),
                ("key", value @ (Value::Text(_) | Value::Bytes(_))) => {
                    bytes = Some(bytes_of(value))
                }
                (name, _) => return Err(Error::script(format!("{name} must be a string"))),
            }
        }
        let (Some(algorithm), Some(bytes)) = (algorithm, bytes) else {
            return Err(Error::script("a key of a token needs algorithm and key"));
        };
        if matches!(algorithm.0.1, Family::Hmac(_)) {
            // Every holder of the public key could sign with it.
            if pem::is_pem(&bytes) {
                return Err(Error::script(format!(
                    "{} needs a secret, not a PEM text",
                    algorithm.name()
                )));
            }
            if bytes.len() < JWT_SECRET_BYTES_MIN {
                return Err(Error::script(format!(
                    "the secret of {} must have {JWT_SECRET_BYTES_MIN} bytes at least, not {}",
                    algorithm.name(),
                    bytes.len()
                )));
            }
        }
        Ok(Self {
            algorithm,
            kid,
            bytes,
        })
    }

    /// A signature of these bytes.
    pub(super) fn sign(&self, data: &[u8]) -> Result<Vec<u8>, Error> {
        let random = SystemRandom::new();
        match &self.algorithm.0.1 {
            Family::Hmac(algorithm) => {
                let key = hmac::Key::new(*algorithm, &self.bytes);
                Ok(hmac::sign(&key, data).as_ref().to_vec())
            }
            Family::Rsa(_, encoding) => {
                let key = match pem::decode(&self.bytes) {
                    Some(("PRIVATE KEY", der)) => RsaKeyPair::from_pkcs8(&der).ok(),
                    Some(("RSA PRIVATE KEY", der)) => RsaKeyPair::from_der(&der).ok(),
                    _ => None,
                };
                let key =
                    key.ok_or_else(|| self.is_no("private key of RSA with 2048 bits at least"))?;
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(*encoding, &random, data, &mut signature)
                    .map_err(|_| self.is_no("private key of RSA that can sign"))?;
                Ok(signature)
            }
            Family::Ecdsa(_, algorithm) => {
                let key = match pem::decode(&self.bytes) {
                    Some(("PRIVATE KEY", der)) => EcdsaKeyPair::from_pkcs8(algorithm, &der).ok(),
                    Some(("EC PRIVATE KEY", der)) => {
                        EcdsaKeyPair::from_private_key_der(algorithm, &der).ok()
                    }
                    _ => None,
                };
                let signature = key.and_then(|key| key.sign(&random, data).ok());
                let signature = signature.ok_or_else(|| self.is_no("private key of its curve"))?;
                Ok(signature.as_ref().to_vec())
            }
            Family::Ed25519 => {
                let key = ed25519::private_key(&self.bytes)?;
                Ok(key.sign(data).as_ref().to_vec())
            }
        }
    }

    /// Reports whether this key made the signature of these bytes.
    pub(super) fn verify(&self, data: &[u8], signature: &[u8]) -> Result<bool, Error> {
        let public = match &self.algorithm.0.1 {
            Family::Hmac(algorithm) => {
                let key = hmac::Key::new(*algorithm, &self.bytes);
                return Ok(hmac::verify(&key, data, signature).is_ok());
            }
            Family::Rsa(parameters, _) => match pem::decode(&self.bytes) {
                Some(("PUBLIC KEY" | "RSA PUBLIC KEY", der)) => {
                    ParsedPublicKey::new(*parameters, der).ok()
                }
                _ => None,
            },
            Family::Ecdsa(algorithm, _) => match pem::decode(&self.bytes) {
                Some(("PUBLIC KEY", der)) => ParsedPublicKey::new(*algorithm, der).ok(),
                _ => None,
            },
            Family::Ed25519 => Some(ed25519::public_key(&self.bytes)?),
        };
        let public = public.ok_or_else(|| self.is_no("public key of its kind"))?;
        Ok(public.verify_sig(data, signature).is_ok())
    }

    #[cold]
    fn is_no(&self, wanted: &str) -> Error {
        Error::script(format!(
            "{} needs a PEM text of a {wanted}",
            self.algorithm.name()
        ))
    }
}
