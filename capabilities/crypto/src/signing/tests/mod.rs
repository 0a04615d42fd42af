//! Signatures by `crypto.sign` and `crypto.verify`, against the examples of RFCs.

pub(crate) mod vectors;

use super::{sign, verify};
use crate::{bytes_of_hex as hex, pem};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sampan_host::{Args, Error, Value};
use vectors::*;

fn call(name: &str, values: Vec<Value>) -> Args {
    let mut rows = crate::MODULE.functions.iter();
    let row = rows.find(|row| row.name == name).expect("a row");
    Args::check("crypto", row, values).expect("arguments")
}

fn der() -> Value {
    Value::Map(vec![("der".to_owned(), true.into())])
}

fn signed(algorithm: &str, key: Value, data: &str, options: Value) -> Result<Vec<u8>, Error> {
    let given = vec![algorithm.into(), key, data.into(), options];
    match sign(call("sign", given))? {
        Value::Bytes(bytes) => Ok(bytes),
        other => panic!("{other:?}"),
    }
}

fn verified(
    algorithm: &str,
    key: Value,
    data: &str,
    signature: &[u8],
    options: Value,
) -> Result<bool, Error> {
    let signature = Value::Bytes(signature.to_vec());
    let given = vec![algorithm.into(), key, data.into(), signature, options];
    match verify(call("verify", given))? {
        Value::Bool(is_valid) => Ok(is_valid),
        other => panic!("{other:?}"),
    }
}

/// Verifies with the usual form of signatures.
fn holds(algorithm: &str, key: Value, data: &str, signature: &[u8]) -> bool {
    verified(algorithm, key, data, signature, Value::Null).expect("a key")
}

fn fault<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "none".to_owned(),
        Err(error) => error.message().to_owned(),
    }
}

fn bytes(base64url: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(base64url).expect("base64url")
}

/// RFC 7515 appendix A.2.
#[test]
fn rs256_is_that_of_the_rfc() {
    let signature = bytes(RS256_SIGNATURE);
    let made = signed("RS256", value(RSA_PRIVATE), RS256_DATA, Value::Null);
    assert_eq!(made.expect("signed"), signature);
    for key in [
        value(RSA_PUBLIC),
        value(RSA_PRIVATE),
        with(RSA_PUBLIC, "alg", "RS256"),
        with(RSA_PUBLIC, "x5c", Value::List(Vec::new())),
        RSA_CERTIFICATE.into(),
        format!("{RSA_CERTIFICATE}{EC_CERTIFICATE}").into(),
    ] {
        assert!(holds("RS256", key.clone(), RS256_DATA, &signature));
        assert!(!holds("RS256", key.clone(), "other", &signature));
        assert!(!holds(
            "PS256",
            with(RSA_PUBLIC, "alg", Value::Null),
            RS256_DATA,
            &signature
        ));
        assert!(!holds("RS256", key, RS256_DATA, &signature[1..]));
    }
    for name in ["RS384", "RS512", "PS256", "PS384", "PS512"] {
        let made = signed(name, value(RSA_PRIVATE), "data", Value::Null).expect("signed");
        assert!(holds(name, value(RSA_PUBLIC), "data", &made), "{name}");
        assert!(!holds("RS256", value(RSA_PUBLIC), "data", &made), "{name}");
    }
}

/// RFC 7515 appendix A.3.
#[test]
fn es256_is_that_of_the_rfc_in_both_forms() {
    let (fixed, sequence) = (bytes(ES256_SIGNATURE), bytes(ES256_SIGNATURE_DER));
    for key in [value(EC_PRIVATE), EC_CERTIFICATE.into()] {
        let holds = |signature: &[u8], options: Value| {
            let key = key.clone();
            verified("ES256", key, ES256_DATA, signature, options).expect("a key")
        };
        assert!(holds(&fixed, Value::Null));
        assert!(holds(&sequence, der()));
        assert!(!holds(&fixed, der()));
        assert!(!holds(&sequence, Value::Null));
    }
    for (options, other) in [(Value::Null, der()), (der(), Value::Null)] {
        let key = || value(EC_PRIVATE);
        let made = signed("ES256", key(), "data", options.clone()).expect("signed");
        let holds = |options| verified("ES256", key(), "data", &made, options).expect("a key");
        assert!(holds(options));
        assert!(!holds(other));
    }
}

/// RFC 7520 section 4.2.
#[test]
fn ps384_is_that_of_the_rfc() {
    let signature = bytes(PS384_SIGNATURE);
    assert!(holds("PS384", value(PS384_KEY), PS384_DATA, &signature));
    assert!(!holds("RS384", value(PS384_KEY), PS384_DATA, &signature));
    assert!(!holds("PS256", value(PS384_KEY), PS384_DATA, &signature));
}

/// RFC 8037 appendix A.4.
#[test]
fn eddsa_is_that_of_the_rfc() {
    let signature = bytes(EDDSA_SIGNATURE);
    let made = signed("EdDSA", value(ED_PRIVATE), EDDSA_DATA, Value::Null);
    assert_eq!(made.expect("signed"), signature);
    for key in [
        value(ED_PRIVATE),
        with(ED_PRIVATE, "d", Value::Null),
        ED_CERTIFICATE.into(),
    ] {
        assert!(holds("EdDSA", key.clone(), EDDSA_DATA, &signature));
        assert!(!holds("EdDSA", key, "other", &signature));
    }
    let other = with(
        ED_PRIVATE,
        "x",
        "iF5E3R8DNd4GA56cQmdL79rqs1ZCYdzgO3jM4V7sY7Y",
    );
    let text = fault(signed("EdDSA", other, "data", Value::Null));
    assert!(text.contains("private key of Ed25519"), "{text}");
    let neutral = with(ED_PRIVATE, "x", format!("AQ{}", "A".repeat(41)));
    let text = fault(verified("EdDSA", neutral, "data", &signature, Value::Null));
    assert!(text.contains("not of small order"), "{text}");
}

