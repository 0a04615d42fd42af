//! Digests, HMAC, and comparison in constant time.

use crate::names;
use crate::options::bytes_of;
use aws_lc_rs::digest::{self, Algorithm};
use aws_lc_rs::{constant_time, hmac as mac};
use md5::{Digest, Md5};
use sampan_host::{Args, Error, Value};

pub(crate) const SHA256: &Algorithm = &digest::SHA256;
pub(crate) const SHA384: &Algorithm = &digest::SHA384;
pub(crate) const SHA512: &Algorithm = &digest::SHA512;
pub(crate) const SHA1: &Algorithm = &digest::SHA1_FOR_LEGACY_USE_ONLY;

pub(crate) fn digest(algorithm: &'static Algorithm, mut args: Args) -> Result<Value, Error> {
    let digest = digest::digest(algorithm, &bytes_of(args.take(0)));
    Ok(Value::Bytes(digest.as_ref().to_vec()))
}

pub(crate) fn md5(mut args: Args) -> Result<Value, Error> {
    let digest = Md5::digest(bytes_of(args.take(0)));
    Ok(Value::Bytes(digest.to_vec()))
}

pub(crate) fn hmac(mut args: Args) -> Result<Value, Error> {
    let algorithm = match args.text(0).as_str() {
        "sha256" => mac::HMAC_SHA256,
        "sha384" => mac::HMAC_SHA384,
        "sha512" => mac::HMAC_SHA512,
        "sha1" => mac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        other => {
            let known = ["sha256", "sha384", "sha512", "sha1"];
            let place = "argument 1 (algorithm)";
            return Err(names::unknown("algorithm", place, other, &known));
        }
    };
    let key = mac::Key::new(algorithm, &bytes_of(args.take(1)));
    let tag = mac::sign(&key, &bytes_of(args.take(2)));
    Ok(Value::Bytes(tag.as_ref().to_vec()))
}

pub(crate) fn equal(mut args: Args) -> Result<Value, Error> {
    let (a, b) = (bytes_of(args.take(0)), bytes_of(args.take(1)));
    let are_equal = constant_time::verify_slices_are_equal(&a, &b).is_ok();
    Ok(Value::Bool(are_equal))
}
