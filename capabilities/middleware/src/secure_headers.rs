//! Header fields that make browsers more careful.

use crate::csp_nonce::{self, NoncePolicy};
use crate::options::{GuardOptions, wrong};
use sampan_host::{
    Args, Context, Error, Guard, GuardStep, NativeMiddleware, Reader, RequestView, Value,
};

const OPTIONS: &[&str] = &["csp", "frame_ancestors", "referrer_policy", "hsts"];
/// A year.
const HSTS_SECONDS: u32 = 31_536_000;
/// The field of a policy.
pub(crate) const POLICY: &str = "Content-Security-Policy";
const REFERRER_POLICY: &str = "strict-origin-when-cross-origin";

/// The fields, ready to be sent.
struct SecureHeaders {
    fields: Vec<(&'static str, String)>,
    /// The policy that has a nonce; the others are among the fields.
    policy: Option<NoncePolicy>,
    /// The field that answers over HTTPS have (RFC 6797 section 7.2).
    hsts: Option<String>,
}

/// `app.secure_headers(options)`
pub(crate) fn secure_headers(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), OPTIONS)?;
    let mut fields = vec![("X-Content-Type-Options", "nosniff".to_owned())];
    let mut policy = options.text("csp")?.unwrap_or_default();
    if !options.is_off("frame_ancestors")? && !policy.contains("frame-ancestors") {
        let given = options.text("frame_ancestors")?;
        let (sources, old) = match given.as_deref() {
            None | Some("none") => ("'none'", Some("DENY")),
            Some("self") => ("'self'", Some("SAMEORIGIN")),
            Some(sources) if sources.contains(';') => {
                return Err(wrong(
                    "frame_ancestors",
                    "\"none\", \"self\" or sources without ';'",
                ));
            }
            // X-Frame-Options cannot say this.
            Some(sources) => (sources, None),
        };
        if !policy.is_empty() {
            policy.push_str("; ");
        }
        policy.push_str("frame-ancestors ");
        policy.push_str(sources);
        fields.extend(old.map(|old| ("X-Frame-Options", old.to_owned())));
    }
    if !policy.is_empty() {
        fields.push((POLICY, policy.clone()));
    }
    if !options.is_off("referrer_policy")? {
        let given = options.text("referrer_policy")?;
        let policy = given.unwrap_or_else(|| REFERRER_POLICY.to_owned());
        fields.push(("Referrer-Policy", policy));
    }
    for (name, value) in &fields {
        if value.bytes().any(|b| b.is_ascii_control()) {
            let text = format!("the value of {name} must be one line: {value:?}");
            return Err(Error::script(text));
        }
    }
    let policy = NoncePolicy::parse(&policy);
    if policy.is_some() {
        fields.retain(|(name, _)| *name != POLICY);
    }
    let hsts = match options.is_off("hsts")? {
        true => None,
        false => {
            let seconds = options.count("hsts", 0)?.unwrap_or(HSTS_SECONDS);
            Some(format!("max-age={seconds}"))
        }
    };
    let headers = SecureHeaders {
        fields,
        policy,
        hsts,
    };
    Ok(NativeMiddleware::guard(context, headers))
}

impl Guard for SecureHeaders {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        for (name, value) in &self.fields {
            request.default_header(name, value.as_bytes())?;
            if *name == POLICY {
                csp_nonce::replace_policy(request);
            }
        }
        if let Some(policy) = &self.policy {
            let policy = policy.for_request(request)?;
            request.default_header(POLICY, policy.as_bytes())?;
        }
        if let Some(hsts) = self.hsts.as_ref().filter(|_| request.is_https()) {
            request.default_header("Strict-Transport-Security", hsts.as_bytes())?;
        }
        Ok(GuardStep::Pass)
    }
}
