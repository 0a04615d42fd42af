//! Certificates that renew themselves, by ACME (RFC 8555).
//!
//! [`start`] begins a thread that keeps a certificate for each domain in a folder, and renews it when its authority
//! suggests to (ARI, RFC 9773), or after two thirds of its lifetime. The server reads the files of that folder; it is
//! told when one has changed. Everything between the two is files, so several processes can share a folder: the one
//! that holds its lock orders certificates, and each of them can answer the challenges of the authority.
//!
//! Nothing here knows of scripts, listeners or the configuration.

mod account;
mod certificate;
mod challenges;
mod client;
mod host;
mod order;
mod renewing;
mod schedule;
mod settings;
mod state;
mod status;
mod store;
#[cfg(test)]
mod tests;
mod unfinished;

pub use certificate::CertificateFields;
pub use challenges::{HTTP_PATH, key_authorization};
pub use host::{Clock, Host, Severity, SystemClock};
pub use renewing::{Renewing, start};
pub use settings::{AcmeSettings, ChallengeKind, ExternalAccount};
pub use status::{CertificateStatus, RenewalOutcome, renew, status};
pub use store::put as put_private_file;
