//! The certificates of a folder, for people: how they are, and their renewal at once.

use crate::certificate::CertificateFields;
use crate::settings::AcmeSettings;
use crate::state::{RenewalState, time};
use crate::store;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time between two looks at an attempt.
const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// A certificate and its renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateStatus {
    /// The domain or IP address.
    pub domain: String,
    /// The first and the last moment of the certificate; `None` if there is none.
    pub validity: Option<(SystemTime, SystemTime)>,
    /// The moment of the next attempt.
    pub next_attempt: SystemTime,
    /// The window in which the authority suggests to renew.
    pub suggested: Option<(SystemTime, SystemTime)>,
    /// The attempts that have failed one after another.
    pub failures: u32,
    /// The reason of the last failure, until an attempt succeeds.
    pub fault: Option<String>,
    /// The time of the last attempt.
    pub tried: Option<SystemTime>,
}

/// Returns the certificates of all domains.
pub fn status(settings: &AcmeSettings) -> Vec<CertificateStatus> {
    let of = |domain: &String| {
        let certificate = CertificateFields::of_file(&settings.certificate_file(domain));
        let state = RenewalState::read(settings, domain);
        let tried = Some(time(state.tried_at)).filter(|tried| *tried > UNIX_EPOCH);
        CertificateStatus {
            domain: domain.clone(),
            next_attempt: state.due(certificate.as_ref()),
            validity: certificate.map(|fields| (fields.from, fields.until)),
            suggested: state
                .window
                .map(|window| (time(window.from), time(window.until))),
            failures: state.failures,
            fault: state.fault,
            tried,
        }
    };
    settings.domains.iter().map(of).collect()
}

/// The outcome of a renewal that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenewalOutcome {
    /// There is a new certificate, valid until this moment.
    Renewed(SystemTime),
    /// The reason why there is none.
    Failed(String),
}

/// Has the server that keeps the certificates renew one now, and waits for the outcome.
///
/// # Errors
/// No server keeps them, or it has not answered within `time_max`.
pub fn renew(
    settings: &AcmeSettings,
    domain: &str,
    time_max: Duration,
) -> Result<RenewalOutcome, String> {
    if !store::is_locked(&settings.lock_file())? {
        return Err(format!(
            "no server keeps the certificates of {}: start one with sampan run, which renews them by itself",
            settings.folder.display()
        ));
    }
    let request = settings.request_file(domain);
    // The server has made the folder.
    store::replace(&request, b"")?;
    let begin = Instant::now();
    while request.exists() {
        if begin.elapsed() > time_max {
            store::remove(&request);
            let seconds = time_max.as_secs();
            return Err(format!(
                "{domain}: no outcome within {seconds} s; its server's log has more"
            ));
        }
        thread::sleep(LOOK_PAUSE);
    }
    let certificate = CertificateFields::of_file(&settings.certificate_file(domain));
    let fault = RenewalState::read(settings, domain).fault;
    Ok(match (fault, certificate) {
        (None, Some(fields)) => RenewalOutcome::Renewed(fields.until),
        (Some(fault), _) => RenewalOutcome::Failed(fault),
        (None, None) => RenewalOutcome::Failed("there is no certificate".to_owned()),
    })
}
