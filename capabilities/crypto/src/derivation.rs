//! Keys that are made from others: HKDF (RFC 5869) and PBKDF2 (RFC 8018 section 5.2).

use crate::keys::Length;
use crate::limits::{
    DERIVATION_THREADS_MAX, DERIVATIONS_WAITING_MAX, HKDF_BLOCKS_MAX, KDF_INPUT_BYTES_MAX,
    PBKDF2_BYTES_MAX, PBKDF2_ITERATIONS_MAX,
};
use crate::names;
use crate::options::{self, bytes_of};
use aws_lc_rs::{hkdf, pbkdf2};
use sampan_host::low_priority::{LongWork, LowPriorityThreads};
use sampan_host::{Args, Context, Error, LocalFuture, Value};
use std::num::NonZeroU32;
use std::sync::LazyLock;

/// The threads of the process that derive keys from passwords: PBKDF2 takes long by intent.
static DERIVERS: LazyLock<LowPriorityThreads<()>> = LazyLock::new(|| {
    LowPriorityThreads::new(LongWork {
        name: "sampan-derive",
        threads_max: DERIVATION_THREADS_MAX,
        waiting_max: DERIVATIONS_WAITING_MAX,
        waiting: "keys wait to be derived",
        lost: "a key was not derived",
    })
});

/// The size of a key where the script names none, in bytes.
const LENGTH: usize = 32;

/// A digest, as both functions know it.
struct Hash {
    name: &'static str,
    bytes: usize,
    hkdf: hkdf::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

static HASHES: [Hash; 4] = [
    Hash {
        name: "sha256",
        bytes: 32,
        hkdf: hkdf::HKDF_SHA256,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256,
    },
    Hash {
        name: "sha384",
        bytes: 48,
        hkdf: hkdf::HKDF_SHA384,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA384,
    },
    Hash {
        name: "sha512",
        bytes: 64,
        hkdf: hkdf::HKDF_SHA512,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512,
    },
    Hash {
        name: "sha1",
        bytes: 20,
        hkdf: hkdf::HKDF_SHA1_FOR_LEGACY_USE_ONLY,
        pbkdf2: pbkdf2::PBKDF2_HMAC_SHA1,
    },
];

impl Hash {
    fn named(name: &str) -> Result<&'static Self, Error> {
        let found = HASHES.iter().find(|hash| hash.name == name);
        found.ok_or_else(|| {
            let known = HASHES.each_ref().map(|hash| hash.name);
            names::unknown("hash", "argument 1 (hash)", name, &known)
        })
    }
}

/// The options of both functions.
#[derive(Default)]
struct Given {
    salt: Option<Vec<u8>>,
    info: Vec<u8>,
    length: Option<usize>,
    iterations: Option<u32>,
}

impl Given {
    /// Reads the options, of which these are `known`.
    fn read(given: Value, known: &[&str], length_max: usize) -> Result<Self, Error> {
        let mut all = Self::default();
        for (name, value) in options::members(given, known)? {
            match name.as_str() {
                _ if value == Value::Null => {}
                "salt" => all.salt = Some(input(&name, value)?),
                "info" => all.info = input(&name, value)?,
                "length" => all.length = Some(whole(&name, &value, 1, length_max as u32)? as usize),
                _ => all.iterations = Some(whole(&name, &value, 1, PBKDF2_ITERATIONS_MAX)?),
            }
        }
        Ok(all)
    }
}

/// `crypto.hkdf`.
pub(crate) fn hkdf(mut args: Args) -> Result<Value, Error> {
    let hash = Hash::named(&args.text(0))?;
    let key = input("the key", args.take(1))?;
    // Such a key is a missing one, and everybody could derive from it.
    if key.is_empty() {
        return Err(Error::script("the key is empty"));
    }
    let length_max = HKDF_BLOCKS_MAX * hash.bytes;
    let given = Given::read(args.take(2), &["salt", "info", "length"], length_max)?;
    let salt = given.salt.unwrap_or_default();
    let length = given.length.unwrap_or(LENGTH);
    expand(hash, &key, &salt, &given.info, length).map(Value::Bytes)
}

