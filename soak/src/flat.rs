//! Memory and descriptors, which must not grow with time.

use std::time::Duration;

/// A process that lived for less is not judged: its memory has not settled.
const LIFE_MIN: Duration = Duration::from_secs(60);
/// The part of a life that is its warm-up, and the part that is compared with it, in percent of the life.
const WARM: (u32, u32) = (30, 45);
const END: (u32, u32) = (85, 100);
/// The growth that is allowed from the one to the other: so many percent, and so much besides. It has room for the
/// isolates of the slow lane, which start with the first slow route and have their own connections to the database.
const GROWTH_PERCENT_MAX: u64 = 25;
const GROWTH_BYTES_MAX: u64 = 32 << 20;
const GROWTH_DESCRIPTORS_MAX: u64 = 32;

/// A look at a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) age: Duration,
    /// The resident memory.
    pub(crate) bytes: u64,
    pub(crate) descriptors: u64,
}

/// The medians of a part of a life: bytes and descriptors.
fn medians(samples: &[Sample], (from, to): (u32, u32)) -> Option<(u64, u64)> {
    let life = samples.last()?.age;
    let part = samples
        .iter()
        .filter(|sample| sample.age >= life * from / 100 && sample.age <= life * to / 100);
    let middle = |mut values: Vec<u64>| {
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    let part: Vec<&Sample> = part.collect();
    Some((
        middle(part.iter().map(|sample| sample.bytes).collect())?,
        middle(part.iter().map(|sample| sample.descriptors).collect())?,
    ))
}

/// The verdict on a life.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LifeVerdict {
    /// Too short to tell.
    Unknown,
    /// Flat, with both ends in words.
    Flat(String),
    /// Growing, in words.
    Grows(String),
}

/// Compares the end of a life with its warm-up.
pub(crate) fn judge(samples: &[Sample]) -> LifeVerdict {
    let is_long = samples.last().is_some_and(|last| last.age >= LIFE_MIN);
    let (Some(warm), Some(end), true) = (medians(samples, WARM), medians(samples, END), is_long)
    else {
        return LifeVerdict::Unknown;
    };
    let mib = |bytes: u64| bytes >> 20;
    let words = format!(
        "memory from {} to {} MiB, descriptors from {} to {}",
        mib(warm.0),
        mib(end.0),
        warm.1,
        end.1
    );
    let bytes_max = warm.0 + warm.0 * GROWTH_PERCENT_MAX / 100 + GROWTH_BYTES_MAX;
    if end.0 > bytes_max || end.1 > warm.1 + GROWTH_DESCRIPTORS_MAX {
        return LifeVerdict::Grows(words);
    }
    LifeVerdict::Flat(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A life of so many seconds, each with more memory (MiB) and descriptors than the one before.
    fn life(seconds: u64, mib_each: u64, descriptors_each: u64) -> Vec<Sample> {
        let sample = |second: u64| Sample {
            age: Duration::from_secs(second),
            bytes: (100 + mib_each * second) << 20,
            descriptors: 50 + descriptors_each * second,
        };
        (0..=seconds).map(sample).collect()
    }

    #[test]
    fn growth_is_told_and_flat_lives_are_not() {
        assert_eq!(judge(&life(30, 9, 9)), LifeVerdict::Unknown);
        assert!(matches!(judge(&life(100, 0, 0)), LifeVerdict::Flat(_)));
        assert!(matches!(judge(&life(100, 2, 0)), LifeVerdict::Grows(_)));
        assert!(matches!(judge(&life(100, 0, 1)), LifeVerdict::Grows(_)));
    }
}
