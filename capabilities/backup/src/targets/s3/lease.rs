//! The lease by which one process writes to a bucket.
//!
//! The object `owner` says who writes. The owner writes it anew every few seconds, so that others see that it lives;
//! another process takes it over when it has seen the same object for longer than an owner needs. Clocks are not
//! compared. Each write names the object that it replaces (`If-Match`), so of two processes one succeeds.

use super::{Condition, S3Answer, S3Target};
use crate::targets::{Claim, TargetFault};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// The object.
const OWNER: &str = "owner";
/// The time after which the owner writes it anew.
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// The time after which an owner that has not is dead, or has stopped writing.
const DEAD_AFTER: Duration = Duration::from_secs(40);

/// The state of a lease.
pub(super) struct Lease {
    /// The tag of the object that this process has written, and when.
    own: Option<(String, Instant)>,
    /// The object of another process, and since when it has been the same.
    seen: Option<(String, Instant)>,
    /// The number of times that this process has written it.
    count: u64,
    /// A random number, which tells this lease from others.
    id: u64,
}

/// The contents of the object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Owner {
    note: String,
    /// The name of the machine, and the number of the process there.
    machine: String,
    process: u32,
    /// The number of the lease, see [`Lease`].
    id: u64,
    /// Makes each object another one.
    count: u64,
    released: bool,
}

impl Owner {
    /// Reports whether the process is known to have ended: it ran on this machine.
    fn has_ended(&self) -> bool {
        let is_here = !self.machine.is_empty() && self.machine == machine();
        is_here && !Path::new(&format!("/proc/{}", self.process)).exists()
    }
}

fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = std::fs::read_link("/proc/self/ns/pid");
    // Numbers of processes mean something to those of the same namespace only.
    match (name, boot, namespace) {
        (Ok(name), Ok(boot), Ok(namespace)) => {
            format!("{} {} {}", name.trim(), boot.trim(), namespace.display())
        }
        _ => String::new(),
    }
}

impl Lease {
    /// A lease that this process does not have yet.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn new() -> Result<Self, String> {
        let mut id = [0; 8];
        let filled = aws_lc_rs::rand::fill(&mut id);
        filled.map_err(|_| "the system has no random numbers".to_owned())?;
        Ok(Self {
            own: None,
            seen: None,
            count: 0,
            id: u64::from_le_bytes(id).max(1),
        })
    }

    pub(super) fn claim(&mut self, target: &S3Target, note: &str) -> Result<Claim, TargetFault> {
        if let Some((tag, written)) = self.own.take() {
            if written.elapsed() < RENEWED_EVERY {
                self.own = Some((tag, written));
                return Ok(Claim::Own);
            }
            let kept = (tag.clone(), written);
            match self.write(target, note, Condition::Tag(tag)) {
                Ok(true) => return Ok(Claim::Own),
                // Another process has taken it over.
                Ok(false) => {}
                Err(fault) => {
                    // An owner that cannot write for so long must ask anew.
                    self.own = Some(kept).filter(|(_, written)| written.elapsed() < DEAD_AFTER);
                    return Err(fault);
                }
            }
        }
        let Some(answer) = target.read(OWNER)? else {
            return self.take_over(target, note, Condition::New);
        };
        let tag = tag_of(&answer);
        let owner: Owner = serde_json::from_slice(&answer.body).unwrap_or_default();
        // The answer to an earlier write of this process may have been lost.
        if owner.released || owner.has_ended() || owner.id == self.id {
            return self.take_over(target, note, Condition::Tag(tag));
        }
        match &self.seen {
            Some((seen, since)) if *seen == tag => {
                if since.elapsed() >= DEAD_AFTER {
                    return self.take_over(target, note, Condition::Tag(tag));
                }
            }
            _ => self.seen = Some((tag, Instant::now())),
        }
        Ok(Claim::Other(owner.note))
    }

    fn take_over(
        &mut self,
        target: &S3Target,
        note: &str,
        condition: Condition,
    ) -> Result<Claim, TargetFault> {
        self.seen = None;
        match self.write(target, note, condition)? {
            true => Ok(Claim::New),
            false => Ok(Claim::Other(
                "another process that has just begun".to_owned(),
            )),
        }
    }

    /// Writes the object. False if another process was quicker.
    fn write(
        &mut self,
        target: &S3Target,
        note: &str,
        condition: Condition,
    ) -> Result<bool, TargetFault> {
        self.count += 1;
        let owner = Owner {
            note: note.to_owned(),
            machine: machine(),
            process: std::process::id(),
            id: self.id,
            count: self.count,
            released: false,
        };
        let begun = Instant::now();
        let bytes = serde_json::to_vec(&owner).unwrap_or_default();
        let Some(answer) = target.write(OWNER, &bytes, condition)? else {
            return Ok(false);
        };
        // A server that knows no conditions may have replaced another's: then the last writer is the owner.
        let tag = match answer.etag {
            Some(tag) => tag,
            None => match target.read(OWNER)? {
                Some(there) if there.body == bytes => tag_of(&there),
                _ => return Ok(false),
            },
        };
        self.own = Some((tag, begun));
        Ok(true)
    }

    pub(super) fn release(&mut self, target: &S3Target) {
        if let Some((tag, _)) = self.own.take() {
            let owner = Owner {
                released: true,
                ..Owner::default()
            };
            let bytes = serde_json::to_vec(&owner).unwrap_or_default();
            // Without it the next process waits a little.
            let _ = target.write(OWNER, &bytes, Condition::Tag(tag));
        }
    }
}

fn tag_of(answer: &S3Answer) -> String {
    answer.etag.clone().unwrap_or_else(|| "*".to_owned())
}