/// AWS-LC ignores bytes behind the DER form of a key.
#[test]
fn a_key_of_small_order_is_refused_also_with_bytes_behind_it() {
    let mut forged = [0; 64];
    forged[0] = 1;
    for behind in [&[][..], &[0x55; 32]] {
        let mut der = hex("302a300506032b6570032100");
        der.extend([&[1][..], &[0; 31], behind].concat());
        let key = pem::encode("PUBLIC KEY", &der);
        let text = fault(verified("EdDSA", key.into(), "any", &forged, Value::Null));
        assert!(text.contains("not of small order"), "{text}");
    }
}

#[test]
fn swapped_arguments_are_not_repeated_in_errors() {
    let key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END PRIVATE KEY-----";
    let text = fault(signed(key, "EdDSA".into(), "data", Value::Null));
    let wanted = "argument 1 (algorithm) does not name a known algorithm; there is \"HS256\"";
    assert!(text.starts_with(wanted), "{text}");
    let key = with(RSA_PUBLIC, "alg", key);
    let text = fault(verified("RS256", key, "data", b"signature", Value::Null));
    let wanted = "alg of the JWK does not name a known algorithm; there is \"HS256\"";
    assert!(text.starts_with(wanted), "{text}");
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let refuse = |name: &str, key: Value, wanted: &str| {
        let text = fault(verified(name, key, "data", b"signature", Value::Null));
        assert!(text.contains(wanted), "{text}");
    };
    let rsa = || value(RSA_PUBLIC);
    refuse("RS257", rsa(), "is not known; there is \"HS256\"");
    refuse("HS256", rsa(), "use crypto.hmac");
    refuse("ES256", rsa(), "of a type or curve that is not for ES256");
    refuse(
        "ES384",
        value(EC_PRIVATE),
        "of a type or curve that is not for ES384",
    );
    refuse(
        "RS256",
        EC_CERTIFICATE.into(),
        "RS256 needs a PEM text of a public key",
    );
    refuse(
        "ES256",
        RSA_CERTIFICATE.into(),
        "ES256 needs a PEM text of a public key",
    );
    refuse(
        "EdDSA",
        RSA_CERTIFICATE.into(),
        "EdDSA needs a PEM text of a public key",
    );
    refuse(
        "RS256",
        "no key".into(),
        "RS256 needs a PEM text of a public key",
    );
    refuse("RS256", Value::Null, "is it missing?");
    refuse(
        "PS256",
        with(RSA_PUBLIC, "alg", "RS256"),
        "is for RS256, not for PS256",
    );
    refuse(
        "RS256",
        with(RSA_PUBLIC, "alg", "RSA-OAEP"),
        "alg of the JWK does not name a known algorithm",
    );
    refuse(
        "RS256",
        with(RSA_PUBLIC, "alg", "HS256"),
        "names HS256, which is not for its type",
    );
    refuse(
        "RS256",
        with(RSA_PUBLIC, "use", "enc"),
        "its use is \"enc\"",
    );
    let operations = |name: &str| Value::List(vec![name.into()]);
    refuse(
        "RS256",
        with(RSA_PUBLIC, "key_ops", operations("sign")),
        "key_ops without \"verify\"",
    );
    refuse(
        "RS256",
        with(RSA_PUBLIC, "key_ops", "verify"),
        "key_ops without \"verify\"",
    );
    refuse("RS256", with(RSA_PUBLIC, "kty", "rsa"), "the type \"rsa\"");
    refuse(
        "RS256",
        with(RSA_PUBLIC, "kty", 1),
        "kty, which must be a string",
    );
    refuse("RS256", with(RSA_PUBLIC, "n", Value::Null), "lacks n");
    refuse(
        "RS256",
        with(RSA_PUBLIC, "n", "AQ=="),
        "n, which must be base64url",
    );
    refuse(
        "RS256",
        with(RSA_PUBLIC, "n", "A".repeat(1400)),
        "of 1 to 1024 bytes",
    );
    refuse(
        "ES256",
        with(EC_PRIVATE, "x", "AQAB"),
        "x with 3 bytes instead of 32",
    );
    refuse(
        "ES256",
        with(EC_PRIVATE, "crv", "secp256k1"),
        "the curve \"secp256k1\"",
    );
    refuse(
        "EdDSA",
        with(ED_PRIVATE, "crv", "Ed448"),
        "the curve \"Ed448\"",
    );
    // A point that is not on the curve.
    let moved = with(
        EC_PRIVATE,
        "y",
        "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    );
    refuse("ES256", moved, "ES256 needs a PEM text of a public key");
    let text = fault(signed("RS256", rsa(), "data", Value::Null));
    assert!(
        text.contains("RS256 needs a PEM text of a private key of RSA"),
        "{text}"
    );
    let text = fault(signed(
        "RS256",
        with(RSA_PRIVATE, "qi", Value::Null),
        "data",
        Value::Null,
    ));
    assert!(text.contains("lacks qi"), "{text}");
    let key = with(RSA_PRIVATE, "key_ops", operations("verify"));
    let text = fault(signed("RS256", key, "data", Value::Null));
    assert!(text.contains("key_ops without \"sign\""), "{text}");
    let text = fault(signed("RS256", value(RSA_PRIVATE), "data", der()));
    assert!(text.contains("der is for ES256"), "{text}");
}
