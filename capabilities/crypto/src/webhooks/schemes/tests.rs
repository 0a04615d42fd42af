//! Signatures as the services make them, and others.

use super::*;

const STANDARD_SECRET: &[u8] = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn code(
    scheme: Scheme,
    secrets: &[&[u8]],
    body: &[u8],
    headers: &[(&str, &str)],
    now: i64,
) -> Option<String> {
    let secrets: Vec<Vec<u8>> = secrets.iter().map(|secret| secret.to_vec()).collect();
    let header = |name: &str| {
        let found = headers.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let verified = scheme.verify(&secrets, body, &header, now, 300);
    verified.err().map(|error| {
        let code = error.details().map(|details| details.code.to_string());
        code.unwrap_or_else(|| error.message().to_owned())
    })
}

/// The example of the specification of Standard Webhooks.
#[test]
fn standard_webhooks_are_verified() {
    let headers = |signature: &'static str| {
        [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", signature),
        ]
    };
    let verify = |secrets: &[&[u8]], signature, now| {
        let body = b"{\"test\": 2432232314}";
        code(Scheme::Standard, secrets, body, &headers(signature), now)
    };
    let (right, now) = (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        1_614_265_330,
    );
    assert_eq!(verify(&[STANDARD_SECRET], right, now), None);
    assert_eq!(verify(&[&STANDARD_SECRET[6..]], right, now), None);
    assert_eq!(verify(&[b"b3RoZXI=", STANDARD_SECRET], right, now), None);
    let several = "v1,AAAA v2,g0hM v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_eq!(verify(&[STANDARD_SECRET], several, now), None);
    for at in [now - 300, now + 300] {
        assert_eq!(verify(&[STANDARD_SECRET], right, at), None);
    }
    for at in [now - 301, now + 301] {
        let fault = verify(&[STANDARD_SECRET], right, at);
        assert_eq!(fault.as_deref(), Some("webhook_timestamp"));
    }
    let fault = |secrets, signature| verify(secrets, signature, now).expect("a fault");
    assert_eq!(fault(&[b"b3RoZXI="], right), "webhook_signature");
    assert_eq!(fault(&[STANDARD_SECRET], "v1,AAAA"), "webhook_signature");
    assert_eq!(fault(&[STANDARD_SECRET], "v2,AAAA"), "webhook_header");
    assert!(fault(&[b"whsec_!"], right).contains("base64"));
}

/// Signatures by Ed25519 with the keys of RFC 8032 section 7.1, over the same text.
#[test]
fn standard_webhooks_with_public_keys_are_verified() {
    const KEY: &[u8] = b"whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    const OTHER: &[u8] = b"whpk_PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
    const RIGHT: &str = "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw==";
    let now = 1_614_265_330;
    let at = |secrets: &[&[u8]], body: &[u8], signature: &str, now| {
        let headers = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", signature),
        ];
        code(Scheme::Standard, secrets, body, &headers, now)
    };
    let body = b"{\"test\": 2432232314}";
    let verify = |secrets: &[&[u8]], signature: &str| at(secrets, body, signature, now);
    assert_eq!(verify(&[KEY], RIGHT), None);
    // A service may sign in both ways, and replace its key.
    assert_eq!(verify(&[STANDARD_SECRET, OTHER, KEY], RIGHT), None);
    assert_eq!(verify(&[KEY], &format!("v1,AAAA v1a,AAAA {RIGHT}")), None);
    let both = format!("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= {RIGHT}");
    for secret in [KEY, STANDARD_SECRET] {
        assert_eq!(verify(&[secret], &both), None);
    }
    let fault = |secrets: &[&[u8]], signature: &str| verify(secrets, signature).expect("a fault");
    assert_eq!(fault(&[OTHER], RIGHT), "webhook_signature");
    assert_eq!(fault(&[STANDARD_SECRET], RIGHT), "webhook_signature");
    assert_eq!(fault(&[KEY], "v1a,"), "webhook_signature");
    assert_eq!(fault(&[KEY], "v1a"), "webhook_header");
    // It is a signature of its own version only.
    let other_version = RIGHT.replace("v1a,", "v1,");
    assert_eq!(fault(&[KEY], &other_version), "webhook_signature");
    let changed = at(&[KEY], b"{}", RIGHT, now);
    assert_eq!(changed.as_deref(), Some("webhook_signature"));
    let late = at(&[KEY], body, RIGHT, now + 301);
    assert_eq!(late.as_deref(), Some("webhook_timestamp"));
    // Only so many are looked at: each takes a digest of the body.
    let many = format!(
        "{}{RIGHT}",
        "v1a,AAAA ".repeat(WEBHOOK_PUBLIC_SIGNATURES_MAX)
    );
    assert_eq!(fault(&[KEY], &many), "webhook_signature");
}

