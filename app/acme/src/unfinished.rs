//! Orders that the authority may have issued a certificate for which is not in place yet: of a process that was killed,
//! or that found its disk full. They are not made again, because each counts against the limits of the authority.

use crate::order::{Failure, certificate_request, failure, is_refused_for_now, retries};
use crate::settings::AcmeSettings;
use crate::store;
use instant_acme::{Account, Error, OrderStatus};
use rcgen::KeyPair;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest time that an order is asked for again after a fault of the authority: what it has issued by then is
/// ordered anew.
const ORDER_AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// An order with the key of its certificate. It is on the disk before the authority is asked to issue.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnfinishedOrder {
    url: String,
    /// The private key (PEM).
    key: String,
}

impl UnfinishedOrder {
    /// Keeps an order.
    pub(crate) fn keep(
        settings: &AcmeSettings,
        domain: &str,
        url: &str,
        key: &KeyPair,
    ) -> Result<(), String> {
        let order = Self {
            url: url.to_owned(),
            key: key.serialize_pem(),
        };
        let text = serde_json::to_vec_pretty(&order).map_err(|error| error.to_string())?;
        store::put(&settings.order_file(domain), &text)
    }

    /// Forgets the order of a domain.
    pub(crate) fn forget(settings: &AcmeSettings, domain: &str) {
        store::remove(&settings.order_file(domain));
    }

    fn is_old(settings: &AcmeSettings, domain: &str) -> bool {
        let metadata = std::fs::metadata(settings.order_file(domain)).ok();
        let kept_at = metadata.and_then(|metadata| metadata.modified().ok());
        let age = kept_at.and_then(|kept_at| kept_at.elapsed().ok());
        age.is_some_and(|age| age > ORDER_AGE_MAX)
    }

    /// Brings the order of a domain to its end. Returns a text as [`crate::order::obtain`] does; `None` if there is no
    /// order, or it leads to no certificate.
    pub(crate) async fn finish(
        account: &Account,
        settings: &AcmeSettings,
        domain: &str,
    ) -> Result<Option<String>, Failure> {
        let text = store::read(&settings.order_file(domain))?.unwrap_or_default();
        let Ok(kept) = serde_json::from_slice::<Self>(&text) else {
            return Ok(None);
        };
        let Ok(key) = KeyPair::from_pem(&kept.key) else {
            return Ok(None);
        };
        let finished = async {
            let mut order = account.order(kept.url).await?;
            match order.state().status {
                OrderStatus::Ready => {
                    let request = certificate_request(domain, &key);
                    let request = request.map_err(|_| Error::Str("cannot make a request"))?;
                    order.finalize_csr(request.der()).await?;
                }
                OrderStatus::Processing | OrderStatus::Valid => {}
                OrderStatus::Pending | OrderStatus::Invalid => return Ok(None),
            }
            order.poll_certificate(&retries()).await.map(Some)
        };
        match finished.await {
            Ok(Some(chain)) => Ok(Some(kept.key + &chain)),
            Err(error) if is_refused_for_now(&error) && !Self::is_old(settings, domain) => {
                Err(failure(error))
            }
            Ok(None) | Err(_) => {
                Self::forget(settings, domain);
                Ok(None)
            }
        }
    }
}
