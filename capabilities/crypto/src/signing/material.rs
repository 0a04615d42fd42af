//! The key itself, in each form that it comes in.

use super::algorithms::{Algorithm, Curve, Family};
use super::certificate;
use crate::limits::JWT_SECRET_BYTES_MIN;
use crate::{ed25519, pem};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPairComponents;
use aws_lc_rs::signature::{
    EcdsaKeyPair, Ed25519KeyPair, ParsedPublicKey, RsaKeyPair, RsaParameters,
    RsaPublicKeyComponents,
};
use sampan_host::Error;

/// A key, without what it is for.
pub(crate) enum Material {
    /// The secret of an HMAC.
    Secret(Vec<u8>),
    /// A PEM text, or the 32 bytes of an Ed25519 key. Read when it is used.
    Text(Vec<u8>),
    /// The numbers of an RSA key.
    Rsa {
        public: RsaPublicKeyComponents<Vec<u8>>,
        private: Option<Box<KeyPairComponents<Vec<u8>>>>,
    },
    /// A point of a curve, uncompressed, and the private number.
    Ec {
        curve: &'static Curve,
        point: Vec<u8>,
        private: Option<Vec<u8>>,
    },
    /// An Ed25519 key.
    Ed25519 {
        public: Vec<u8>,
        private: Option<Vec<u8>>,
    },
}

impl Material {
    /// Reads a key that is no JWK, for this algorithm.
    ///
    /// # Errors
    /// The secret of an HMAC is too short, or is a PEM text.
    pub(crate) fn of_bytes(algorithm: Algorithm, bytes: Vec<u8>) -> Result<Self, Error> {
        match algorithm.family() {
            Family::Hmac(_) => Self::secret(algorithm.name(), bytes),
            _ => Ok(Self::Text(bytes)),
        }
    }

    /// Checks the secret of an HMAC.
    pub(crate) fn secret(owner: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        // Every holder of the public key could sign with it.
        if pem::is_pem(&bytes) {
            return Err(Error::script(format!(
                "{owner} needs a secret, not a PEM text"
            )));
        }
        if bytes.len() < JWT_SECRET_BYTES_MIN {
            return Err(Error::script(format!(
                "the secret of {owner} must have {JWT_SECRET_BYTES_MIN} bytes at least, not {}",
                bytes.len()
            )));
        }
        Ok(Self::Secret(bytes))
    }

    /// Reports whether an algorithm takes keys of this kind. A PEM text tells no more than that it is no secret.
    pub(crate) fn fits(&self, algorithm: Algorithm) -> bool {
        match (self, algorithm.family()) {
            (Self::Secret(_), Family::Hmac(_))
            | (Self::Rsa { .. }, Family::Rsa(..))
            | (Self::Ed25519 { .. }, Family::Ed25519) => true,
            (Self::Ec { curve, .. }, Family::Ecdsa(other)) => curve.name == other.name,
            (Self::Text(_), family) => !matches!(family, Family::Hmac(_)),
            _ => false,
        }
    }

    /// Returns the signature of these bytes. `der` chooses the form of a signature by ECDSA.
    pub(crate) fn sign(
        &self,
        algorithm: Algorithm,
        data: &[u8],
        der: bool,
    ) -> Result<Vec<u8>, Error> {
        let random = SystemRandom::new();
        match algorithm.family() {
            Family::Hmac(digest) => {
                let Self::Secret(secret) = self else {
                    return Err(is_no(algorithm, "secret"));
                };
                let key = hmac::Key::new(*digest, secret);
                Ok(hmac::sign(&key, data).as_ref().to_vec())
            }
            Family::Rsa(_, encoding) => {
                let wanted = "private key of RSA with 2048 bits at least";
                let key = self.rsa_pair().ok_or_else(|| is_no(algorithm, wanted))?;
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(*encoding, &random, data, &mut signature)
                    .map_err(|_| is_no(algorithm, "private key of RSA that can sign"))?;
                Ok(signature)
            }
            Family::Ecdsa(curve) => {
                let key = self.ec_pair(curve, der);
                let signature = key.and_then(|key| key.sign(&random, data).ok());
                let signature =
                    signature.ok_or_else(|| is_no(algorithm, "private key of its curve"))?;
                Ok(signature.as_ref().to_vec())
            }
            Family::Ed25519 => {
                let key = match self {
                    Self::Text(bytes) => ed25519::private_key(bytes)?,
                    Self::Ed25519 {
                        public,
                        private: Some(seed),
                    } => Ed25519KeyPair::from_seed_and_public_key(seed, public)
                        .map_err(|_| is_no(algorithm, "private key of Ed25519"))?,
                    _ => return Err(is_no(algorithm, "private key of Ed25519")),
                };
                Ok(key.sign(data).as_ref().to_vec())
            }
        }
    }

