//! Algorithms of signatures, by the names that tokens give them (RFC 7518 section 3).

use crate::names;
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{
    self, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, RsaParameters, RsaSignatureEncoding,
};
use sampan_host::Error;

/// An algorithm.
#[derive(Clone, Copy)]
pub(crate) struct Algorithm(&'static (&'static str, Family));

/// The keys that an algorithm takes, and how it uses them.
pub(crate) enum Family {
    Hmac(hmac::Algorithm),
    Rsa(&'static RsaParameters, &'static RsaSignatureEncoding),
    Ecdsa(Curve),
    Ed25519,
}

/// A curve with its digest, and the two forms of its signatures.
pub(crate) struct Curve {
    /// The name in a JWK (RFC 7518 section 6.2.1.1).
    pub(crate) name: &'static str,
    /// The size of a coordinate, in bytes.
    pub(crate) coordinate_bytes: usize,
    /// Signatures as tokens have them: two numbers of a fixed size.
    pub(crate) fixed: (
        &'static EcdsaVerificationAlgorithm,
        &'static EcdsaSigningAlgorithm,
    ),
    /// Signatures as a DER sequence of two numbers.
    pub(crate) der: (
        &'static EcdsaVerificationAlgorithm,
        &'static EcdsaSigningAlgorithm,
    ),
}

static ALGORITHMS: [(&str, Family); 13] = [
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
    // The salt has the size of the digest (RFC 7518 section 3.5), as is preset there.
    (
        "PS256",
        Family::Rsa(
            &signature::RSA_PSS_2048_8192_SHA256,
            &signature::RSA_PSS_SHA256,
        ),
    ),
    (
        "PS384",
        Family::Rsa(
            &signature::RSA_PSS_2048_8192_SHA384,
            &signature::RSA_PSS_SHA384,
        ),
    ),
    (
        "PS512",
        Family::Rsa(
            &signature::RSA_PSS_2048_8192_SHA512,
            &signature::RSA_PSS_SHA512,
        ),
    ),
    (
        "ES256",
        Family::Ecdsa(Curve {
            name: "P-256",
            coordinate_bytes: 32,
            fixed: (
                &signature::ECDSA_P256_SHA256_FIXED,
                &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            ),
            der: (
                &signature::ECDSA_P256_SHA256_ASN1,
                &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
            ),
        }),
    ),
    (
        "ES384",
        Family::Ecdsa(Curve {
            name: "P-384",
            coordinate_bytes: 48,
            fixed: (
                &signature::ECDSA_P384_SHA384_FIXED,
                &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            ),
            der: (
                &signature::ECDSA_P384_SHA384_ASN1,
                &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            ),
        }),
    ),
    (
        "ES512",
        Family::Ecdsa(Curve {
            name: "P-521",
            coordinate_bytes: 66,
            fixed: (
                &signature::ECDSA_P521_SHA512_FIXED,
                &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
            ),
            der: (
                &signature::ECDSA_P521_SHA512_ASN1,
                &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
            ),
        }),
    ),
    ("EdDSA", Family::Ed25519),
];

impl Algorithm {
    /// Returns the algorithm with this name. `place` is the argument or the member that has it, for the error.
    pub(crate) fn named(name: &str, place: &str) -> Result<Self, Error> {
        let found = Self::all().find(|known| known.name() == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            names::unknown("algorithm", place, name, &known)
        })
    }

    /// Iterates over all that there are.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ALGORITHMS.iter().map(Self)
    }

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        self.0.0
    }

    /// The keys that it takes.
    pub(crate) fn family(self) -> &'static Family {
        &self.0.1
    }
}
