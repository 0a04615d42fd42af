//! The abilities of the kernel that confine a process.

use landlock::{ABI, AccessFs, LandlockStatus, Ruleset, RulesetAttr};

/// The newest version of Landlock's interface whose restrictions are known to leave a server working.
pub(crate) const NEWEST: u32 = 7;

/// Gaps of a kernel before each version of Landlock's interface, for people.
const ADDED: [(u32, &str); 5] = [
    (
        2,
        "files cannot be moved between folders (Landlock before version 2, Linux 5.19)",
    ),
    (
        3,
        "files can be truncated anywhere (Landlock before version 3, Linux 6.2)",
    ),
    (
        4,
        "TCP ports are not confined (Landlock before version 4, Linux 6.7)",
    ),
    (
        5,
        "devices are not confined (Landlock before version 5, Linux 6.10)",
    ),
    (
        6,
        "signals to other processes are not confined (Landlock before version 6, Linux 6.12)",
    ),
];

/// The abilities of a kernel that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The newest version of Landlock's interface that is used; 0 is none. A kernel with an older one does what it can.
    pub landlock: u32,
    /// True if system calls are refused by seccomp.
    pub seccomp: bool,
}

impl Kernel {
    /// Everything that is known, as far as the kernel has it.
    pub const fn newest() -> Self {
        Self {
            landlock: NEWEST,
            seccomp: true,
        }
    }

    /// Asks the running kernel. A thread confines itself for that, and ends.
    pub fn running() -> Self {
        let tried = std::thread::spawn(|| (landlock_of_thread(), crate::calls::try_on_thread()));
        let (landlock, seccomp) = tried.join().unwrap_or((0, false));
        Self {
            landlock: landlock.min(NEWEST),
            seccomp,
        }
    }

    /// Returns what this kernel cannot do, in a line; `None` if it can do all.
    pub fn missing(&self) -> Option<String> {
        let mut lacks: Vec<String> = Vec::new();
        if self.landlock == 0 {
            lacks.push(NO_LANDLOCK.to_owned());
        }
        if !self.seccomp {
            lacks.push(NO_SECCOMP.to_owned());
        }
        lacks.extend(self::lacks(self.landlock));
        (!lacks.is_empty()).then(|| lacks.join("; "))
    }

    pub(crate) fn abi(&self) -> ABI {
        ABI::from(self.landlock.min(NEWEST) as i32)
    }
}

/// The sentence for a kernel without Landlock.
pub(crate) const NO_LANDLOCK: &str = "files and ports are not confined: the kernel has no Landlock";
/// The sentence for a kernel without seccomp.
pub(crate) const NO_SECCOMP: &str = "system calls are not refused: the kernel has no seccomp";

/// Returns what a version of Landlock leaves open. Version 0 has a sentence of its own.
pub(crate) fn lacks(version: u32) -> impl Iterator<Item = String> {
    let newer = ADDED
        .into_iter()
        .filter(move |(added, _)| version > 0 && version < *added);
    newer.map(|(_, lack)| lack.to_owned())
}

/// Restricts the calling thread to see which version of Landlock is there; 0 is none.
fn landlock_of_thread() -> u32 {
    let created = Ruleset::default()
        .handle_access(AccessFs::Execute)
        .and_then(Ruleset::create);
    let status = created.and_then(landlock::RulesetCreated::restrict_self);
    status.map_or(0, |status| version(status.landlock))
}

/// Returns the version of Landlock's interface; 0 where it is not there.
pub(crate) fn version(status: LandlockStatus) -> u32 {
    match status {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_lacks_what_later_ones_have() {
        assert_eq!(lacks(0).count(), 0);
        assert_eq!(lacks(1).count(), ADDED.len());
        assert_eq!(lacks(3).count(), 3);
        assert_eq!(lacks(NEWEST).count(), 0);
        let kernel = Kernel {
            landlock: 0,
            seccomp: false,
        };
        let told = kernel.missing().expect("told");
        assert!(
            told.contains(NO_LANDLOCK) && told.contains(NO_SECCOMP),
            "{told}"
        );
        assert_eq!(Kernel::newest().missing(), None);
    }
}
