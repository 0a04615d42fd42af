//! The state of each certificate's renewal, which outlives the process.

use crate::certificate::CertificateFields;
use crate::schedule::random_part;
use crate::settings::AcmeSettings;
use crate::store;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The state of a certificate's renewal. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RenewalState {
    /// The time of the last attempt.
    pub(crate) tried_at: u64,
    /// The time when the certificate in place was issued.
    pub(crate) issued_at: u64,
    /// The attempts that have failed one after another.
    pub(crate) failures: u32,
    /// The reason of the last failure, until an attempt succeeds.
    pub(crate) fault: Option<String>,
    /// The time before which there is no other attempt.
    pub(crate) not_before: u64,
    /// The time when the authority was last asked for its suggestion.
    pub(crate) asked_at: u64,
    /// The authority's suggestion for the certificate in place.
    pub(crate) window: Option<Window>,
}

/// The window in which an authority suggests to renew (RFC 9773 section 4.2), and a random moment in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) chosen: u64,
}

impl Window {
    pub(crate) fn new(from: SystemTime, until: SystemTime) -> Self {
        let (from, until) = (seconds(from), seconds(until));
        let span = until.saturating_sub(from);
        let chosen = from + (span as f64 * random_part()) as u64;
        Self {
            from,
            until,
            chosen,
        }
    }
}

impl RenewalState {
    /// Reads the state of a domain; a new one if there is none.
    pub(crate) fn read(settings: &AcmeSettings, domain: &str) -> Self {
        let text = std::fs::read(settings.state_file(domain)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Keeps it.
    pub(crate) fn write(&self, settings: &AcmeSettings, domain: &str) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        store::put(&settings.state_file(domain), &text)
    }

    /// Returns the moment of the next attempt, given the certificate in place.
    pub(crate) fn due(&self, certificate: Option<&CertificateFields>) -> SystemTime {
        let Some(certificate) = certificate else {
            return time(self.not_before);
        };
        let lifetime = certificate.lifetime();
        let planned = match self.window {
            Some(window) => time(window.chosen),
            // The last third, and of short lifetimes the second half.
            None if lifetime < SHORT_LIFETIME => certificate.from + lifetime / 2,
            None => certificate.from + lifetime * 2 / 3,
        };
        // With a wrong clock each new certificate may seem old.
        let pause = lifetime / 10;
        let again = time(self.issued_at).checked_add(pause);
        planned
            .max(again.unwrap_or(UNIX_EPOCH))
            .max(time(self.not_before))
    }
}

/// Lifetimes below this are renewed in the middle.
const SHORT_LIFETIME: Duration = Duration::from_secs(10 * 24 * 3_600);

/// Returns a moment as seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// Returns a moment from seconds since 1970.
pub(crate) fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    const DAY: u64 = 24 * 3_600;

    fn certificate(from: u64, days: u64) -> CertificateFields {
        let mut params = CertificateParams::new(["a.test".to_owned()]).expect("valid");
        params.not_before = time(from).into();
        params.not_after = time(from + days * DAY).into();
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("signed").pem();
        CertificateFields::of_pem(pem.as_bytes()).expect("a certificate")
    }

    #[test]
    fn certificates_are_renewed_in_their_last_third_and_short_ones_in_the_middle() {
        let now = 1_800_000_000;
        let due = |days| {
            let state = RenewalState::default();
            seconds(state.due(Some(&certificate(now, days)))) - now
        };
        assert_eq!(due(90), 60 * DAY);
        assert_eq!(due(6), 3 * DAY);
        assert_eq!(RenewalState::default().due(None), UNIX_EPOCH);
    }

    #[test]
    fn suggestions_failures_and_new_certificates_decide() {
        let now = 1_800_000_000;
        let certificate = certificate(now, 90);
        let mut state = RenewalState {
            window: Some(Window::new(time(now + DAY), time(now + 2 * DAY))),
            ..RenewalState::default()
        };
        let due = seconds(state.due(Some(&certificate)));
        assert!((now + DAY..=now + 2 * DAY).contains(&due), "{due}");
        state.not_before = now + 5 * DAY;
        assert_eq!(state.due(Some(&certificate)), time(now + 5 * DAY));
        // A clock that is far ahead does not order one certificate after another.
        let ahead = now + 400 * DAY;
        state.issued_at = ahead;
        assert_eq!(state.due(Some(&certificate)), time(ahead + 9 * DAY));
    }
}
