//! The certificates of a folder, for people: how they are, and their renewal at once.

use crate::certificate::CertificateFields;
use crate::settings::AcmeSettings;
use crate::state::{RenewalState, time};
use crate::store;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time between two looks at an attempt.
const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// The longest time without a server that keeps the certificates: another process that shares the folder takes over
/// with its next look.
const UNKEPT_TIME_MAX: Duration = Duration::from_secs(10);

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
///
/// # Errors
/// A file cannot be read, as by another user than the server's: a text for people, with its name.
pub fn status(settings: &AcmeSettings) -> Result<Vec<CertificateStatus>, String> {
    let of = |domain: &String| {
        let certificate = CertificateFields::read(&settings.certificate_file(domain))?;
        let state = RenewalState::read(settings, domain)?;
        let tried = Some(time(state.tried_at)).filter(|tried| *tried > UNIX_EPOCH);
        Ok(CertificateStatus {
            domain: domain.clone(),
            next_attempt: state.due(certificate.as_ref()),
            validity: certificate.map(|fields| (fields.from, fields.until)),
            suggested: state
                .window
                .map(|window| (time(window.from), time(window.until))),
            failures: state.failures,
            fault: state.fault,
            tried,
        })
    };
    settings.domains.iter().map(of).collect()
}

/// The outcome of a renewal that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenewalOutcome {
    /// A new certificate, valid until this moment.
    Renewed(SystemTime),
    /// The reason why there is none.
    Failed(String),
}

/// Has the server that keeps the certificates renew one now, and waits for the outcome.
///
/// # Errors
/// No server keeps them, or none does any more, or it has not answered within `time_max`, or the outcome cannot be
/// read.
pub fn renew(
    settings: &AcmeSettings,
    domain: &str,
    time_max: Duration,
) -> Result<RenewalOutcome, String> {
    ask(settings, domain, time_max, UNKEPT_TIME_MAX)
}

fn ask(
    settings: &AcmeSettings,
    domain: &str,
    time_max: Duration,
    unkept_time_max: Duration,
) -> Result<RenewalOutcome, String> {
    if !store::is_locked(&settings.lock_file())? {
        return Err(format!(
            "no server keeps the certificates of {}: start one with sampan run, which renews them by itself",
            settings.folder.display()
        ));
    }
    // The server cannot renew what it cannot read.
    CertificateFields::read(&settings.certificate_file(domain))?;
    RenewalState::read(settings, domain)?;
    let request = settings.request_file(domain);
    // The server has made the folder.
    store::replace(&request, b"")?;
    let begin = Instant::now();
    let mut kept = begin;
    while request.exists() {
        if store::is_locked(&settings.lock_file())? {
            kept = Instant::now();
        } else if kept.elapsed() > unkept_time_max {
            store::remove(&request);
            return Err(format!(
                "{domain}: no server keeps the certificates of {} any more: start one with sampan run, and ask again; \
                 the log of the one before has more",
                settings.folder.display()
            ));
        }
        if begin.elapsed() > time_max {
            store::remove(&request);
            let seconds = time_max.as_secs();
            return Err(format!(
                "{domain}: no outcome within {seconds} s; its server's log has more"
            ));
        }
        thread::sleep(LOOK_PAUSE);
    }
    let certificate = CertificateFields::read(&settings.certificate_file(domain))?;
    let fault = RenewalState::read(settings, domain)?.fault;
    Ok(match (fault, certificate) {
        (None, Some(fields)) => RenewalOutcome::Renewed(fields.until),
        (Some(fault), _) => RenewalOutcome::Failed(fault),
        (None, None) => RenewalOutcome::Failed("there is no certificate".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ChallengeKind;
    use std::path::Path;

    fn settings(folder: &Path) -> AcmeSettings {
        AcmeSettings {
            folder: folder.to_owned(),
            directory: String::new(),
            directory_ca: None,
            domains: vec!["a.test".to_owned()],
            email: None,
            profile: None,
            external_account: None,
            challenges: vec![ChallengeKind::Http],
        }
    }

    #[test]
    fn a_renewal_ends_soon_after_its_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = settings(folder.path());
        let request = settings.request_file("a.test");
        store::make_folder(request.parent().expect("a folder")).expect("made");
        let server = store::try_lock(&settings.lock_file()).expect("a lock");
        thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let (time_max, unkept_time_max) = (Duration::from_secs(60), Duration::ZERO);
                ask(&settings, "a.test", time_max, unkept_time_max)
            });
            while !request.exists() && !asked.is_finished() {
                thread::yield_now();
            }
            // The server ends in the middle of the renewal.
            drop(server);
            let fault = asked.join().expect("no panic").expect_err("no server");
            assert!(fault.contains("keeps the certificates of "), "{fault}");
            assert!(fault.contains(" any more: "), "{fault}");
        });
        assert!(!request.exists());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = settings(folder.path());
        let request = settings.request_file("a.test");
        store::make_folder(request.parent().expect("a folder")).expect("made");
        let _server = store::try_lock(&settings.lock_file()).expect("a lock");
        let certificate = settings.certificate_file("a.test");
        store::make_folder(&certificate).expect("made");
        let fault = ask(&settings, "a.test", Duration::MAX, Duration::ZERO);
        let fault = fault.expect_err("a folder is no certificate");
        assert!(
            fault.contains(&certificate.display().to_string()),
            "{fault}"
        );
        assert!(!request.exists());
    }
}
