//! Keys and signatures of RFCs 7515, 7520 and 8037, for tests.

use sampan_host::Value;
use sampan_host::json::Tape;

/// Returns the value of a JSON text.
pub(crate) fn value(json: &str) -> Value {
    let mut tape = Tape::default();
    tape.read(json.as_bytes(), 8).expect("JSON");
    tape.value(json.as_bytes())
}

/// Returns a key with a member changed; without it if the value is [`Value::Null`].
pub(crate) fn with(json: &str, name: &str, member: impl Into<Value>) -> Value {
    let Value::Map(mut members) = value(json) else {
        panic!("no object");
    };
    members.retain(|(known, _)| known != name);
    members.push((name.to_owned(), member.into()));
    Value::Map(members)
}

/// The key of RFC 7515 appendix A.2.
pub(crate) const RSA_PRIVATE: &str = concat!(
    r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qP"#,
    r#"CJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LO"#,
    r#"L-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5Zw"#,
    r#"Kh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"#,
    r#"","e":"AQAB","d":"Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgv"#,
    r#"fTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxz"#,
    r#"ubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1Zd"#,
    r#"iYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ"#,
    r#"","p":"4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9A"#,
    r#"B0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc","#,
    r#""q":"uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7"#,
    r#"TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc","d"#,
    r#"p":"BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-F"#,
    r#"OKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0","dq"#,
    r#"":"h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9"#,
    r#"U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU","qi""#,
    r#":"IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5"#,
    r#"cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U"}"#,
);

/// Its public half.
pub(crate) const RSA_PUBLIC: &str = concat!(
    r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qP"#,
    r#"CJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LO"#,
    r#"L-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5Zw"#,
    r#"Kh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"#,
    r#"","e":"AQAB"}"#,
);

/// The signing input of RFC 7515 appendix A.2.
pub(crate) const RS256_DATA: &str = concat!(
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlL",
    "mNvbS9pc19yb290Ijp0cnVlfQ",
);

/// Its signature.
pub(crate) const RS256_SIGNATURE: &str = concat!(
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2F",
    "p5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQB",
    "MHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeY",
    "I2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
);

/// The key of RFC 7515 appendix A.3.
pub(crate) const EC_PRIVATE: &str = concat!(
    r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m"#,
    r#"36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#,
);

/// The signing input of RFC 7515 appendix A.3.
pub(crate) const ES256_DATA: &str = concat!(
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlL",
    "mNvbS9pc19yb290Ijp0cnVlfQ",
);

/// Its signature.
pub(crate) const ES256_SIGNATURE: &str =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

/// Its signature, as a DER sequence.
pub(crate) const ES256_SIGNATURE_DER: &str = concat!(
    "MEUCIA7RIVN5Y2xIPC9_FVgH1AKjsigDOvl8fheBmsMWnqZlAiEAxQoH04w8cOXY8S2vCEpUgKZlkMXyk1Cajz9_io",
    "OjVNU",
);

/// The key of RFC 7520 section 3.3.
pub(crate) const PS384_KEY: &str = concat!(
    r#"{"kty":"RSA","kid":"bilbo.baggins@hobbiton.example","use":"sig","n":"n4EPtAOCc9AlkeQHPzHSt"#,
    r#"gAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKrKb2wqVw"#,
    r#"GU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1"#,
    r#"NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_m"#,
    r#"zSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw","e":"AQAB"}"#,
);

/// The signing input of RFC 7520 section 4.2.
pub(crate) const PS384_DATA: &str = concat!(
    "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.SXTigJlzIGEgZGFuZ",
    "2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCw",
    "gYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ",
    "2h0IGJlIHN3ZXB0IG9mZiB0by4",
);

/// Its signature.
pub(crate) const PS384_SIGNATURE: &str = concat!(
    "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8",
    "TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRm",
    "BqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQT",
    "lqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw",
);

/// The key of RFC 8037 appendix A.1.
pub(crate) const ED_PRIVATE: &str = concat!(
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne"#,
    r#"_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}"#,
);

/// The signing input of RFC 8037 appendix A.4.
pub(crate) const EDDSA_DATA: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";

/// Its signature.
pub(crate) const EDDSA_SIGNATURE: &str =
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

/// A certificate of this key, whose time is over.
pub(crate) const RSA_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIB5zCCAY6gAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10ZXN0cy5l
eGFtcGxlMB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowGDEWMBQGA1UE
AwwNdGVzdHMuZXhhbXBsZTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEB
AKH4Fgri48m0Zc6NLWViYzYrkn2+KeHwJHf8FiXMkKE244vZNJfFtupj3XcR5nx0
KflWsPuKjwia3EtpiTzBMz9T7dAZuHeEJS/skU/khXdpWUvqQoDTLA9Vv2KUTxMD
lrxum99uvdK9o2eO7KDGaPcBs42/+zjINCzi/m0n+t5KWkh0l53Uuc+a3sTHWwWF
LCwPXvilwXUDkvlE6O1kwRDGtkdgmqR4OuucbJrXVTEwUGOLg2Zcb296gqOWcCof
ZBuC0+vyOSIZSR+2hocsVxb1Cvg1jZqLnRfDQHKPf4fYmhjY/KtnrYRZDC7PdZM5
NjwHA01vYG+eIeBUVsrl6aECAwEAATAKBggqhkjOPQQDAgNHADBEAiBLZ8xD1JiM
16tpsVpGuVp++ttFzHec19J0HnSCOFUbSgIgVp9cE/fhUVsQSX3ZG3CruJu1ylaO
uPkcspDRLY9wn/k=
-----END CERTIFICATE-----
";

/// A certificate of this key, whose time is over.
pub(crate) const EC_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBHDCBw6ADAgECAgEBMAoGCCqGSM49BAMCMBgxFjAUBgNVBAMMDXRlc3RzLmV4
YW1wbGUwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAYMRYwFAYDVQQD
DA10ZXN0cy5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2
xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkL
JK2KRiMohYjlrTAKBggqhkjOPQQDAgNIADBFAiA2yi5CUPnFNU0ECqsqfZTwhWPZ
vhkc6eejrgLfTt0nxQIhAKBH53IJsLXB/uguUBr2bZEVcbLO7bePK+pvPXF2SFT3
-----END CERTIFICATE-----
";

/// A certificate of this key, whose time is over.
pub(crate) const ED_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIHcMIGPoAMCAQICAQEwBQYDK2VwMBgxFjAUBgNVBAMMDXRlc3RzLmV4YW1wbGUw
HhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAYMRYwFAYDVQQDDA10ZXN0
cy5leGFtcGxlMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIa
aPcHURowBQYDK2VwA0EARsLzjw4U9shvpKRJysgf9w6GqEQRjoHydRupb2lFCxIH
XatURgR6DyPIVM616Uq5Z8LhWCsrrERdSNC8hHXVDw==
-----END CERTIFICATE-----
";
