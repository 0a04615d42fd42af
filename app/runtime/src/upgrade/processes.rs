//! The processes of upgrades, as a supervisor sees them.

use super::HAND_OVER;
use super::starter::{STARTER, STARTER_NAME};
use std::fs;

/// A process that a server has left behind, and that belongs to an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeProcess {
    /// The new process, which serves or starts.
    Server,
    /// The process that starts it.
    Starter,
}

impl UpgradeProcess {
    /// Looks at a process; `None` if it is another program, or has ended.
    pub fn of(pid: u32) -> Option<Self> {
        let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
        if name.trim_ascii_end() == STARTER_NAME.to_bytes() {
            return Some(Self::Starter);
        }
        match fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => Self::of_environment(&environment),
            // The kernel hides the environment of an executable that has capabilities. Its name is not hidden.
            Err(_) => {
                let own = fs::read("/proc/self/comm").ok()?;
                (own == name).then_some(Self::Server)
            }
        }
    }

    fn of_environment(environment: &[u8]) -> Option<Self> {
        let has = |variable: &str| {
            let mut entries = environment.split(|byte| *byte == 0);
            entries.any(|entry| {
                let rest = entry.strip_prefix(variable.as_bytes());
                rest.is_some_and(|rest| rest.starts_with(b"="))
            })
        };
        match (has(STARTER), has(HAND_OVER)) {
            (true, _) => Some(Self::Starter),
            (false, true) => Some(Self::Server),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_process_is_told_from_a_starter_and_from_other_programs() {
        let server = Some(UpgradeProcess::Server);
        for (environment, process) in [
            (
                &b"HOME=/\0SAMPAN_HAND_OVER=sampan/upgrade/1/1\0"[..],
                server,
            ),
            (
                b"SAMPAN_HAND_OVER=sampan/upgrade/1/1\0SAMPAN_STARTER=/bin/sampan\0",
                Some(UpgradeProcess::Starter),
            ),
            (b"HOME=/\0OLD_SAMPAN_HAND_OVER=1\0", None),
            (b"", None),
        ] {
            let shown = String::from_utf8_lossy(environment);
            assert_eq!(
                UpgradeProcess::of_environment(environment),
                process,
                "{shown}"
            );
        }
        assert_eq!(UpgradeProcess::of(std::process::id()), None);
        assert_eq!(UpgradeProcess::of(u32::MAX), None);
    }
}