fn expand(
    hash: &Hash,
    key: &[u8],
    salt: &[u8],
    info: &[u8],
    length: usize,
) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; length];
    let secret = hkdf::Salt::new(hash.hkdf, salt).extract(key);
    let filled = secret
        .expand(&[info], Length(length))
        .and_then(|material| material.fill(&mut out));
    filled.map_err(|_| Error::script("the key cannot be derived"))?;
    Ok(out)
}

/// `crypto.pbkdf2`.
pub(crate) fn pbkdf2(_: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let work = pbkdf2_work(&mut args);
    Box::pin(async move {
        let work = work?;
        let key = DERIVERS.run(move |()| Ok(work())).await?;
        Ok(Value::Bytes(key))
    })
}

/// Reads the arguments, and returns the work for a thread.
fn pbkdf2_work(args: &mut Args) -> Result<impl FnOnce() -> Vec<u8> + Send + use<>, Error> {
    let hash = Hash::named(&args.text(0))?;
    let password = input("the password", args.take(1))?;
    let known = ["salt", "iterations", "length"];
    let given = Given::read(args.take(2), &known, PBKDF2_BYTES_MAX)?;
    let Some(salt) = given.salt else {
        return Err(Error::script(
            "crypto.pbkdf2 needs the option salt: bytes that are kept beside the result",
        ));
    };
    let Some(iterations) = given.iterations.and_then(NonZeroU32::new) else {
        return Err(Error::script(
            "crypto.pbkdf2 needs the option iterations, such as 600000",
        ));
    };
    let length = given.length.unwrap_or(LENGTH);
    // Each block of the result takes all iterations.
    let blocks = length.div_ceil(hash.bytes);
    if iterations.get() as usize * blocks > PBKDF2_ITERATIONS_MAX as usize {
        return Err(Error::script(format!(
            "{iterations} iterations for each of {blocks} blocks are too many: all together may be \
             {PBKDF2_ITERATIONS_MAX}, and a block of {} has {} bytes",
            hash.name, hash.bytes
        )));
    }
    Ok(move || {
        let mut out = vec![0; length];
        pbkdf2::derive(hash.pbkdf2, iterations, &salt, &password, &mut out);
        out
    })
}

/// Reads bytes or text.
fn input(name: &str, given: Value) -> Result<Vec<u8>, Error> {
    if !matches!(given, Value::Text(_) | Value::Bytes(_)) {
        return Err(Error::script(format!("{name} must be a string or bytes")));
    }
    let bytes = bytes_of(given);
    match bytes.len() <= KDF_INPUT_BYTES_MAX {
        true => Ok(bytes),
        false => Err(Error::script(format!(
            "{name} has {} bytes; at most {KDF_INPUT_BYTES_MAX} are possible",
            bytes.len()
        ))),
    }
}

