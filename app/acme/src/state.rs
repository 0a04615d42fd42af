//! The state of each certificate's renewal, which outlives the process.

use crate::certificate::CertificateFields;
use crate::schedule::{START_PAUSE, SUGGESTION_PAUSE, random_part};
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
    /// The time before which the authority wants none (`Retry-After`).
    pub(crate) refused_until: u64,
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
    ///
    /// # Errors
    /// It may be there, and cannot be read: a text for people, with the name of its file.
    pub(crate) fn read(settings: &AcmeSettings, domain: &str) -> Result<Self, String> {
        let text = store::read(&settings.state_file(domain))?.unwrap_or_default();
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }

    /// Keeps it.
    pub(crate) fn write(&self, settings: &AcmeSettings, domain: &str) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        store::put(&settings.state_file(domain), &text)
    }

    /// Forgets what was noted by a clock that was ahead and has been set right since. Reports whether there was any.
    pub(crate) fn set_right(&mut self, now: SystemTime) -> bool {
        let latest = seconds(now + SUGGESTION_PAUSE);
        let has_tried = self.tried_at > latest;
        let is_wrong = has_tried || self.asked_at > latest;
        if has_tried {
            (self.not_before, self.refused_until, self.issued_at) = (0, 0, 0);
            self.tried_at = seconds(now);
        }
        if is_wrong {
            self.asked_at = 0;
        }
        is_wrong
    }

    /// Has a server that starts without a certificate try soon: its owner may have mended the cause. A pause that the
    /// authority asked for stays.
    pub(crate) fn hasten(&mut self) {
        let soon = self.tried_at.saturating_add(START_PAUSE.as_secs());
        self.not_before = self.not_before.min(soon.max(self.refused_until));
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
        // With a wrong clock each new certificate may seem old. A window that has passed means that the certificate is
        // about to be revoked (RFC 9773 section 4.2), so this pause is not longer than that between two questions.
        let pause = match self.window {
            Some(_) => (lifetime / 10).min(SUGGESTION_PAUSE),
            None => lifetime / 10,
        };
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
        assert_eq!(state.due(Some(&certificate)), time(ahead + DAY / 2));
        state.window = None;
        assert_eq!(state.due(Some(&certificate)), time(ahead + 9 * DAY));
    }

    #[test]
    fn a_window_that_has_passed_renews_a_new_certificate() {
        let now = 1_800_000_000;
        let state = RenewalState {
            issued_at: now,
            window: Some(Window::new(time(now - 2 * DAY), time(now - DAY))),
            ..RenewalState::default()
        };
        let due = state.due(Some(&certificate(now, 90)));
        assert!(due <= time(now + DAY / 2), "{due:?}");
    }

    #[test]
    fn a_clock_that_was_ahead_leaves_nothing_behind() {
        let now = 1_800_000_000;
        let ahead = now + 400 * DAY;
        let mut state = RenewalState {
            tried_at: ahead,
            issued_at: ahead,
            not_before: ahead,
            refused_until: ahead,
            asked_at: ahead,
            ..RenewalState::default()
        };
        assert!(state.set_right(time(now)));
        let expected = RenewalState {
            tried_at: now,
            ..RenewalState::default()
        };
        assert_eq!(state, expected);
        assert!(!state.set_right(time(now)));
        state.asked_at = ahead;
        assert!(state.set_right(time(now)));
        assert_eq!(state, expected);
    }

    #[test]
    fn a_start_shortens_pauses_but_not_those_of_the_authority() {
        let tried_at = 1_800_000_000;
        for (pause, refused, expected) in [
            (7 * 3_600, 0, 720),
            (120, 0, 120),
            (7 * 3_600, 6 * 3_600, 6 * 3_600),
            (7 * 3_600, 60, 720),
        ] {
            let mut state = RenewalState {
                tried_at,
                not_before: tried_at + pause,
                refused_until: tried_at + refused,
                ..RenewalState::default()
            };
            state.hasten();
            assert_eq!(state.not_before - tried_at, expected, "{pause} {refused}");
        }
    }
}
