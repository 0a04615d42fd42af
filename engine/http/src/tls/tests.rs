//! Files that cannot be read for a moment.

use super::*;
use sampan_client::certificates::Identity;

fn files(identity: &Identity) -> CertificateFiles {
    CertificateFiles {
        certificate: identity.certificate_file(),
        key: identity.key_file(),
    }
}

fn settings(certificates: Vec<CertificateFiles>, acme: Option<AcmeFiles>) -> TlsSettings {
    TlsSettings {
        certificates,
        acme,
        clients: None,
        takes_http2: true,
        strict_transport: None,
    }
}

/// Puts a folder in the place of a file: it is there, and the system does not read it.
fn obstruct(file: &Path) {
    let _ = fs::remove_file(file);
    fs::create_dir(file).unwrap();
}

#[test]
fn a_renewal_that_could_not_be_read_is_read_later() {
    let (first, second) = (Identity::new(&["localhost"]), Identity::new(&["localhost"]));
    let (tls, _) = Tls::read(settings(vec![files(&first)], None)).unwrap();
    obstruct(&first.key_file());
    for _ in 0..2 {
        let error = tls.renew_if_changed().unwrap().unwrap_err();
        assert_eq!((&error.file, error.is_passing), (&first.key_file(), true));
    }
    assert!(tls.renew().unwrap_err().is_passing);
    assert!(
        tls.renew_if_changed().is_some(),
        "after one that was asked for"
    );
    fs::remove_dir(first.key_file()).unwrap();
    first.overwrite_with(&second);
    assert_eq!(tls.renew_if_changed().unwrap().unwrap(), [""; 0]);
    assert!(tls.renew_if_changed().is_none(), "once");
}

#[test]
fn a_kept_certificate_that_the_start_could_not_read_is_read_later() {
    let (own, kept) = (Identity::new(&["localhost"]), Identity::new(&["a.test"]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.test.pem");
    obstruct(&file);
    let acme = AcmeFiles {
        certificates: vec![file.clone()],
        challenges: folder.path().join("challenges"),
    };
    let (tls, warnings) = Tls::read(settings(vec![files(&own)], Some(acme))).unwrap();
    assert!(warnings[0].contains("cannot be read"), "{warnings:?}");
    assert!(tls.renew_if_changed().unwrap().unwrap_err().is_passing);
    fs::remove_dir(&file).unwrap();
    let parts = [kept.key_file(), kept.certificate_file()];
    fs::write(
        &file,
        parts.map(|part| fs::read_to_string(part).unwrap()).concat(),
    )
    .unwrap();
    assert_eq!(tls.renew_if_changed().unwrap().unwrap(), [""; 0]);
    assert!(tls.renew_if_changed().is_none(), "once");
}

#[test]
fn files_that_their_owner_must_mend_are_told_once() {
    let identity = Identity::new(&["localhost"]);
    let (tls, _) = Tls::read(settings(vec![files(&identity)], None)).unwrap();
    fs::write(identity.key_file(), "").unwrap();
    assert!(!tls.renew_if_changed().unwrap().unwrap_err().is_passing);
    assert!(tls.renew_if_changed().is_none());
}
