//! `serve` in Node.js and in Bun: `tests/serve/*.cjs` is run by each, on the addon that was built beside this test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use sampan_client::certificates::{Authority, Identity};
use sampan_testkit::{built_addon, npm};

/// Late timers are a matter of the machine where tests share it. Alone, `SAMPAN_LATE_MILLIS=5 node cases.cjs timers`
/// holds.
const LATE_MILLIS: &str = "100";

/// The addon under the name that Node.js wants.
fn addon() -> PathBuf {
    let built = built_addon().expect("cargo builds the library before its tests");
    let addon = built.with_file_name("serve-test.node");
    // A copy: a library that is loaded must not be overwritten.
    let fresh = built.with_file_name(format!("serve-test-{}.node", std::process::id()));
    std::fs::copy(&built, &fresh).expect("copied");
    std::fs::rename(fresh, &addon).expect("moved");
    addon
}

fn frameworks() -> Option<PathBuf> {
    let names = [
        "hono@4.13.19",
        "itty-router@5.0.24",
        "h3@2.0.8",
        "elysia@1.4.30",
    ];
    npm::packages(
        "frameworks-test",
        &names,
        "node_modules/elysia/package.json",
    )
}

/// A folder with certificates that sign themselves, for `localhost` and `other.test`, and one of an authority for a
/// client.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new();
    let copy = |from: PathBuf, to: &str| {
        std::fs::copy(from, folder.path().join(to)).expect("copied");
    };
    copy(authority.file(), "ca.pem");
    for name in ["localhost", "other.test", "client"] {
        let identity = match name {
            "client" => authority.issue(name),
            name => Identity::new(&[name]),
        };
        copy(identity.certificate_file(), &format!("{name}.pem"));
        copy(identity.key_file(), &format!("{name}.key"));
    }
    folder
}

fn run(program: &OsStr, first: &[&str]) {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/cases.cjs");
    let mut command = Command::new(program);
    match frameworks() {
        Some(folder) => drop(command.env("SAMPAN_FRAMEWORKS", folder)),
        None => println!("SKIPPED: the frameworks cannot be installed from npm"),
    }
    let certificates = certificates();
    let output = command
        .args(first)
        .arg(cases)
        .env("SAMPAN_ADDON", addon())
        .env("SAMPAN_CERTIFICATES", certificates.path())
        .env("SAMPAN_LATE_MILLIS", LATE_MILLIS)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("0 failed"),
        "{}\n{text}\n{errors}",
        output.status
    );
}

#[test]
fn every_case_in_both_runtimes() {
    match Command::new("node").arg("--version").output() {
        Ok(_) => run(
            OsStr::new("node"),
            &["--expose-gc", "--experimental-websocket"],
        ),
        Err(_) => println!("SKIPPED: Node.js is not installed"),
    }
    match npm::bun() {
        Some(bun) => run(bun.as_os_str(), &[]),
        None => println!("SKIPPED: Bun cannot be installed from npm"),
    }
}