#[test]
fn public_keys_of_other_forms_are_refused() {
    let fault = |key: &[u8]| match Scheme::Standard.key(key) {
        Ok(_) => panic!("{:?} is taken", String::from_utf8_lossy(key)),
        Err(error) => error.message().to_owned(),
    };
    let form = "must be \"whpk_\" and base64 of the 32 bytes";
    // None, too short, too long, a point of small order.
    for text in [
        "",
        "!",
        "AAAA",
        &STANDARD.encode([7; 33]),
        &STANDARD.encode([0; 32]),
    ] {
        let key = format!("whpk_{text}");
        assert!(fault(key.as_bytes()).contains(form), "{key}");
    }
    let private = fault(b"whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=");
    assert!(
        private.contains("verify them with its public key"),
        "{private}"
    );
    assert!(!private.contains("nWGx"), "{private}");
}

/// The signed text of an old webhook, cut at other dots: its body has a new time.
#[test]
fn an_old_webhook_of_standard_webhooks_is_not_verified_by_other_cuts() {
    let (old, now) = (1_614_265_330, 1_614_365_330);
    let text = format!("m1.{old}.{{\"note\":\"hi.{now}.[\"evil\"]\"}}");
    let Ok(WebhookKey::Secret(key)) = Scheme::Standard.key(STANDARD_SECRET) else {
        panic!("a secret");
    };
    let tag = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
    let (signature, time) = (format!("v1,{tag}"), now.to_string());
    let verify = |id: &str, body: &str| {
        let headers = [
            ("webhook-id", id),
            ("webhook-timestamp", &*time),
            ("webhook-signature", &*signature),
        ];
        code(
            Scheme::Standard,
            &[STANDARD_SECRET],
            body.as_bytes(),
            &headers,
            now,
        )
    };
    let id = format!("m1.{old}.{{\"note\":\"hi");
    assert_eq!(
        verify(&id, "[\"evil\"]\"}").as_deref(),
        Some("webhook_header")
    );
    for id in ["", "m.1", "m 1", "m\u{e9}", "m\t1"] {
        assert_eq!(verify(id, "").as_deref(), Some("webhook_header"), "{id:?}");
    }
    assert_eq!(verify("m1", "").as_deref(), Some("webhook_signature"));
}

/// The example of GitHub's documentation.
#[test]
fn github_is_verified() {
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let verify = |body: &[u8], headers: &[(&str, &str)]| {
        let secret: &[u8] = b"It's a Secret to Everybody";
        code(Scheme::GitHub, &[secret], body, headers, 0)
    };
    let right = [("x-hub-signature-256", signature)];
    assert_eq!(verify(b"Hello, World!", &right), None);
    let fault = |body: &[u8], headers: &[(&str, &str)]| verify(body, headers).expect("a fault");
    assert_eq!(fault(b"Hello, World", &right), "webhook_signature");
    let cut = [("x-hub-signature-256", &signature[..signature.len() - 2])];
    assert_eq!(fault(b"Hello, World!", &cut), "webhook_signature");
    for wrong in ["sha1=00", "sha256=0", "sha256=", "sha256=zz"] {
        let headers = [("x-hub-signature-256", wrong)];
        assert_eq!(fault(b"Hello, World!", &headers), "webhook_header");
    }
    assert_eq!(fault(b"Hello, World!", &[]), "webhook_header");
}

#[test]
fn malformed_fields_of_stripe_are_refused() {
    for wrong in [
        "",
        "t=1",
        "v1=00",
        "t=,v1=00",
        "t=-1,v1=00",
        "t=+1,v1=00",
        "t=1,t=1,v1=00",
        "t=1,v1=0",
        "t=1 v1=00",
        "t=99999999999999999999,v1=00",
    ] {
        let fault = code(
            Scheme::Stripe,
            &[b"s"],
            b"",
            &[("stripe-signature", wrong)],
            1,
        );
        assert_eq!(fault.as_deref(), Some("webhook_header"), "{wrong:?}");
    }
}
