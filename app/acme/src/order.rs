//! One order: from a domain to its certificate (RFC 8555 section 7.4).

use crate::challenges::{Published, publish_http, publish_tls};
use crate::settings::{AcmeSettings, ChallengeKind, identifier};
use crate::unfinished::UnfinishedOrder;
use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeType, Error, NewOrder, Order,
    OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, CertificateSigningRequest, DistinguishedName, KeyPair};
use std::time::Duration;

/// The longest time that the authority may take to check a challenge, and to issue.
const ORDER_TIME_MAX: Duration = Duration::from_secs(120);

/// The beginning of what `instant-acme` says of an order that does not repeat the certificate that it replaces.
const REPLACES_MISMATCH: &str = "replaces field mismatch";

/// The failure of an attempt.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The reason, in the middle of a sentence.
    pub(crate) reason: String,
    /// True if the authority does not know the account.
    pub(crate) is_account_unknown: bool,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self {
            reason,
            is_account_unknown: false,
        }
    }
}

/// The failure that an error is.
pub(crate) fn failure(error: Error) -> Failure {
    let kind = kind_of(&error).unwrap_or_default();
    Failure {
        is_account_unknown: kind.ends_with(":accountDoesNotExist"),
        reason: match &error {
            Error::Api(problem) => {
                let parts = problem
                    .subproblems
                    .iter()
                    .filter_map(|part| part.detail.as_deref());
                let details: Vec<&str> =
                    problem.detail.as_deref().into_iter().chain(parts).collect();
                format!("the authority refuses: {} ({kind})", details.join("; "))
            }
            Error::Json(_) => {
                "the authority has answered with something that is not ACME".to_owned()
            }
            Error::Timeout(_) => {
                format!(
                    "the authority has not decided within {} s",
                    ORDER_TIME_MAX.as_secs()
                )
            }
            other => other.to_string(),
        },
    }
}

fn kind_of(error: &Error) -> Option<&str> {
    match error {
        Error::Api(problem) => problem.r#type.as_deref(),
        _ => None,
    }
}

/// Orders a certificate, in place of another if there is one. Returns a text (PEM) with its private key and its chain.
/// `attempt` chooses among the challenges.
pub(crate) async fn obtain(
    account: &Account,
    settings: &AcmeSettings,
    domain: &str,
    replaced: Option<CertificateIdentifier<'static>>,
    attempt: u32,
) -> Result<String, Failure> {
    let mut order = begin(account, settings, domain, replaced).await?;
    let retries = retries();
    // They are taken back when the authority has seen them, or when this ends.
    let published = authorize(&mut order, settings, domain, attempt).await?;
    let status = match order.state().status {
        OrderStatus::Pending => order.poll_ready(&retries).await,
        status => Ok(status),
    };
    drop(published);
    match status {
        Ok(OrderStatus::Invalid) => return Err(refusal(&mut order).await),
        Err(error) => {
            let own = failure(error);
            return Err(match matches!(order.state().status, OrderStatus::Invalid) {
                true => refusal(&mut order).await,
                false => own,
            });
        }
        Ok(_) => {}
    }
    let fault = |error: rcgen::Error| Failure::from(format!("cannot make a key: {error}"));
    let key = KeyPair::generate().map_err(fault)?;
    let request = certificate_request(domain, &key).map_err(fault)?;
    UnfinishedOrder::keep(settings, domain, order.url(), &key)?;
    order.finalize_csr(request.der()).await.map_err(failure)?;
    let chain = order.poll_certificate(&retries).await.map_err(failure)?;
    Ok(key.serialize_pem() + &chain)
}

/// Makes the request for a certificate of a domain.
pub(crate) fn certificate_request(
    domain: &str,
    key: &KeyPair,
) -> Result<CertificateSigningRequest, rcgen::Error> {
    let mut params = CertificateParams::new([domain.to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    params.serialize_request(key)
}

/// The pauses between questions about an order.
pub(crate) fn retries() -> RetryPolicy {
    RetryPolicy::new()
        .initial_delay(Duration::from_millis(500))
        .timeout(ORDER_TIME_MAX)
}

/// Reports whether an attempt may succeed later without a new order: unless the authority has said no, or the order is
/// of no use.
pub(crate) fn is_refused_for_now(error: &Error) -> bool {
    match error {
        Error::Api(problem) => {
            // A server in front of the authority answers with JSON of its own.
            let is_fault = problem.status.is_none_or(|status| status >= 500);
            problem.r#type.as_deref().map_or(is_fault, |kind| {
                let of_now = [":rateLimited", ":serverInternal", ":badNonce"];
                of_now.iter().any(|end| kind.ends_with(end))
                    || problem.status.is_some_and(|status| status >= 500)
            })
        }
        Error::Str(_) | Error::Crypto | Error::KeyRejected | Error::InvalidUri(_) => false,
        _ => true,
    }
}

async fn begin(
    account: &Account,
    settings: &AcmeSettings,
    domain: &str,
    replaced: Option<CertificateIdentifier<'static>>,
) -> Result<Order, Failure> {
    let identifiers = [identifier(domain)];
    let fresh = || {
        let order = NewOrder::new(&identifiers);
        match &settings.profile {
            Some(profile) => order.profile(profile),
            None => order,
        }
    };
    if let Some(replaced) = replaced {
        match account.new_order(&fresh().replaces(replaced)).await {
            Ok(order) => return Ok(order),
            // It must not be about the certificate that is replaced: without it the order counts as a new one.
            Err(error) if !is_about_replacing(&error) => return Err(failure(error)),
            Err(_) => {}
        }
    }
    account.new_order(&fresh()).await.map_err(failure)
}

