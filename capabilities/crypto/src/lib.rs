//! Cryptography for scripts, the project's secret keys, and the cookies that need them, over AWS-LC.

mod cookie;
mod digests;
mod keys;
mod limits;
mod random;

pub use keys::{KeySealer, SecretKeys};

use sampan_host::{Function, FunctionKind, Module, Param, Type, Value};

/// The `crypto` table.
pub static MODULE: Module = Module {
    name: "crypto",
    doc: "Digests, signatures, encryption and random bytes.",
    functions: &[
        Function {
            name: "sha256",
            params: &[DATA],
            returns: Type::Bytes,
            doc: "The SHA-256 digest: 32 bytes.",
            kind: FunctionKind::Sync(|_, args| digests::digest(digests::SHA256, args)),
        },
        Function {
            name: "sha384",
            params: &[DATA],
            returns: Type::Bytes,
            doc: "The SHA-384 digest: 48 bytes.",
            kind: FunctionKind::Sync(|_, args| digests::digest(digests::SHA384, args)),
        },
        Function {
            name: "sha512",
            params: &[DATA],
            returns: Type::Bytes,
            doc: "The SHA-512 digest: 64 bytes.",
            kind: FunctionKind::Sync(|_, args| digests::digest(digests::SHA512, args)),
        },
        Function {
            name: "sha1",
            params: &[DATA],
            returns: Type::Bytes,
            doc: "The SHA-1 digest: 20 bytes. Only for old protocols that ask for it: it is broken.",
            kind: FunctionKind::Sync(|_, args| digests::digest(digests::SHA1, args)),
        },
        Function {
            name: "md5",
            params: &[DATA],
            returns: Type::Bytes,
            doc: "The MD5 digest: 16 bytes. Only for old protocols that ask for it: it is broken.",
            kind: FunctionKind::Sync(|_, args| digests::md5(args)),
        },
        Function {
            name: "hmac",
            params: &[
                Param {
                    name: "algorithm",
                    ty: Type::Text,
                    optional: false,
                    doc: "`\"sha256\"`, `\"sha384\"`, `\"sha512\"`, or for old protocols `\"sha1\"`.",
                },
                KEY,
                DATA,
            ],
            returns: Type::Bytes,
            doc: "The HMAC of data. Compare it by `crypto.equal`.",
            kind: FunctionKind::Sync(|_, args| digests::hmac(args)),
        },
        Function {
            name: "equal",
            params: &[
                Param {
                    name: "a",
                    ty: Type::Bytes,
                    optional: false,
                    doc: "Bytes or text.",
                },
                Param {
                    name: "b",
                    ty: Type::Bytes,
                    optional: false,
                    doc: "Bytes or text.",
                },
            ],
            returns: Type::Bool,
            doc: "Whether two secrets are equal. The time it takes depends on their length only, so it tells nobody where they differ.",
            kind: FunctionKind::Sync(|_, args| digests::equal(args)),
        },
        Function {
            name: "random_bytes",
            params: &[COUNT],
            returns: Type::Bytes,
            doc: "Random bytes that nobody can guess.",
            kind: FunctionKind::Sync(|_, args| random::bytes(&args)),
        },
        Function {
            name: "token",
            params: &[Param {
                optional: true,
                doc: "How many random bytes it has: 32 unless given, 16 to 1024.",
                ..COUNT
            }],
            returns: Type::Text,
            doc: "A random text that nobody can guess, for links and keys: letters, digits, `-` and `_`.",
            kind: FunctionKind::Sync(|_, args| random::token(&args)),
        },
    ],
    request_methods: cookie::METHODS,
    ..Module::EMPTY
};

const DATA: Param = Param {
    name: "data",
    ty: Type::Bytes,
    optional: false,
    doc: "Bytes, or text as UTF-8.",
};

const KEY: Param = Param {
    name: "key",
    ty: Type::Bytes,
    optional: false,
    doc: "Bytes, or text as UTF-8.",
};

const COUNT: Param = Param {
    name: "count",
    ty: Type::Int,
    optional: false,
    doc: "How many: 1 to 65536.",
};

/// The bytes of an argument of [`Type::Bytes`].
pub(crate) fn bytes_of(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}
