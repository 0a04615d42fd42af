//! `--user`: a process that was started as root becomes another user, once it listens.

use nix::unistd::{Gid, Group, Uid, User as Entry, geteuid, initgroups, setgid, setuid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::ffi::CString;

/// The user and groups to run as.
#[derive(Clone, Debug)]
pub(crate) struct User {
    name: CString,
    user: Uid,
    group: Gid,
}

impl User {
    /// The user, or user and group, of `NAME` or `NAME:GROUP`. `None` if the process is that user already.
    ///
    /// # Errors
    /// There is none of that name, or the process may not become it.
    pub(crate) fn find(text: &str) -> Result<Option<Self>, String> {
        let told = |fault: String| format!("[server] user: {fault}");
        let (name, group) = match text.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (text, None),
        };
        let unknown = |what: &str, name: &str| told(format!("there is no {what} {name:?}"));
        let entry = Entry::from_name(name).ok().flatten();
        let entry = entry.ok_or_else(|| unknown("user", name))?;
        let group = match group {
            None => entry.gid,
            Some(group) => {
                let found = Group::from_name(group).ok().flatten();
                found.ok_or_else(|| unknown("group", group))?.gid
            }
        };
        if geteuid() == entry.uid {
            return Ok(None);
        }
        if !geteuid().is_root() {
            return Err(told(format!(
                "only root can become {name:?}: start as root, or leave it out"
            )));
        }
        let name = CString::new(name).map_err(|_| unknown("user", name))?;
        Ok(Some(Self {
            name,
            user: entry.uid,
            group,
        }))
    }

    pub(crate) fn ids(&self) -> (u32, u32) {
        (self.user.as_raw(), self.group.as_raw())
    }

    /// Becomes this user, with all threads and for ever.
    ///
    /// # Errors
    /// The system refuses, and the process must end: it has the rights of root.
    pub(crate) fn become_it(&self) -> Result<(), String> {
        let done = initgroups(&self.name, self.group)
            .and_then(|()| setgid(self.group))
            .and_then(|()| setuid(self.user));
        done.map_err(|error| format!("[server] user: cannot become {:?}: {error}", self.name))?;
        if setuid(Uid::from_raw(0)).is_ok() {
            return Err("[server] user: the rights of root could not be dropped".to_owned());
        }
        // The kernel takes /proc/self away from a process that changes its user, until it says so.
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
        Ok(())
    }
}
