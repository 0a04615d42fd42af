//! Keys of tokens, each with the algorithms that it is for.

use crate::limits::JWT_KEYS_MAX;
use crate::options;
use crate::signing::{self, Algorithm, Jwk, Material, Operation, is_jwk};
use sampan_host::{Error, Value};

/// A key.
pub(super) struct Key {
    /// The algorithms that it may be used with.
    algorithms: Vec<Algorithm>,
    /// The key id in tokens.
    pub(super) kid: Option<String>,
    material: Material,
}

impl Key {
    /// Reads the key that signs a token.
    pub(super) fn that_signs(given: Value) -> Result<(Algorithm, Self), Error> {
        let key = Self::read(given, Operation::Sign, None)?;
        match key.algorithms.first() {
            Some(algorithm) => Ok((*algorithm, key)),
            None => Err(needs_algorithm()),
        }
    }

    /// Reads the keys that verify a token: one, a list of them, or a JWK Set. `accepted` are the caller's algorithms.
    pub(super) fn all_that_verify(
        given: Value,
        accepted: Option<&[Algorithm]>,
    ) -> Result<Vec<Self>, Error> {
        if let Some(set) = set(&given)? {
            return permitted(Self::read_set(set, accepted)?, accepted);
        }
        let keys = match given {
            Value::List(keys) => keys,
            key => vec![key],
        };
        check_count(keys.len())?;
        let read = |key| Self::read(key, Operation::Verify, accepted);
        let keys: Result<_, Error> = keys.into_iter().map(read).collect();
        permitted(keys?, accepted)
    }

    /// Reads a JWK Set. Keys that are not supported, not for signatures or malformed are left out (RFC 7517 section 5).
    fn read_set(set: &[Value], accepted: Option<&[Algorithm]>) -> Result<Vec<Self>, Error> {
        check_count(set.len())?;
        let (mut keys, mut fault) = (Vec::new(), None);
        for one in set {
            let read = Self::read_jwk(one, Operation::Verify, accepted);
            match read.and_then(Self::that_can_verify) {
                Ok(key) => keys.push(key),
                Err(error) => fault = Some(error),
            }
        }
        match fault {
            Some(fault) if keys.is_empty() => {
                let text = format!("no key of the JWK Set can be used: {}", fault.message());
                Err(fault.with_message(text))
            }
            _ => Ok(keys),
        }
    }

    /// Checks that the public key can be used: a point may not be on its curve, for example.
    fn that_can_verify(self) -> Result<Self, Error> {
        if let Some(algorithm) = self.algorithms.first() {
            self.material.check_public(*algorithm)?;
        }
        Ok(self)
    }

    /// Reads a key as scripts give it: a JWK, or `{ algorithm = "HS256", key = "...", kid = "1" }`.
    fn read(
        given: Value,
        operation: Operation,
        accepted: Option<&[Algorithm]>,
    ) -> Result<Self, Error> {
        if is_jwk(&given) {
            return Self::read_jwk(&given, operation, accepted);
        }
        if !matches!(given, Value::Map(_)) {
            return Err(Error::script(
                "a key of a token must have its algorithm beside it, such as { algorithm = \"HS256\", key = secret }, \
                 or be a JWK",
            ));
        }
        let (mut algorithm, mut kid, mut key) = (None, None, None);
        for (name, value) in options::members(given, &["algorithm", "key", "kid"])? {
            match (name.as_str(), value) {
                ("algorithm", Value::Text(name)) => {
                    algorithm = Some(Algorithm::named(&name, "algorithm")?);
                }
                ("kid", Value::Text(text)) => kid = Some(text),
                ("key", value @ (Value::Text(_) | Value::Bytes(_))) => key = Some(value),
                ("key", value) if is_jwk(&value) => key = Some(value),
                ("key", _) => {
                    let text = "key must be a string, bytes, or a JWK with its kty";
                    return Err(Error::script(text));
                }
                (name, _) => return Err(Error::script(format!("{name} must be a string"))),
            }
        }
        let (Some(algorithm), Some(key)) = (algorithm, key) else {
            return Err(needs_algorithm());
        };
        if kid.is_none()
            && let Some(Value::Text(text)) = key.get("kid")
        {
            kid = Some(text.clone());
        }
        Ok(Self {
            algorithms: vec![algorithm],
            kid,
            material: signing::key_for(algorithm, key, operation)?,
        })
    }

