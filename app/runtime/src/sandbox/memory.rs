//! `[limits] process_bytes_max`: the memory of the whole process, bounded by its control group where that may be
//! written, and by the kernel's limit of private memory elsewhere.

use crate::app_config::AppConfig;
use crate::upgrade::new_process;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sampan_host::log::Level;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the control groups of version 2.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bounds the memory of this process. Returns a line for the log that says by what, or that nothing can. To be called
/// before the process confines itself.
pub(crate) fn bound(config: &AppConfig) -> Option<(Level, String)> {
    let bytes = config.serving.process_bytes_max;
    // Another program has memory of its own.
    config.program.confinement.as_ref()?;
    if bytes == 0 {
        if new_process::is_upgrade() {
            // Where this fails the bound of the old process stays.
            let _ = free_data();
        }
        return None;
    }
    let (level, text) = if own_group().is_some_and(|group| bound_group(&group, bytes)) {
        let text = "the control group of this process bounds its memory";
        (Level::Info, text.to_owned())
    } else {
        match bound_data(bytes) {
            Ok(()) => {
                let text = "the control group cannot be written, so what the process maps is bounded (RLIMIT_DATA)";
                (Level::Info, text.to_owned())
            }
            Err(error) => (Level::Warn, format!("nothing bounds the memory: {error}")),
        }
    };
    Some((level, format!("process_bytes_max: {text}")))
}

/// Returns the folder of this process's control group, if no other process is in it: their memory would be bounded too.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let group = Path::new(GROUPS).join(path);
    let processes = fs::read_to_string(group.join("cgroup.procs")).ok()?;
    is_alone(&processes, std::process::id()).then_some(group)
}

/// Reports whether a list of processes has this one only.
fn is_alone(processes: &str, own: u32) -> bool {
    let mut lines = processes.lines();
    lines.next() == Some(own.to_string().as_str()) && lines.next().is_none()
}

/// Bounds the memory of a control group, unless it has a lower bound already. Returns false if that is not possible.
fn bound_group(group: &Path, bytes: u64) -> bool {
    let file = group.join("memory.max");
    let bound = fs::read_to_string(&file).unwrap_or_default();
    // It is "max" where there is none.
    let is_lower = bound.trim().parse().is_ok_and(|bound: u64| bound <= bytes);
    is_lower || fs::write(file, bytes.to_string()).is_ok()
}

/// Takes the bound back that the old process of an upgrade has handed down.
fn free_data() -> io::Result<()> {
    let hard = getrlimit(Resource::Data).maximum;
    let limit = Rlimit {
        current: hard,
        maximum: hard,
    };
    Ok(setrlimit(Resource::Data, limit)?)
}

/// Bounds the private memory that the process maps. The allocator has address space in reserve, which counts as
/// mapped: so the bound is that much higher.
fn bound_data(bytes: u64) -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kibibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let mapped = kibibytes("VmData:").unwrap_or(0) * 1024;
    let used = kibibytes("RssAnon:").unwrap_or(0) * 1024;
    let wanted = mapped.saturating_add(bytes.saturating_sub(used));
    let hard = getrlimit(Resource::Data).maximum;
    let limit = Rlimit {
        current: Some(hard.map_or(wanted, |hard| hard.min(wanted))),
        maximum: hard,
    };
    Ok(setrlimit(Resource::Data, limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_of_a_group_stays() {
        for (before, after) in [
            ("max\n", "1000"),
            ("2000\n", "1000"),
            ("1000\n", "1000\n"),
            ("500\n", "500\n"),
        ] {
            let group = tempfile::tempdir().expect("a folder");
            let file = group.path().join("memory.max");
            fs::write(&file, before).expect("a file");
            assert!(bound_group(group.path(), 1000));
            assert_eq!(fs::read_to_string(&file).expect("a text"), after);
        }
        assert!(!bound_group(Path::new("/no/such/group"), 1000));
    }

    #[test]
    fn a_group_is_bounded_only_where_no_other_process_is_in_it() {
        assert!(is_alone("12\n", 12));
        for processes in ["", "1\n", "12\n13\n", "1\n12\n"] {
            assert!(!is_alone(processes, 12), "{processes:?}");
        }
    }
}
