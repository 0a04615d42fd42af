//! Cryptography for scripts, the project's secret keys, the cookies that need them, tokens, webhooks and the codes of
//! authenticator apps, over AWS-LC.

mod capability;
mod cipher;
mod cookie;
mod derivation;
mod digests;
mod ed25519;
mod jwt;
mod keys;
mod limits;
mod names;
mod options;
mod pem;
mod random;
mod requests;
mod settings;
mod signing;
mod totp;
mod webhooks;

pub use capability::CAPABILITY;
pub use keys::{KeySealer, SecretKeys};
pub use settings::SECTION;

use requests::{WEBHOOK_OPTIONS, WEBHOOK_SCHEME, WEBHOOK_SECRETS};
use sampan_host::{FunctionKind, Module, Param, Type, param, row};

/// The `crypto` table.
pub static MODULE: Module = Module {
    name: "crypto",
    doc: "Digests, signatures, encryption and random bytes.",
    functions: &[
        row!("sha256"(DATA) -> Type::Bytes, FunctionKind::Sync(|_, args| digests::digest(digests::SHA256, args)),
            "The SHA-256 digest: 32 bytes."),
        row!("sha384"(DATA) -> Type::Bytes, FunctionKind::Sync(|_, args| digests::digest(digests::SHA384, args)),
            "The SHA-384 digest: 48 bytes."),
        row!("sha512"(DATA) -> Type::Bytes, FunctionKind::Sync(|_, args| digests::digest(digests::SHA512, args)),
            "The SHA-512 digest: 64 bytes."),
        row!("sha1"(DATA) -> Type::Bytes, FunctionKind::Sync(|_, args| digests::digest(digests::SHA1, args)),
            "The SHA-1 digest: 20 bytes. Only for old protocols that ask for it: it is broken."),
        row!("md5"(DATA) -> Type::Bytes, FunctionKind::Sync(|_, args| digests::md5(args)),
            "The MD5 digest: 16 bytes. Only for old protocols that ask for it: it is broken."),
        row!("hmac"(
                param!("algorithm": Type::Text,
                    "`\"sha256\"`, `\"sha384\"`, `\"sha512\"`, or for old protocols `\"sha1\"`."),
                KEY,
                DATA,
            ) -> Type::Bytes, FunctionKind::Sync(|_, args| digests::hmac(args)),
            "The HMAC of data. Compare it by `crypto.equal`."),
        row!("equal"(
                param!("a": Type::Bytes, "Bytes or text."),
                param!("b": Type::Bytes, "Bytes or text."),
            ) -> Type::Bool, FunctionKind::Sync(|_, args| digests::equal(args)),
            "Whether two secrets are equal. The time it takes depends on their length only, so it does not tell \
             where they differ."),
        row!("random_bytes"(COUNT) -> Type::Bytes, FunctionKind::Sync(|_, args| random::bytes(&args)),
            "Random bytes that cannot be guessed."),
        row!("token"(
                Param {
                    optional: true,
                    doc: "The number of random bytes: 32 unless given, 16 to 1024.",
                    ..COUNT
                },
            ) -> Type::Text, FunctionKind::Sync(|_, args| random::token(&args)),
            "A random text that cannot be guessed, for links and keys: letters, digits, `-` and `_`."),
        row!("seal"(
                DATA,
                PURPOSE,
                param!("options"? Type::Map, "`max_age`: how many seconds it can be opened; for ever unless given."),
            ) -> Type::Text, FunctionKind::Sync(cipher::seal),
            "Encrypts data with the project's secret keys, so that a client can keep it. The text has letters, digits, \
             `-` and `_`."),
        row!("open"(
                param!("text": Type::Text, "What `crypto.seal` gave."),
                PURPOSE,
            ) -> Type::BytesOrNothing, FunctionKind::Sync(cipher::open),
            "The data of a sealed text. Nothing if it was changed, sealed by other keys or for another purpose, or if \
             its `max_age` has passed."),
        row!("encrypt"(DATA, AES_KEY, EXTRA) -> Type::Bytes, FunctionKind::Sync(|_, args| cipher::encrypt(args)),
            "Encrypts data with AES-256-GCM: a random nonce of 12 bytes, the encrypted data, a tag of 16 bytes. One \
             key is good for 2^32 calls."),
        row!("decrypt"(
                Param {
                    doc: "What `crypto.encrypt` gave.",
                    ..DATA
                },
                AES_KEY,
                EXTRA,
            ) -> Type::BytesOrNothing, FunctionKind::Sync(|_, args| cipher::decrypt(args)),
            "The data again. Nothing if anything was changed, or the key or `extra` is another."),
        row!("ed25519_keypair"() -> Type::Record(&[("private_key", Type::Text), ("public_key", Type::Text)]),
            FunctionKind::Sync(|_, _| ed25519::keypair()),
            "A new pair of keys that sign and verify, as PEM texts."),
        row!("ed25519_sign"(
                DATA,
                Param {
                    name: "private_key",
                    doc: "A PEM text, or 32 bytes.",
                    ..KEY
                },
            ) -> Type::Bytes, FunctionKind::Sync(|_, args| ed25519::sign(args)),
            "The signature of data: 64 bytes."),
        row!("ed25519_verify"(
                DATA,
                param!("signature": Type::Bytes, "The signature."),
                Param {
                    name: "public_key",
                    doc: "A PEM text, or 32 bytes.",
                    ..KEY
                },
            ) -> Type::Bool, FunctionKind::Sync(|_, args| ed25519::verify(args)),
            "Whether the key's other half signed this data."),
        row!("sign"(
                SIGNATURE_ALGORITHM,
                param!("key": Type::Any, "A private key: a PEM text, or a JWK. For `EdDSA` also 32 bytes."),
                DATA,
                DER,
            ) -> Type::Bytes, FunctionKind::Sync(|_, args| signing::sign(args)),
            "The signature of data by RSA, ECDSA or Ed25519."),
        row!("verify"(
                SIGNATURE_ALGORITHM,
                param!("key": Type::Any,
                    "A public key: a PEM text \"PUBLIC KEY\" or \"CERTIFICATE\", or a JWK. For `EdDSA` also 32 bytes. \
                     Of a certificate only the key is used: neither its dates nor who issued it are checked."),
                DATA,
                param!("signature": Type::Bytes, "The signature."),
                DER,
            ) -> Type::Bool, FunctionKind::Sync(|_, args| signing::verify(args)),
            "True if the key's other half signed this data by this algorithm."),
        row!("hkdf"(
                HASH,
                Param {
                    doc: "A key that cannot be guessed, not empty. For a password there is `crypto.pbkdf2`.",
                    ..KEY
                },
                param!("options"? Type::Map,
                    "`salt` and `info`: bytes or text, empty unless given; keys of another `info` are independent. \
                     `length`: the number of bytes, 32 unless given."),
            ) -> Type::Bytes, FunctionKind::Sync(|_, args| derivation::hkdf(args)),
            "A key that is derived from another by HKDF."),
        row!("pbkdf2"(
                HASH,
                param!("password": Type::Bytes, "The password, as bytes or text."),
                param!("options": Type::Map,
                    "`salt`: bytes or text. `iterations`: 1 to 5000000, for all blocks of the digest's size in the \
                     result together. `length`: the number of bytes, 32 unless given, 1024 at most."),
            ) -> Type::Bytes, FunctionKind::Async(derivation::pbkdf2),
            "A key that is derived from a password by PBKDF2, on a thread of its own. It is for other systems that ask \
             for it: passwords of users are for the module `password`. Long derivations delay the others: limit the \
             rate of a route that has one."),
        row!("totp_secret"() -> Type::Text, FunctionKind::Sync(|_, _| totp::secret()),
            "A new secret for an authenticator app: 20 random bytes in base32. Keep it sealed, by `crypto.seal`."),
        row!("totp_uri"(
                param!("names": Type::Map,
                    "`secret`: what `crypto.totp_secret` gave. `account`: the user, such as a mail address. `issuer`: \
                     the name of your app."),
            ) -> Type::Text, FunctionKind::Sync(|_, args| totp::uri(args)),
            "The `otpauth:` URI of a secret. Shown as a QR code, an authenticator app can read it."),
        row!("totp_verify"(
                param!("secret": Type::Text, "What `crypto.totp_secret` gave."),
                param!("code": Type::Text, "The six digits that the user typed."),
                param!("options"? Type::Map,
                    "`after`: what this function returned the last time; codes that are not newer do not count. \
                     `window`: how many codes before and after the current one count too, 1 unless given, 10 at most. \
                     `time`: seconds since 1970, now unless given."),
            ) -> Type::Any, FunctionKind::Sync(|_, args| totp::verify(args)),
            "The number of the code's 30 seconds, which grows with time, if the code is right; else nothing. Keep the \
             number for `after`, so that a code counts once."),
        row!("jwt_sign"(
                param!("claims": Type::Json, "The claims of the token: `{ sub = \"7\" }`."),
                param!("key": Type::Map,
                    "`algorithm`: `HS256`, `HS384`, `HS512`, `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, \
                     `ES256`, `ES384`, `ES512` or `EdDSA`. `key`: a secret of 32 bytes at least for HS, else a private \
                     key as a PEM text, or a JWK. `kid`: what the token calls it. A JWK with its `alg` can stand for \
                     all of it."),
                param!("options"? Type::Map, "`expires_in`: how many seconds it is valid; writes `iat` and `exp`."),
            ) -> Type::Text, FunctionKind::Sync(|_, args| jwt::sign(args)),
            "A JSON Web Token."),
        row!("jwt_verify"(
                param!("token": Type::Text, "What the client sent."),
                param!("keys": Type::Any,
                    "A key as in `crypto.jwt_sign`, with a public key for RS, PS, ES and EdDSA: a PEM text, also of a \
                     certificate, or a JWK; a list of keys; or a JWK Set, of which keys that are not for signatures \
                     or cannot be read are left out."),
                param!("options"? Type::Map,
                    "`algorithms`: the only ones that are accepted; needed for a JWK without `alg` of the type RSA or \
                     oct. `audience` and `issuer`: a name, or a list of accepted ones. `leeway`: how many seconds \
                     clocks may differ, 0 unless given."),
            ) -> Type::Any, FunctionKind::Sync(|_, args| jwt::verify(args)),
            "The claims of a token. One that does not count is an error that answers 401, with a `code`: \
             `jwt_malformed`, `jwt_key`, `jwt_algorithm`, `jwt_signature`, `jwt_expired`, `jwt_not_yet_valid`, \
             `jwt_audience`, `jwt_issuer`. A token for an audience is refused unless `audience` names it."),
        row!("jwt_decode"(param!("token": Type::Text, "A token from anybody."))
                -> Type::Record(&[("header", Type::Map), ("claims", Type::Map)]),
            FunctionKind::Sync(|_, args| jwt::decode(args)),
            "Header and claims of a token WITHOUT any check, neither of its signature nor of its times. Everybody can \
             write such a token: use this to look, or to choose a key, and `crypto.jwt_verify` to trust. A text that \
             is no token is an error that answers 401, with the `code` `jwt_malformed`."),
        row!("verify_webhook"(
                WEBHOOK_SCHEME,
                WEBHOOK_SECRETS,
                param!("body": Type::Bytes, "The body as it was sent, before it is parsed."),
                param!("headers": Type::Map, "The header fields, by their names in any case."),
                WEBHOOK_OPTIONS,
            ) -> Type::Nothing, FunctionKind::Sync(webhooks::verify),
            "Checks that another service signed a webhook. For one that does not count it is an error that answers \
             401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`. `req:verify_webhook` \
             takes body and header fields from a request."),
    ],
    request_methods: requests::METHODS,
    ..Module::EMPTY
};

