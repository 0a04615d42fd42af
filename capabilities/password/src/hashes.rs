//! Hashes of passwords: Argon2 as PHC strings, and bcrypt.

use crate::hashers::Memory;
use crate::limits::{
    BCRYPT_COST_MAX, BCRYPT_COST_MIN, HASH_BYTES_MAX, MEMORY_KIB_MAX, PASSWORD_BYTES_MAX,
    WORK_KIB_MAX,
};
use argon2::password_hash::phc::{Output, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use bcrypt::HashParts;
use sampan_host::{Error, ErrorKind};

/// The cost of a new hash: the first choice of OWASP's Password Storage Cheat Sheet.
pub(crate) struct Parameters {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl Parameters {
    pub(crate) const CURRENT: Self = Self {
        memory_kib: 19 * 1024,
        passes: 2,
        lanes: 1,
    };
}

/// The number of random bytes that a new hash has as its salt.
const SALT_BYTES: usize = 16;
/// The length of a new hash, in bytes.
const OUTPUT_BYTES: usize = 32;

/// Refuses what is not a password.
pub(crate) fn check(password: &[u8]) -> Result<(), Error> {
    if password.is_empty() {
        return Err(Error::script("the password is empty"));
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(Error::script(format!(
            "the password has {} bytes; at most {PASSWORD_BYTES_MAX} are possible",
            password.len()
        )));
    }
    Ok(())
}

/// A new hash with the current parameters.
pub(crate) fn hash(password: &[u8], memory: &mut Memory) -> Result<String, Error> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt)
        .map_err(|_| Error::new(ErrorKind::Internal, "the system gives no random numbers"))?;
    let Parameters {
        memory_kib,
        passes,
        lanes,
    } = Parameters::CURRENT;
    let params = Params::new(memory_kib, passes, lanes, Some(OUTPUT_BYTES)).map_err(failed)?;
    let mut output = [0; OUTPUT_BYTES];
    fill(
        Algorithm::Argon2id,
        Version::V0x13,
        params.clone(),
        password,
        &salt,
        &mut output,
        memory,
    )?;
    let whole = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: (&params).try_into().map_err(failed)?,
        salt: Some(Salt::new(&salt).map_err(failed)?),
        hash: Some(Output::new(&output).map_err(failed)?),
    };
    Ok(whole.to_string())
}

fn fill(
    algorithm: Algorithm,
    version: Version,
    params: Params,
    password: &[u8],
    salt: &[u8],
    output: &mut [u8],
    memory: &mut Memory,
) -> Result<(), Error> {
    let blocks = params.block_count();
    if memory.len() < blocks {
        memory.resize(blocks, Block::default());
    }
    Argon2::new(algorithm, version, params)
        .hash_password_into_with_memory(password, salt, output, &mut memory[..blocks])
        .map_err(failed)
}

#[cold]
fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot hash: {error}"))
}

/// A hash that was kept.
pub(crate) enum Hash {
    Argon2(Box<Argon2Hash>),
    Bcrypt(String),
}

/// A hash of Argon2.
pub(crate) struct Argon2Hash {
    algorithm: Algorithm,
    version: Version,
    params: Params,
    salt: Salt,
    output: Output,
}

impl Hash {
    /// Reads a hash.
    ///
    /// # Errors
    /// It is none, or one that would take too much time or memory. The message does not show it.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > HASH_BYTES_MAX {
            return Err(no_hash());
        }
        if text.starts_with("$2") {
            let parts: HashParts = text.parse().map_err(|_| no_hash())?;
            if parts.get_cost() < BCRYPT_COST_MIN {
                return Err(no_hash());
            }
            if parts.get_cost() > BCRYPT_COST_MAX {
                return Err(too_costly(format!("a cost of {}", parts.get_cost())));
            }
            return Ok(Self::Bcrypt(text.to_owned()));
        }
        let whole = PasswordHash::new(text).map_err(|_| no_hash())?;
        let algorithm = Algorithm::try_from(whole.algorithm.as_ref()).map_err(|_| no_hash())?;
        let version = whole.version.map_or(Ok(Version::V0x10), Version::try_from);
        let params = Params::try_from(&whole).map_err(|_| no_hash())?;
        let (Ok(version), Some(salt), Some(output)) = (version, whole.salt, whole.hash) else {
            return Err(no_hash());
        };
        let work = u64::from(params.m_cost()) * u64::from(params.t_cost());
        if params.m_cost() > MEMORY_KIB_MAX || work > WORK_KIB_MAX {
            let cost = format!("{} passes over {} KiB", params.t_cost(), params.m_cost());
            return Err(too_costly(cost));
        }
        Ok(Self::Argon2(Box::new(Argon2Hash {
            algorithm,
            version,
            params,
            salt,
            output,
        })))
    }

    /// Reports whether this is the hash of the password.
    pub(crate) fn verify(&self, password: &[u8], memory: &mut Memory) -> Result<bool, Error> {
        match self {
            Self::Argon2(kept) => {
                let mut output = vec![0; kept.output.len()];
                let params = kept.params.clone();
                fill(
                    kept.algorithm,
                    kept.version,
                    params,
                    password,
                    &kept.salt,
                    &mut output,
                    memory,
                )?;
                // `Output` compares in constant time.
                Ok(Output::new(&output).is_ok_and(|output| output == kept.output))
            }
            // Others end the password at a zero byte, so that it would have many.
            Self::Bcrypt(_) if password.contains(&0) => Ok(false),
            Self::Bcrypt(kept) => bcrypt::verify(password, kept).map_err(failed),
        }
    }

    /// Reports whether it was made with these parameters, or stronger ones.
    pub(crate) fn has(&self, parameters: &Parameters) -> bool {
        match self {
            Self::Argon2(kept) => {
                kept.algorithm == Algorithm::Argon2id
                    && kept.version == Version::V0x13
                    && kept.params.m_cost() >= parameters.memory_kib
                    && kept.params.t_cost() >= parameters.passes
                    && kept.output.len() >= OUTPUT_BYTES
                    && kept.salt.len() >= SALT_BYTES
            }
            Self::Bcrypt(_) => false,
        }
    }
}

