//! Keys of tokens: which of them a token may be signed by, and with which algorithm.

use super::{decode, sign, verify};
use crate::signing::tests::vectors::*;
use sampan_host::{Args, Error, Value};

fn call(name: &str, values: Vec<Value>) -> Args {
    let mut rows = crate::MODULE.functions.iter();
    let row = rows.find(|row| row.name == name).expect("a row");
    Args::check("crypto", row, values).expect("arguments")
}

fn signed(key: Value) -> Result<String, Error> {
    let claims = r#"{"sub":"7"}"#;
    match sign(call("jwt_sign", vec![claims.into(), key]))? {
        Value::Text(token) => Ok(token),
        other => panic!("{other:?}"),
    }
}

/// Returns `accepted`, or the code of the refusal, or the message of an error of the script.
fn outcome(token: &str, keys: Value, options: Value) -> String {
    match verify(call("jwt_verify", vec![token.into(), keys, options])) {
        Ok(claims) => {
            assert_eq!(claims.get("sub"), Some(&Value::from("7")));
            "accepted".to_owned()
        }
        Err(error) => match error.details() {
            Some(details) => details.code.to_string(),
            None => error.message().to_owned(),
        },
    }
}

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::List(items.into_iter().collect())
}

fn set(keys: impl IntoIterator<Item = Value>) -> Value {
    Value::Map(vec![("keys".to_owned(), list(keys))])
}

fn algorithms(names: &[&str]) -> Value {
    let names = list(names.iter().map(|name| Value::from(*name)));
    Value::Map(vec![("algorithms".to_owned(), names)])
}

fn chosen(algorithm: &str, key: Value) -> Value {
    Value::Map(vec![
        ("algorithm".to_owned(), algorithm.into()),
        ("key".to_owned(), key),
    ])
}

/// The key of RFC 7515 appendix A.1.
const OCT: &str = concat!(
    r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-"#,
    r#"1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#,
);

#[test]
fn a_jwk_with_its_algorithm_signs_and_verifies() {
    for (private, algorithm) in [
        (RSA_PRIVATE, "RS256"),
        (RSA_PRIVATE, "PS512"),
        (EC_PRIVATE, "ES256"),
        (ED_PRIVATE, "EdDSA"),
        (OCT, "HS512"),
    ] {
        let key = with(private, "alg", algorithm);
        let token = signed(key.clone()).expect("signed");
        assert_eq!(
            outcome(&token, key.clone(), Value::Null),
            "accepted",
            "{algorithm}"
        );
        let keys = list([key.clone()]);
        assert_eq!(outcome(&token, keys, algorithms(&[algorithm])), "accepted");
        let text = outcome(&token, key, algorithms(&["RS512", "RS384"]));
        let wanted = format!(
            "no token can be valid: the keys are for {algorithm}, and the option algorithms accepts RS512, RS384"
        );
        assert_eq!(text, wanted);
        let by_caller = chosen(algorithm, value(private));
        assert_eq!(
            outcome(&token, by_caller, Value::Null),
            "accepted",
            "{algorithm}"
        );
    }
}

#[test]
fn a_type_without_choice_needs_no_algorithm_and_others_do() {
    for (key, algorithm) in [(EC_PRIVATE, "ES256"), (ED_PRIVATE, "EdDSA")] {
        let token = signed(value(key)).expect("signed");
        assert_eq!(
            outcome(&token, value(key), Value::Null),
            "accepted",
            "{algorithm}"
        );
    }
    for key in [RSA_PRIVATE, OCT] {
        let error = signed(value(key)).expect_err("no algorithm");
        assert!(
            error.message().contains("the JWK has no alg"),
            "{}",
            error.message()
        );
    }
    let token = signed(chosen("RS256", value(RSA_PRIVATE))).expect("signed");
    for keys in [value(RSA_PUBLIC), set([value(RSA_PUBLIC)])] {
        let text = outcome(&token, keys.clone(), Value::Null);
        assert!(text.contains("accept in the option algorithms"), "{text}");
        let accepted = |names| outcome(&token, keys.clone(), algorithms(names));
        assert_eq!(accepted(&["RS256"]), "accepted");
        assert_eq!(accepted(&["ES256", "RS256"]), "accepted");
        assert_eq!(accepted(&["RS512", "HS256"]), "jwt_algorithm");
        assert!(accepted(&["none"]).contains("does not name a known algorithm"));
    }
}

