//! A list of the states that a target can restore.

use crate::catalog::{Generation, generations};
use crate::names;
use crate::object::{self, Header};
use crate::restore::NO_COPY;
use crate::settings::BackupSettings;
use crate::targets::{Target, TargetFault};

/// A generation of which states can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorableSpan {
    /// The name of the generation: the folder of its objects.
    pub name: String,
    /// The time of the first state, in milliseconds since 1970.
    pub first: u64,
    /// The time of the last state, in milliseconds since 1970.
    pub last: u64,
    /// The size of the database in bytes, as the last object that tells it has it.
    pub bytes: Option<u64>,
}

impl RestorableSpan {
    /// Returns the times of the first and the last state for people.
    pub fn shown_times(&self) -> (String, String) {
        (names::time(self.first), names::time(self.last))
    }
}

/// Lists the generations of a copy that can be restored, the oldest first.
///
/// # Errors
/// The place cannot be read, or no generation has a complete copy of the whole database.
pub fn restorable(settings: &BackupSettings) -> Result<Vec<RestorableSpan>, String> {
    let mut target = settings.open()?;
    let spans = spans(&mut *target).map_err(|fault| fault.text())?;
    match spans.is_empty() {
        true => Err(NO_COPY.to_owned()),
        false => Ok(spans),
    }
}

fn spans(target: &mut dyn Target) -> Result<Vec<RestorableSpan>, TargetFault> {
    let mut spans = Vec::new();
    for name in generations(target)? {
        let generation = Generation::read(target, &name)?;
        let (Some(whole), Some((last, object))) = (generation.wholes.first(), generation.last())
        else {
            continue;
        };
        let bytes = target.get(&object)?.and_then(|object| {
            let (header, _) = object::header(&object).ok()?;
            bytes_of(&header)
        });
        spans.push(RestorableSpan {
            first: whole.time,
            last: last.time,
            bytes,
            name,
        });
    }
    Ok(spans)
}

/// Returns the size of the database behind an object, if a commit ends with it.
fn bytes_of(header: &Header) -> Option<u64> {
    let pages = u64::from(header.database_pages?);
    Some(pages * u64::from(header.page_bytes))
}