#[cold]
fn no_hash() -> Error {
    Error::script(
        "the hash is none of Argon2 and none of bcrypt: it must be kept whole, as password.hash gave it",
    )
}

#[cold]
fn too_costly(cost: String) -> Error {
    Error::script(format!("the hash takes too long: it asks for {cost}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(password: &[u8], hash: &str) -> bool {
        let hash = Hash::parse(hash).expect("a hash");
        hash.verify(password, &mut Memory::new()).expect("verified")
    }

    #[test]
    fn a_password_verifies_and_no_other() {
        let mut memory = Memory::new();
        let long = vec![b'x'; 10_000];
        let mut longer = long.clone();
        longer.push(b'y');
        for (password, other) in [
            (&b"correct horse"[..], &b"correct hors"[..]),
            (b"a\0b", b"a\0c"),
            (b"a\0b", b"a"),
            ("größe".as_bytes(), "grosse".as_bytes()),
            (b"\xff\xfe", b"\xff"),
            (&long, &longer),
        ] {
            let hash = hash(password, &mut memory).expect("hashed");
            assert!(
                hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
                "{hash}"
            );
            assert!(verify(password, &hash));
            assert!(!verify(other, &hash));
            assert!(
                Hash::parse(&hash)
                    .expect("a hash")
                    .has(&Parameters::CURRENT)
            );
        }
        check(b"").expect_err("empty");
        check(&vec![b'x'; PASSWORD_BYTES_MAX + 1]).expect_err("too long");
        check(&long).expect("10,000 bytes");
    }

    /// Made by the reference implementation and by `argon2-cffi`, and by `htpasswd` and PHP.
    #[test]
    fn hashes_of_others_verify() {
        for (password, hash) in [
            (
                "password",
                "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            ),
            (
                "password",
                "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA",
            ),
            (
                "U*U",
                "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            ),
        ] {
            assert!(verify(password.as_bytes(), hash), "{hash}");
            assert!(!verify(b"passwore", hash), "{hash}");
            assert!(
                !Hash::parse(hash).expect(hash).has(&Parameters::CURRENT)
                    || hash.contains("argon2id$v=19$m=65536")
            );
        }
    }

    #[test]
    fn bcrypt_reads_72_bytes_and_no_zero_byte() {
        let hash = bcrypt::hash("x".repeat(72), 4).expect("hashed");
        assert!(verify("x".repeat(80).as_bytes(), &hash));
        assert!(!verify("x".repeat(71).as_bytes(), &hash));
        let hash = bcrypt::hash("a", 4).expect("hashed");
        assert!(verify(b"a", &hash));
        assert!(!verify(b"a\0", &hash));
        assert!(!verify(b"a\0a", &hash));
    }

    #[test]
    fn what_is_no_hash_or_too_costly_is_refused() {
        let long = format!("$argon2id${}", "x".repeat(2_000));
        for text in [
            "",
            "secret",
            "$2b$10$short",
            "$2b$03$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ",
            "$argon2id$v=18$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2x$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
            &long,
        ] {
            let fault = Hash::parse(text).err().expect(text);
            assert!(fault.message().contains("none of Argon2"), "{text}");
        }
        for text in [
            "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "$argon2id$v=19$m=65536,t=1000,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        ] {
            let fault = Hash::parse(text).err().expect(text);
            assert!(
                fault.message().contains("takes too long"),
                "{}",
                fault.message()
            );
        }
    }
}