    /// Reports whether this key made the signature of these bytes. `der` tells the form of a signature by ECDSA.
    pub(crate) fn verify(
        &self,
        algorithm: Algorithm,
        data: &[u8],
        signature: &[u8],
        der: bool,
    ) -> Result<bool, Error> {
        if let Family::Hmac(digest) = algorithm.family() {
            let Self::Secret(secret) = self else {
                return Err(is_no(algorithm, "secret"));
            };
            let key = hmac::Key::new(*digest, secret);
            return Ok(hmac::verify(&key, data, signature).is_ok());
        }
        let public = self.public(algorithm, der)?;
        Ok(public.verify_sig(data, signature).is_ok())
    }

    /// Checks that the public key can be read; a secret has none.
    ///
    /// # Errors
    /// No public key for this algorithm.
    pub(crate) fn check_public(&self, algorithm: Algorithm) -> Result<(), Error> {
        match algorithm.family() {
            Family::Hmac(_) => Ok(()),
            _ => self.public(algorithm, false).map(drop),
        }
    }

    /// Returns the public key.
    fn public(&self, algorithm: Algorithm, der: bool) -> Result<ParsedPublicKey, Error> {
        let public = match algorithm.family() {
            Family::Hmac(_) => None,
            Family::Rsa(parameters, _) => self.rsa_public(parameters),
            Family::Ecdsa(curve) => self.ec_public(curve, der),
            Family::Ed25519 => match self {
                Self::Text(bytes) => match pem::first_certificate(bytes) {
                    Some(der) => certificate::public_key(&der).and_then(ed25519::public_key_of_der),
                    None => Some(ed25519::public_key(bytes)?),
                },
                Self::Ed25519 { public, .. } => Some(ed25519::public_key(public)?),
                _ => None,
            },
        };
        public.ok_or_else(|| is_no(algorithm, "public key of its kind"))
    }

    fn rsa_pair(&self) -> Option<RsaKeyPair> {
        match self {
            Self::Text(text) => match pem::decode(text)? {
                ("PRIVATE KEY", der) => RsaKeyPair::from_pkcs8(&der).ok(),
                ("RSA PRIVATE KEY", der) => RsaKeyPair::from_der(&der).ok(),
                _ => None,
            },
            Self::Rsa { private, .. } => RsaKeyPair::from_components(private.as_deref()?).ok(),
            _ => None,
        }
    }

    fn rsa_public(&self, parameters: &'static RsaParameters) -> Option<ParsedPublicKey> {
        match self {
            Self::Text(text) => {
                let der = public_der(text, "RSA PUBLIC KEY")?;
                ParsedPublicKey::new(parameters, der).ok()
            }
            Self::Rsa { public, .. } => public.to_parsed_public_key(parameters).ok(),
            _ => None,
        }
    }

    fn ec_pair(&self, curve: &Curve, der: bool) -> Option<EcdsaKeyPair> {
        let (_, form) = if der { curve.der } else { curve.fixed };
        match self {
            Self::Text(text) => match pem::decode(text)? {
                ("PRIVATE KEY", der) => EcdsaKeyPair::from_pkcs8(form, &der).ok(),
                ("EC PRIVATE KEY", der) => EcdsaKeyPair::from_private_key_der(form, &der).ok(),
                _ => None,
            },
            Self::Ec { point, private, .. } => {
                let private = private.as_deref()?;
                EcdsaKeyPair::from_private_key_and_public_key(form, private, point).ok()
            }
            _ => None,
        }
    }

    fn ec_public(&self, curve: &Curve, der: bool) -> Option<ParsedPublicKey> {
        let (form, _) = if der { curve.der } else { curve.fixed };
        match self {
            Self::Text(text) => {
                let der = public_der(text, "PUBLIC KEY")?;
                ParsedPublicKey::new(form, der).ok()
            }
            Self::Ec { point, .. } => ParsedPublicKey::new(form, point).ok(),
            _ => None,
        }
    }
}

/// Returns the public key of a PEM text: of a block "PUBLIC KEY" or `other`, or of a certificate.
fn public_der(text: &[u8], other: &str) -> Option<Vec<u8>> {
    if let Some(der) = pem::first_certificate(text) {
        return certificate::public_key(&der).map(<[u8]>::to_vec);
    }
    let (label, der) = pem::decode(text)?;
    (label == "PUBLIC KEY" || label == other).then_some(der)
}

#[cold]
fn is_no(algorithm: Algorithm, wanted: &str) -> Error {
    Error::script(format!(
        "{} needs a PEM text of a {wanted}, or its JWK",
        algorithm.name()
    ))
}
