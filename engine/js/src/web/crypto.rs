//! Random values, digests and HMAC (Web Crypto) by RustCrypto and the operating system's generator.

use super::bytes::{self, PackedBytes};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rquickjs::{Ctx, Exception, Function, Object, Result, TypedArray};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The most that one call asks of the generator: getRandomValues and generated keys stop there.
const RANDOM_BYTES_MAX: usize = 65_536;

/// Adds `random`, `uuid`, `digest`, `hmacSign`, `hmacVerify`, `base64urlEncode` and `base64urlDecode`.
pub(super) fn register(table: &Object<'_>) -> Result<()> {
    let ctx = table.ctx();
    table.set("random", Function::new(ctx.clone(), random)?)?;
    table.set("uuid", Function::new(ctx.clone(), uuid)?)?;
    table.set("digest", Function::new(ctx.clone(), digest)?)?;
    table.set("hmacSign", Function::new(ctx.clone(), hmac_sign)?)?;
    table.set("hmacVerify", Function::new(ctx.clone(), hmac_verify)?)?;
    table.set(
        "base64urlEncode",
        Function::new(ctx.clone(), base64url_encode)?,
    )?;
    table.set(
        "base64urlDecode",
        Function::new(ctx.clone(), base64url_decode)?,
    )
}

fn random<'js>(ctx: Ctx<'js>, length: usize) -> Result<TypedArray<'js, u8>> {
    let mut buffer = vec![0; length.min(RANDOM_BYTES_MAX)];
    fill(&ctx, &mut buffer)?;
    bytes::to_js(&ctx, &buffer)
}

/// Random bytes from the operating system.
pub(super) fn fill(ctx: &Ctx<'_>, buffer: &mut [u8]) -> Result<()> {
    getrandom::fill(buffer)
        .map_err(|error| Exception::throw_internal(ctx, &format!("no random numbers: {error}")))
}

/// A random UUID (RFC 9562, section 5.4).
fn uuid(ctx: Ctx<'_>) -> Result<String> {
    let mut bits = [0; 16];
    fill(&ctx, &mut bits)?;
    bits[6] = (bits[6] & 0x0f) | 0x40;
    bits[8] = (bits[8] & 0x3f) | 0x80;
    let hex: String = bits.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-"))
}

fn digest<'js>(ctx: Ctx<'js>, hash: String, data: PackedBytes) -> Result<TypedArray<'js, u8>> {
    let data = &data.0;
    match hash.as_str() {
        "SHA-1" => bytes::to_js(&ctx, &Sha1::digest(data)),
        "SHA-256" => bytes::to_js(&ctx, &Sha256::digest(data)),
        "SHA-384" => bytes::to_js(&ctx, &Sha384::digest(data)),
        "SHA-512" => bytes::to_js(&ctx, &Sha512::digest(data)),
        _ => Err(unknown(&ctx, &hash)),
    }
}

fn hmac_sign<'js>(
    ctx: Ctx<'js>,
    hash: String,
    key: PackedBytes,
    data: PackedBytes,
) -> Result<TypedArray<'js, u8>> {
    let (key, data) = (&key.0, &data.0);
    let tag = match hash.as_str() {
        "SHA-1" => sign::<Hmac<Sha1>>(key, data),
        "SHA-256" => sign::<Hmac<Sha256>>(key, data),
        "SHA-384" => sign::<Hmac<Sha384>>(key, data),
        "SHA-512" => sign::<Hmac<Sha512>>(key, data),
        _ => None,
    };
    match tag {
        Some(tag) => bytes::to_js(&ctx, &tag),
        None => Err(unknown(&ctx, &hash)),
    }
}

fn sign<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
    mac.update(data);
    Some(mac.finalize().into_bytes().to_vec())
}

fn hmac_verify(
    ctx: Ctx<'_>,
    hash: String,
    key: PackedBytes,
    signature: PackedBytes,
    data: PackedBytes,
) -> Result<bool> {
    let (key, signature, data) = (&key.0, &signature.0, &data.0);
    match hash.as_str() {
        "SHA-1" => Ok(verify::<Hmac<Sha1>>(key, signature, data)),
        "SHA-256" => Ok(verify::<Hmac<Sha256>>(key, signature, data)),
        "SHA-384" => Ok(verify::<Hmac<Sha384>>(key, signature, data)),
        "SHA-512" => Ok(verify::<Hmac<Sha512>>(key, signature, data)),
        _ => Err(unknown(&ctx, &hash)),
    }
}

/// Compares in constant time (`verify_slice`): how long it takes says nothing about where a forgery differs.
fn verify<M: Mac + KeyInit>(key: &[u8], signature: &[u8], data: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else {
        return false;
    };
    mac.update(data);
    mac.verify_slice(signature).is_ok()
}

fn unknown(ctx: &Ctx<'_>, hash: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, &format!("unknown hash {hash}"))
}

fn base64url_encode(data: PackedBytes) -> String {
    URL_SAFE_NO_PAD.encode(data.0)
}

fn base64url_decode<'js>(ctx: Ctx<'js>, text: String) -> Result<Option<TypedArray<'js, u8>>> {
    let decoded = URL_SAFE_NO_PAD.decode(text).ok();
    decoded
        .map(|decoded| bytes::to_js(&ctx, &decoded))
        .transpose()
}
