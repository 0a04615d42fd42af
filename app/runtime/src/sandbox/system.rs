//! Files of the system that every server reads.

use sampan_sandbox::{Access, Grants};
use std::path::{Path, PathBuf};

/// Files by which names become addresses, and the libraries that do it.
const NAMES: [&str; 7] = [
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ld.so.cache",
];
const LIBRARIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store"];
/// Files and folders of the authorities that the system trusts, as Linux distributions have them. Keys lie elsewhere.
const AUTHORITIES: [&str; 11] = [
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    "/etc/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/var/lib/ca-certificates",
];
/// Bundles that may be links.
const BUNDLES: [&str; 2] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/certs/ca-bundle.crt",
];
/// Files in which the kernel tells about the process and the machine.
const KERNEL: [&str; 4] = [
    "/proc",
    "/sys/fs/cgroup",
    "/sys/devices/system",
    "/sys/kernel/mm/transparent_hugepage",
];
/// Folders for temporary files, in the order in which SQLite takes them.
const TEMPORARY: [&str; 3] = ["/var/tmp", "/usr/tmp", "/tmp"];

/// Adds them.
pub(crate) fn add(grants: &mut Grants) {
    for path in KERNEL {
        grants.path(
            path,
            Access::Read,
            "what the kernel tells of the process and the machine",
        );
    }
    for path in ["/dev/urandom", "/dev/random"] {
        grants.path(path, Access::Read, "random numbers");
    }
    grants.path("/dev/null", Access::Temporary, "the device that is empty");
    let names = "the addresses of names";
    NAMES
        .iter()
        .for_each(|path| grants.path(path, Access::Read, names));
    grants.replaceable_file("/etc/resolv.conf", names);
    for path in LIBRARIES {
        grants.path(path, Access::Read, "shared libraries");
    }
    let trusted = "authorities that the system trusts";
    AUTHORITIES
        .iter()
        .for_each(|path| grants.path(path, Access::Read, trusted));
    BUNDLES
        .iter()
        .for_each(|path| grants.replaceable_file(path, trusted));
    if let Some(file) = std::env::var_os("SSL_CERT_FILE") {
        grants.replaceable_file(PathBuf::from(file), trusted);
    }
    let folders = std::env::var_os("SSL_CERT_DIR").unwrap_or_default();
    for folder in std::env::split_paths(&folders) {
        grants.path(folder, Access::Read, trusted);
    }
    if let Some(folder) = temporary_folder() {
        grants.path(folder, Access::Temporary, "temporary files of SQLite");
    }
}

/// Returns the folder that SQLite takes for temporary files.
fn temporary_folder() -> Option<PathBuf> {
    let named = ["SQLITE_TMPDIR", "TMPDIR"];
    let named = named
        .into_iter()
        .filter_map(|name| std::env::var_os(name).map(PathBuf::from));
    let mut folders = named.chain(TEMPORARY.map(PathBuf::from));
    folders.find(|folder| folder.is_dir() && is_writable(folder))
}

fn is_writable(folder: &Path) -> bool {
    use rustix::fs::{Access as Mode, access};
    access(folder, Mode::WRITE_OK | Mode::EXEC_OK).is_ok()
}