    /// Reads a JWK. Its algorithms are the one that it names, or those of the caller that fit it. Without both its type
    /// must leave no choice, as curves do. So no token chooses how a key is used.
    fn read_jwk(
        given: &Value,
        operation: Operation,
        accepted: Option<&[Algorithm]>,
    ) -> Result<Self, Error> {
        let Jwk {
            kid,
            algorithm,
            material,
        } = Jwk::read(given, operation)?;
        let algorithms = match algorithm {
            Some(algorithm) => vec![algorithm],
            None => Algorithm::all().filter(|one| material.fits(*one)).collect(),
        };
        if accepted.is_none() && algorithms.len() > 1 {
            let names: Vec<&str> = algorithms.iter().map(|one| one.name()).collect();
            let names = names.join(", ");
            return Err(Error::script(match operation {
                Operation::Sign => format!(
                    "the JWK has no alg: give {{ algorithm = ..., key = jwk }} with one of {names}"
                ),
                Operation::Verify => format!(
                    "the JWK has no alg: name those of {names} that you accept in the option algorithms"
                ),
            }));
        }
        Ok(Self {
            algorithms,
            kid,
            material,
        })
    }

    /// Returns the algorithm with this name, if the key may be used with it.
    pub(super) fn algorithm(&self, name: &str) -> Option<Algorithm> {
        let mut algorithms = self.algorithms.iter().copied();
        algorithms.find(|algorithm| algorithm.name() == name)
    }

    /// A signature of these bytes.
    pub(super) fn sign(&self, algorithm: Algorithm, data: &[u8]) -> Result<Vec<u8>, Error> {
        self.material.sign(algorithm, data, false)
    }

    /// Reports whether this key made the signature of these bytes.
    pub(super) fn verify(
        &self,
        algorithm: Algorithm,
        data: &[u8],
        signature: &[u8],
    ) -> Result<bool, Error> {
        self.material.verify(algorithm, data, signature, false)
    }
}

/// Returns the keys of a JWK Set; `None` if this is none.
fn set(given: &Value) -> Result<Option<&[Value]>, Error> {
    if is_jwk(given) {
        return Ok(None);
    }
    match given.get("keys") {
        None => Ok(None),
        Some(Value::List(keys)) => Ok(Some(keys)),
        // An empty table is a list too.
        Some(Value::Map(none)) if none.is_empty() => Ok(Some(&[])),
        Some(_) => Err(Error::script("keys of a JWK Set must be a list of JWKs")),
    }
}

/// Keeps the algorithms of keys that the caller accepts too.
///
/// # Errors
/// None is left: no token could be valid.
fn permitted(mut keys: Vec<Key>, accepted: Option<&[Algorithm]>) -> Result<Vec<Key>, Error> {
    let Some(accepted) = accepted else {
        return Ok(keys);
    };
    let is_own = |name: &&str| keys.iter().any(|key| key.algorithm(name).is_some());
    let names = Algorithm::all().map(Algorithm::name);
    let own: Vec<&str> = names.filter(is_own).collect();
    let is_accepted = |one: &Algorithm| accepted.iter().any(|other| other.name() == one.name());
    for key in &mut keys {
        key.algorithms.retain(is_accepted);
    }
    if keys.iter().all(|key| key.algorithms.is_empty()) {
        let accepted: Vec<&str> = accepted.iter().map(|one| one.name()).collect();
        return Err(Error::script(format!(
            "no token can be valid: the keys are for {}, and the option algorithms accepts {}",
            own.join(", "),
            accepted.join(", ")
        )));
    }
    Ok(keys)
}

fn check_count(count: usize) -> Result<(), Error> {
    match (1..=JWT_KEYS_MAX).contains(&count) {
        true => Ok(()),
        false => Err(Error::script(format!(
            "there must be 1 to {JWT_KEYS_MAX} keys, not {count}"
        ))),
    }
}

#[cold]
fn needs_algorithm() -> Error {
    Error::script("a key of a token needs algorithm and key")
}