#[test]
fn a_token_chooses_the_key_of_a_set_by_its_kid_and_never_the_algorithm() {
    let keys = || {
        set([
            with(PS384_KEY, "alg", "RS256"),
            value(r#"{"kty":"RSA","use":"enc","kid":"a","n":"AQAB","e":"AQAB"}"#),
            value(r#"{"kty":"AKP","kid":"b"}"#),
            value(r#"{"kty":"EC","crv":"secp256k1","kid":"c"}"#),
            "no key".into(),
            with(EC_PRIVATE, "kid", "ec"),
        ])
    };
    let ours = signed(with(EC_PRIVATE, "kid", "ec")).expect("signed");
    assert_eq!(outcome(&ours, keys(), Value::Null), "accepted");
    let nameless = signed(value(EC_PRIVATE)).expect("signed");
    assert_eq!(outcome(&nameless, keys(), Value::Null), "accepted");
    for unknown in ["a", "b", "c", "d"] {
        let token = signed(with(EC_PRIVATE, "kid", unknown)).expect("signed");
        assert_eq!(outcome(&token, keys(), Value::Null), "jwt_key", "{unknown}");
    }
    let of_other = signed(with(EC_PRIVATE, "kid", "bilbo.baggins@hobbiton.example"));
    let of_other = of_other.expect("signed");
    assert_eq!(outcome(&of_other, keys(), Value::Null), "jwt_algorithm");
    let text = outcome(&ours, set([value(r#"{"kty":"AKP"}"#)]), Value::Null);
    assert!(
        text.contains("no key of the JWK Set can be used: the JWK has the type"),
        "{text}"
    );
    for none in [
        set([]),
        Value::Map(vec![("keys".to_owned(), Value::Map(Vec::new()))]),
    ] {
        assert!(outcome(&ours, none, Value::Null).contains("1 to 32 keys, not 0"));
    }
    let many = set((0..33).map(|_| value(EC_PRIVATE)));
    assert!(outcome(&ours, many, Value::Null).contains("not 33"));
}

#[test]
fn one_malformed_key_of_a_set_does_not_spoil_the_others() {
    // A point that is not on its curve, and a modulus of zero.
    let y = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";
    let point = || with(EC_PRIVATE, "y", y);
    let modulus = || value(r#"{"kty":"RSA","n":"AAAA","e":"AQAB","alg":"RS256"}"#);
    let neutral = || with(ED_PRIVATE, "x", format!("AQ{}", "A".repeat(41)));
    let keys = || {
        set([
            point(),
            modulus(),
            neutral(),
            with(RSA_PUBLIC, "alg", "RS256"),
            value(EC_PRIVATE),
            value(ED_PRIVATE),
        ])
    };
    for key in [
        with(RSA_PRIVATE, "alg", "RS256"),
        value(EC_PRIVATE),
        value(ED_PRIVATE),
    ] {
        let token = signed(key).expect("signed");
        assert_eq!(outcome(&token, keys(), Value::Null), "accepted");
        let accepted = algorithms(&["RS256", "ES256", "EdDSA"]);
        assert_eq!(outcome(&token, keys(), accepted), "accepted");
    }
    // Such a key is one that the set does not have.
    let Value::Map(mut named) = point() else {
        panic!("no object");
    };
    named.push(("kid".to_owned(), "bad".into()));
    let token = signed(with(EC_PRIVATE, "kid", "bad")).expect("signed");
    let keys = set([Value::Map(named), with(EC_PRIVATE, "kid", "good")]);
    assert_eq!(outcome(&token, keys, Value::Null), "jwt_key");
    for none in [point(), modulus(), neutral()] {
        let text = outcome(&token, set([none]), Value::Null);
        assert!(text.contains("no key of the JWK Set can be used"), "{text}");
    }
}

#[test]
fn one_key_of_a_list_that_cannot_be_used_does_not_spoil_the_others() {
    let other = || chosen("ES256", RSA_CERTIFICATE.into());
    let good = || chosen("ES256", EC_CERTIFICATE.into());
    let token = signed(value(EC_PRIVATE)).expect("signed");
    for keys in [[other(), good()], [good(), other()]] {
        assert_eq!(outcome(&token, list(keys), Value::Null), "accepted");
    }
    let (data, signature) = token.rsplit_once('.').expect("a signature");
    let changed = format!("{data}A.{signature}");
    let keys = list([other(), good()]);
    assert_eq!(outcome(&changed, keys, Value::Null), "jwt_signature");
    let text = outcome(&token, list([other()]), Value::Null);
    assert!(text.starts_with("ES256 needs a PEM text"), "{text}");
}

#[test]
fn names_of_algorithms_that_may_be_secrets_are_not_repeated() {
    let secret = "a secret of more than 32 bytes, or so";
    let error = signed(chosen(secret, "HS256".into())).expect_err("swapped");
    let text = error.message();
    let wanted = "algorithm does not name a known algorithm; there is \"HS256\"";
    assert!(text.starts_with(wanted), "{text}");
    let text = outcome("token", value(EC_PRIVATE), algorithms(&[secret]));
    let wanted = "algorithms does not name a known algorithm; there is \"HS256\"";
    assert!(text.starts_with(wanted), "{text}");
}

/// RFC 8725 section 2.1: a public key is known to everybody, so a token that is signed by its bytes proves nothing.
#[test]
fn a_public_key_is_no_secret() {
    let Some(Value::Text(modulus)) = value(RSA_PUBLIC).get("n").cloned() else {
        panic!("no modulus");
    };
    let all = algorithms(&["HS256", "RS256", "PS256"]);
    for secret in [modulus.as_str(), RSA_PUBLIC] {
        let forged = signed(chosen("HS256", secret.into())).expect("signed");
        for keys in [
            value(RSA_PUBLIC),
            set([value(RSA_PUBLIC)]),
            with(RSA_PUBLIC, "alg", "RS256"),
            chosen("RS256", value(RSA_PUBLIC)),
            chosen("RS256", RSA_CERTIFICATE.into()),
        ] {
            assert_eq!(outcome(&forged, keys, all.clone()), "jwt_algorithm");
        }
    }
    let token = signed(chosen("RS256", value(RSA_PRIVATE))).expect("signed");
    let refused = |key: Value| outcome(&token, key, Value::Null);
    assert!(refused(chosen("HS256", value(RSA_PUBLIC))).contains("not for HS256"));
    assert!(refused(chosen("HS256", RSA_CERTIFICATE.into())).contains("not a PEM text"));
    assert!(refused(with(RSA_PUBLIC, "alg", "HS256")).contains("not for its type"));
    let hidden = with(r#"{"kty":"oct","alg":"HS256"}"#, "k", pem_as_secret());
    assert!(refused(hidden).contains("needs a secret, not a PEM text"));
    let short = value(r#"{"kty":"oct","alg":"HS256","k":"c2VjcmV0"}"#);
    assert!(refused(short).contains("32 bytes at least, not 6"));
}

/// The certificate as the secret of an oct key.
fn pem_as_secret() -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(ED_CERTIFICATE)
}

/// RFC 7515 appendices A.1 to A.3: their tokens, which expired in 2011.
#[test]
fn the_tokens_of_the_rfc_are_signed_right() {
    let hs256 = concat!(
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.",
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.",
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    );
    for (token, key) in [
        (hs256.to_owned(), with(OCT, "alg", "HS256")),
        (
            format!("{RS256_DATA}.{RS256_SIGNATURE}"),
            with(RSA_PUBLIC, "alg", "RS256"),
        ),
        (format!("{ES256_DATA}.{ES256_SIGNATURE}"), value(EC_PRIVATE)),
    ] {
        assert_eq!(
            outcome(&token, key.clone(), Value::Null),
            "jwt_expired",
            "{token}"
        );
        let (data, signature) = token.rsplit_once('.').expect("a signature");
        let changed = format!("{data}.A{}", &signature[1..]);
        assert_eq!(
            outcome(&changed, key, Value::Null),
            "jwt_signature",
            "{token}"
        );
    }
}

#[test]
fn decoding_checks_no_signature() {
    let token = format!("{ES256_DATA}.AAAA");
    let found = decode(call("jwt_decode", vec![token.into()])).expect("decoded");
    let header = found.get("header").and_then(|header| header.get("alg"));
    assert_eq!(header, Some(&Value::from("ES256")));
    let claims = found.get("claims").and_then(|claims| claims.get("iss"));
    assert_eq!(claims, Some(&Value::from("joe")));
    let long = "A".repeat(crate::limits::JWT_BYTES_MAX + 1);
    for wrong in [
        "",
        "a.b",
        "e30.e30.e30.e30.e30",
        "e30.W10.",
        "e30.e30.=",
        &long,
    ] {
        let error = decode(call("jwt_decode", vec![wrong.into()])).expect_err("malformed");
        assert_eq!(
            error
                .details()
                .map(|details| details.code.to_string())
                .as_deref(),
            Some("jwt_malformed")
        );
    }
}