const SIGNATURE_ALGORITHM: Param = param!("algorithm": Type::Text,
    "`RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512` or `EdDSA`.");

const DER: Param = param!("options"? Type::Map,
    "`der = true`: a signature of ES is a DER sequence, as OpenSSL writes it. Without it, it is two numbers of a fixed \
     size, as in tokens.");

const HASH: Param = param!("hash": Type::Text,
    "`\"sha256\"`, `\"sha384\"`, `\"sha512\"`, or for old protocols `\"sha1\"`.");

const DATA: Param = param!("data": Type::Bytes, "Bytes, or text as UTF-8.");

const KEY: Param = param!("key": Type::Bytes, "Bytes, or text as UTF-8.");

const PURPOSE: Param = param!("purpose": Type::Text,
    "What it is for: `\"unsubscribe\"`. A text that was sealed for another purpose does not open.");

const AES_KEY: Param = Param {
    doc: "32 bytes, as `crypto.random_bytes(32)` gives them.",
    ..KEY
};

const EXTRA: Param = param!("extra"? Type::Bytes,
    "Bytes that are not part of the result, but must be the same again to decrypt.");

const COUNT: Param = param!("count": Type::Int, "The number of bytes: 1 to 65536.");

/// The bytes of hexadecimal digits, for vectors of tests.
#[cfg(test)]
pub(crate) fn bytes_of_hex(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}
