//! Keys in the form of JSON: a JWK (RFC 7517, RFC 7518 section 6, RFC 8037).

use super::algorithms::{Algorithm, Curve, Family};
use super::material::Material;
use crate::limits::{JWK_RSA_BYTES_MAX, JWK_SECRET_BYTES_MAX};
use aws_lc_rs::rsa::KeyPairComponents;
use aws_lc_rs::signature::RsaPublicKeyComponents;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sampan_host::{Error, Value};

/// The number of bytes of an Ed25519 key, and of its private half.
const ED25519_BYTES: usize = 32;

/// The mark of a point with both coordinates (SEC 1 section 2.3.3).
const UNCOMPRESSED: u8 = 4;

/// The use of a key.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Sign,
    Verify,
}

impl Operation {
    /// The name in `key_ops` (RFC 7517 section 4.3).
    fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Verify => "verify",
        }
    }
}

/// A key with what it says about itself.
pub(crate) struct Jwk {
    /// The key id.
    pub(crate) kid: Option<String>,
    /// The only algorithm that it is for, if it names one.
    pub(crate) algorithm: Option<Algorithm>,
    /// The key.
    pub(crate) material: Material,
}

/// Reports whether a value is meant as a JWK.
pub(crate) fn is_jwk(given: &Value) -> bool {
    given.get("kty").is_some()
}

impl Jwk {
    /// Reads a JWK for this use. Members that are not known are ignored (RFC 7517 section 4).
    ///
    /// # Errors
    /// A kind or algorithm that is not supported, a key for another use, or a member that is missing or malformed.
    pub(crate) fn read(given: &Value, operation: Operation) -> Result<Self, Error> {
        check_use(given, operation)?;
        let material = match text(given, "kty")? {
            Some("oct") => {
                let secret = bytes(given, "k", JWK_SECRET_BYTES_MAX)?;
                Material::secret("a JWK of the type oct", secret)?
            }
            Some("RSA") => rsa(given)?,
            Some("EC") => ec(given)?,
            Some("OKP") => okp(given)?,
            other => {
                return Err(fault(format!(
                    "has the type {:?}; there is \"RSA\", \"EC\", \"OKP\" and \"oct\"",
                    other.unwrap_or_default()
                )));
            }
        };
        let named = |name| Algorithm::named(name, "alg of the JWK");
        let algorithm = text(given, "alg")?.map(named).transpose()?;
        if let Some(algorithm) = algorithm
            && !material.fits(algorithm)
        {
            let name = algorithm.name();
            return Err(fault(format!("names {name}, which is not for its type")));
        }
        Ok(Self {
            kid: text(given, "kid")?.map(str::to_owned),
            algorithm,
            material,
        })
    }
}

/// Checks that a key is for signatures: `use` and `key_ops` (RFC 7517 sections 4.2 and 4.3).
fn check_use(given: &Value, operation: Operation) -> Result<(), Error> {
    if let Some(given) = text(given, "use")?
        && given != "sig"
    {
        return Err(fault(format!(
            "is not for signatures: its use is {given:?}"
        )));
    }
    let is_ours = match given.get("key_ops") {
        None | Some(Value::Null) => true,
        Some(Value::List(all)) => all
            .iter()
            .any(|one| matches!(one, Value::Text(name) if name == operation.name())),
        Some(_) => false,
    };
    match is_ours {
        true => Ok(()),
        false => Err(fault(format!(
            "has key_ops without \"{}\"",
            operation.name()
        ))),
    }
}

fn rsa(given: &Value) -> Result<Material, Error> {
    let number = |name| {
        let digits = bytes(given, name, JWK_RSA_BYTES_MAX)?;
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        Ok::<_, Error>(digits[zeros..].to_vec())
    };
    let public = RsaPublicKeyComponents {
        n: number("n")?,
        e: number("e")?,
    };
    if given.get("oth").is_some() {
        return Err(fault("has more than two primes".to_owned()));
    }
    let private = match text(given, "d")? {
        None => None,
        Some(_) => Some(Box::new(KeyPairComponents {
            public_key: public.clone(),
            d: number("d")?,
            p: number("p")?,
            q: number("q")?,
            dP: number("dp")?,
            dQ: number("dq")?,
            qInv: number("qi")?,
        })),
    };
    Ok(Material::Rsa { public, private })
}

fn ec(given: &Value) -> Result<Material, Error> {
    let name = text(given, "crv")?.unwrap_or_default();
    let curve = curve(name).ok_or_else(|| {
        fault(format!(
            "has the curve {name:?}; there is \"P-256\", \"P-384\" and \"P-521\""
        ))
    })?;
    // Coordinates have their full size, also if they begin with zeros (RFC 7518 section 6.2.1.2).
    let coordinate = |name| exactly(given, name, curve.coordinate_bytes);
    let mut point = vec![UNCOMPRESSED];
    point.extend(coordinate("x")?);
    point.extend(coordinate("y")?);
    let private = text(given, "d")?.map(|_| coordinate("d")).transpose()?;
    Ok(Material::Ec {
        curve,
        point,
        private,
    })
}

fn okp(given: &Value) -> Result<Material, Error> {
    let name = text(given, "crv")?.unwrap_or_default();
    if name != "Ed25519" {
        return Err(fault(format!(
            "has the curve {name:?}; there is \"Ed25519\""
        )));
    }
    let key = |name| exactly(given, name, ED25519_BYTES);
    Ok(Material::Ed25519 {
        public: key("x")?,
        private: text(given, "d")?.map(|_| key("d")).transpose()?,
    })
}

fn curve(name: &str) -> Option<&'static Curve> {
    Algorithm::all().find_map(|algorithm| match algorithm.family() {
        Family::Ecdsa(curve) if curve.name == name => Some(curve),
        _ => None,
    })
}

/// Returns a member that is a string; `None` if it is absent.
fn text<'a>(given: &'a Value, name: &str) -> Result<Option<&'a str>, Error> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(_) => Err(fault(format!("has {name}, which must be a string"))),
    }
}

/// Returns the bytes of a member in base64url.
fn bytes(given: &Value, name: &str, bytes_max: usize) -> Result<Vec<u8>, Error> {
    let Some(text) = text(given, name)? else {
        return Err(fault(format!("lacks {name}")));
    };
    let is_short = text.len() <= bytes_max.div_ceil(3) * 4;
    let decoded = is_short
        .then(|| URL_SAFE_NO_PAD.decode(text).ok())
        .flatten();
    let decoded = decoded.filter(|bytes| (1..=bytes_max).contains(&bytes.len()));
    decoded.ok_or_else(|| {
        fault(format!(
            "has {name}, which must be base64url without padding, of 1 to {bytes_max} bytes"
        ))
    })
}

/// Returns the bytes of a member that has a fixed size.
fn exactly(given: &Value, name: &str, count: usize) -> Result<Vec<u8>, Error> {
    let found = bytes(given, name, count)?;
    match found.len() == count {
        true => Ok(found),
        false => Err(fault(format!(
            "has {name} with {} bytes instead of {count}",
            found.len()
        ))),
    }
}

#[cold]
fn fault(what: String) -> Error {
    Error::script(format!("the JWK {what}"))
}