/// Reads a whole number.
fn whole(name: &str, given: &Value, min: u32, max: u32) -> Result<u32, Error> {
    let number = match given {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    };
    let is_whole = number.fract() == 0.0 && (f64::from(min)..=f64::from(max)).contains(&number);
    match is_whole {
        true => Ok(number as u32),
        false => Err(Error::script(format!(
            "{name} must be a whole number from {min} to {max}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes_of_hex as hex;

    fn named(name: &str) -> &'static Hash {
        Hash::named(name).expect("a hash")
    }

    /// RFC 5869 appendix A, test cases 1 to 4 and 7.
    #[test]
    fn hkdf_gives_the_keys_of_the_rfc() {
        let count = |from: u8, to: u8| (from..=to).collect::<Vec<u8>>();
        let (salt, info) = (count(0x00, 0x0c), count(0xf0, 0xf9));
        let okm = expand(named("sha256"), &[0x0b; 22], &salt, &info, 42).expect("a key");
        assert_eq!(
            okm,
            hex(
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
            )
        );
        let okm = expand(
            named("sha256"),
            &count(0x00, 0x4f),
            &count(0x60, 0xaf),
            &count(0xb0, 0xff),
            82,
        );
        assert_eq!(
            okm.expect("a key"),
            hex(
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09\
                 da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
            )
        );
        let okm = expand(named("sha256"), &[0x0b; 22], b"", b"", 42).expect("a key");
        assert_eq!(
            okm,
            hex(
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
            )
        );
        let okm = expand(named("sha1"), &[0x0b; 11], &salt, &info, 42).expect("a key");
        assert_eq!(
            okm,
            hex(
                "085a01ea1b10f36933068b56efa5ad81a4f14b822f5b091568a9cdd4f155fda2c22e422478d305f3f896"
            )
        );
        let okm = expand(named("sha1"), &[0x0c; 22], b"", b"", 42).expect("a key");
        assert_eq!(
            okm,
            hex(
                "2c91117204d745f3500d636a62f64f0ab3bae548aa53d423b0d1f27ebba6f5e5673a081d70cce7acfc48"
            )
        );
    }

    fn derived(
        hash: &str,
        password: &[u8],
        salt: &[u8],
        iterations: u32,
        length: usize,
    ) -> Vec<u8> {
        let mut out = vec![0; length];
        let iterations = NonZeroU32::new(iterations).expect("some");
        pbkdf2::derive(named(hash).pbkdf2, iterations, salt, password, &mut out);
        out
    }

    /// RFC 6070 section 2, and RFC 7914 section 11.
    #[test]
    fn pbkdf2_gives_the_keys_of_the_rfcs() {
        for (password, salt, iterations, key) in [
            (
                "password",
                "salt",
                1,
                "0c60c80f961f0e71f3a9b524af6012062fe037a6",
            ),
            (
                "password",
                "salt",
                2,
                "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957",
            ),
            (
                "password",
                "salt",
                4096,
                "4b007901b765489abead49d926f721d065a429c1",
            ),
            (
                "passwordPASSWORDpassword",
                "saltSALTsaltSALTsaltSALTsaltSALTsalt",
                4096,
                "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
            ),
            (
                "pass\0word",
                "sa\0lt",
                4096,
                "56fa6aa75548099dcc37d7f03425e0c3",
            ),
        ] {
            let key = hex(key);
            let found = derived(
                "sha1",
                password.as_bytes(),
                salt.as_bytes(),
                iterations,
                key.len(),
            );
            assert_eq!(found, key, "{password:?}");
        }
        for (password, salt, iterations, key) in [
            (
                "passwd",
                "salt",
                1,
                "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
                 49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
            ),
            (
                "Password",
                "NaCl",
                80_000,
                "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56\
                 a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d",
            ),
        ] {
            let found = derived(
                "sha256",
                password.as_bytes(),
                salt.as_bytes(),
                iterations,
                64,
            );
            assert_eq!(found, hex(key), "{password:?}");
        }
    }

    #[test]
    fn work_without_bounds_is_refused() {
        let fault = |password: Value, options: &[(&str, Value)]| {
            let options = options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()));
            let values = vec!["sha256".into(), password, Value::Map(options.collect())];
            let row = crate::MODULE.functions.iter();
            let row = row.clone().find(|row| row.name == "pbkdf2").expect("a row");
            let mut args = Args::check("crypto", row, values).expect("arguments");
            match pbkdf2_work(&mut args) {
                Ok(_) => "none".to_owned(),
                Err(error) => error.message().to_owned(),
            }
        };
        let salt = ("salt", Value::from("salt"));
        let with =
            |name, value: i64| [salt.clone(), ("iterations", 1.into()), (name, value.into())];
        assert_eq!(fault("p".into(), &with("length", 64)), "none");
        assert!(fault("p".into(), &[]).contains("the option salt"));
        assert!(fault("p".into(), std::slice::from_ref(&salt)).contains("the option iterations"));
        for number in [0, -1, i64::from(PBKDF2_ITERATIONS_MAX) + 1] {
            let text = fault("p".into(), &with("iterations", number));
            assert!(text.contains("iterations must be a whole number"), "{text}");
        }
        for number in [0, 1025] {
            let text = fault("p".into(), &with("length", number));
            assert_eq!(text, "length must be a whole number from 1 to 1024");
        }
        let most = i64::from(PBKDF2_ITERATIONS_MAX);
        let two_blocks = [
            salt.clone(),
            ("iterations", most.into()),
            ("length", 33.into()),
        ];
        assert!(fault("p".into(), &two_blocks).contains("2 blocks are too many"));
        let long = Value::Bytes(vec![0; KDF_INPUT_BYTES_MAX + 1]);
        assert!(fault(long, &[salt]).contains("at most 65536"));
    }
}
