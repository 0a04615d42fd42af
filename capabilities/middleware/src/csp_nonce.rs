//! The nonce of a request's `Content-Security-Policy` (CSP level 3, section 2.3.1): its inline scripts and styles carry
//! it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sampan_host::pages::PageValues;
use sampan_host::{Args, Context, Error, ErrorKind, RequestView, Value};
use std::rc::Rc;

/// The place of the nonce in a policy.
const PLACE: &str = "{nonce}";
/// The length of a nonce: 128 bits.
const NONCE_BYTES: usize = 16;

/// The nonce of one request, in its store.
struct CspNonce(String);

impl CspNonce {
    /// Returns the nonce of a request. The first call makes it.
    fn of(request: &dyn RequestView) -> Result<Rc<Self>, Error> {
        if let Some(known) = request.store().get::<Self>() {
            return Ok(known);
        }
        let mut bytes = [0; NONCE_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            let text = format!("the system has no random numbers for a nonce: {error}");
            Error::new(ErrorKind::Internal, text)
        })?;
        // The alphabet for URLs needs no escapes, neither in HTML nor in a header field.
        let nonce = Self(URL_SAFE_NO_PAD.encode(bytes));
        Ok(request.store().put(nonce))
    }
}

/// The policy with a nonce that the answer to a request gets, in its store; nothing where one without has taken its
/// place.
struct AddedPolicy(Option<String>);

/// Notes that the answer to a request gets a policy without a nonce.
pub(crate) fn replace_policy(request: &dyn RequestView) {
    if request.store().get::<AddedPolicy>().is_some() {
        request.store().put(AddedPolicy(None));
    }
}

/// Returns the policy with a nonce that the answer to a request gets, if it gets one.
pub(crate) fn policy_of(request: &dyn RequestView) -> Option<String> {
    let added = request.store().get::<AddedPolicy>()?;
    added.0.clone()
}

/// A policy in which each request has a nonce of its own.
pub(crate) struct NoncePolicy {
    /// The texts around the nonce.
    parts: Vec<String>,
}

impl NoncePolicy {
    /// Reads a policy; `None` where it has no place for a nonce.
    pub(crate) fn parse(policy: &str) -> Option<Self> {
        let parts = policy.split(PLACE).map(str::to_owned);
        let parts: Vec<String> = parts.collect();
        (parts.len() > 1).then_some(Self { parts })
    }

    /// Returns the policy of one request.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn for_request(&self, request: &dyn RequestView) -> Result<String, Error> {
        let policy = self.parts.join(&CspNonce::of(request)?.0);
        request.store().put(AddedPolicy(Some(policy.clone())));
        Ok(policy)
    }
}

/// Returns the nonce of a request, to be put into its answer; nothing where no policy has made one.
fn known(request: &dyn RequestView) -> Value {
    let Some(known) = request.store().get::<CspNonce>() else {
        return Value::Null;
    };
    // The next request has another one.
    request.mark_personal();
    known.0.as_str().into()
}

/// `req.csp_nonce`
pub(crate) fn field(_: &Context, args: Args) -> Result<Value, Error> {
    Ok(known(&**args.request()))
}

/// Adds the variable `csp_nonce` to templates.
pub(crate) fn add_to(values: &PageValues) {
    values.variable("csp_nonce", Rc::new(|request| Ok(known(&**request))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::Store;
    use std::borrow::Cow;

    /// A request of which only its store counts.
    #[derive(Default)]
    struct TestRequest(Store);

    impl RequestView for TestRequest {
        fn method(&self) -> &str {
            "GET"
        }
        fn path(&self) -> &str {
            "/"
        }
        fn query(&self) -> Option<&str> {
            None
        }
        fn url(&self) -> String {
            "http://localhost/".to_owned()
        }
        fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
            None
        }
        fn header(&self, _: &str) -> Option<&[u8]> {
            None
        }
        fn each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
        fn ip(&self) -> String {
            String::new()
        }
        fn id(&self) -> Cow<'_, str> {
            "".into()
        }
        fn body(&self) -> &[u8] {
            &[]
        }
        fn store(&self) -> &Store {
            &self.0
        }
        fn add_header(&self, _: &str, _: &[u8]) -> Result<(), Error> {
            Ok(())
        }
        fn is_over(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_policy_without_a_place_has_no_nonce() {
        for policy in ["default-src 'self'", "", "script-src 'nonce-{Nonce}'"] {
            assert!(NoncePolicy::parse(policy).is_none(), "{policy}");
        }
    }

    #[test]
    fn policies_and_pages_of_one_request_have_one_nonce() {
        let parse = |policy| NoncePolicy::parse(policy).expect("a place");
        let two = parse("script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'");
        let one = parse("script-src 'nonce-{nonce}'");
        let request = TestRequest::default();
        assert_eq!(known(&request), Value::Null);
        let policy = two.for_request(&request).expect("random numbers");
        let Value::Text(nonce) = known(&request) else {
            panic!("the request has a nonce");
        };
        // 128 bits by 6 bits a letter.
        assert_eq!(nonce.len(), 22);
        let expected = format!("script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'");
        assert_eq!(policy, expected);
        assert_eq!(policy_of(&request), Some(policy));
        let policy = one.for_request(&request).expect("random numbers");
        assert_eq!(policy, format!("script-src 'nonce-{nonce}'"));
        assert_eq!(policy_of(&request), Some(policy));
        replace_policy(&request);
        assert_eq!(policy_of(&request), None);
        let other = TestRequest::default();
        let policy = one.for_request(&other).expect("random numbers");
        assert!(!policy.contains(&nonce), "{policy}");
    }
}
