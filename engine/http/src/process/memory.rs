//! The memory that the process may have: that of the machine, or less where its control group says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The memory assumed where the system does not say.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// Returns how many bytes of memory the process may have, as it was when this was first asked.
pub fn process_memory_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let machine = machine_bytes(&machine).unwrap_or(UNKNOWN_BYTES);
        group_bytes(&groups, Path::new("/sys/fs/cgroup")).map_or(machine, |of| of.min(machine))
    })
}

/// Reads `MemTotal` of `/proc/meminfo`.
fn machine_bytes(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The smallest limit of the control groups that the process is in, of version 2 and of version 1, and of those above
/// them.
fn group_bytes(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (folder, file) = if controllers.is_empty() {
            (root.to_path_buf(), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            return None;
        };
        smallest_above(&folder, path.trim_start_matches('/'), file)
    });
    limits.min()
}

/// The smallest number in `file` of a folder below `root` and of all folders above it. In a container the path may lead
/// outside of what is mounted there; then that of the root counts.
fn smallest_above(root: &Path, path: &str, file: &str) -> Option<u64> {
    let mut folder: PathBuf = root.join(path);
    let mut smallest: Option<u64> = None;
    loop {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        if let Ok(bytes) = text.trim().parse::<u64>() {
            smallest = Some(smallest.map_or(bytes, |known| known.min(bytes)));
        }
        if folder == root || !folder.pop() || !folder.starts_with(root) {
            return smallest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_the_groups_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("app.slice/sampan.service");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("app.slice/memory.max"), "268435456\n").unwrap();
        let groups = "0::/app.slice/sampan.service\n";
        assert_eq!(group_bytes(groups, root.path()), Some(268_435_456));
        assert_eq!(group_bytes("0::/elsewhere\n", root.path()), None);
    }

    #[test]
    fn version_1_has_a_folder_for_memory() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("memory/docker/1");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("memory.limit_in_bytes"), "1000\n").unwrap();
        let groups = "5:cpu,cpuacct:/x\n4:memory:/docker/1\n";
        assert_eq!(group_bytes(groups, root.path()), Some(1000));
    }

    #[test]
    fn the_machine_says_kibibytes() {
        assert_eq!(
            machine_bytes("MemTotal:  2048 kB\nMemFree: 1 kB\n"),
            Some(2_097_152)
        );
        assert!(process_memory_bytes() > 1 << 20);
    }
}
