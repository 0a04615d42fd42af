//! Certificates that renew themselves: the settings of `sampan-acme`, and the server around it.

use crate::app_config::AppConfig;
use crate::listening::ServerCertificates;
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode::Indifferent;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use sampan_acme::{
    AcmeSettings, ChallengeKind, ExternalAccount, Host, Renewing, Severity, SystemClock,
};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_project::config::TlsConfig;
use std::sync::Arc;

/// Returns the settings of a server's certificates; `None` if it gets none by itself.
///
/// # Errors
/// The key of the account is not one.
pub fn acme_settings(config: &AppConfig) -> Result<Option<AcmeSettings>, String> {
    config.base.tls.as_ref().map_or(Ok(None), of_tls)
}

/// Returns the settings of `[tls.acme]`; `None` if there are none.
pub(crate) fn of_tls(tls: &TlsConfig) -> Result<Option<AcmeSettings>, String> {
    let Some(acme) = &tls.acme else {
        return Ok(None);
    };
    let external = acme.eab.as_ref().map(|(id, key)| {
        let key = decoded(key)
            .ok_or("[tls.acme] eab: the key is not base64url, as the authority gave it");
        key.map(|key| ExternalAccount {
            id: id.clone(),
            key,
        })
    });
    let mut challenges = vec![ChallengeKind::TlsAlpn];
    if !tls.redirect_listen.is_empty() {
        challenges.insert(0, ChallengeKind::Http);
    }
    Ok(Some(AcmeSettings {
        folder: acme.folder.clone(),
        directory: acme.directory.clone(),
        directory_ca: acme.directory_ca.clone(),
        domains: acme.domains.clone(),
        email: acme.email.clone(),
        profile: acme.profile.clone(),
        external_account: external.transpose()?,
        challenges,
    }))
}

/// Decodes base64url, which may be padded.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let padding = GeneralPurposeConfig::new().with_decode_padding_mode(Indifferent);
    let bytes = GeneralPurpose::new(&URL_SAFE, padding).decode(text).ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

/// Begins to keep the certificates of a server.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(
    settings: AcmeSettings,
    certificates: &ServerCertificates,
    logger: &Logger,
) -> Result<Renewing, String> {
    let host = ServerHost {
        certificates: certificates.clone(),
        logger: logger.clone(),
    };
    let started = sampan_acme::start(settings, Arc::new(SystemClock), Arc::new(host));
    started.map_err(|error| format!("cannot start a thread: {error}"))
}

struct ServerHost {
    certificates: ServerCertificates,
    logger: Logger,
}

impl Host for ServerHost {
    fn log(&self, severity: Severity, text: &str) {
        let level = match severity {
            Severity::Info => Level::Info,
            Severity::Error => Level::Error,
        };
        self.logger.text(level, text);
    }

    fn has_changed(&self) {
        self.certificates.renew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_accounts_are_decoded() {
        assert_eq!(decoded("aGk_-w==").as_deref(), Some(&b"hi?\xfb"[..]));
        assert_eq!(decoded("aGk_-w").as_deref(), Some(&b"hi?\xfb"[..]));
        for wrong in ["", "a b", "a.b"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
