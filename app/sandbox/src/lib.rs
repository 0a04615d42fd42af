//! Confinement of a process by its kernel: Landlock limits files and TCP ports, seccomp refuses system calls.
//!
//! [`Grants`] lists what the process keeps. [`confine`] gives up everything else, for the calling thread and all
//! threads that it starts later, so it is called before there are others. It works as far as the kernel does:
//! [`Confined::missing`] names what is not in force. [`Kernel`] can be given less than the kernel has, for tests.
//!
//! ```no_run
//! use sampan_sandbox::{Access, Grants, Kernel, confine};
//!
//! let mut grants = Grants::default();
//! grants.path("/srv/app", Access::Read, "the project");
//! grants.path("/srv/app/data", Access::Write, "the database");
//! let confined = confine(&grants, &Kernel::newest());
//! assert_eq!(confined.missing(), None);
//! ```

mod calls;
mod files;
mod grants;
mod kernel;

pub use grants::{Access, Connections, Grants, PathGrant};
pub use kernel::Kernel;

/// The part of a confinement that is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confined {
    /// The version of Landlock's interface that is in force; 0 where files are not confined.
    pub landlock: u32,
    /// True if system calls are refused.
    pub refuses_calls: bool,
    /// The reasons of the kernel, each a part of a sentence.
    pub faults: Vec<String>,
}

impl Confined {
    /// Returns what is not in force, in a line; `None` if all of it is.
    pub fn missing(&self) -> Option<String> {
        let mut lacks = self.faults.clone();
        lacks.extend(kernel::lacks(self.landlock));
        match lacks.is_empty() {
            true => None,
            false => Some(lacks.join("; ")),
        }
    }
}

/// Confines the calling thread, and all threads that it starts later, for ever. A part that the kernel refuses is left
/// out, and told in the result.
///
/// System calls are refused on all threads of the process.
pub fn confine(grants: &Grants, kernel: &Kernel) -> Confined {
    let mut confined = Confined::default();
    match files::restrict(grants, kernel) {
        Ok(version) => confined.landlock = version,
        Err(fault) => confined.faults.push(fault),
    }
    match calls::refuse(kernel) {
        Ok(()) => confined.refuses_calls = true,
        Err(fault) => confined.faults.push(fault),
    }
    confined
}
