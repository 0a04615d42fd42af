//! The contents of a target, as the names of its objects tell.

use crate::names;
use crate::targets::{Target, TargetFault};

/// A generation: whole copies, and the log of one unbroken chain of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) name: String,
    /// The whole copies that are complete, in their order.
    pub(crate) wholes: Vec<Stamped>,
    /// The objects of the log, in their order.
    pub(crate) log: Vec<Stamped>,
    /// The names of all objects of whole copies, with the stamp of their copy.
    pub(crate) parts: Vec<(Stamped, String)>,
}

/// A number in the log, and a time in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamped {
    pub(crate) sequence: u64,
    pub(crate) time: u64,
}

impl Generation {
    /// Reads what there is of a generation.
    ///
    /// # Errors
    /// The target cannot be read.
    pub(crate) fn read(target: &mut dyn Target, name: &str) -> Result<Self, TargetFault> {
        let mut generation = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        for object in target.list(name)? {
            let mut parts = object.split('/').skip(1);
            let (kind, stamp, last) = (parts.next(), parts.next(), parts.next());
            let Some((sequence, time)) = stamp.and_then(names::read_stamp) else {
                continue;
            };
            let stamped = Stamped { sequence, time };
            match (kind, last) {
                (Some("log"), None) => generation.log.push(stamped),
                (Some("whole"), Some(last)) => {
                    if last == names::END {
                        generation.wholes.push(stamped);
                    }
                    generation.parts.push((stamped, object.clone()));
                }
                _ => {}
            }
        }
        generation.log.sort_unstable();
        generation.wholes.sort_unstable();
        Ok(generation)
    }

    /// Returns the number, the time and the name of the last object: of the log, or the end of the last whole copy.
    /// `None` if no whole copy is complete.
    pub(crate) fn last(&self) -> Option<(Stamped, String)> {
        let whole = *self.wholes.last()?;
        let behind = self.log.last();
        Some(match behind.filter(|last| last.sequence > whole.sequence) {
            Some(last) => (*last, names::log(&self.name, last.sequence, last.time)),
            None => {
                let end = names::whole(&self.name, whole.sequence, whole.time, None);
                (whole, end)
            }
        })
    }
}

/// Returns the names of all generations, in their order.
///
/// # Errors
/// The target cannot be read.
pub(crate) fn generations(target: &mut dyn Target) -> Result<Vec<String>, TargetFault> {
    let mut names = target.folders()?;
    names.retain(|name| names::term(name).is_some());
    names.sort();
    Ok(names)
}