/// Reports whether an order may succeed that replaces no certificate (RFC 9773 section 5).
fn is_about_replacing(error: &Error) -> bool {
    let kind = kind_of(error).unwrap_or_default();
    let is_local = match error {
        Error::Unsupported(_) => true,
        // The authority's answer does not name the certificate. Faults of the connection are of this kind too.
        Error::Other(fault) => fault.to_string().starts_with(REPLACES_MISMATCH),
        _ => false,
    };
    // Another account has ordered it, in the case of the third. With the fourth an authority says that it has the
    // certificate and cannot find its order, for a moment or for good.
    is_local
        || [
            ":alreadyReplaced",
            ":malformed",
            ":unauthorized",
            ":serverInternal",
        ]
        .iter()
        .any(|end| kind.ends_with(end))
}

/// Publishes the answer to a challenge of each authorization, and has the authority look.
async fn authorize(
    order: &mut Order,
    settings: &AcmeSettings,
    domain: &str,
    attempt: u32,
) -> Result<Vec<Published>, Failure> {
    let folder = settings.challenge_folder();
    let mut published = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(failure)?;
        match authorization.status {
            AuthorizationStatus::Pending => {}
            AuthorizationStatus::Valid => continue,
            _ => {
                return Err("the authority has ended its authorization"
                    .to_owned()
                    .into());
            }
        }
        let offered = |kind: &ChallengeKind| {
            let wanted = challenge_type(*kind);
            authorization
                .challenges
                .iter()
                .any(|one| one.r#type == wanted)
        };
        let kinds: Vec<_> = settings
            .challenges
            .iter()
            .copied()
            .filter(offered)
            .collect();
        let kind = kinds.get(attempt as usize % kinds.len().max(1)).copied();
        let kind = kind.ok_or_else(|| {
            "the authority offers no challenge that can be answered: http-01 needs [tls] redirect, tls-alpn-01 port 443"
                .to_owned()
        })?;
        let Some(mut challenge) = authorization.challenge(challenge_type(kind)) else {
            continue;
        };
        let answer = challenge.key_authorization();
        published.push(match kind {
            ChallengeKind::Http => publish_http(&folder, &challenge.token, &answer)?,
            ChallengeKind::TlsAlpn => publish_tls(&folder, domain, &answer)?,
        });
        challenge.set_ready().await.map_err(failure)?;
    }
    Ok(published)
}

fn challenge_type(kind: ChallengeKind) -> ChallengeType {
    match kind {
        ChallengeKind::Http => ChallengeType::Http01,
        ChallengeKind::TlsAlpn => ChallengeType::TlsAlpn01,
    }
}

/// The reason why an order has failed: its challenges tell it.
async fn refusal(order: &mut Order) -> Failure {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else {
            continue;
        };
        for challenge in &state.challenges {
            if let Some(problem) = &challenge.error {
                let mut own = failure(Error::Api(problem.clone()));
                let name = match challenge.r#type {
                    ChallengeType::Http01 => "http-01",
                    ChallengeType::TlsAlpn01 => "tls-alpn-01",
                    _ => "the challenge",
                };
                own.reason = format!("{name} has failed: {}", own.reason);
                return own;
            }
        }
    }
    "the authority has refused the order".to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use instant_acme::Problem;

    #[test]
    fn faults_of_the_connection_are_not_about_the_replaced_certificate() {
        let is_about = |text: &str| is_about_replacing(&Error::Other(text.into()));
        assert!(is_about(
            "replaces field mismatch: expected None, found None"
        ));
        assert!(!is_about("cannot connect to ca.example: refused"));
    }

    fn problem(kind: Option<&str>, status: Option<u16>) -> Error {
        Error::Api(Problem {
            r#type: kind.map(|kind| format!("urn:ietf:params:acme:error:{kind}")),
            detail: None,
            status,
            subproblems: Vec::new(),
        })
    }

    #[test]
    fn an_order_is_kept_until_the_authority_says_no() {
        let page = serde_json::from_str::<u8>("<html>").expect_err("a page");
        for error in [
            Error::Json(page),
            Error::Timeout(None),
            Error::Other("no answer".into()),
            problem(Some("rateLimited"), Some(429)),
            problem(Some("serverInternal"), None),
            problem(Some("malformed"), Some(503)),
            problem(None, Some(502)),
            problem(None, None),
        ] {
            assert!(is_refused_for_now(&error), "{error:?}");
        }
        for error in [
            Error::Str("invalid order state"),
            problem(Some("malformed"), Some(404)),
            problem(Some("unauthorized"), None),
            problem(None, Some(404)),
        ] {
            assert!(!is_refused_for_now(&error), "{error:?}");
        }
    }

    #[test]
    fn faults_of_the_replaced_certificate_are_told_from_others() {
        let is_about_replacing = |kind: &str| is_about_replacing(&problem(Some(kind), None));
        for kind in [
            "alreadyReplaced",
            "malformed",
            "unauthorized",
            "serverInternal",
        ] {
            assert!(is_about_replacing(kind), "{kind}");
        }
        for kind in ["rateLimited", "accountDoesNotExist", "rejectedIdentifier"] {
            assert!(!is_about_replacing(kind), "{kind}");
        }
    }
}
