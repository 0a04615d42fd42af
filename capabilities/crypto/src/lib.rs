//! Cryptography for scripts, the project's secret keys, and the cookies that need them, over AWS-LC.

mod capability;
mod cipher;
mod cookie;
mod digests;
mod ed25519;
mod jwt;
mod keys;
mod limits;
mod options;
mod pem;
mod random;
mod settings;

pub use capability::CAPABILITY;
pub use keys::{KeySealer, SecretKeys};
pub use settings::SECTION;

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
            doc: "Whether two secrets are equal. The time it takes depends on their length only, so it tells nobody \
             where they differ.",
            kind: FunctionKind::Sync(|_, args| digests::equal(args)),
        },
        Function {
            name: "random_bytes",
            params: &[COUNT],
            returns: Type::Bytes,
            doc: "Random bytes that cannot be guessed.",
            kind: FunctionKind::Sync(|_, args| random::bytes(&args)),
        },
        Function {
            name: "token",
            params: &[Param {
                optional: true,
                doc: "The number of random bytes: 32 unless given, 16 to 1024.",
                ..COUNT
            }],
            returns: Type::Text,
            doc: "A random text that cannot be guessed, for links and keys: letters, digits, `-` and `_`.",
            kind: FunctionKind::Sync(|_, args| random::token(&args)),
        },
        Function {
            name: "seal",
            params: &[
                DATA,
                PURPOSE,
                Param {
                    name: "options",
                    ty: Type::Map,
                    optional: true,
                    doc: "`max_age`: how many seconds it can be opened; for ever unless given.",
                },
            ],
            returns: Type::Text,
            doc: "Encrypts data with the project's secret keys, so that a client can keep it. The text has letters, \
             digits, `-` and `_`.",
            kind: FunctionKind::Sync(cipher::seal),
        },
        Function {
            name: "open",
            params: &[
                Param {
                    name: "text",
                    ty: Type::Text,
                    optional: false,
                    doc: "What `crypto.seal` gave.",
                },
                PURPOSE,
            ],
            returns: Type::BytesOrNothing,
            doc: "The data of a sealed text. Nothing if it was changed, sealed by other keys or for another purpose, \
             or if its `max_age` has passed.",
            kind: FunctionKind::Sync(cipher::open),
        },
        Function {
            name: "encrypt",
            params: &[DATA, AES_KEY, EXTRA],
            returns: Type::Bytes,
            doc: "Encrypts data with AES-256-GCM: a random nonce of 12 bytes, the encrypted data, a tag of 16 bytes. \
             One key is good for 2^32 calls.",
            kind: FunctionKind::Sync(|_, args| cipher::encrypt(args)),
        },
        Function {
            name: "decrypt",
            params: &[
                Param {
                    doc: "What `crypto.encrypt` gave.",
                    ..DATA
                },
                AES_KEY,
                EXTRA,
            ],
            returns: Type::BytesOrNothing,
            doc: "The data again. Nothing if anything was changed, or the key or `extra` is another.",
            kind: FunctionKind::Sync(|_, args| cipher::decrypt(args)),
        },
        Function {
            name: "ed25519_keypair",
            params: &[],
            returns: Type::Record(&[("private_key", Type::Text), ("public_key", Type::Text)]),
            doc: "A new pair of keys that sign and verify, as PEM texts.",
            kind: FunctionKind::Sync(|_, _| ed25519::keypair()),
        },
        Function {
            name: "ed25519_sign",
            params: &[
                DATA,
                Param {
                    name: "private_key",
                    doc: "A PEM text, or 32 bytes.",
                    ..KEY
                },
            ],
            returns: Type::Bytes,
            doc: "The signature of data: 64 bytes.",
            kind: FunctionKind::Sync(|_, args| ed25519::sign(args)),
        },
        Function {
            name: "ed25519_verify",
            params: &[
                DATA,
                Param {
                    name: "signature",
                    ty: Type::Bytes,
                    optional: false,
                    doc: "The signature.",
                },
                Param {
                    name: "public_key",
                    doc: "A PEM text, or 32 bytes.",
                    ..KEY
                },
            ],
            returns: Type::Bool,
            doc: "Whether the key's other half signed this data.",
            kind: FunctionKind::Sync(|_, args| ed25519::verify(args)),
        },
        Function {
            name: "jwt_sign",
            params: &[
                Param {
                    name: "claims",
                    ty: Type::Json,
                    optional: false,
                    doc: "The claims of the token: `{ sub = \"7\" }`.",
                },
                Param {
                    name: "key",
                    ty: Type::Map,
                    optional: false,
                    doc: "`algorithm`: `HS256`, `HS384`, `HS512`, `RS256`, `RS384`, `RS512`, `ES256`, `ES384`, \
                     `ES512` or `EdDSA`. `key`: a secret \
                          of 32 bytes at least for HS, else a private key as a PEM text. `kid`: what the token calls \
                           it.",
                },
                Param {
                    name: "options",
                    ty: Type::Map,
                    optional: true,
                    doc: "`expires_in`: how many seconds it is valid; writes `iat` and `exp`.",
                },
            ],
            returns: Type::Text,
            doc: "A JSON Web Token.",
            kind: FunctionKind::Sync(|_, args| jwt::sign(args)),
        },
        Function {
            name: "jwt_verify",
            params: &[
                Param {
                    name: "token",
                    ty: Type::Text,
                    optional: false,
                    doc: "What the client sent.",
                },
                Param {
                    name: "keys",
                    ty: Type::Any,
                    optional: false,
                    doc: "A key as in `crypto.jwt_sign`, with a public key as a PEM text for RS, ES and EdDSA; or a \
                     list of keys.",
                },
                Param {
                    name: "options",
                    ty: Type::Map,
                    optional: true,
                    doc: "`audience` and `issuer`: a name, or a list of accepted ones. `leeway`: how many seconds \
                     clocks may differ, 0 unless given.",
                },
            ],
            returns: Type::Any,
            doc: "The claims of a token. One that does not count is an error that answers 401, with a `code`: \
             `jwt_malformed`, `jwt_key`, \
                  `jwt_algorithm`, `jwt_signature`, `jwt_expired`, `jwt_not_yet_valid`, `jwt_audience`, `jwt_issuer`. \
                   A token for an audience is \
                  refused unless `audience` names it.",
            kind: FunctionKind::Sync(|_, args| jwt::verify(args)),
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

const PURPOSE: Param = Param {
    name: "purpose",
    ty: Type::Text,
    optional: false,
    doc: "What it is for: `\"unsubscribe\"`. A text that was sealed for another purpose does not open.",
};

const AES_KEY: Param = Param {
    doc: "32 bytes, as `crypto.random_bytes(32)` gives them.",
    ..KEY
};

const EXTRA: Param = Param {
    name: "extra",
    ty: Type::Bytes,
    optional: true,
    doc: "Bytes that are not part of the result, but must be the same again to decrypt.",
};

const COUNT: Param = Param {
    name: "count",
    ty: Type::Int,
    optional: false,
    doc: "The number of bytes: 1 to 65536.",
};

/// The bytes of an argument of [`Type::Bytes`].
pub(crate) fn bytes_of(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}
