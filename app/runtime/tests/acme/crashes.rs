//! Renewals of processes that are killed, or that find their disk full: what was ordered is not ordered again.

use crate::faults::{directory, put_old};
use crate::kept::{BELIEVING, Kept, of_pebble, settings};
use sampan_acme::{AcmeSettings, CertificateFields};
use sampan_client::pebble::Pebble;
use sampan_client::wait;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The variables by which a test starts itself as the process that is killed.
const FOLDER: &str = "SAMPAN_TEST_ACME_FOLDER";
const DIRECTORY: &str = "SAMPAN_TEST_ACME_DIRECTORY";
const AUTHORITY: &str = "SAMPAN_TEST_ACME_AUTHORITY";

/// The file of an order whose certificate is not in place.
fn order_file(settings: &AcmeSettings) -> PathBuf {
    let certificate = settings.certificate_file("localhost");
    let own = certificate.parent().and_then(Path::parent);
    own.expect("a folder").join("orders/localhost.json")
}

/// The key of that order; `None` while there is none.
fn ordered_key(settings: &AcmeSettings) -> Option<String> {
    let text = std::fs::read(order_file(settings)).ok()?;
    let order: serde_json::Value = serde_json::from_slice(&text).expect("whole");
    order["key"].as_str().map(str::to_owned)
}

fn assert_finished(kept: &Kept, key: &str) {
    wait::until("the certificate", || kept.certificate().is_some());
    let file = kept.settings.certificate_file("localhost");
    let text = std::fs::read_to_string(file).expect("read");
    assert!(text.starts_with(key), "another one was ordered");
    wait::until("the end of the order", || {
        !order_file(&kept.settings).exists()
    });
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_killed_in_a_renewal_leaves_its_order_to_the_next() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let variable = |name| std::env::var(name).expect("set by the test");
        let settings = AcmeSettings {
            directory_ca: Some(variable(AUTHORITY).into()),
            ..settings(Path::new(&folder), variable(DIRECTORY))
        };
        let _kept = Kept::start(settings);
        // Until it is killed.
        loop {
            std::thread::park();
        }
    }
    let Some(pebble) = Pebble::start(BELIEVING) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let settings = of_pebble(folder.path(), &pebble);
    let old = put_old(&settings);
    let in_place = || CertificateFields::of_file(&settings.certificate_file("localhost"));
    let name = "crashes::a_process_killed_in_a_renewal_leaves_its_order_to_the_next";
    let this = std::env::current_exe().expect("a test has an executable");
    let mut command = Command::new(this);
    command
        .args(["--exact", name])
        .env(FOLDER, folder.path())
        .env(DIRECTORY, &settings.directory)
        .env(AUTHORITY, pebble.authority())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = Killed(command.spawn().expect("started"));
    // The authority lets half a second pass before it tells of the certificate.
    let key = wait::found("an order", || ordered_key(&settings));
    assert_eq!(in_place().as_ref(), Some(&old));
    drop(child);
    assert_eq!(in_place().as_ref(), Some(&old));
    let kept = Kept::start(settings);
    wait::until("another certificate", || {
        kept.certificate().is_some_and(|fresh| fresh != old)
    });
    assert_finished(&kept, &key);
    assert_eq!(kept.host.count("no new certificate"), 0);
}

#[test]
fn a_certificate_that_cannot_be_kept_is_not_ordered_again() {
    let Some(pebble) = Pebble::start(BELIEVING) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let settings = of_pebble(folder.path(), &pebble);
    let mut kept = Kept::start(settings);
    // The authority lets half a second pass before it tells of the certificate.
    let key = wait::found("an order", || ordered_key(&kept.settings));
    // A folder in the place of the file, which no rename replaces.
    let obstacle = kept.settings.certificate_file("localhost");
    std::fs::create_dir_all(obstacle.join("inside")).expect("made");
    let line = kept.host.wait_for("no new certificate");
    assert!(line.contains("cannot write "), "{line}");
    kept.stop();
    assert_eq!(ordered_key(&kept.settings).as_ref(), Some(&key));
    std::fs::remove_dir_all(obstacle).expect("removed");
    let kept = Kept::start(kept.settings.clone());
    kept.clock.go_ahead(24 * 3_600);
    assert_finished(&kept, &key);
}

/// A small file system of its own; `None`, and a line that says so, without the rights to have one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]);
        let mounted = mount.arg(folder.path()).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        println!("SKIPPED: a small disk needs the rights of root: no renewal on a full disk");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_told_before_anything_is_ordered() {
    let Some(disk) = SmallDisk::new() else {
        return;
    };
    let directory = directory(|_, path| panic!("{path}"));
    let settings = settings(disk.0.path(), directory);
    let old = put_old(&settings);
    let filler = disk.0.path().join("filler");
    // As much as there is room for.
    assert!(std::fs::write(&filler, vec![0; 1 << 20]).is_err());
    let kept = Kept::start(settings);
    let line = kept.host.wait_for("no new certificate");
    assert!(
        line.contains("cannot write ") && line.contains("No space left"),
        "{line}"
    );
    let until = httpdate::fmt_http_date(old.until);
    assert!(
        line.contains(&format!("the one in place is valid until {until}")),
        "{line}"
    );
    assert_eq!(kept.certificate(), Some(old));
}
