//! The certificates of a server: read before it listens, and again whenever their files change.

use crate::locks::lock;
use sampan_acme::AcmeSettings;
use sampan_host::log::Level;
use sampan_http::{AcmeFiles, CertificateFiles, ClientAuth, Tls, TlsError, TlsSettings};
use sampan_log::Logger;
use sampan_project::config::TlsConfig;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// The time between two looks at the files.
const LOOK_PAUSE: Duration = Duration::from_secs(5);

/// The certificates of a server that runs. Clones are the same.
#[derive(Clone)]
pub(crate) struct ServerCertificates {
    tls: Tls,
    logger: Logger,
    /// True from the end of the server on.
    end: Arc<(Mutex<bool>, Condvar)>,
    /// The error that the log was told last, until the files can be used.
    told: Arc<Mutex<Option<TlsError>>>,
}

impl ServerCertificates {
    /// Reads the files. Returns lines about certificates that are not valid, or not for long, for the log.
    ///
    /// # Errors
    /// One line that names the file and says what is wrong with it.
    pub(crate) fn read(
        config: &TlsConfig,
        acme: Option<&AcmeSettings>,
        takes_http2: bool,
        logger: &Logger,
    ) -> Result<(Self, Vec<String>), String> {
        let (tls, warnings) = Tls::read(settings(config, acme, takes_http2))
            .map_err(|error| format!("[tls] {error}"))?;
        let certificates = Self {
            tls,
            logger: logger.clone(),
            end: Arc::default(),
            told: Arc::default(),
        };
        let warnings = warnings.into_iter().map(told).collect();
        Ok((certificates, warnings))
    }

    /// TLS for a listener.
    pub(crate) fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Looks after the files from now on, on a thread of its own.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn look_after(&self) -> io::Result<()> {
        let certificates = self.clone();
        let body = move || {
            while !certificates.ends_within(LOOK_PAUSE) {
                certificates.renew();
            }
        };
        let thread = thread::Builder::new().name("sampan-certs".into());
        thread.stack_size(256 * 1024).spawn(body).map(drop)
    }

    /// Ends that.
    pub(crate) fn end(&self) {
        *lock(&self.end.0) = true;
        self.end.1.notify_all();
    }

    fn ends_within(&self, time: Duration) -> bool {
        let is_on = |has_ended: &mut bool| !*has_ended;
        let waited = self
            .end
            .1
            .wait_timeout_while(lock(&self.end.0), time, is_on);
        waited.is_ok_and(|(has_ended, _)| *has_ended)
    }

    /// Reads the files again if they have changed. Where they cannot be used, those before go on; the log is told why.
    pub(crate) fn renew(&self) {
        if let Some(outcome) = self.tls.renew_if_changed() {
            self.tell(outcome);
        }
    }

    fn tell(&self, outcome: Result<Vec<String>, TlsError>) {
        match outcome {
            Ok(warnings) => {
                *lock(&self.told) = None;
                let text = "the certificates have been read again";
                self.logger.text(Level::Info, text);
                self.warn(warnings);
            }
            Err(error) => {
                if !is_news(&mut lock(&self.told), &error) {
                    return;
                }
                let text = format!("[tls] {error}; the certificates that were read before go on");
                self.logger.text(Level::Error, text);
            }
        }
    }

    fn warn(&self, warnings: Vec<String>) {
        for warning in warnings {
            self.logger.text(Level::Warn, told(warning));
        }
    }
}

/// Reports whether the log is told of an error, and notes it. One that may pass comes again at each look.
fn is_news(told: &mut Option<TlsError>, error: &TlsError) -> bool {
    let is_known = error.is_passing && told.as_ref() == Some(error);
    *told = Some(error.clone());
    !is_known
}

/// Returns a warning as the log has it.
fn told(warning: impl Display) -> String {
    format!("[tls] {warning}")
}

/// The settings as the HTTP engine has them.
fn settings(config: &TlsConfig, acme: Option<&AcmeSettings>, takes_http2: bool) -> TlsSettings {
    let certificates = config.certificates.iter();
    let certificates = certificates.map(|(certificate, key)| CertificateFiles {
        certificate: certificate.clone(),
        key: key.clone(),
    });
    let clients = config.client_ca.clone().map(|authorities| ClientAuth {
        authorities,
        is_required: config.is_client_required,
    });
    TlsSettings {
        certificates: certificates.collect(),
        acme: acme.map(|acme| AcmeFiles {
            certificates: acme
                .domains
                .iter()
                .map(|domain| acme.certificate_file(domain))
                .collect(),
            challenges: acme.challenge_folder(),
        }),
        clients,
        takes_http2,
        strict_transport: config.hsts.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_lasts_is_told_once() {
        let error = |reason: &str, is_passing| TlsError {
            file: "key.pem".into(),
            reason: reason.to_owned(),
            is_passing,
        };
        let mut told = None;
        for (error, expected) in [
            (error("too many open files", true), true),
            (error("too many open files", true), false),
            (error("input/output error", true), true),
            (error("input/output error", true), false),
            // Its owner has changed the files, and they are still wrong.
            (error("the key is another one", false), true),
            (error("the key is another one", false), true),
            (error("input/output error", true), true),
        ] {
            assert_eq!(is_news(&mut told, &error), expected, "{error}");
        }
    }
}
