//! `[mail]`.

use crate::address;
use crate::dkim::Signer;
use crate::limits::{ATTEMPTS_MAX, MESSAGE_BYTES_MAX, TIMEOUT_MILLIS};
use crate::server::MailServer;
use lettre::message::Mailbox;
use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use std::sync::Arc;
use std::time::Duration;

/// `[mail]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "mail",
    doc: "Mails.",
    keys: &[
        SettingKey::text("url", Preset::Unset,
            "the mail server: smtps://user:password@host, or smtp:// for STARTTLS").secret(),
        SettingKey::text("from", Preset::Unset, "the sender of mails that name none: App <app@example.org>"),
        SettingKey::text("dkim_domain", Preset::Unset, "the domain that signs mails by DKIM"),
        SettingKey::text("dkim_selector", Preset::Unset, "the name of its key in DNS: NAME._domainkey.DOMAIN"),
        SettingKey::text("dkim_key", Preset::Unset, "the private key, RSA or Ed25519, as a PEM text").secret(),
        SettingKey::size("message_bytes_max", 1024..=256 << 20, MESSAGE_BYTES_MAX, "largest mail, with its files"),
        SettingKey::count("attempts_max", 1..=100, ATTEMPTS_MAX,
            "attempts to deliver a mail that the server does not take for now"),
        SettingKey::time("timeout_millis", 1..=600_000, TIMEOUT_MILLIS,
            "longest time to connect to the server, and for each of its answers"),
    ],
};

/// The settings of mails.
#[derive(Clone, Debug)]
pub struct MailConfig {
    pub(crate) server: Option<MailServer>,
    pub(crate) from: Option<Mailbox>,
    pub(crate) signer: Option<Arc<Signer>>,
    pub(crate) message_bytes_max: usize,
    pub(crate) attempts_max: u32,
    pub(crate) timeout: Duration,
}

impl MailConfig {
    /// Reads `[mail]`.
    ///
    /// # Errors
    /// The key, and what is wrong with its value. Secrets are not shown.
    pub fn from_settings(settings: &Settings) -> Result<Self, String> {
        let from = settings.text_if_set("from");
        let from = from.map(|from| address::parse("from", from)).transpose();
        let dkim = ["dkim_domain", "dkim_selector", "dkim_key"];
        let dkim = dkim.map(|key| settings.text_if_set(key));
        let signer = match dkim {
            [None, None, None] => None,
            [Some(domain), Some(selector), Some(key)] => {
                Some(Arc::new(Signer::new(domain, selector, key)?))
            }
            _ => {
                return Err(
                    "dkim_domain, dkim_selector and dkim_key must be set together".to_owned(),
                );
            }
        };
        Ok(Self {
            server: settings
                .text_if_set("url")
                .map(MailServer::parse)
                .transpose()?,
            from: from.map_err(|error| error.message().to_owned())?,
            signer,
            message_bytes_max: settings.number("message_bytes_max"),
            attempts_max: settings.number("attempts_max"),
            timeout: Duration::from_millis(settings.number("timeout_millis")),
        })
    }
}
