//! A small disk for the app's database, which can be filled: a tmpfs. It is mounted in a namespace of the program's
//! own, so no other program sees it, and it goes with the program. That needs `unshare` of util-linux, as root or where
//! users may have namespaces.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Set for the program in its namespace.
const IS_INSIDE: &str = "SAMPAN_SOAK_INSIDE";
/// The options for a namespace: as root, and as a user who becomes root inside.
const NAMESPACES: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
/// The size of the disk: much more than the database ever has.
const SIZE: &str = "size=256m,mode=700";
/// The file that takes all room.
const BALLAST: &str = "ballast";

/// Starts this program anew in a namespace in which it may mount. Returns where there is none, or inside of it.
pub(crate) fn enter_namespace() {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    if std::env::var_os(IS_INSIDE).is_some() {
        return;
    }
    for options in NAMESPACES {
        let mut probe = Command::new("unshare");
        probe.args(options).args(["mount", "-t", "tmpfs", "tmpfs"]);
        let can = probe.arg(std::env::temp_dir()).stderr(Stdio::null());
        if can.status().is_ok_and(|status| status.success()) {
            let mut unshare = Command::new("unshare");
            unshare.args(options).arg(&program);
            // Where this returns it has failed, and the program goes on without.
            let _ = unshare
                .args(std::env::args_os().skip(1))
                .env(IS_INSIDE, "1")
                .exec();
        }
    }
}

/// A mounted disk.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Mounts a disk in a folder. Returns none outside of a namespace.
    pub(crate) fn mount(folder: &Path) -> Option<Self> {
        std::env::var_os(IS_INSIDE)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder);
        let is_mounted = mount.status().is_ok_and(|status| status.success());
        is_mounted.then(|| Self {
            folder: folder.to_path_buf(),
        })
    }

    /// Fills the disk: from now on what needs more room fails (ENOSPC).
    pub(crate) fn fill(&self) -> Result<(), String> {
        let ballast = File::create(self.folder.join(BALLAST));
        let mut ballast = ballast.map_err(|error| error.to_string())?;
        let room = vec![0; 1 << 20];
        loop {
            match ballast.write_all(&room) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Gives the room back, if it was filled.
    pub(crate) fn empty(&self) {
        let _ = fs::remove_file(self.folder.join(BALLAST));
    }

    /// Copies what is on the disk to where it can be seen when the disk is gone.
    pub(crate) fn keep(&self) {
        let kept = self.folder.with_extension("kept");
        let _ = Command::new("cp")
            .arg("-r")
            .arg(&self.folder)
            .arg(kept)
            .status();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}
