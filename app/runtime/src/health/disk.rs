//! The check of the disks on which the server writes.

use rustix::io::Errno;
use sampan_host::LocalFuture;
use sampan_host::health::HealthCheck;
use std::future::ready;
use std::path::PathBuf;

/// Looks for free space where the server writes.
pub(crate) struct DiskCheck {
    /// The files and folders. Those that are not there are made when something is first written: they need no space.
    pub(crate) places: Vec<PathBuf>,
    pub(crate) bytes_min: u64,
}

impl DiskCheck {
    fn look(&self) -> Result<(), String> {
        for place in &self.places {
            let shown = place.display();
            let disk = match rustix::fs::statvfs(place) {
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(format!("cannot look at the disk of {shown}: {error}")),
                Ok(disk) => disk,
            };
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            if free < self.bytes_min {
                let min = self.bytes_min;
                return Err(format!(
                    "the disk of {shown} has {free} bytes free, less than [health] disk_bytes_min ({min})"
                ));
            }
        }
        Ok(())
    }
}

impl HealthCheck for DiskCheck {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn check(&self) -> LocalFuture<Result<(), String>> {
        Box::pin(ready(self.look()))
    }
}
