//! `sampan dev --https`: an authority of this user's own, and a certificate of it for this machine.
//!
//! The authority is made once, below the user's data folder. Browsers that trust it show pages of this machine without
//! a warning; its key never leaves the folder.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use sampan_acme::{CertificateFields, put_private_file as put};
use sampan_project::archive::format::hex;
use std::env;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// The lifetime of the authority, in days.
const AUTHORITY_DAYS: u32 = 3_650;
/// The lifetime of certificates, in days: some browsers accept no longer one.
const CERTIFICATE_DAYS: u32 = 397;
/// The days before its end from which a certificate is made anew.
const RENEWED_DAYS: u32 = 30;
/// An address for documentation (RFC 5737). Nothing is sent to it: the system only tells from where it would be.
const ELSEWHERE: &str = "192.0.2.1:9";

/// The files of the certificate, and of the authority that browsers must trust.
pub(super) struct HomeCertificate {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    pub(super) authority: PathBuf,
    /// True if the authority has just been made.
    pub(super) is_new: bool,
}

impl HomeCertificate {
    /// Finds the certificate for this machine; makes it, and its authority, if it is missing or near its end.
    ///
    /// # Errors
    /// One line that says which file cannot be written or used.
    pub(super) fn of_user() -> Result<Self, String> {
        Self::in_folder(&folder()?, &names())
    }

    fn in_folder(folder: &Path, names: &[String]) -> Result<Self, String> {
        let at = |name: &str| folder.join(name);
        let mut found = Self {
            certificate: at("localhost.pem"),
            key: at("localhost.key"),
            authority: at("authority.pem"),
            is_new: false,
        };
        let authority_key = at("authority.key");
        if !is_lasting(&found.authority) || !authority_key.exists() {
            let key = KeyPair::generate().map_err(fault)?;
            let authority = authority_params(&key).self_signed(&key).map_err(fault)?;
            put(&authority_key, key.serialize_pem().as_bytes())?;
            put(&found.authority, authority.pem().as_bytes())?;
            // Of the authority before.
            let _ = fs::remove_file(&found.certificate);
            found.is_new = true;
        }
        let listed = names.join("\n");
        let names_file = at("localhost.names");
        let is_same = fs::read_to_string(&names_file).is_ok_and(|text| text == listed);
        if !is_same || !found.key.exists() || !is_lasting(&found.certificate) {
            let text = fs::read_to_string(&authority_key)
                .map_err(|error| format!("cannot read {}: {error}", authority_key.display()))?;
            let authority_key = KeyPair::from_pem(&text)
                .map_err(|error| format!("{}: {error}: remove it", authority_key.display()))?;
            let key = KeyPair::generate().map_err(fault)?;
            let params = authority_params(&authority_key);
            let issuer = Issuer::from_params(&params, &authority_key);
            let own = certificate_params(names)?;
            let own = own.signed_by(&key, &issuer).map_err(fault)?;
            put(&found.key, key.serialize_pem().as_bytes())?;
            put(&found.certificate, own.pem().as_bytes())?;
            put(&names_file, listed.as_bytes())?;
        }
        Ok(found)
    }

    /// Says how clients come to trust it.
    pub(super) fn advice(&self, port: u16) -> String {
        let file = self.authority.display();
        if !self.is_new {
            return format!("HTTPS by this user's own authority: {file}");
        }
        format!(
            "made an authority of your own for HTTPS: {file}\n\
             \x20 curl:     curl --cacert {file} https://localhost:{port}/\n\
             \x20 Debian:   sudo cp {file} /usr/local/share/ca-certificates/sampan.crt && sudo update-ca-certificates\n\
             \x20 Chromium: chrome://certificate-manager, Custom, Trusted Certificates, Import\n\
             \x20 Firefox:  Settings, Certificates, View Certificates, Authorities, Import\n\
             \x20 Anyone who reads authority.key beside it can pose as any site to those who trust it: share neither."
        )
    }
}

/// The names and addresses of this machine.
pub(super) fn names() -> Vec<String> {
    let fixed = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    fixed.into_iter().chain(lan_names()).collect()
}

/// The name of this machine, alone and as others in its network call it, and its address there.
pub(super) fn lan_names() -> Vec<String> {
    let mut names = Vec::new();
    let uname = rustix::system::uname();
    let name = uname.nodename().to_string_lossy().to_ascii_lowercase();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if !name.is_empty() && name != "localhost" && name.bytes().all(is_name) {
        if !name.contains('.') {
            names.push(format!("{name}.local"));
        }
        names.push(name);
    }
    let address = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect(ELSEWHERE)?;
        socket.local_addr()
    });
    names.extend(address.ok().map(|address| address.ip().to_string()));
    names
}

/// The folder of the authority (XDG Base Directory Specification).
fn folder() -> Result<PathBuf, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let data = set("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/share")));
    let data =
        data.ok_or("--https: set HOME or XDG_DATA_HOME, below which an authority is kept")?;
    Ok(data.join("sampan/https"))
}

fn is_lasting(certificate: &Path) -> bool {
    let fields = CertificateFields::of_file(certificate);
    fields.is_some_and(|fields| fields.until > SystemTime::now() + DAY * RENEWED_DAYS)
}

/// An authority is the same by its key: so is what it signs with.
fn authority_params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let id = hex(&params.key_identifier(key)[..4]);
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, format!("Sampan development {id}"));
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * AUTHORITY_DAYS).into();
    params
}

fn certificate_params(names: &[String]) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::new(names).map_err(fault)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Sampan development");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now - DAY + DAY * CERTIFICATE_DAYS).into();
    Ok(params)
}

fn fault(error: rcgen::Error) -> String {
    format!("cannot make a certificate: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_authority_is_made_once_and_certificates_when_they_are_needed() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let read = |file: &Path| fs::read(file).expect("read");
        let first = HomeCertificate::in_folder(folder.path(), &names(&["localhost"]));
        let first = first.expect("made");
        assert!(first.is_new);
        let (authority, own) = (read(&first.authority), read(&first.certificate));
        let again = HomeCertificate::in_folder(folder.path(), &names(&["localhost"]));
        assert!(!again.expect("found").is_new);
        assert_eq!(read(&first.certificate), own);
        let other = HomeCertificate::in_folder(folder.path(), &names(&["localhost", "::1"]));
        assert!(!other.expect("found").is_new);
        assert_eq!(read(&first.authority), authority);
        assert_ne!(read(&first.certificate), own);
        for entry in fs::read_dir(folder.path()).expect("read").flatten() {
            let mode = entry.metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
        }
    }

    #[test]
    fn this_machine_has_names() {
        let names = names();
        assert_eq!(names[..3], ["localhost", "127.0.0.1", "::1"]);
    }
}
