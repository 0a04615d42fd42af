//! Limits of this capability.

/// The shortest secret key of a project, in characters: 32 of base64 are 192 bits.
pub(crate) const KEY_CHARS_MIN: usize = 32;
/// The most secret keys of a project: each is tried for what does not open.
pub(crate) const KEYS_MAX: usize = 16;
/// The most purposes for which derived keys are kept.
pub(crate) const PURPOSES_MAX: usize = 256;
/// The most random bytes of one call.
pub(crate) const RANDOM_BYTES_MAX: usize = 65_536;
/// The default number of random bytes of a token.
pub(crate) const TOKEN_BYTES: usize = 32;
/// The fewest random bytes of a token: 128 bits cannot be guessed.
pub(crate) const TOKEN_BYTES_MIN: usize = 16;
/// The most random bytes of a token.
pub(crate) const TOKEN_BYTES_MAX: usize = 1024;
/// The longest JSON Web Token that is read, in bytes.
pub(crate) const JWT_BYTES_MAX: usize = 65_536;
/// The maximum depth of its JSON.
pub(crate) const JWT_DEPTH_MAX: usize = 32;
/// The most keys that one verification may try.
pub(crate) const JWT_KEYS_MAX: usize = 32;
/// The shortest secret of a token, in bytes (RFC 7518 section 3.2).
pub(crate) const JWT_SECRET_BYTES_MIN: usize = 32;
/// The most secrets that one webhook is checked with.
pub(crate) const WEBHOOK_SECRETS_MAX: usize = 16;
/// The most signatures of one webhook that are looked at.
pub(crate) const WEBHOOK_SIGNATURES_MAX: usize = 32;
/// The most signatures by Ed25519 of one webhook that are looked at. Each takes a digest of the whole body.
pub(crate) const WEBHOOK_PUBLIC_SIGNATURES_MAX: usize = 4;
/// The most that the time of a webhook may differ, in seconds: one day.
pub(crate) const WEBHOOK_TOLERANCE_SECONDS_MAX: f64 = 86_400.0;
/// The largest number of an RSA key in a JWK, in bytes: 8192 bits.
pub(crate) const JWK_RSA_BYTES_MAX: usize = 1024;
/// The longest secret in a JWK, in bytes.
pub(crate) const JWK_SECRET_BYTES_MAX: usize = 1024;
/// The longest key, password, salt or info of HKDF and PBKDF2, in bytes.
pub(crate) const KDF_INPUT_BYTES_MAX: usize = 65_536;
/// The most blocks that HKDF makes, each of the size of a digest (RFC 5869 section 2.3).
pub(crate) const HKDF_BLOCKS_MAX: usize = 255;
/// The longest key of PBKDF2, in bytes.
pub(crate) const PBKDF2_BYTES_MAX: usize = 1024;
/// The most iterations of PBKDF2, of all blocks together: some seconds of a thread.
pub(crate) const PBKDF2_ITERATIONS_MAX: u32 = 5_000_000;
/// The most threads that derive keys.
pub(crate) const DERIVATION_THREADS_MAX: usize = 4;
/// The most derivations of keys that may wait for a thread.
pub(crate) const DERIVATIONS_WAITING_MAX: usize = 256;
/// The shortest secret of TOTP that is taken, in bytes: other services gave such.
pub(crate) const TOTP_SECRET_BYTES_MIN: usize = 10;
/// The longest secret of TOTP, in bytes.
pub(crate) const TOTP_SECRET_BYTES_MAX: usize = 128;
/// The most steps before and after the current one whose codes count: five minutes.
pub(crate) const TOTP_WINDOW_MAX: u32 = 10;
/// The longest name of an account or issuer, in bytes.
pub(crate) const TOTP_NAME_BYTES_MAX: usize = 256;
