//! The lease by which one process writes to a bucket.
//!
//! The object `owner` says who writes. The owner writes it anew every few seconds, on a thread of its own, so that
//! others see that it lives; another process takes it over when it has seen the same object for longer than an owner
//! needs. Clocks are not compared. Each write names the object that it replaces (`If-Match`), so of two processes one
//! succeeds.

use super::client::{Condition, S3Answer, S3Client};
use crate::targets::{Claim, TargetFault};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// The object.
const OWNER: &str = "owner";
/// The time after which the owner writes it anew.
pub(super) const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// The time after which an owner that has not is dead, or has stopped writing.
const DEAD_AFTER: Duration = Duration::from_secs(40);

/// The state of a lease.
pub(super) struct Lease {
    /// The tag of the object that this process has written, and when.
    own: Option<(String, Instant)>,
    /// The object of another process, and since when it has been the same.
    seen: Option<(String, Instant)>,
    /// True from the claim that has made this process the writer until another object is seen.
    is_writer: bool,
    /// The note of the last claim.
    note: String,
    renewed_every: Duration,
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
    pub(super) fn new(renewed_every: Duration) -> Result<Self, String> {
        let mut id = [0; 8];
        let filled = aws_lc_rs::rand::fill(&mut id);
        filled.map_err(|_| "the system has no random numbers".to_owned())?;
        Ok(Self {
            own: None,
            seen: None,
            is_writer: false,
            note: String::new(),
            renewed_every,
            count: 0,
            id: u64::from_le_bytes(id).max(1),
        })
    }

    /// Writes the object anew if it is time to. False if this process does not know itself to be the owner.
    ///
    /// # Errors
    /// The server does not take it now.
    pub(super) fn renew(&mut self, client: &S3Client) -> Result<bool, TargetFault> {
        let Some((tag, written)) = self.own.take() else {
            return Ok(false);
        };
        if written.elapsed() < self.renewed_every {
            self.own = Some((tag, written));
            return Ok(true);
        }
        let kept = (tag.clone(), written);
        let renewed = self.write(client, Condition::Tag(tag));
        if renewed.is_err() {
            // An owner that cannot write for so long must ask anew.
            self.own = Some(kept).filter(|(_, written)| written.elapsed() < DEAD_AFTER);
        }
        renewed
    }

    pub(super) fn claim(&mut self, client: &S3Client, note: &str) -> Result<Claim, TargetFault> {
        note.clone_into(&mut self.note);
        if self.renew(client)? {
            return Ok(Claim::Own);
        }
        let Some(answer) = client.read(OWNER)? else {
            self.is_writer = false;
            return self.take_over(client, Condition::New);
        };
        let tag = tag_of(&answer);
        let owner: Owner = serde_json::from_slice(&answer.body).unwrap_or_default();
        // The answer to an earlier write of this process may have been lost.
        if owner.id == self.id {
            let was_writer = self.is_writer;
            return match self.take_over(client, Condition::Tag(tag))? {
                // Another would have replaced it.
                Claim::New if was_writer => Ok(Claim::Own),
                claimed => Ok(claimed),
            };
        }
        self.is_writer = false;
        if owner.released || owner.has_ended() {
            return self.take_over(client, Condition::Tag(tag));
        }
        match &self.seen {
            Some((seen, since)) if *seen == tag => {
                if since.elapsed() >= DEAD_AFTER {
                    return self.take_over(client, Condition::Tag(tag));
                }
            }
            _ => self.seen = Some((tag, Instant::now())),
        }
        Ok(Claim::Other(owner.note))
    }

    fn take_over(&mut self, client: &S3Client, condition: Condition) -> Result<Claim, TargetFault> {
        self.seen = None;
        self.is_writer = self.write(client, condition)?;
        Ok(match self.is_writer {
            true => Claim::New,
            false => Claim::Other("another process that has just begun".to_owned()),
        })
    }

    /// Writes the object. False if another process was quicker.
    fn write(&mut self, client: &S3Client, condition: Condition) -> Result<bool, TargetFault> {
        self.count += 1;
        let owner = Owner {
            note: self.note.clone(),
            machine: machine(),
            process: std::process::id(),
            id: self.id,
            count: self.count,
            released: false,
        };
        let begun = Instant::now();
        let bytes = serde_json::to_vec(&owner).unwrap_or_default();
        let Some(answer) = client.write(OWNER, &bytes, condition)? else {
            return Ok(false);
        };
        // A server that knows no conditions may have replaced another's: then the last writer is the owner.
        let tag = match answer.etag {
            Some(tag) => tag,
            None => match client.read(OWNER)? {
                Some(there) if there.body == bytes => tag_of(&there),
                _ => return Ok(false),
            },
        };
        self.own = Some((tag, begun));
        Ok(true)
    }

    pub(super) fn release(&mut self, client: &S3Client) {
        if let Some((tag, _)) = self.own.take() {
            let owner = Owner {
                released: true,
                ..Owner::default()
            };
            let bytes = serde_json::to_vec(&owner).unwrap_or_default();
            // Without it the next process waits a little.
            let _ = client.write(OWNER, &bytes, Condition::Tag(tag));
        }
    }
}

fn tag_of(answer: &S3Answer) -> String {
    answer.etag.clone().unwrap_or_else(|| "*".to_owned())
}
