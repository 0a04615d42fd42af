//! The certificate that all servers show which are measured over TLS, and the clients that trust it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The name that it is for.
pub(crate) const NAME: &str = "localhost";

/// The files of the certificate and of its key (PEM), which git ignores.
pub(crate) fn files(root: &Path) -> [PathBuf; 2] {
    ["certificate.pem", "key.pem"].map(|file| root.join("bench/.peers/tls").join(file))
}

/// Makes the certificate, with a key of ECDSA P-256.
///
/// # Errors
///
/// When a file cannot be written.
pub(crate) fn make(root: &Path) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("cannot make a certificate: {error}");
    let key = KeyPair::generate().map_err(|error| told(&error))?;
    let names = CertificateParams::new([NAME.to_owned()]).map_err(|error| told(&error))?;
    let made = names.self_signed(&key).map_err(|error| told(&error))?;
    let [certificate_file, key_file] = files(root);
    let folder = key_file.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(|error| told(&error))?;
    fs::write(certificate_file, made.pem()).map_err(|error| told(&error))?;
    fs::write(key_file, key.serialize_pem()).map_err(|error| told(&error))
}

/// A client of TLS 1.3 that trusts the certificate. It offers X25519 alone, which all servers have: with ML-KEM beside
/// it some would do more than others.
///
/// # Errors
///
/// When the certificate is not there.
pub(crate) fn client(root: &Path) -> Result<ClientConfig, String> {
    let [file, _] = files(root);
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let certificate = CertificateDer::from_pem_file(&file).map_err(|error| told(&error))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(|error| told(&error))?;
    let provider = CryptoProvider {
        kx_groups: vec![kx_group::X25519],
        ..default_provider()
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| told(&error))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
